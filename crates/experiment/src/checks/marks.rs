//! Schemes that slow down by congestion marks, where packets are not marked, or PFC pauses before they are.

use super::exact::Exact;
use super::telemetry::{listed, text};
use crate::CheckedSpec;
use crate::explain::rates_of_switches;
use fanin_fabric::shared_buffer::{Limit, Plan};
use fanin_fabric::{BufferPolicy, ClassConfig, Marking, pfc};
use fanin_formats::Warning;
use fanin_units::{Bytes, Rate};
use std::collections::BTreeMap;

/// A scheme in a class whose packets it wants marked.
struct Wanting<'a> {
    /// Its first traffic.
    traffic: usize,
    /// The number of the class, from 1.
    number: usize,
    class: &'a ClassConfig,
    scheme: &'a str,
}

/// The schemes that slow down by marks, each once for each class.
fn wanting(checked: &CheckedSpec) -> Vec<Wanting<'_>> {
    let classes = &checked.network().classes;
    let mut known: BTreeMap<(u8, &str), usize> = BTreeMap::new();
    for (traffic, config) in checked.traffics().iter().enumerate() {
        if config.scheme.needs_marks() && config.ecn {
            known.entry((config.class, config.scheme.id())).or_insert(traffic);
        }
    }
    let of = |((class, scheme), traffic)| {
        let number = usize::from(class);
        Wanting { traffic, number, class: &classes[number - 1], scheme }
    };
    known.into_iter().map(of).collect()
}

/// Where no packet is ever marked, at hosts neither. `fanin compare --schemes all` leaves out schemes with a warning of
/// a key `scheme`.
pub fn none(checked: &CheckedSpec) -> Vec<String> {
    if hosts_mark(checked) {
        return Vec::new();
    }
    let unmarked = wanting(checked).into_iter().filter(|want| {
        let mut markings =
            std::iter::once(&want.class.marking).chain(want.class.marking_by_rate.iter().map(|(_, m)| m));
        markings.all(|marking| *marking == Marking::Off)
    });
    let warning = |Wanting { traffic, class, scheme, .. }: Wanting<'_>| {
        format!(
            "traffic[{traffic}].scheme: {scheme} slows down by congestion marks, and no packet of class \"{}\" is ever \
             marked; set network.marking",
            class.name
        )
    };
    unmarked.map(warning).collect()
}

fn hosts_mark(checked: &CheckedSpec) -> bool {
    checked.network().host_fifo.is_some_and(|queue| queue.mark_above.is_some())
}

/// Where ports of some rates are marked, and others were forgotten.
pub fn of_some_rates(checked: &CheckedSpec) -> Vec<String> {
    let rates = rates_of_switches(&checked.network().graph);
    let warning = |Wanting { class, scheme, .. }: Wanting<'_>| {
        let marked = class.marking_by_rate.iter().any(|(_, marking)| *marking != Marking::Off);
        let forgotten = rates.keys().filter(|rate| class.marking_by_rate.iter().all(|(listed, _)| listed != *rate));
        let odd = listed(forgotten.copied());
        (marked && class.marking == Marking::Off && !odd.is_empty()).then(|| {
            format!(
                "network.marking_by_rate: {scheme} slows down by congestion marks, and ports of {odd} never mark \
                 (class \"{}\"); add them to the list, or set network.marking for all rates that it does not name",
                class.name
            )
        })
    };
    wanting(checked).into_iter().filter_map(warning).collect()
}

/// The bytes of a port, or the factor of its threshold in a pool.
fn of_port(limit: Limit) -> (u64, f64) {
    match limit {
        Limit::Port { bytes, .. } => (bytes, 0.0),
        Limit::Pool { alpha, .. } => (0, alpha),
        Limit::None | Limit::Credits => (0, 0.0),
    }
}

/// Where some ingress is always paused before a queue is long enough for marks.
pub fn after_pauses(checked: &CheckedSpec) -> Vec<String> {
    let network = checked.network();
    let (BufferPolicy::PerPort { pfc: rule, .. } | BufferPolicy::Pooled { pfc: rule, .. }) = network.buffer else {
        return Vec::new();
    };
    let plan = Plan::new(&network.buffer, &network.buffer_by_rate, &network.classes, &network.packet);
    let (wire, pause) = (checked.largest_packet(), u64::from(network.packet.pause));
    // Of each switch: the headroom of its ports together.
    let mut reserved = vec![0u64; network.graph.names.len()];
    let headroom = |link: &fanin_fabric::topology::Link| {
        rule.headroom.unwrap_or_else(|| pfc::headroom(link.rate, (link.delay, network.pauses.response), wire, pause))
    };
    let ends = |link: &fanin_fabric::topology::Link| {
        [link.a, link.b].into_iter().filter(|node| !network.graph.is_host(*node)).map(|node| node.ix())
    };
    for link in &network.graph.links {
        for node in ends(link) {
            reserved[node] = reserved[node].saturating_add(headroom(link));
        }
    }
    let warning = |Wanting { number, class, scheme, .. }: Wanting<'_>| {
        // The longest queue of a port of each rate while nothing is paused: all other ports send to it.
        let mut most: BTreeMap<Rate, u64> = BTreeMap::new();
        // Of each switch: the bytes, or the factors of the thresholds, of its ports together.
        let mut limits = vec![(0u64, 0.0); network.graph.names.len()];
        for link in &network.graph.links {
            for node in ends(link) {
                let (bytes, alpha) = of_port(plan.limit(number, link.rate));
                limits[node] = (limits[node].0.saturating_add(bytes), limits[node].1 + alpha);
            }
        }
        for link in &network.graph.links {
            for node in ends(link) {
                let all = reserved[node];
                let own = plan.limit(number, link.rate);
                let bytes = match own {
                    Limit::Port { bytes, .. } => {
                        limits[node].0.saturating_sub(bytes).saturating_sub(all.saturating_sub(headroom(link)))
                    }
                    // Each of the other ingresses holds T = alpha (free - all of them).
                    Limit::Pool { pool, alpha } => {
                        let (bytes, lossless) = plan.pools[pool];
                        let free = bytes.saturating_sub(all.saturating_mul(u64::from(lossless.count_ones())));
                        let alpha = limits[node].1 - alpha;
                        (free as f64 * alpha / (1.0 + alpha)) as u64
                    }
                    Limit::None | Limit::Credits => return None,
                };
                let longest = most.entry(link.rate).or_default();
                *longest = bytes.max(*longest);
            }
        }
        let marks = |rate: &Rate| {
            let own = class.marking_by_rate.iter().find(|(listed, _)| listed == rate);
            match *own.map_or(&class.marking, |(_, marking)| marking) {
                Marking::Step { above, .. } => Some(above),
                Marking::Red { min, .. } => Some(min),
                Marking::RedAverage(red) => Some(red.min),
                Marking::Off | Marking::Pi(_) => None,
            }
        };
        let never = most.into_iter().find_map(|(rate, most)| Some((rate, most, marks(&rate).filter(|m| *m >= most)?)));
        never.filter(|_| class.lossless).map(|(rate, most, marks)| {
            let key = if class.marking_by_rate.iter().any(|(listed, _)| *listed == rate) { "_by_rate" } else { "" };
            format!(
                "network.marking{key}: {}; lower the threshold, or give more buffer",
                said(scheme, rate, most, marks)
            )
        })
    };
    wanting(checked).into_iter().filter_map(warning).collect()
}

/// Where a configuration switches marks off, and its control law slows down by them.
pub fn none_of_its_own(exact: &Exact<'_>) -> Vec<Warning> {
    let warning = || {
        let law = exact.law.id();
        exact.warning(format!(
            "ENABLE_QCN 0: {law} slows down by congestion marks, and no packet is ever marked; write 1"
        ))
    };
    (exact.law.needs_marks() && !exact.config.enable_qcn).then(warning).into_iter().collect()
}

/// Where some ingress of a configuration is always paused before a queue is long enough for marks.
pub fn after_its_pauses(exact: &Exact<'_>) -> Vec<Warning> {
    if !exact.law.needs_marks() || !exact.config.enable_qcn {
        return Vec::new();
    }
    let mut most: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (buffer, rates) in exact.switches() {
        for (slot, rate) in rates.into_iter().enumerate() {
            let entry = most.entry(rate).or_default();
            *entry = (*entry).max((buffer.most_unpaused(slot), buffer.marks_above(slot)));
        }
    }
    let never = most.into_iter().find(|(_, (most, marks))| marks >= most);
    let warning = |(rate, (most, marks))| {
        let what = said(exact.law.id(), Rate::from_bps(rate), most, marks);
        exact.warning(format!("KMIN_MAP: {what}; lower it, or raise BUFFER_SIZE"))
    };
    never.map(warning).into_iter().collect()
}

fn said(scheme: &str, rate: Rate, most: u64, marks: u64) -> String {
    format!(
        "{scheme} slows down by congestion marks, and at ports of {} PFC pauses first: a queue has up to {} when an \
         ingress is paused at the latest, and marks begin above {}",
        text(rate),
        Bytes(most),
        Bytes(marks)
    )
}
