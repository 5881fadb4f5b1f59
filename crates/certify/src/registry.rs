//! The list of laws: a line for each file of `laws`.

use crate::law::Law;
use crate::laws::{
    acks, conserved, eager, flight, headroom, limits, lossless, marks, messages, order, pfc_cause, pfc_obeyed,
    priority, queues, rate, sequence, tables, unchanged, window,
};
use crate::setup::{Buffer, Class, Marking, Setup};

/// An entry of the list of laws.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub says: &'static str,
    /// Why it cannot be checked in a run, if it cannot.
    pub missing: fn(&Setup) -> Option<&'static str>,
    /// A fresh one.
    pub make: fn() -> Box<dyn Law>,
}

/// All laws.
pub const LAWS: &[Entry] = &[
    Entry {
        name: "rate",
        says: "no link sends above its rate: a packet begins after the last bit of the one before",
        missing: sized,
        make: || Box::new(rate::Rates),
    },
    Entry {
        name: "flight",
        says: "a packet arrives when its last bit has crossed its link, and all that began before it have arrived",
        missing: |setup| {
            (!setup.has.arrivals).then_some("the source has no arrivals: they are computed from rates and delays")
        },
        make: || Box::new(flight::Flight),
    },
    Entry {
        name: "queues",
        says: "the length of a queue that the source tells is that of the packets in it",
        missing: |setup| (!setup.has.arrivals).then_some("the source has no lengths of queues"),
        make: || Box::new(queues::Queues::default()),
    },
    Entry {
        name: "conserved",
        says: "a packet that leaves a switch has arrived there before, to its last bit, and leaves once",
        missing: whole,
        make: || Box::new(conserved::Conserved),
    },
    Entry {
        name: "unchanged",
        says: "a switch changes nothing of a packet but one hop and a congestion mark that it may set",
        missing: whole,
        make: || Box::new(unchanged::Unchanged),
    },
    Entry {
        name: "lossless",
        says: "a switch loses no packet of a lossless class and no control packet",
        missing: |setup| whole(setup).or_else(|| drops(setup)),
        make: || Box::new(lossless::Lossless),
    },
    Entry {
        name: "order",
        says: "packets of a class leave a port in the order in which they came to the switch",
        missing: |setup| whole(setup).or(setup.has.trimming.then_some("switches trim packets")),
        make: || Box::new(order::Order::default()),
    },
    Entry {
        name: "eager",
        says: "a packet leaves as soon as it is there, its port is free and its class is not paused",
        missing: |setup| {
            let has = &setup.has;
            whole(setup)
                .or(has.outages.then_some("links go down"))
                .or(has.credit_queues.then_some("credits have queues of their own rate"))
                .or((has.expiry || has.watchdog).then_some("pauses expire or are ignored"))
                .or((setup.buffer == Buffer::Credits).then_some("the capture has no credits of links"))
        },
        make: || Box::new(eager::Eager::default()),
    },
    Entry {
        name: "priority",
        says: "no data leaves a port while control waits there",
        missing: |setup| {
            whole(setup)
                .or(setup.has.control_weight.then_some("control lets data pass by its weight"))
                .or(setup.has.credit_queues.then_some("credits have a class of their own"))
        },
        make: || Box::new(priority::Priority::default()),
    },
    Entry {
        name: "marks",
        says: "marks are as the rule for the queue says: none below, all above, and as many as likely between",
        missing: |setup| {
            let stateful = |class: &Class| class.marking == Marking::Other && class.marking_by_rate.is_empty();
            whole(setup)
                .or(setup.has.programs.then_some("a scheme or discipline acts in switches"))
                .or(setup.has.trimming.then_some("switches trim packets"))
                .or((setup.classes.len() > 1 && setup.classes[1..].iter().all(stateful))
                    .then_some("the rule of marking has a state of its own"))
        },
        make: || Box::new(marks::Marks::default()),
    },
    Entry {
        name: "limits",
        says: "no queue of a lossy class is longer than its limit, and a packet is dropped only where it finds no room",
        missing: |setup| {
            whole(setup)
                .or_else(|| foreign(setup))
                .or_else(|| unexplained(setup))
                .or((!setup.classes.iter().skip(1).any(|class| !class.lossless)).then_some("no class is lossy"))
                .or((!matches!(setup.buffer, Buffer::PerPort(_) | Buffer::Pool { .. })).then_some("there is no limit"))
                .or(setup.has.last_bit.then_some("packets are in their queue until their last bit has left"))
                .or(setup.has.trimming.then_some("switches trim packets"))
        },
        make: || Box::new(limits::Limits::default()),
    },
    Entry {
        name: "pfc-obeyed",
        says: "no packet of a paused class begins on a link",
        missing: |setup| {
            pfc(setup)
                .or(setup.has.watchdog.then_some("a watchdog may ignore pauses"))
                .or(setup.has.partial.then_some("the capture has some links only"))
        },
        make: || Box::new(pfc_obeyed::Obeyed::default()),
    },
    Entry {
        name: "pfc-cause",
        says: "every pause has its excess, every excess its pause at once, and every resume its room",
        missing: |setup| whole(setup).or_else(|| foreign(setup)).or_else(|| pfc(setup)).or_else(|| accounts(setup)),
        make: || Box::new(pfc_cause::Cause::default()),
    },
    Entry {
        name: "headroom",
        says: "what arrives after a pause fits into the headroom: no ingress holds more than its buffer",
        missing: |setup| {
            whole(setup)
                .or_else(|| foreign(setup))
                .or_else(|| pfc(setup))
                .or(setup.has.errors.then_some("links lose packets at random"))
                .or(setup.has.outages.then_some("links go down"))
        },
        make: || Box::new(headroom::Headroom::default()),
    },
    Entry {
        name: "sequence",
        says: "a sender's packets are numbered without gaps: none is skipped the first time",
        missing: |_| None,
        make: || Box::new(sequence::Sequence::default()),
    },
    Entry {
        name: "acks",
        says: "a receiver acknowledges only what has arrived",
        missing: whole,
        make: || Box::new(acks::Acks::default()),
    },
    Entry {
        name: "window",
        says: "no flow has more in flight than its window",
        missing: |setup| {
            let of = "a capture has no windows, and the scheme is not one of a single fixed window";
            setup.window.is_none().then_some(of).or_else(|| whole(setup))
        },
        make: || Box::new(window::Window::default()),
    },
    Entry {
        name: "messages",
        says: "a message ends when its last byte arrives, and has the bytes that were asked for",
        missing: |setup| {
            whole(setup).or((!setup.has.messages).then_some("no table of messages was given that has these"))
        },
        make: || Box::new(messages::Messages::default()),
    },
    Entry {
        name: "tables",
        says: "the table of ports counts the packets, bytes, marks and drops of the capture",
        missing: |setup| {
            whole(setup)
                .or((!setup.has.ports).then_some("no table of ports was given"))
                .or((setup.buffer == Buffer::Credits).then_some("the capture has no credits of links"))
        },
        make: || Box::new(tables::Tables::default()),
    },
];

/// Why it is not known how long packets take.
fn sized(setup: &Setup) -> Option<&'static str> {
    let of = "packets count fewer bytes than their headers have, and differ by scheme";
    setup.has.unlike_sizes.then_some(of)
}

/// Why stays in switches are unknown.
fn whole(setup: &Setup) -> Option<&'static str> {
    setup.has.partial.then_some("the capture has some links only").or_else(|| sized(setup))
}

/// Why buffers are not counted.
fn foreign(setup: &Setup) -> Option<&'static str> {
    let foreign = setup.has.foreign.then_some("the rules of that simulator's buffers are not repeated here");
    foreign.or(setup.has.by_rate.then_some("ports of some rates have buffers of their own"))
}

/// Why a loss needs no full buffer.
fn unexplained(setup: &Setup) -> Option<&'static str> {
    let has = &setup.has;
    has.errors
        .then_some("links lose packets at random")
        .or(has.outages.then_some("links go down"))
        .or(has.programs.then_some("a scheme or discipline acts in switches"))
        .or(has.spraying.then_some("packets of a flow take several paths"))
}

/// Why a lossless class may lose packets.
fn drops(setup: &Setup) -> Option<&'static str> {
    unexplained(setup).or(setup.has.watchdog.then_some("a watchdog may drop packets"))
}

fn pfc(setup: &Setup) -> Option<&'static str> {
    (setup.buffer == Buffer::Credits)
        .then_some("links have credits")
        .or((!setup.any_lossless()).then_some("no class is lossless"))
}

/// Why the accounts of ingresses cannot be repeated.
fn accounts(setup: &Setup) -> Option<&'static str> {
    let has = &setup.has;
    has.errors
        .then_some("links lose packets at random")
        .or(has.outages.then_some("links go down"))
        .or(has.last_bit.then_some("buffer is held until the last bit"))
        .or(has.expiry.then_some("pauses are repeated"))
        .or(has.watchdog.then_some("a watchdog may drop packets"))
        .or(has.programs.then_some("a scheme or discipline acts in switches"))
        .or(has.trimming.then_some("switches trim packets"))
        .or((setup.headroom.is_none() && has.unknown_sizes)
            .then_some("the largest packet of a scheme is not known here"))
        .or((setup.buffer == Buffer::Unlimited).then_some("there is no limit"))
        .or((matches!(setup.buffer, Buffer::Pool { .. }) && setup.classes.iter().skip(1).any(|class| !class.lossless))
            .then_some("lossy classes share the pool"))
}
