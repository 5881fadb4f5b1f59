//! Links as pairs of virtual Ethernet interfaces. Each process of a run has a network namespace of its own, without a
//! name. The system removes it with the process, however that ends; a pair of interfaces goes with either of its ends.

use fanin_transport::os;
use std::io::Write;
use std::net::UdpSocket;
use std::process::{Command, Stdio};

/// The Ethernet type for experiments.
const ETHER_TYPE: u16 = 0x88B5;
const IPV4: u16 = 0x0800;
/// Longest frame behind its Ethernet header.
const MTU: u32 = 65_535;
/// Bytes that a socket asks to be able to hold.
const BUFFER: usize = 4 << 20;

/// The Ethernet header in front of each datagram: to all, from a local address.
pub(crate) const FRONT: [u8; 14] =
    [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0, 0, 1, (ETHER_TYPE >> 8) as u8, ETHER_TYPE as u8];

/// The names of a host's interface and of the one at its switch, in a run that this process started.
fn names(run: u64, host: usize) -> (String, String) {
    (format!("f{run}h{host}"), format!("f{run}s{host}"))
}

/// Has the program `ip` do these things, in the network of this thread.
fn ip(lines: &[String]) -> Result<(), String> {
    let mut command = Command::new("ip");
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("the program ip of iproute2 does not start: {error}"))?;
    let text = lines.join("\n") + "\n";
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes()).map_err(|error| format!("ip: {error}"))?;
    }
    let output = child.wait_with_output().map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Moves this thread into a network of its own.
pub(crate) fn enter() -> Result<(), String> {
    os::enter_own_network().map_err(|error| format!("a network namespace: {error}"))
}

/// At the switches: makes the pairs to these processes, one for each host, and the sockets on them.
pub(crate) fn make_pairs(run: u64, processes: &[u64]) -> Result<Vec<UdpSocket>, String> {
    pairs(run, processes, &format!("mtu {MTU}"), ETHER_TYPE)
}

/// The same for IPv4 of usual length: all interfaces have one address, and nobody asks for that of another.
pub(crate) fn make_pairs_for_ipv4(run: u64, processes: &[u64]) -> Result<Vec<UdpSocket>, String> {
    pairs(run, processes, "address 02:00:00:00:00:01 mtu 1500", IPV4)
}

fn pairs(run: u64, processes: &[u64], kind: &str, ether_type: u16) -> Result<Vec<UdpSocket>, String> {
    let mut lines = Vec::new();
    for (host, process) in processes.iter().enumerate() {
        let (there, here) = names(run, host);
        lines.push(format!("link add {here} {kind} type veth peer name {there} {kind} netns {process}"));
        lines.push(format!("link set {here} arp off up"));
    }
    ip(&lines)?;
    (0..processes.len()).map(|host| socket(&names(run, host).1, ether_type)).collect()
}

/// At a host: the socket on its interface.
pub(crate) fn attach(run: u64, host: usize) -> Result<UdpSocket, String> {
    let (here, _) = names(run, host);
    ip(&[format!("link set {here} up")])?;
    socket(&here, ETHER_TYPE)
}

fn socket(interface: &str, ether_type: u16) -> Result<UdpSocket, String> {
    let socket =
        os::frame_socket(interface, ether_type).map_err(|error| format!("a socket on {interface}: {error}"))?;
    // Where less is given, more is sent again.
    let _ = os::set_receive_buffer(&socket, BUFFER);
    Ok(socket)
}

/// Tries all that links of this kind need, in a network of a thread that then ends.
///
/// # Errors
/// What this machine or this user does not permit, and what would.
pub fn permitted() -> Result<(), String> {
    let attempt = std::thread::spawn(|| {
        enter()?;
        ip(&["link add try0 type veth peer name try1".into(), "link set try0 up".into()])?;
        os::frame_socket("try0", ETHER_TYPE).map(drop).map_err(|error| format!("a socket on an interface: {error}"))
    });
    let tried = attempt.join().unwrap_or_else(|_| Err("the attempt failed".to_string()));
    tried.map_err(|problem| {
        format!(
            "--link veth is not permitted here ({problem}): it needs the program ip and the privileges CAP_SYS_ADMIN, \
             CAP_NET_ADMIN and CAP_NET_RAW, which root has; --link udp needs none"
        )
    })
}
