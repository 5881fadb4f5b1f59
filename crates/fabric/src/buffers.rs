//! The buffers of switches: admission, the bytes held by each ingress, and when an ingress pauses and resumes its peer.

use crate::config::{BufferPolicy, NetworkConfig, Release};
use crate::egress::Egress;
use crate::pfc::{self, Ingress};
use crate::port::{Port, PortIx};
use crate::queue::Queued;
use crate::results::{BufferUse, DropCause};
use crate::shared_buffer::{Limit, Plan, Pool};
use fanin_engine::prefetch;

/// The accounts of all switches of a partition.
pub(crate) struct Buffers {
    plan: Plan,
    /// The limit of each class, as admission looks at it. Where limits depend on the rate of a port it is that of
    /// credits, which such a network cannot have: a case of its own that costs the others nothing.
    limits: Vec<Limit>,
    /// The pools of each switch, as many as in the plan.
    pools: Vec<Pool>,
    /// Bytes held per ingress port and class.
    ingress: Vec<Ingress>,
    classes: usize,
    /// Bit c: class c is lossless.
    lossless: u8,
    /// Bytes of control at a port, where packets are trimmed.
    headers: u64,
    /// Largest data packet on the wire.
    largest: u32,
    /// The buffer held by the packet on each port's wire, with release at the last bit; else empty.
    leaving: Vec<Option<Queued>>,
}

/// A packet to be admitted.
pub(crate) struct Request {
    /// The switch, by its row.
    pub switch: u32,
    pub ingress: PortIx,
    /// The class it arrived in, whose buffer it holds regardless of the lane it leaves in.
    pub class: usize,
    pub wire: u64,
    pub out: PortIx,
    /// The class that it leaves in.
    pub leaves_in: usize,
}

/// The result of admission.
pub(crate) enum Admission {
    /// Admitted.
    Admitted,
    /// Admitted, and its ingress must pause the peer.
    AdmittedPausing,
    /// Admitted: its buffer was counted as it arrived, and the egress may lack credits for it.
    Credited,
    /// Rejected.
    Dropped(DropCause),
    /// Undecided until lazy departures are flushed: flush the switch, then repeat.
    Inexact,
}

impl Buffers {
    /// The buffers of switches with these ports each.
    pub fn new(config: &NetworkConfig, ports: &[Port], switches: &[Vec<PortIx>], largest: u32) -> Self {
        let wanted = match config.buffer {
            BufferPolicy::PerPort { pfc, .. } | BufferPolicy::Pooled { pfc, .. } => pfc.headroom,
            BufferPolicy::Unlimited | BufferPolicy::Credits { .. } => None,
        };
        let pause = config.packet.pause as u64;
        let response = config.pauses.response;
        let needed = |p: &Port| pfc::headroom(p.rate, (p.delay, response), largest as u64, pause);
        let headroom = |p: &Port| wanted.unwrap_or_else(|| needed(p));
        let plan = Plan::new(&config.buffer, &config.buffer_by_rate, &config.classes, &config.packet);
        let mut pools = Vec::with_capacity(switches.len() * plan.pools.len());
        for of_switch in switches {
            let per_class: u64 = of_switch.iter().map(|p| headroom(&ports[p.ix()])).sum();
            for (bytes, lossless) in &plan.pools {
                let reserved = per_class * lossless.count_ones() as u64;
                let bytes = bytes.saturating_sub(reserved).min(i64::MAX as u64);
                pools.push(Pool { bytes, used: 0 });
            }
        }
        let classes = config.classes.len() + 1;
        let ingress = |p: &Port| Ingress {
            reserved: headroom(p),
            switch: p.home,
            row: plan.row(p.rate) as u8,
            ..Ingress::default()
        };
        Self {
            ingress: ports.iter().flat_map(|p| std::iter::repeat_n(ingress(p), classes)).collect(),
            leaving: vec![None; if config.release == Release::LastBit { ports.len() } else { 0 }],
            lossless: config.classes_with(|class| class.lossless),
            headers: config.trimming.map_or(u64::MAX, |trimming| trimming.headers),
            limits: if plan.by_rate.is_empty() { plan.limits.clone() } else { vec![Limit::Credits; classes] },
            plan,
            pools,
            classes,
            largest,
        }
    }

    /// Whether some class is lossless.
    #[inline(always)]
    pub fn any_lossless(&self) -> bool {
        self.lossless != 0
    }

    /// Prefetches what an ingress holds of a class, if there is such an ingress.
    #[inline(always)]
    pub fn prefetch(&self, ingress: PortIx, class: usize) {
        prefetch(&self.ingress, ingress.ix() * self.classes + class);
    }

    /// The bytes that an ingress holds of a class.
    #[inline(always)]
    pub fn ingress(&self, ingress: PortIx, class: usize) -> Option<&Ingress> {
        self.ingress.get(ingress.ix() * self.classes + class)
    }

    #[inline(always)]
    fn held(&mut self, ingress: PortIx, class: usize) -> &mut Ingress {
        &mut self.ingress[ingress.ix() * self.classes + class]
    }

    /// The limit of a class at a port.
    fn limit_at(&self, port: PortIx, class: usize) -> Limit {
        self.plan.limits_of(self.ingress[port.ix() * self.classes + class].row.into())[class]
    }

    /// Whether limits depend on the rate of a port.
    fn by_rate(&self) -> bool {
        !self.plan.by_rate.is_empty()
    }

    #[inline(always)]
    fn pool(&mut self, switch: u32, pool: usize) -> &mut Pool {
        &mut self.pools[switch as usize * self.plan.pools.len() + pool]
    }

    /// Decides the admission of a data packet and counts it if admitted. While departures are lazy the accounts may be
    /// too high, so where that could change the decision, the result is [`Admission::Inexact`] unless they are `exact`.
    #[inline(always)]
    pub fn admit(&mut self, egress: &Egress, request: &Request, exact: bool) -> Admission {
        self.admit_within(self.limits[request.class], egress, request, exact)
    }

    /// Where limits depend on the rate of a port; there are none of credits.
    #[inline(never)]
    fn admit_by_rate(&mut self, egress: &Egress, request: &Request, exact: bool) -> Admission {
        let Request { ingress, class, out, .. } = *request;
        let port = if self.lossless & 1 << class == 0 { out } else { ingress };
        self.admit_within(self.limit_at(port, class), egress, request, exact)
    }

    #[inline(always)]
    fn admit_within(&mut self, limit: Limit, egress: &Egress, request: &Request, exact: bool) -> Admission {
        let Request { switch, ingress, class, wire, out, leaves_in } = *request;
        if self.lossless & 1 << class == 0 {
            match limit {
                // Only control comes here, where packets are trimmed.
                Limit::None if class == 0 && egress.queue(out, 0).bytes + wire > self.headers => {
                    return Admission::Dropped(DropCause::Buffer);
                }
                Limit::Credits if self.by_rate() => return self.admit_by_rate(egress, request, exact),
                Limit::None | Limit::Credits => {}
                Limit::Port { bytes, classes } => {
                    if egress.queued_in(out, classes) + self.on_wire(out, classes) + wire > bytes {
                        return Admission::Dropped(DropCause::Buffer);
                    }
                }
                Limit::Pool { pool, alpha } => {
                    let queued = egress.queue(out, leaves_in).bytes + self.on_wire(out, 1 << leaves_in);
                    let pool = self.pool(switch, pool);
                    if !pool.admits(alpha, queued, wire) {
                        return if exact { Admission::Dropped(DropCause::Buffer) } else { Admission::Inexact };
                    }
                    pool.used += wire;
                }
            }
            return Admission::Admitted;
        }
        let reserved = self.held(ingress, class).reserved;
        let pauses_at = match limit {
            Limit::None => return Admission::Admitted,
            Limit::Credits if self.by_rate() => return self.admit_by_rate(egress, request, exact),
            Limit::Credits => return Admission::Credited,
            Limit::Port { bytes, .. } => bytes.saturating_sub(reserved),
            Limit::Pool { pool, alpha } => self.pool(switch, pool).pause_threshold(alpha),
        };
        // The headroom also covers the part of the packet crossing the threshold that lies above it.
        let allowance = reserved.saturating_sub(self.largest as u64 - 1);
        let held = self.held(ingress, class);
        if !exact && !held.paused && held.shared + wire >= pauses_at {
            return Admission::Inexact;
        }
        let shared_before = held.shared;
        let admission = held.admit(wire, pauses_at, allowance);
        let shared = held.shared - shared_before;
        if let Limit::Pool { pool, .. } = limit {
            self.pool(switch, pool).used += shared;
        }
        match admission {
            pfc::Admission::Admit => Admission::Admitted,
            pfc::Admission::AdmitAndPause => Admission::AdmittedPausing,
            pfc::Admission::Drop => Admission::Dropped(DropCause::Lossless),
        }
    }

    /// A packet has left: releases its buffer. Returns the ingress whose peer may resume, with its class. With credits
    /// it is that of every packet.
    #[inline(always)]
    pub fn release(&mut self, packet: &Queued) -> Option<(PortIx, usize)> {
        if packet.ingress() == u32::MAX || packet.class() == 0 {
            return None;
        }
        let (ingress, class, wire) = (PortIx(packet.ingress()), packet.ingress_class(), packet.wire() as u64);
        // The kind, and the pool, are the same at ports of all rates.
        let limit = self.plan.limits[class];
        if self.lossless & 1 << class == 0 {
            if let Limit::Pool { pool, .. } = limit {
                let switch = self.held(ingress, class).switch;
                self.pool(switch, pool).used -= wire;
            }
            return None;
        }
        match limit {
            Limit::None => return None,
            Limit::Credits => return Some((ingress, class)),
            Limit::Port { .. } | Limit::Pool { .. } => {}
        }
        let held = self.held(ingress, class);
        let shared = held.release(wire);
        let held = *held;
        if let Limit::Pool { pool, .. } = limit {
            self.pool(held.switch, pool).used -= shared;
        }
        if !held.paused {
            return None;
        }
        let threshold = match self.limit_at(ingress, class) {
            Limit::None | Limit::Credits => u64::MAX,
            Limit::Port { bytes, .. } => bytes.saturating_sub(held.reserved),
            Limit::Pool { pool, alpha } => self.pool(held.switch, pool).pause_threshold(alpha),
        };
        if !held.may_resume(threshold, self.plan.xon_offset) {
            return None;
        }
        self.held(ingress, class).paused = false;
        Some((ingress, class))
    }

    /// The classes that an ingress pauses now.
    pub fn pausing(&self, ingress: PortIx) -> u8 {
        let pauses = |class: &usize| self.ingress[ingress.ix() * self.classes + class].paused;
        (1..self.classes).filter(pauses).fold(0, |mask, class| mask | 1 << class)
    }

    /// A link went down: clears the pauses of its peer. Returns the number of classes that were paused.
    pub fn forget_pauses(&mut self, ingress: PortIx) -> u32 {
        let paused = self.pausing(ingress).count_ones();
        for class in 1..self.classes {
            self.held(ingress, class).paused = false;
        }
        paused
    }

    /// A packet whose last bit has not left keeps its buffer until then.
    pub fn hold_until_left(&mut self, out: PortIx, packet: Queued) {
        self.leaving[out.ix()] = Some(packet);
    }

    /// The bytes of the packet on a port's wire, if it holds a buffer and leaves in one of these classes.
    #[inline(always)]
    fn on_wire(&self, out: PortIx, classes: u8) -> u64 {
        let left = self.leaving.get(out.ix()).and_then(Option::as_ref);
        left.filter(|left| classes & 1 << left.class() != 0).map_or(0, |left| left.wire().into())
    }

    /// Whether the packet on a port's wire holds a buffer.
    pub fn holds_for(&self, out: PortIx) -> bool {
        self.leaving.get(out.ix()).is_some_and(Option::is_some)
    }

    /// The packet whose last bit has left now, and which held its buffer until then.
    pub fn take_left(&mut self, out: PortIx) -> Option<Queued> {
        self.leaving.get_mut(out.ix()).and_then(Option::take)
    }

    /// Most bytes of a class in an otherwise empty buffer: of one ingress if it is lossless, else in one queue.
    pub fn most_of(&self, ingress: PortIx, class: usize) -> u64 {
        let held = &self.ingress[ingress.ix() * self.classes + class];
        let lossless = self.lossless & 1 << class != 0;
        match self.limit_at(ingress, class) {
            Limit::None | Limit::Credits => u64::MAX,
            Limit::Port { bytes, .. } if lossless => bytes.saturating_sub(held.reserved),
            Limit::Port { bytes, .. } => bytes,
            // A queue alone settles at q = alpha (pool - q).
            Limit::Pool { pool, alpha } => {
                let pool = self.pools[held.switch as usize * self.plan.pools.len() + pool].bytes;
                (pool as f64 * alpha / (1.0 + alpha)) as u64
            }
        }
    }

    /// Packets whose last bit has not left, and which hold buffer until then.
    pub fn leaving(&self) -> impl Iterator<Item = Queued> + '_ {
        self.leaving.iter().flatten().copied()
    }

    /// The value of each account and its expected value: every pool, then every ingress and class. Walks over all
    /// queued packets.
    pub fn check(&self, egress: &Egress) -> Vec<BufferUse> {
        let each = self.plan.pools.len();
        let mut pools: Vec<BufferUse> =
            self.pools.iter().map(|pool| BufferUse { counted: pool.used, held: 0 }).collect();
        let accounts = self.ingress.iter();
        let mut ingresses: Vec<BufferUse> =
            accounts.map(|held| BufferUse { counted: held.shared + held.headroom, held: 0 }).collect();
        for (i, port) in egress.ports().iter().enumerate().filter(|(_, port)| !port.of_host()) {
            let out = PortIx(i as u32);
            let queued = (0..self.classes).flat_map(|class| egress.waiting(out, class));
            let queued = queued.chain(self.leaving.get(i).into_iter().flatten());
            // Those of shaped classes hold none.
            for packet in queued.filter(|packet| packet.ingress() != u32::MAX || packet.class() == 0) {
                let class = packet.ingress_class();
                let lossless = self.lossless & 1 << class != 0;
                match self.plan.limits[class] {
                    Limit::None | Limit::Credits => continue,
                    Limit::Pool { pool, .. } if !lossless => {
                        pools[port.home as usize * each + pool].held += packet.wire() as u64;
                    }
                    _ => {}
                }
                if lossless {
                    ingresses[packet.ingress() as usize * self.classes + class].held += packet.wire() as u64;
                }
            }
        }
        // The pool counts all bytes of an ingress except the headroom.
        for (i, held) in self.ingress.iter().enumerate() {
            let port = egress.port(PortIx((i / self.classes) as u32));
            if let Limit::Pool { pool, .. } = self.plan.limits[i % self.classes]
                && !port.of_host()
            {
                pools[port.home as usize * each + pool].held += ingresses[i].held.saturating_sub(held.headroom);
            }
        }
        pools.into_iter().chain(ingresses).collect()
    }
}
