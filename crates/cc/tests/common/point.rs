//! A reaction point on a virtual clock, for scripted CNPs and bytes.

use super::{path, us};
use fanin_cc::schemes::dcqcn::{self, Dcqcn};
use fanin_cc::schemes::dcqcn_vendor::{self, DcqcnVendor};
use fanin_cc::{Action, Actions, Control, Cx, Notice, Scheme, Sender, Sent};
use fanin_units::Time;

/// 10^9 bits per second.
pub const G: u64 = 1_000_000_000;

/// A reaction point with its clock. Timers that are due fire on the way to each event.
pub struct Point<F: Sender<Shared = ()>> {
    pub flow: F,
    pub params: F::Params,
    pub actions: Actions,
    pub now: Time,
}

pub type Paper = Point<dcqcn::Flow>;
pub type Vendor = Point<dcqcn_vendor::Flow>;

impl<F: Sender<Shared = ()>> Point<F> {
    pub fn new(params: F::Params, gbps: u64, network_bdp: u64) -> Self {
        let mut actions = Actions::default();
        let flow = F::open(&path(gbps, network_bdp), &mut Cx::new(Time::ZERO, &params, &mut (), &mut actions));
        Self { flow, params, actions, now: Time::ZERO }
    }

    pub fn hook(&mut self, hook: impl FnOnce(&mut F, &mut Cx<'_, F::Params>)) -> &mut Self {
        hook(&mut self.flow, &mut Cx::new(self.now, &self.params, &mut (), &mut self.actions));
        self
    }

    pub fn control(&mut self) -> Control {
        let mut control = None;
        self.hook(|flow, cx| control = Some(flow.control(cx)));
        control.unwrap()
    }

    /// Goes to `t`, firing the timers due by then.
    pub fn at(&mut self, t: Time) -> &mut Self {
        loop {
            let wake_at = self.control().wake_at;
            if wake_at > t {
                break;
            }
            self.now = wake_at;
            self.hook(|flow, cx| flow.on_timer(cx));
        }
        self.now = t;
        self
    }

    pub fn cnp(&mut self) -> &mut Self {
        self.hook(|flow, cx| flow.on_notice(Notice::Cnp, cx))
    }

    pub fn send(&mut self, wire: u32) -> &mut Self {
        let sent = Sent::new(wire, wire, 0);
        self.hook(|flow, cx| {
            flow.on_send(&sent, cx);
        })
    }

    pub fn send_bytes(&mut self, mut bytes: u64) -> &mut Self {
        while bytes > 0 {
            let wire = bytes.min(1000);
            self.send(wire as u32);
            bytes -= wire;
        }
        self
    }

    pub fn rate(&mut self) -> u64 {
        self.control().rate.as_bps()
    }

    pub fn count(&self, action: Action) -> u64 {
        self.actions.get(action)
    }

    /// Fast recovery, additive and hyper steps so far.
    pub fn steps(&self) -> (u64, u64, u64) {
        (self.count(Action::FastRecovery), self.count(Action::AdditiveIncrease), self.count(Action::HyperIncrease))
    }
}

pub fn paper(gbps: u64) -> Paper {
    Point::new(Dcqcn::preset("dcqcn"), gbps, 0)
}

pub fn paper_with(change: impl FnOnce(&mut dcqcn::Params)) -> Paper {
    let mut params = Dcqcn::preset("dcqcn");
    change(&mut params);
    Dcqcn::check(&params).unwrap();
    Point::new(params, 10, 0)
}

impl Paper {
    pub fn alpha(&self) -> f64 {
        self.flow.alpha(self.now, &self.params)
    }
    pub fn target(&self) -> u64 {
        self.flow.target().as_bps()
    }
    /// CNPs every 50 us with alpha at 1: the rate halves each time and the target is twice the rate.
    pub fn halved(&mut self, times: u64) -> &mut Self {
        for _ in 0..times {
            let next = self.now + us(50);
            self.at(next).cnp();
        }
        self
    }
}

impl Vendor {
    pub fn alpha(&self) -> f64 {
        self.flow.alpha(self.now, &self.params)
    }
}

pub fn vendor() -> Vendor {
    Point::new(DcqcnVendor::preset("dcqcn-vendor"), 100, 0)
}
