//! The classes of a spec's network and their marking: fills in defaults, validates, and converts them.

use super::checker::Checker;
use super::document::{Buffer, Class, MarkAt, Marking, Network, PerPort, Policy, Pool};
use fanin_cc::aqm::{pi, red};
use fanin_fabric::{BufferPolicy, ClassConfig};
use fanin_units::Bytes;

/// Most data classes, without control.
pub const MAX_CLASSES: usize = 7;

/// Fills in the defaults of a marking that depend on other values.
fn fill_marking(marking: &mut Marking, wire: u64) {
    match marking {
        Marking::RedAverage { min, max, mean_packet, idle_packet, .. } => {
            max.get_or_insert(Bytes(min.get().saturating_mul(3)));
            let mean = *mean_packet.get_or_insert(Bytes(wire));
            idle_packet.get_or_insert(mean);
        }
        Marking::Pi { target, mean_packet, .. } => {
            let mean = *mean_packet.get_or_insert(Bytes(wire));
            target.get_or_insert(Bytes(mean.get().saturating_mul(50)));
        }
        Marking::Off | Marking::Step { .. } | Marking::Red { .. } => {}
    }
}

/// Fills in the classes. Returns for each whether its marking is the network's.
pub fn fill_classes(network: &mut Network, wire: u64) -> Vec<bool> {
    fill_marking(&mut network.marking, wire);
    network.marking_by_rate.iter_mut().for_each(|of| fill_marking(&mut of.marking, wire));
    let lossless = match &network.buffer {
        Buffer::PerPort(PerPort { policy, .. }) | Buffer::Pool(Pool { policy, .. }) => *policy == Policy::Lossless,
        Buffer::Credits(_) => true,
        Buffer::Unlimited(_) => false,
    };
    let default = || vec![Class { name: "data".into(), ..Class::default() }];
    let classes = network.classes.get_or_insert_with(default);
    let inherits = classes.iter().map(|class| class.marking.is_none()).collect();
    for class in classes {
        class.lossless.get_or_insert(lossless);
        if class.marking.is_none() && class.marking_by_rate.is_empty() {
            class.marking_by_rate.clone_from(&network.marking_by_rate);
        }
        class.marking_by_rate.iter_mut().for_each(|of| fill_marking(&mut of.marking, wire));
        fill_marking(class.marking.get_or_insert_with(|| network.marking.clone()), wire);
    }
    inherits
}

/// The fabric's classes.
pub fn check_classes(network: &Network, checker: &mut Checker<'_>) -> Vec<ClassConfig> {
    let classes = network.classes.as_deref().unwrap_or_default();
    if classes.is_empty() || classes.len() > MAX_CLASSES {
        let right = format!("there are 1 to {MAX_CLASSES}; leave the key out for one class \"data\"");
        checker.fail("network.classes", format!("there are {} classes", classes.len()), right);
    }
    for (i, class) in classes.iter().enumerate() {
        if class.name.is_empty() || classes[..i].iter().any(|other| other.name == class.name) {
            let path = format!("network.classes[{i}].name");
            checker.fail(&path, format!("\"{}\" is empty or used twice", class.name), "give each class its own name");
        }
    }
    warn_of_lone_weights(classes, checker);
    let class = |class: &Class| ClassConfig {
        name: class.name.clone(),
        lossless: class.lossless.unwrap_or(false),
        marking: class.marking.as_ref().map_or(fanin_fabric::Marking::Off, marking),
        marking_by_rate: class.marking_by_rate.iter().map(|of| (of.rate, marking(&of.marking))).collect(),
        share: class.share,
        alpha: class.alpha,
        sibling_vl: None,
        urgent: false,
        priority: class.priority,
        weight: class.weight,
        shaper: None,
    };
    classes.iter().map(class).collect()
}

/// Warns of weights of classes that share with no other.
fn warn_of_lone_weights(classes: &[Class], checker: &mut Checker<'_>) {
    for (i, class) in classes.iter().enumerate() {
        let alone = classes.iter().filter(|other| other.priority == class.priority).count() == 1;
        if let (Some(weight), true) = (class.weight, alone) {
            let no_other = match class.priority {
                Some(number) => format!("no other class has priority {number}"),
                None => "no other class is without a priority".into(),
            };
            checker.warnings.push(format!("network.classes[{i}].weight = {weight} has no effect: {no_other}"));
        }
    }
}

/// Whether some class marks packets when their last bit has left.
pub fn marks_with_last_bits(classes: &[ClassConfig]) -> bool {
    use fanin_fabric::{MarkAt::LastBit, Marking};
    let last = |of: &Marking| matches!(of, Marking::Step { at: LastBit, .. } | Marking::Red { at: LastBit, .. });
    classes.iter().any(|class| last(&class.marking) || class.marking_by_rate.iter().any(|(_, of)| last(of)))
}

fn marking(marking: &Marking) -> fanin_fabric::Marking {
    let at = |at: MarkAt| match at {
        MarkAt::Enqueue => fanin_fabric::MarkAt::Enqueue,
        MarkAt::Dequeue => fanin_fabric::MarkAt::Dequeue,
        MarkAt::LastBit => fanin_fabric::MarkAt::LastBit,
    };
    match *marking {
        Marking::Off => fanin_fabric::Marking::Off,
        Marking::Step { above, at: when } => fanin_fabric::Marking::Step { above: above.get(), at: at(when) },
        Marking::Red { min, max, probability, at: when } => {
            fanin_fabric::Marking::Red { min: min.get(), max: max.get(), max_probability: probability, at: at(when) }
        }
        Marking::RedAverage { min, max, probability, weight, gentle, wait, mean_packet, idle_packet } => {
            fanin_fabric::Marking::RedAverage(red::Config {
                min: min.get(),
                max: bytes_of(max),
                max_probability: probability,
                weight,
                gentle,
                wait,
                mean_packet: size_of(mean_packet),
                idle_packet: size_of(idle_packet),
            })
        }
        Marking::Pi { target, a, b, every, mean_packet } => fanin_fabric::Marking::Pi(pi::Config {
            a,
            b,
            target: bytes_of(target),
            every,
            mean_packet: size_of(mean_packet),
        }),
    }
}

/// A value that was filled in.
fn bytes_of(filled: Option<Bytes>) -> u64 {
    filled.map_or(0, Bytes::get)
}

/// A size that was filled in; one that is too large becomes 0, which is refused as well.
fn size_of(filled: Option<Bytes>) -> u32 {
    u32::try_from(bytes_of(filled)).unwrap_or(0)
}

/// Whether the shares of classes are possible, and leave enough for classes without one.
pub fn check_shares(network: &Network, buffer: &BufferPolicy, wire: u64, checker: &mut Checker<'_>) -> bool {
    let before = checker.problems.len();
    let classes = network.classes.as_deref().unwrap_or_default();
    let all = match *buffer {
        BufferPolicy::PerPort { bytes, .. } | BufferPolicy::Pooled { bytes, .. } => bytes,
        BufferPolicy::Credits { .. } | BufferPolicy::Unlimited => u64::MAX,
    };
    let (mut sum, mut last) = (0.0, None);
    for (i, class) in classes.iter().enumerate() {
        if let Some(share) = class.share {
            let path = format!("network.classes[{i}].share");
            if matches!(buffer, BufferPolicy::Credits { .. }) {
                let problem =
                    "with credits each class has a buffer of its own at every port, so there is none to divide";
                checker.fail(&path, problem, "leave it out");
            } else if *buffer == BufferPolicy::Unlimited {
                checker.fail(&path, "an unlimited buffer cannot be divided", "leave it out, or give the buffer a size");
            } else if !checker.bound::<Class>(&path, share) {
                continue;
            } else if ((all as f64 * share) as u64) < wire {
                let problem = format!("{share} of {} is less than one packet of {}", Bytes(all), Bytes(wire));
                checker.fail(&path, problem, "give it a larger share, or more buffer");
            } else {
                sum += share;
                last = Some(path);
            }
        }
        if let Some(alpha) = class.alpha {
            let path = format!("network.classes[{i}].alpha");
            if !matches!(buffer, BufferPolicy::Pooled { .. }) {
                let right = "leave it out, or use a pool";
                checker.fail(&path, "only a pool has dynamic thresholds", right);
            } else {
                checker.bound::<Class>(&path, alpha);
            }
        }
    }
    let without: Vec<&str> = classes.iter().filter(|c| c.share.is_none()).map(|c| c.name.as_str()).collect();
    let Some(path) = last else { return checker.problems.len() == before };
    let left = all as f64 * (1.0 - sum);
    // In the form in which it would be written by hand.
    let shown = (sum * 1e6).round() / 1e6;
    // A sum of decimal fractions may differ from 1 by rounding.
    if sum > 1.0 + 1e-9 {
        checker.fail(&path, format!("the shares of all classes add up to {shown}"), "together they are at most 1");
    } else if !without.is_empty() && left < wire as f64 {
        let problem = format!(
            "the shares add up to {shown} and leave less than one packet for {} that has none: \"{}\"",
            if without.len() == 1 { "the class" } else { "each class" },
            without.join("\", \"")
        );
        checker.fail(&path, problem, "give that class a share too, or make the shares smaller");
    } else if without.is_empty() && left >= wire as f64 {
        let unused = Bytes(left as u64);
        checker
            .warnings
            .push(format!("network.classes: the shares add up to {shown}; no class uses the other {unused}"));
    }
    checker.problems.len() == before
}
