//! The sender.

use super::world::*;

#[test]
fn the_sender_is_an_ordinary_tcp_or_none() {
    let loss = Loss::new(0, 10_000);
    for (sender, ecn, first, after) in [
        (SenderKind::Newreno, false, 10_000, 5000),
        // RFC 9438 section 4.6: 0.7.
        (SenderKind::Cubic, false, 10_000, 7000),
        (SenderKind::Dctcp, false, 10_000, 5000),
        (SenderKind::Dctcp, true, 10_000, 5000),
        (SenderKind::Advertised, false, u64::MAX, u64::MAX),
    ] {
        let params = with("rcc", |p| (p.sender, p.ecn) = (sender, false));
        assert_eq!(Rcc::wants_ecn(&params), sender == SenderKind::Dctcp);
        let mut pool = Pool::<Rcc>::new(params);
        let opened = pool.open(0, &path(10, 25_000), us(1));
        assert_eq!(opened.control.window, first, "{sender:?}");
        (1..=10).for_each(|n| {
            pool.on_send(opened.slot, us(1), &Sent::new(1040, 1000, n * 1000));
        });
        let control = if ecn {
            // Alpha starts at 1.
            let ack = Ack { newly_acked: 1000, acked_to: 1000, sent_to: 10_000, ecn_echo: true, ..Ack::default() };
            pool.on_ack(opened.slot, us(9), &ack)
        } else {
            pool.on_loss(opened.slot, us(9), &loss)
        };
        assert_eq!(control.window, after, "{sender:?}");
    }
}

#[test]
fn marks_are_echoed_for_dctcp_alone() {
    for (sender, echo) in [(SenderKind::Newreno, false), (SenderKind::Dctcp, true)] {
        let mut w = World::new(with("rcc-ecn", |p| p.sender = sender));
        let flow = w.open(None);
        w.poll();
        assert_eq!(w.arrive(flow, 0, true).now.unwrap().ecn_echo, echo);
        assert!(!w.arrive(flow, 1, false).now.unwrap().ecn_echo);
    }
}
