//! Opening and closing (RFC 9293 sections 3.5 and 3.6), and what the SYNs agree on.

use crate::wire::*;
use fanin_endpoint::tcp::{Config, Connection, Segment, State, bits};
use fanin_units::Time;

fn flags(wire: &Wire, from: usize) -> Vec<u8> {
    wire.trace.iter().filter(|s| s.from == from).map(|s| s.segment.flags).collect()
}

#[test]
fn three_segments_open_it_and_data_waits_for_them() {
    let mut wire = Wire::new(&config());
    wire.write(CLIENT, 500);
    wire.write(SERVER, 700);
    assert_eq!(wire.trace.len(), 1, "nothing but the SYN leaves before the handshake is done");
    wire.run();
    let shape: Vec<_> = wire
        .trace
        .iter()
        .map(|s| (s.at.as_ps() / Time::from_ms(5).as_ps(), s.from, s.segment.seq, s.segment.len))
        .collect();
    assert_eq!(shape[..5], [(0, 0, 0, 0), (1, 1, 0, 0), (2, 0, 1, 0), (2, 0, 1, 500), (3, 1, 1, 700)]);
    assert_eq!(wire.delivered, [700, 500]);
    assert!(wire.outcomes[CLIENT][0].2.opened && wire.outcomes[CLIENT][0].2.must_ack);
    assert!(wire.outcomes[SERVER][1].2.opened);
    assert!(wire.acked[SERVER].iter().all(|(_, a)| a.newly_acked > 0), "the ACK of a SYN is not news of the stream");
}

#[test]
fn the_first_data_may_be_the_ack_that_opens() {
    // The client's pure ACK is lost; the data behind it does its work.
    let mut wire = Wire::new(&config());
    wire.lose(|s| s.from == CLIENT && s.is_pure_ack() && s.at == Time::from_ms(10));
    wire.write(CLIENT, 500);
    wire.run_until(Time::from_ms(15));
    assert_eq!(wire.states(), [State::Established; 2]);
    let last = wire.outcomes[SERVER].last().unwrap().2;
    assert!(last.opened && last.arrived.unwrap().delivered == 500);
}

#[test]
fn a_lost_syn_goes_out_again_after_the_initial_timeout_and_the_next_after_twice_that() {
    // RFC 6298 section 2.1 and rule 5.5.
    let mut wire = Wire::new(&config());
    wire.lose(|s| s.from == CLIENT && s.has(bits::SYN) && s.nth < 2);
    wire.write(CLIENT, 100);
    wire.run();
    let syns: Vec<Time> = wire.trace.iter().filter(|s| s.from == CLIENT && s.has(bits::SYN)).map(|s| s.at).collect();
    assert_eq!(syns, [Time::ZERO, Time::from_s(1), Time::from_s(3)]);
    assert!(wire.expired[CLIENT][..2].iter().all(|(_, e)| e.control_timeout && e.timeout.is_none()));
    wire.assert_arrived(100);
}

#[test]
fn after_a_syn_was_lost_data_begins_with_three_times_the_initial_timeout() {
    // RFC 6298 rule 5.7, and no sample of the SYN that was sent twice.
    let mut wire = Wire::new(&config());
    wire.lose(|s| s.has(bits::SYN) && s.from == CLIENT && s.nth == 0);
    wire.run();
    assert_eq!(wire.ends[CLIENT].rto(), Time::from_s(3));
    assert_eq!(wire.ends[SERVER].rto(), Time::from_ms(200), "its SYN left once: 10 ms are a sample, 200 ms the least");
}

#[test]
fn a_lost_syn_ack_is_sent_again_when_the_syn_is_repeated() {
    // The server's own timer is far away.
    let mut wire = Wire::between(&config(), &Config { initial_rto: Time::from_s(50), ..config() });
    wire.lose(|s| s.from == SERVER && s.has(bits::SYN) && s.nth == 0);
    wire.write(CLIENT, 100);
    wire.run_until(Time::from_ms(1020));
    let answers = wire.trace.iter().filter(|s| s.from == SERVER && s.has(bits::SYN | bits::ACK));
    assert_eq!(answers.count(), 2);
    assert_eq!(wire.states(), [State::Established; 2]);
    wire.run();
    wire.assert_arrived(100);
}

#[test]
fn a_lost_ack_of_the_handshake_is_asked_for_by_the_server() {
    // The client has nothing to send, so only the server's timer finds out.
    let mut wire = Wire::new(&config());
    wire.lose(|s| s.from == CLIENT && s.is_pure_ack() && s.at < Time::from_ms(100));
    wire.run_until(Time::from_ms(500));
    assert_eq!(wire.states(), [State::Established, State::SynReceived]);
    wire.run();
    assert_eq!(wire.states(), [State::Established; 2]);
    assert_eq!(wire.trace.iter().filter(|s| s.from == SERVER && s.has(bits::SYN)).count(), 2);
    assert_eq!(wire.acks(CLIENT).len(), 2);
}

#[test]
fn ecn_needs_both() {
    // RFC 3168 section 6.1.1: ECE and CWR offer, ECE alone agrees.
    for (client, server) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut wire = Wire::between(&Config { ecn: client, ..config() }, &Config { ecn: server, ..config() });
        wire.run();
        assert_eq!([wire.ends[0].ecn(), wire.ends[1].ecn()], [client && server; 2]);
        let offer = if client { bits::ECE | bits::CWR } else { 0 };
        let answer = if client && server { bits::ECE } else { 0 };
        assert_eq!(flags(&wire, CLIENT)[0], bits::SYN | offer);
        assert_eq!(flags(&wire, SERVER)[0], bits::SYN | bits::ACK | answer);
    }
}

#[test]
fn an_echo_counts_only_where_ecn_is_agreed() {
    for agreed in [true, false] {
        let mut wire = Wire::open(&Config { ecn: agreed, ..config() });
        wire.write(CLIENT, 2 * MSS);
        wire.run();
        wire.forget();
        // An ACK that says nothing new but carries the echo.
        let mut ack = wire.ends[SERVER].ack(wire.now, fanin_endpoint::tcp::Covers::All);
        ack.flags |= bits::ECE;
        wire.inject(SERVER, ack);
        wire.run();
        let echoes: Vec<_> = wire.acked[CLIENT].iter().map(|(_, a)| (a.newly_acked, a.ecn_echo)).collect();
        assert_eq!(echoes, if agreed { vec![(0, true)] } else { vec![] });
    }
}

#[test]
fn sack_and_scaling_need_both() {
    for (client, server) in [(true, true), (true, false), (false, true)] {
        let with = |offer| Config { sack: offer, window_scaling: offer, ..config() };
        let mut wire = Wire::between(&with(client), &with(server));
        wire.run();
        for end in &wire.ends {
            assert_eq!((end.sack(), end.window_scale()), (client && server, if client && server { 5 } else { 0 }));
        }
        let answer = wire.trace[1].segment;
        assert!(answer.has(bits::SYN) && answer.sack_permitted == (client && server));
        assert_eq!(answer.scale.is_some(), client && server);
    }
}

#[test]
fn the_fin_rides_on_the_last_data_and_the_first_to_close_waits() {
    let mut wire = Wire::open(&config());
    wire.ends[CLIENT].write(1500);
    wire.close(CLIENT);
    let sent: Vec<_> = wire.trace.iter().map(|s| (s.offset(), s.segment.len, s.has(bits::FIN))).collect();
    assert_eq!(sent, [(0, 1000, false), (1000, 500, true)]);
    assert_eq!(wire.states()[CLIENT], State::FinWait1);
    let start = wire.now;
    wire.run_until(start + Time::from_ms(10));
    assert_eq!(wire.states(), [State::FinWait2, State::CloseWait]);
    assert!(wire.outcomes[SERVER].last().unwrap().2.peer_closed);
    // The other direction is still open.
    wire.write(SERVER, 300);
    wire.close(SERVER);
    assert_eq!(wire.states()[SERVER], State::LastAck);
    wire.run_until(wire.now + Time::from_ms(10));
    assert_eq!(wire.states(), [State::TimeWait, State::Closed]);
    assert_eq!(wire.delivered, [300, 1500]);
    let rto = wire.ends[CLIENT].rto();
    let closes_at = wire.ends[CLIENT].deadline();
    assert_eq!(closes_at, start + Time::from_ms(15) + rto + rto, "it waits two timeouts from the FIN on");
    wire.run();
    assert_eq!(wire.states(), [State::Closed; 2]);
    assert_eq!([wire.ends[0].deadline(), wire.ends[1].deadline()], [Time::NEVER; 2]);
}

#[test]
fn a_lost_fin_is_sent_again_by_the_timer() {
    let mut wire = Wire::open(&config());
    wire.lose(|s| s.from == CLIENT && s.has(bits::FIN) && s.nth == 0);
    wire.close(CLIENT);
    wire.run();
    let fins = wire.trace.iter().filter(|s| s.from == CLIENT && s.has(bits::FIN)).count();
    assert_eq!((fins, wire.states()[SERVER]), (2, State::CloseWait));
    assert!(wire.expired[CLIENT][0].1.control_timeout);
}

#[test]
fn a_fin_whose_ack_was_lost_is_acknowledged_again() {
    let mut wire = Wire::open(&config());
    let start = wire.now;
    wire.lose(move |s| s.from == SERVER && s.at == start + Time::from_ms(5));
    wire.close(CLIENT);
    wire.run_until(start + Time::from_ms(220));
    assert_eq!(wire.states(), [State::FinWait2, State::CloseWait]);
    assert_eq!(wire.acks(SERVER).len(), 2);
}

#[test]
fn the_last_ack_lost_is_repeated_out_of_time_wait() {
    let mut wire = Wire::open(&config());
    wire.close(CLIENT);
    wire.run_until(wire.now + Time::from_ms(10));
    wire.forget();
    let lost_at = wire.now + Time::from_ms(5);
    wire.lose(move |s| s.from == CLIENT && s.at == lost_at);
    wire.close(SERVER);
    wire.run_until(lost_at + Time::from_ms(100));
    assert_eq!(wire.states(), [State::TimeWait, State::LastAck]);
    let quiet_before = wire.ends[CLIENT].deadline();
    wire.run_until(lost_at + Time::from_ms(210));
    assert_eq!(wire.states(), [State::TimeWait, State::Closed]);
    assert!(wire.ends[CLIENT].deadline() > quiet_before, "the repeated FIN starts the wait anew");
    assert_eq!(wire.acks(CLIENT).len(), 2);
    wire.run();
    assert_eq!(wire.states(), [State::Closed; 2]);
}

#[test]
fn both_close_at_once() {
    // RFC 9293 figure 13.
    let mut wire = Wire::open(&config());
    wire.ends[CLIENT].close();
    wire.ends[SERVER].close();
    wire.pump(CLIENT);
    wire.pump(SERVER);
    assert_eq!(wire.states(), [State::FinWait1; 2]);
    wire.run_until(wire.now + Time::from_ms(5));
    assert_eq!(wire.states(), [State::Closing; 2]);
    wire.run_until(wire.now + Time::from_ms(5));
    assert_eq!(wire.states(), [State::TimeWait; 2]);
    wire.run();
    assert_eq!(wire.states(), [State::Closed; 2]);
}

#[test]
fn a_reset_ends_it_at_once() {
    let mut wire = Wire::open(&config());
    wire.write(CLIENT, 100 * MSS);
    wire.inject(SERVER, Segment { seq: 1, flags: bits::RST, ..Segment::default() });
    wire.run();
    assert_eq!(wire.states()[CLIENT], State::Closed);
    // The caller's RST answers the server's next ACK, and the server goes too.
    assert_eq!(wire.states()[SERVER], State::Closed);
}

/// Both ends send a SYN at time zero.
fn both_connect(config: &Config) -> Wire {
    let mut wire = Wire::new(config);
    wire.ends[SERVER] = Connection::connect(config);
    wire
}

#[test]
fn two_syns_that_cross_open_one_connection() {
    // RFC 9293 section 3.5, figure 8.
    let mut wire = both_connect(&config());
    wire.write(CLIENT, 500);
    wire.write(SERVER, 700);
    wire.run_until(ms(5));
    assert_eq!(wire.states(), [State::SynReceived; 2]);
    wire.run_until(ms(10));
    assert_eq!(wire.states(), [State::Established; 2]);
    for end in 0..2 {
        let syns: Vec<_> = wire.trace.iter().filter(|s| s.from == end && s.has(bits::SYN)).map(|s| s.at).collect();
        assert_eq!(syns, [ms(0), ms(5)], "a SYN, and a SYN-ACK");
        assert!(wire.ends[end].ecn() && wire.ends[end].sack() && wire.ends[end].window_scale() > 0);
    }
    wire.run();
    assert_eq!(wire.delivered, [700, 500]);
    assert!(wire.trace.iter().all(|s| !s.has(bits::RST) && s.at < ms(100)), "no timer was needed");
    wire.close(CLIENT);
    wire.close(SERVER);
    wire.run();
    assert_eq!(wire.states(), [State::Closed; 2]);
}

#[test]
fn a_simultaneous_open_outlives_the_loss_of_any_of_its_segments() {
    for lost in 0..4 {
        let mut wire = both_connect(&config());
        let mut count = 0;
        wire.lose(move |_| {
            count += 1;
            count == lost + 1
        });
        wire.write(CLIENT, 500);
        wire.write(SERVER, 700);
        wire.run();
        assert_eq!((wire.delivered, wire.states()), ([700, 500], [State::Established; 2]), "segment {lost}");
    }
}
