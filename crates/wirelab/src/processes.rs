//! All processes of a run, and what they report.

use crate::by_hand;
use crate::member::{ALIVE_EVERY, Init, answer, command, read, write};
use crate::options::{Link, Options};
use crate::pace::Timing;
use crate::report::{Report, Reports};
use crate::words::{Reader, Wire, Words};
use fanin_transport::os;
use fanin_units::Time;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Which process says something, and what; `None` where it has ended.
type Said = (usize, Option<(u8, Vec<u8>)>);

/// Real time from when all are told to run until the clock starts.
const LEAD: Duration = Duration::from_millis(20);

/// The processes of a run: the switches, then the hosts. They end with this value.
pub struct Processes {
    children: Vec<Child>,
    /// Connections to hosts that were started by hand.
    streams: Vec<TcpStream>,
    commands: Vec<Box<dyn Write + Send>>,
    /// The part that was so late that it ended the run.
    pub(crate) late: Option<(usize, Timing)>,
    say: Sender<Said>,
    answers: Receiver<Said>,
    patience: Duration,
}

/// A process that runs says every 0.25 s how far it is.
const PATIENCE: Duration = Duration::from_secs(10);
/// A process that begins builds its network, and one that reports all counts and writes: it is silent meanwhile.
const LONGER: u32 = 6;

impl Drop for Processes {
    fn drop(&mut self) {
        self.commands.clear();
        for stream in &self.streams {
            // The host at its other end may have gone.
            let _ = stream.shutdown(Shutdown::Both);
        }
        for child in &mut self.children {
            // One that has ended already is no error.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn names(number: usize) -> String {
    if number == 0 { "the switches".to_string() } else { format!("host {}", number - 1) }
}

impl Processes {
    /// The processes that it has started, by their numbers in the system: not those that were started by hand.
    pub fn ids(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }

    /// How long a process may be silent, or all of them not get further, until the run has failed: 10 s by default. The
    /// time that this process or the machine is suspended does not count.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Starts the processes of an experiment with so many hosts. `program` with its arguments is a process that calls
    /// [`crate::member::serve`] with its standard input and output.
    ///
    /// # Errors
    /// Where a process cannot be started, or refuses the experiment.
    pub fn start(spec: &str, hosts: u32, options: &Options, token: u64, program: &[OsString]) -> Result<Self, String> {
        let mut all = Self::none();
        for _ in 0..=hosts {
            all.spawn(program)?;
        }
        let here = vec![Ipv4Addr::LOCALHOST; hosts as usize];
        all.set_up(spec, options, token, &here, &here)?;
        Ok(all)
    }

    /// The same with hosts that connect to this process, in virtual time. `waiting` is called often with how many there
    /// are, and ends the wait by returning false; there is nothing then.
    ///
    /// # Errors
    /// As for [`Processes::start`].
    pub fn by_hand(
        spec: &str,
        hosts: u32,
        listener: &TcpListener,
        token: u64,
        program: &[OsString],
        waiting: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Option<Self>, String> {
        let failed = |error: io::Error| format!("hosts cannot connect: {error}");
        let Some(streams) = by_hand::gather(listener, token, hosts, waiting).map_err(failed)? else { return Ok(None) };
        let mut all = Self::none();
        all.spawn(program)?;
        let (mut of_hosts, mut of_switches) = (Vec::new(), Vec::new());
        for stream in streams {
            let (peer, own) = (stream.peer_addr().map_err(failed)?, stream.local_addr().map_err(failed)?);
            let (IpAddr::V4(peer), IpAddr::V4(own)) = (peer.ip(), own.ip()) else {
                return Err("addresses of hosts are IPv4".to_string());
            };
            of_hosts.push(peer);
            of_switches.push(own);
            all.add(stream.try_clone().map_err(failed)?, stream.try_clone().map_err(failed)?);
            all.streams.push(stream);
        }
        all.set_up(spec, &Options::default(), token, &of_hosts, &of_switches)?;
        Ok(Some(all))
    }

    fn none() -> Self {
        let (say, answers) = channel();
        Self {
            children: Vec::new(),
            streams: Vec::new(),
            commands: Vec::new(),
            late: None,
            say,
            answers,
            patience: PATIENCE,
        }
    }

    /// Starts the next process.
    fn spawn(&mut self, program: &[OsString]) -> Result<(), String> {
        let [program, arguments @ ..] = program else { return Err("no program to start".to_string()) };
        let mut start = Command::new(program);
        start.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C is for the process that started it: it stops the run, and asks for the results so far.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut start, 0);
        let mut child = start.spawn().map_err(|error| format!("cannot start {program:?}: {error}"))?;
        let (commands, output) = (child.stdin.take(), child.stdout.take());
        self.children.push(child);
        let (Some(commands), Some(output)) = (commands, output) else {
            return Err("a process without pipes".to_string());
        };
        self.add(commands, output);
        Ok(())
    }

    /// The next process is at the other end of these.
    fn add(&mut self, commands: impl Write + Send + 'static, output: impl Read + Send + 'static) {
        listen(self.commands.len(), output, self.say.clone());
        self.commands.push(Box::new(commands));
    }

    /// Tells all what they are, and where their neighbours are: the addresses of hosts, and that of the switches as
    /// each host sees it.
    fn set_up(
        &mut self,
        spec: &str,
        options: &Options,
        token: u64,
        of_hosts: &[Ipv4Addr],
        of_switches: &[Ipv4Addr],
    ) -> Result<(), String> {
        let veth = options.link == Link::Veth;
        let local = of_hosts.iter().all(|address| address.is_loopback());
        let anywhere = if local { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
        for number in 0..self.commands.len() {
            let mut words = Words::default();
            let init = Init {
                number: number as u32,
                token,
                run: std::process::id().into(),
                address: number.checked_sub(1).map_or(anywhere, |host| of_hosts[host]),
                veth,
                slowdown: options.clock.slowdown(),
                stall: options.stall,
                impatient: options.impatient,
            };
            init.write(&mut words);
            let mut bytes = words.bytes().to_vec();
            bytes.extend(spec.as_bytes());
            self.tell(number, command::INIT, &bytes)?;
        }
        let ports = self.gather(answer::PORTS, LONGER)?;
        let ports: Option<Vec<Vec<u64>>> = ports.iter().map(|bytes| Reader(bytes).list()).collect();
        let ports = ports.filter(|all| all.iter().all(|of| !of.is_empty())).ok_or("an answer that is cut")?;
        // Processes have no address but their numbers where links are pairs of interfaces.
        let place = |address: Ipv4Addr, number: u64| {
            if veth { number } else { u64::from(address.to_bits()) << 16 | number & 0xFFFF }
        };
        let mut words = Words::default();
        words.list(&ports[1..].iter().zip(of_hosts).map(|(of, address)| place(*address, of[0])).collect::<Vec<_>>());
        self.tell(0, command::PEERS, words.bytes())?;
        // The switches make the interfaces of hosts.
        self.gather_from(0..1, answer::DONE, LONGER)?;
        for (host, address) in of_switches.iter().enumerate() {
            let mut words = Words::default();
            words.list(&[place(*address, ports[0].get(host).copied().unwrap_or(0))]);
            self.tell(1 + host, command::PEERS, words.bytes())?;
        }
        self.gather_from(1..self.commands.len(), answer::DONE, LONGER).map(drop)
    }

    fn tell(&mut self, number: usize, kind: u8, bytes: &[u8]) -> Result<(), String> {
        // Its pipe tells that it has ended sooner than its answers do, where it ends between two commands.
        write(&mut self.commands[number], kind, bytes).map_err(|_| self.ended(number))
    }

    /// The error where a process has ended.
    fn ended(&mut self, number: usize) -> String {
        format!("{} ended before the run did{}", names(number), self.how(number))
    }

    /// Tells all the same, and waits until all have done it.
    fn command(&mut self, kind: u8, words: &[u64], expected: u8, longer: u32) -> Result<Vec<Vec<u8>>, String> {
        let mut message = Words::default();
        message.all(words.iter().copied());
        for number in 0..self.commands.len() {
            self.tell(number, kind, message.bytes())?;
        }
        self.gather(expected, longer)
    }

    /// The answers of all processes; `longer` is how many times the usual time they may take.
    fn gather(&mut self, expected: u8, longer: u32) -> Result<Vec<Vec<u8>>, String> {
        self.gather_from(0..self.commands.len(), expected, longer)
    }

    /// The answers of some.
    fn gather_from(&mut self, from: Range<usize>, expected: u8, longer: u32) -> Result<Vec<Vec<u8>>, String> {
        let mut answers: Vec<Option<Vec<u8>>> = vec![None; self.commands.len()];
        let mut watch = Watch::new(from.clone(), self.patience * longer);
        while answers[from.clone()].iter().any(Option::is_none) {
            let (number, said) = match self.answers.recv_timeout(ALIVE_EVERY) {
                Ok(said) => said,
                Err(RecvTimeoutError::Timeout) => {
                    watch.tick(&answers)?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Err("all processes have ended".to_string()),
            };
            watch.heard(number);
            match said {
                Some((kind, bytes)) if kind == expected => {
                    answers[number] = Some(bytes);
                    watch.further();
                }
                Some((answer::ALIVE, bytes)) => {
                    watch.reached(number, Reader(&bytes).word().map_or(Time::ZERO, Time::from_ps));
                    watch.tick(&answers)?;
                }
                Some((answer::ERROR, problem)) => {
                    return Err(format!("{}: {}", names(number), String::from_utf8_lossy(&problem)));
                }
                Some((answer::LATE, timing)) => {
                    self.late = Timing::read(&mut Reader(&timing)).map(|timing| (number, timing));
                    return Err(format!("{} was too late", names(number)));
                }
                Some(_) => return Err(format!("{}: an answer of an unexpected kind", names(number))),
                None => return Err(self.ended(number)),
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// How a process has ended, as far as it is known soon.
    fn how(&mut self, number: usize) -> String {
        // A host that was started by hand is no child.
        let Some(child) = self.children.get_mut(number) else { return String::new() };
        for _ in 0..20 {
            if let Ok(Some(status)) = child.try_wait() {
                return format!(": {status}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        String::new()
    }

    /// Lets all run to a time.
    ///
    /// # Errors
    /// Where a process has ended.
    pub fn run_until(&mut self, until: Time) -> Result<(), String> {
        let begins = (os::monotonic() + LEAD).as_nanos() as u64;
        self.command(command::RUN, &[until.as_ps(), begins], answer::DONE, 1).map(drop)
    }

    /// Captures what the experiment says from now on, to a file that is there.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin_capture(&mut self, to: &Path) -> Result<(), String> {
        self.tell(0, command::CAPTURE, to.as_os_str().as_bytes())?;
        self.gather_from(0..1, answer::DONE, LONGER).map(drop)
    }

    /// Ends the capture: a warning, if packets were left out, or why there is no whole file.
    ///
    /// # Errors
    /// Where a process has ended.
    pub fn end_capture(&mut self) -> Result<Result<Option<String>, String>, String> {
        self.tell(0, command::END_CAPTURE, &[])?;
        let answers = self.gather_from(0..1, answer::CAPTURED, LONGER)?;
        let [well, text @ ..] = answers.first().map(Vec::as_slice).unwrap_or_default() else {
            return Err("an answer that is cut".to_string());
        };
        let text = String::from_utf8_lossy(text).into_owned();
        Ok(if *well == 1 { Ok((!text.is_empty()).then_some(text)) } else { Err(text) })
    }

    /// How late each part was.
    ///
    /// # Errors
    /// Where a process has ended.
    pub fn timing(&mut self) -> Result<Vec<Timing>, String> {
        let answers = self.command(command::TIMING, &[], answer::TIMING, LONGER)?;
        let all: Option<Vec<Timing>> = answers.iter().map(|bytes| Timing::read(&mut Reader(bytes))).collect();
        all.ok_or_else(|| "an answer that is cut".to_string())
    }

    /// From now on nothing is posted but what has been asked for.
    ///
    /// # Errors
    /// Where a process has ended.
    pub fn stop_posting(&mut self) -> Result<(), String> {
        self.command(command::STOP_POSTING, &[], answer::DONE, 1).map(drop)
    }

    /// The reports of all parts; `full` with the records of messages and all counters.
    ///
    /// # Errors
    /// Where a process has ended.
    pub fn reports(&mut self, full: bool) -> Result<Reports, String> {
        let answers = self.command(command::REPORT, &[full.into()], answer::REPORT, LONGER)?;
        let reports: Option<Vec<Report>> = answers.iter().map(|bytes| Report::read(&mut Reader(bytes))).collect();
        reports.map(Reports).ok_or_else(|| "an answer that is cut".to_string())
    }
}

/// Detects silent and stalled processes.
struct Watch {
    /// Those that are to answer.
    of: Range<usize>,
    /// Quarters of a second: for each process those in which it said nothing, and those in which none got further. A
    /// clock would also count the time for which this process, or the machine, was suspended.
    silent: Vec<u32>,
    stuck: u32,
    most: u32,
    ticked: Instant,
    reached: Vec<Time>,
}

impl Watch {
    fn new(of: Range<usize>, patience: Duration) -> Self {
        let most = patience.div_duration_f64(ALIVE_EVERY) as u32;
        let (silent, reached) = (vec![0; of.end], vec![Time::ZERO; of.end]);
        Self { of, silent, stuck: 0, most, ticked: Instant::now(), reached }
    }

    fn heard(&mut self, number: usize) {
        if let Some(silent) = self.silent.get_mut(number) {
            *silent = 0;
        }
    }

    fn further(&mut self) {
        self.stuck = 0;
    }

    fn reached(&mut self, number: usize, time: Time) {
        if let Some(reached) = self.reached.get_mut(number).filter(|reached| time > **reached) {
            *reached = time;
            self.stuck = 0;
        }
    }

    /// Counts a quarter of a second, if it has passed.
    fn tick(&mut self, answers: &[Option<Vec<u8>>]) -> Result<(), String> {
        if self.ticked.elapsed() < ALIVE_EVERY {
            return Ok(());
        }
        self.ticked = Instant::now();
        let passed = ALIVE_EVERY.as_secs_f64() * f64::from(self.most);
        self.stuck += 1;
        let open = |number: usize| self.of.contains(&number) && answers[number].is_none();
        for (number, silent) in self.silent.iter_mut().enumerate().filter(|(number, _)| open(*number)) {
            *silent += 1;
            if *silent > self.most {
                return Err(format!("{} has said nothing for {passed} s", names(number)));
            }
        }
        if self.stuck <= self.most {
            return Ok(());
        }
        let last = self.reached.iter().enumerate().filter(|(number, _)| open(*number));
        let last = last.min_by_key(|(_, reached)| **reached).map_or(0, |(number, _)| number);
        Err(format!("no part got further for {passed} s; the last of them is {}", names(last)))
    }
}

/// Passes on what a process says.
fn listen(number: usize, mut output: impl std::io::Read + Send + 'static, to: Sender<Said>) {
    std::thread::spawn(move || {
        loop {
            let said = read(&mut output).ok();
            let ended = said.is_none();
            if to.send((number, said)).is_err() || ended {
                break;
            }
        }
    });
}
