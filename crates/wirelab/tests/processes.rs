//! Real processes that exchange frames over UDP, in virtual time: results are those of the simulator.

mod common;

use common::*;
use fanin_experiment::{Outcome, run};
use fanin_units::Time;
use fanin_wirelab::{Clock, Options, Processes, WireError, run_by_hand, run_with};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

fn on_wire(text: &str) -> Result<Outcome, WireError> {
    run_with(&spec(text), &Options::default(), &program(), &mut |_| true).map(|of| of.outcome)
}

fn same(text: &str) {
    equal(&on_wire(text).unwrap().run, &run(spec(text).build(), &mut |_| true).run);
}

#[test]
fn a_star_of_processes() {
    for scheme in ["dcqcn", "dart"] {
        same(&experiment(&(star(4) + PAUSES), scheme, &INCAST.replace('4', "3")));
    }
}

/// What is sampled meanwhile, of a host's port that is paused, of a switch's, and of all messages.
#[test]
fn samples_over_time() {
    let series = "series = [{ what = \"port\", where = [\"h1>sw0\", \"sw0>h0\"], every = \"7 us\" }, { what = \
                  \"traffic\", where = [\"t\"], every = \"11 us\" }]\n";
    let text = experiment(&(star(4) + PAUSES), "none", &INCAST.replace('4', "3")) + series;
    same(&text);
    let watch = on_wire(&text).unwrap().run.watch;
    for name in ["sent_bytes", "paused_us", "delivered_bytes", "open_messages"] {
        assert!(watch.iter().any(|seen| seen.name == name && seen.value > 0.0), "{name}");
    }
}

/// What is inside of hosts and switches is not.
#[test]
fn series_of_flows_are_refused() {
    let series = "series = [{ what = \"flow\", where = [\"t:0\"], every = \"7 us\" }]\n";
    let Err(WireError::Refused(reasons)) = on_wire(&(experiment(&star(5), "none", INCAST) + series)) else {
        panic!("it must be refused");
    };
    let [reason] = &reasons[..] else { panic!("{reasons:?}") };
    assert!(reason.contains(": measure.series: only queues, ports and traffics are sampled on the wire; "), "{reason}");
}

#[test]
fn a_leaf_spine_network_with_telemetry() {
    same(&experiment(LEAF_SPINE, "hpcc", POISSON));
}

#[test]
fn what_cannot_run_is_said_before_anything_starts() {
    let Err(WireError::Refused(reasons)) =
        on_wire(&experiment(&star(70), "dctcp", &format!("transport = \"tcp\"\n{INCAST}")))
    else {
        panic!("it must be refused");
    };
    let [tcp, hosts] = &reasons[..] else { panic!("{reasons:?}") };
    let said = ": traffic[0].scheme: traffic \"t\" is over TCP; only RDMA runs on the wire; use a scheme over RDMA, or";
    assert!(tcp.contains(said), "{tcp}");
    let said = ": network.topology: 70 hosts would be 70 processes; at most 64 hosts run on the wire; use fewer hosts";
    assert!(hosts.contains(said), "{hosts}");
}

#[test]
fn sprayed_and_trimmed_packets_are_refused_with_their_keys_and_lines() {
    let keys = "balancing = \"reps\"\ntrimming = {}\nbuffer = { policy = \"lossy\", per_port = \"100 KB\" }\n";
    let text = experiment(&format!("{LEAF_SPINE}{keys}"), "dctcp-rate", POISSON);
    let Err(WireError::Refused(reasons)) = on_wire(&text) else { panic!("it must be refused") };
    let [trimming, balancing] = &reasons[..] else { panic!("{reasons:?}") };
    let line = |key: &str| text.lines().position(|line| line.starts_with(key)).unwrap() + 1;
    let said = format!(":{}: network.trimming: packets that are trimmed have no frame", line("trimming"));
    assert!(trimming.contains(&said) && trimming.contains("; leave it out, or run it in the simulator"), "{trimming}");
    let said = format!(":{}: network.balancing: paths that senders choose have no field", line("balancing"));
    assert!(balancing.contains(&said) && balancing.contains("; set it to a policy of switches"), "{balancing}");
}

#[test]
fn slow_links_are_slow_on_the_wire() {
    let network = format!("{LEAF_SPINE}links = [{{ at = \"spine0\", speed = 0.2 }}]\n");
    same(&experiment(&network, "dctcp-rate", POISSON));
}

/// Processes that run an incast which does not end, in a thread, and the number of each in the system.
fn endless(clock: Clock, patience: Duration) -> (Vec<u32>, JoinHandle<Result<(), String>>) {
    let options = Options { clock, impatient: false, ..Options::default() };
    let processes = Processes::start(&spec(&endless_incast()).to_toml(), 3, &options, 7, &program()).unwrap();
    (processes.ids(), in_thread(processes, patience))
}

fn endless_incast() -> String {
    experiment(&star(3), "dcqcn", "pattern = { kind = \"incast\", degree = 2 }\nsize = \"endless\"\n")
}

/// For so long a part may be silent. Parts say something each quarter of a second; they may be held up by all else that
/// a busy machine does.
const PATIENCE: Duration = Duration::from_millis(3000);

fn in_thread(mut processes: Processes, patience: Duration) -> JoinHandle<Result<(), String>> {
    processes.set_patience(patience);
    std::thread::spawn(move || processes.run_until(Time::from_s(1000)))
}

fn signal(process: u32, name: &str) {
    assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
}

/// Whether none of these processes is there any more.
fn gone(processes: &[u32]) -> bool {
    processes.iter().all(|process| !Path::new(&format!("/proc/{process}")).exists())
}

#[test]
fn a_process_that_dies_ends_the_run_at_once_and_nothing_is_left() {
    let (processes, run) = endless(Clock::Lockstep, Duration::from_secs(300));
    std::thread::sleep(Duration::from_millis(200));
    let began = Instant::now();
    signal(processes[2], "-KILL");
    let said = run.join().unwrap().unwrap_err();
    assert_eq!(said, "host 1 ended before the run did: signal: 9 (SIGKILL)");
    // Long before anyone gives up waiting for it.
    assert!(began.elapsed() < Duration::from_secs(100) && gone(&processes));
}

#[test]
fn a_process_that_hangs_ends_the_run_and_nothing_is_left() {
    let real = Clock::Slowed(1000);
    let cases = [
        (0, "the switches", Clock::Lockstep),
        (3, "host 2", Clock::Lockstep),
        (0, "the switches", real),
        (2, "host 1", real),
    ];
    // All at once, since each of them waits for most of its time.
    std::thread::scope(|scope| {
        for (number, name, clock) in cases {
            scope.spawn(move || {
                let (processes, run) = endless(clock, PATIENCE);
                std::thread::sleep(Duration::from_millis(200));
                signal(processes[number], "-STOP");
                let said = run.join().unwrap().unwrap_err();
                assert_eq!(said, format!("{name} has said nothing for 3 s"));
                assert!(gone(&processes));
            });
        }
    });
}

/// Not a test of its own: a host that was started by hand, in a process of the test below.
#[test]
fn a_host_by_hand() {
    if let Ok(arguments) = std::env::var("FANIN_TEST_HOST") {
        let (port, number) = arguments.split_once(' ').unwrap();
        let switches = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port.parse().unwrap());
        fanin_wirelab::join(switches, 7, number.parse().unwrap()).unwrap();
    }
}

/// Three hosts that were started by hand, and where they connect.
fn hosts_by_hand() -> (TcpListener, Vec<Child>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let start = |number| {
        let mut host = Command::new(std::env::current_exe().unwrap());
        host.args(["--exact", "a_host_by_hand"]).env("FANIN_TEST_HOST", format!("{port} {number}"));
        host.stdout(Stdio::null()).spawn().unwrap()
    };
    (listener, (0..3).map(start).collect())
}

#[test]
fn hosts_by_hand_have_the_results_of_the_simulator() {
    let text = experiment(&star(3), "dart", &INCAST.replace('4', "2"));
    let (listener, hosts) = hosts_by_hand();
    let found = run_by_hand(&spec(&text), &listener, 7, &program(), &mut |_| true).unwrap();
    equal(&found.outcome.run, &run(spec(&text).build(), &mut |_| true).run);
    for mut host in hosts {
        assert!(host.wait().unwrap().success());
    }
}

/// Processes with hosts that were started by hand, and these.
fn endless_by_hand() -> (Vec<Child>, JoinHandle<Result<(), String>>) {
    let (listener, hosts) = hosts_by_hand();
    let began = Instant::now();
    let mut waiting = |_: usize| began.elapsed() < Duration::from_secs(60);
    let text = spec(&endless_incast()).to_toml();
    let processes = Processes::by_hand(&text, 3, &listener, 7, &program(), &mut waiting).unwrap().unwrap();
    assert_eq!(processes.ids().len(), 1);
    (hosts, in_thread(processes, PATIENCE))
}

#[test]
fn a_host_by_hand_that_hangs_or_dies_ends_the_run_and_all_other_parts() {
    for (name, expected) in [("-STOP", "host 1 has said nothing for 3 s"), ("-KILL", "host 1 ended before the run did")]
    {
        let (mut hosts, run) = endless_by_hand();
        // Longer than any host may be silent: they say that they are there.
        std::thread::sleep(PATIENCE + Duration::from_millis(500));
        assert!(!run.is_finished());
        signal(hosts[1].id(), name);
        assert_eq!(run.join().unwrap().unwrap_err(), expected);
        hosts[1].kill().unwrap();
        for mut host in hosts {
            host.wait().unwrap();
        }
    }
}

#[test]
fn a_program_that_is_no_part_of_a_run_is_an_error() {
    let spec = spec(&experiment(&star(3), "dcqcn", POISSON));
    let found = run_with(&spec, &Options::default(), &["/bin/true".into()], &mut |_| true).map(|of| of.outcome);
    assert!(matches!(found, Err(WireError::Failed(_))), "{found:?}");
}
