//! The random streams of a traffic.

use fanin_engine::{Stream, Streams};

/// The random streams of one traffic.
pub(crate) struct Draws {
    /// Gaps between arrivals.
    pub arrivals: Stream,
    /// Senders and receivers.
    pub hosts: Stream,
    /// Sizes.
    pub sizes: Stream,
    /// Offsets of starts.
    pub jitter: Stream,
    /// Service times of servers.
    pub service_time: Stream,
}

impl Draws {
    pub fn new(streams: &Streams, number: u16) -> Self {
        let stream = |purpose| streams.stream(purpose, u64::from(number));
        Self {
            arrivals: stream("traffic arrivals"),
            hosts: stream("traffic hosts"),
            sizes: stream("traffic sizes"),
            jitter: stream("traffic jitter"),
            service_time: stream("traffic think"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_purposes_or_traffics_share_a_stream() {
        let streams = Streams::new(1);
        let mut firsts: Vec<u64> = (0..3)
            .flat_map(|number| {
                let Draws { mut arrivals, mut hosts, mut sizes, mut jitter, mut service_time } =
                    Draws::new(&streams, number);
                [arrivals.bits(), hosts.bits(), sizes.bits(), jitter.bits(), service_time.bits()]
            })
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 15);
    }
}
