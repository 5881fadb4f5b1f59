//! One switch of Dart and the ports that it sees.

use fanin_cc::schemes::dart::deflect::Table;
use fanin_cc::schemes::dart::{Dart, Params};
use fanin_cc::*;
use fanin_units::{MessageId, NodeId, Rate, Time};

/// A port as these tests set it up: bytes ahead and pause by lane.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    pub to_switch: bool,
    pub up: bool,
    pub ahead: [u64; 2],
    pub paused: [bool; 2],
}

pub struct Board(pub Vec<Port>);

impl Board {
    /// Ports to hosts, then ports to switches, all idle.
    pub fn new(hosts: usize, switches: usize) -> Self {
        let port = |i| Port { to_switch: i >= hosts, up: true, ahead: [0; 2], paused: [false; 2] };
        Self((0..hosts + switches).map(port).collect())
    }
}

impl Ports for Board {
    fn count(&self) -> u16 {
        self.0.len() as u16
    }
    fn view(&self, port: u16) -> PortView {
        let p = self.0[port as usize];
        PortView {
            to_switch: p.to_switch,
            queued: p.ahead[0] + p.ahead[1],
            up: p.up,
            ..PortView::new(Rate::from_gbps(10))
        }
    }
    fn queued(&self, port: u16, _: &Header, lane: u8) -> u64 {
        self.0[port as usize].ahead[lane as usize]
    }
    fn paused(&self, port: u16, _: &Header, lane: u8) -> bool {
        self.0[port as usize].paused[lane as usize]
    }
}

/// One switch and its clock.
pub struct Switch {
    pub table: Table,
    pub params: Params,
    pub actions: Actions,
    pub now: Time,
}

pub fn preset() -> Params {
    Dart::preset("dart-iofd")
}

impl Switch {
    pub fn new(params: Params, seed: u64) -> Self {
        Dart::check(&params).expect("possible parameters");
        let table = Table::new(&params, &SwitchInfo { seed, ..SwitchInfo::new(NodeId(9), &[]) });
        Self { table, params, actions: Actions::default(), now: Time::ZERO }
    }

    pub fn cx<T>(&mut self, hook: impl FnOnce(&mut Table, &mut Cx<'_, Params>) -> T) -> T {
        let Self { table, params, actions, now } = self;
        hook(table, &mut Cx::new(*now, params, &mut (), actions))
    }

    pub fn route(&mut self, packet: &mut Header, ingress: u16, minimal: u16, board: &Board) -> u16 {
        self.cx(|table, cx| table.route(packet, ingress, minimal, board, cx))
    }

    pub fn count(&self, action: Action) -> u64 {
        self.actions.get(action)
    }

    pub fn timer(&mut self) {
        self.cx(|table, cx| table.on_timer(&Board::new(0, 0), cx));
    }

    pub fn watched(&self) -> Vec<(&'static str, f64)> {
        let mut seen = Vec::new();
        self.table.watch(&mut |name, value| seen.push((name, value)));
        seen
    }
}

/// Packet `n` of `of` of a short message that has just set out.
pub fn packet(flow: u32, n: u16, of: u16) -> Header {
    let mut flags = 0;
    if n == 0 {
        flags |= flags::START;
    }
    if n + 1 == of {
        flags |= flags::END;
    }
    Header {
        flow: MessageId(flow),
        seq: n as u64,
        wire: 1500,
        payload: 1460,
        flags,
        tokens: 4,
        lane: 1,
        ..Header::default()
    }
}

/// Ports 0 and 1 lead to hosts, 2 to 9 to switches. Packets come in at 2; their shortest path is the congested 3.
pub const INGRESS: u16 = 2;
pub const MINIMAL: u16 = 3;
pub fn hot() -> Board {
    let mut board = Board::new(2, 8);
    board.0[MINIMAL as usize].ahead[1] = 20_000;
    board
}
