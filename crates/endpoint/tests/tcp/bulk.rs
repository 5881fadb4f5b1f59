//! A long flow under random loss loses and reorders nothing.

use crate::random::Dice;
use crate::wire::*;
use fanin_endpoint::tcp::{Config, State};
use std::cell::Cell;
use std::rc::Rc;

/// What a long flow of so many bytes took: segments dropped, and segments that were sent again.
fn flow(bytes: u64, sack: bool, window: Window) -> (u64, u64) {
    let config = Config { sack, receive_buffer: 4 << 20, ..config() };
    let mut wire = Wire::open(&config);
    wire.silent = true;
    wire.window[CLIENT] = window;
    let (dropped, again) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let counters = (dropped.clone(), again.clone());
    let mut dice = Dice(0x5eed);
    wire.script(move |sent| {
        counters.1.set(counters.1.get() + u64::from(sent.segment.retransmitted));
        if dice.percent(1) {
            counters.0.set(counters.0.get() + u64::from(sent.is_data()));
            return Fate::Drop;
        }
        Fate::Deliver
    });
    wire.write(CLIENT, bytes);
    wire.close(CLIENT);
    wire.close(SERVER);
    // At each arrival the wire checks that what is delivered begins where the last delivery ended.
    wire.run();
    assert_eq!(wire.delivered, [0, bytes]);
    assert_eq!(wire.states(), [State::Closed; 2]);
    (dropped.get(), again.get())
}

/// A gigabyte in the whole test run, 64 MB in a quick one.
fn size() -> u64 {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|v| v.parse::<u64>().ok()).unwrap_or(0);
    if cases >= 500 { 1_000_000_000 } else { 64_000_000 }
}

#[test]
fn a_long_flow_loses_and_reorders_nothing() {
    let (dropped, again) = flow(size(), true, Window::reno());
    assert!(dropped > size() / MSS / 200, "{dropped}");
    // SACK repairs what was lost, and little more.
    assert!(again < dropped + dropped / 5, "{again} sent again for {dropped} lost");
}

#[test]
fn nor_does_one_with_many_losses_in_each_window() {
    let (dropped, _) = flow(size() / 8, true, Window::Constant(500 * MSS));
    assert!(dropped > size() / 8 / MSS / 200);
}

#[test]
fn nor_does_one_without_sack() {
    let (dropped, _) = flow(size() / 8, false, Window::reno());
    assert!(dropped > size() / 8 / MSS / 200);
}
