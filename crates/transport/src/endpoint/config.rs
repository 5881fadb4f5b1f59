//! What an endpoint is told.

use crate::config::{self, Class};
use crate::frame::{Dscps, Layout};
use crate::port::LinkConfig;
use crate::{Formats, endpoint::sip};
use fanin_cc::{NicInfo, Settings};
use fanin_endpoint::host::{EndpointConfig, PacketSizes, Recovery, Traffic, TrafficConfig};
use fanin_endpoint::selective::{Cap, Rules};
use fanin_units::{NodeId, PortId, Rate, Time};

/// Bytes of all headers of a data packet: Ethernet, IPv4 and UDP outside, the endpoint's, the extension, and the frame
/// inside without its payload.
const HEADERS: u16 = 46 + 24 + 46 + 62;
/// Bytes of an ACK, and of a congestion notification packet, with all that.
const ACK: u16 = HEADERS + 4;
const CNP: u16 = HEADERS + 16;
/// Numbers of hosts that applications may choose are below this.
pub const FIRST_UNNAMED: u16 = 1 << 15;
/// No number.
pub const UNNAMED: u16 = u16::MAX;

/// Most of everything that others can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections, and of those accepted the ones whose client has not been heard since.
    pub peers: usize,
    /// See `peers`.
    pub half_open: usize,
    /// Messages that a peer may have open at once, in each direction.
    pub messages: u32,
    /// Bytes of a message.
    pub message: u64,
    /// Bytes of all unfinished messages from a peer.
    pub unfinished: u64,
    /// Bytes that are kept of a message behind a gap.
    pub ahead: u64,
    /// Senders in the list of an incast.
    pub senders: usize,
    /// A peer that says nothing for this time is gone.
    pub quiet: Time,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            peers: 256,
            half_open: 64,
            messages: 16,
            message: 1 << 30,
            unfinished: 1 << 30,
            ahead: 4 << 20,
            senders: 1024,
            quiet: Time::from_s(10),
        }
    }
}

/// An endpoint. Both ends of a connection need the same scheme with the same parameters, and the same sizes.
#[derive(Clone, Debug)]
pub struct Config {
    /// The congestion control.
    pub scheme: Settings,
    /// Its parameters and the rules of recovery.
    pub endpoint: EndpointConfig,
    /// The rate of the local NIC. Nothing leaves faster.
    pub rate: Rate,
    /// The round-trip time of the idle network where none has been measured yet.
    pub rtt: Time,
    /// Whether the round-trip time of a connection is measured, at its set-up and by probes.
    pub measure_rtt: bool,
    /// Largest payload of a packet. Headers add up to 182 bytes, and those of telemetry.
    pub payload: u16,
    /// The number by which other hosts name this one in lists of an incast's senders; below 32768.
    pub host: Option<u16>,
    /// What hosts that talk to each other share. With zeros anyone may connect.
    pub secret: sip::Key,
    /// What others can ask for.
    pub limits: Limits,
    /// An endpoint that is behind by more than this, because the application did not call it or the machine was busy,
    /// lets its clock stand still rather than send all at once.
    pub slack: Time,
}

impl Config {
    /// A NIC of 1 Gb/s with packets of 1024 bytes, go-back-N, and timeouts of 50 ms.
    pub fn new(scheme: Settings) -> Self {
        let payload = 1024;
        Self {
            scheme,
            endpoint: EndpointConfig {
                timeout: Time::from_ms(50),
                nack_interval: Time::from_ms(5),
                pacing_credit: 2 * u32::from(payload + HEADERS),
                recovery: Recovery::GoBackN,
                ..EndpointConfig::default()
            },
            rate: Rate::from_gbps(1),
            rtt: Time::from_us(500),
            measure_rtt: true,
            payload,
            host: None,
            secret: [0; 2],
            limits: Limits::default(),
            slack: Time::from_ms(1),
        }
    }

    /// The same with losses repaired by "go-back-n", "go-back-0", "selective-repeat" or "irn".
    ///
    /// # Errors
    /// For other names.
    pub fn with_recovery(mut self, name: &str) -> Result<Self, String> {
        let timeout_high = self.endpoint.timeout;
        let rules = Rules { cap: Cap::Off, timeout_high, low_up_to: 3, nacks: 1, tell_scheme: false };
        self.endpoint.recovery = match name {
            "go-back-n" => Recovery::GoBackN,
            "go-back-0" => Recovery::GoBack0,
            "selective-repeat" => Recovery::Selective(rules),
            "irn" => Recovery::Selective(Rules { cap: Cap::Bdp, ..rules }),
            _ => return Err(format!("recovery is go-back-n, go-back-0, selective-repeat or irn, not {name}")),
        };
        Ok(self)
    }

    /// Whether an endpoint can be so.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn check(&self) -> Result<(), String> {
        if let Some(why) = self.scheme.tcp_only() {
            return Err(format!("{} {why}: choose a scheme for RDMA", self.scheme.id()));
        }
        if let Some(why) = self.scheme.needs_switches() {
            return Err(format!("{} {why}, and those between hosts do not: choose another scheme", self.scheme.id()));
        }
        self.scheme.check().map_err(|why| format!("{}: {why}", self.scheme.id()))?;
        let wrong = |what: &str| Err(what.to_string());
        if self.endpoint.connection {
            return wrong("each message has a queue pair of its own: leave endpoint.connection false");
        }
        if !(64..=16_384).contains(&self.payload) {
            return wrong("payload is from 64 to 16384 bytes");
        }
        if self.rate.as_bps() < 1000 || self.rtt == Time::ZERO {
            return wrong("rate is at least 1 kb/s and rtt above zero");
        }
        if self.host.is_some_and(|host| host >= FIRST_UNNAMED) {
            return wrong("host is below 32768");
        }
        let limits = &self.limits;
        if limits.messages == 0 || limits.peers == 0 || limits.message == 0 || limits.quiet < Time::from_ms(100) {
            return wrong("limits allow at least one peer, one message of one byte, and 100 ms of silence");
        }
        if self.endpoint.timeout < Time::from_us(10) || self.slack < Time::from_us(10) {
            return wrong("timeout and slack are at least 10 us");
        }
        Ok(())
    }

    /// Sizes of packets.
    fn sizes(&self) -> PacketSizes {
        PacketSizes { payload: self.payload, header: HEADERS, ack: ACK, cnp: CNP, pause: 64 }
    }

    /// The payload of the first packet of a message of so many bytes, of an incast with so many senders, and of others.
    pub(super) fn payloads(&self, bytes: u64, senders: usize) -> (u64, u64) {
        let (payload, list) = (u64::from(self.payload), self.scheme.send_options(bytes, senders, false).list);
        (payload.saturating_sub(u64::from(list)).max(1), payload)
    }

    /// Bytes of the largest data packet, but for telemetry of switches.
    pub(super) fn largest(&self) -> u32 {
        let overhead = self.scheme.header_overhead();
        u32::from(self.payload) + u32::from(HEADERS) + u32::from(overhead.data)
    }

    /// The frames' layout.
    pub(super) fn formats(&self) -> Formats {
        let layout = Layout { format: self.scheme.wire_format(), tenant: 0, weight: 1 };
        Formats { payload: self.payload, ack: ACK, dscps: Dscps::default(), layouts: vec![layout] }
    }

    /// Both ends of a connection need the same.
    pub(super) fn fingerprint(&self) -> u64 {
        let of = (&self.scheme, self.endpoint.recovery, self.endpoint.ack_chunk, self.payload);
        sip::hash([0; 2], &[], format!("{of:?}").as_bytes())
    }

    /// The one traffic.
    pub(super) fn traffic(&self) -> Traffic {
        let scheme = self.scheme.clone();
        let overhead = scheme.header_overhead();
        let config = TrafficConfig {
            name: "wire".to_string(),
            ecn: scheme.wants_ecn(),
            scheme,
            class: 1,
            lane_class: 0,
            credit_class: 0,
            weight: 1,
            tenant: 0,
            announce_size: true,
            endpoint: self.endpoint,
            tcp: None,
            spraying: None,
            overhead: Time::ZERO,
        };
        Traffic { config, scheme: 0, overhead }
    }

    /// The host below the endpoint.
    pub(super) fn station(&self, node: NodeId, seed: u64) -> config::Config {
        let mut scheme = self.scheme.build();
        let nic = NicInfo::new(self.rate, self.rtt, u32::from(self.payload), self.largest());
        scheme.add_host(&NicInfo { seed, ..nic });
        config::Config {
            node,
            hosts: 1 << 16,
            seed: 0,
            cpu_word: seed,
            token_word: seed ^ 1,
            spacing: (self.rate.tx_time(u64::from(self.largest())), Time::from_ms(10)),
            sizes: self.sizes(),
            host_fifo: None,
            largest: self.largest(),
            classes: vec![Class::default()],
            links: vec![LinkConfig { port: PortId(0), rate: self.rate, delay: Time::ZERO }],
            traffics: vec![self.traffic()],
            schemes: vec![scheme],
            formats: self.formats(),
        }
    }
}
