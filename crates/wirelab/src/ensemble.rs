//! Simulations of one experiment in which messages start a little later: what a run in real time is compared with.

use fanin_engine::Streams;
use fanin_experiment::built::Built;
use fanin_units::Time;

/// The same experiment with every message that waits for no other posted later by up to `most_ps`, drawn uniformly for
/// the member `draw` of the ensemble.
pub fn moved(mut built: Built, most_ps: u64, draw: u64) -> Built {
    let mut draws = Streams::new(built.network.seed).stream("moved starts", draw);
    let messages = built.messages.map(move |mut message| {
        let later = Time::from_ps(draws.below(most_ps.saturating_add(1)));
        if message.dependency.after.is_none() {
            message.dependency.delay = message.dependency.delay.saturating_add(later);
        }
        message
    });
    built.messages = Box::new(messages);
    built
}
