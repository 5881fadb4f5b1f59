//! Clients that send requests to servers, wait for all answers, and send the next requests.

use super::offset;
use crate::hosts::{distinct, in_order};
use crate::{Dependency, Draws, ENDLESS, Expected, Flow, NO_GROUP, Places, SizeDistribution, WorkloadError};
use fanin_units::Time;

/// Longest service time, think time or jitter: 10 days, which is longer than any run and avoids overflow of sums.
const MAX_DELAY: Time = Time::from_s(864_000);

/// Queries in a closed loop (DCTCP section 4.2.1): each client sends requests to `degree` servers at once, waits until
/// all have answered, and starts the next query, `rounds` times. Clients are independent of each other.
///
/// All flows have the start of the traffic and wait for each other by their [`Dependency`]s. Request and response of
/// round r of client c (both from 0, clients in their order) are in group `c * rounds + r`, so a group is a query: it
/// completes when its last response has arrived.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// The clients; all hosts if none are given. Their order numbers the groups.
    pub clients: Option<Vec<u32>>,
    /// The servers; all hosts if none are given. A client sends no request to itself.
    pub servers: Option<Vec<u32>>,
    /// Servers per query; all of them if not given. All are used in the order of their list; fewer are drawn anew for
    /// each query.
    pub degree: Option<u32>,
    /// Queries per client, one after another.
    pub rounds: u32,
    /// Payload of a request in bytes.
    pub request: u64,
    /// Payload of the responses.
    pub response: Response,
    /// Service time of a server, between the arrival of a request and its response: uniform from the first to the
    /// second.
    pub service_time: [Time; 2],
    /// Each request starts after a random delay, uniform from 0 to this.
    pub jitter: Time,
    /// Think time of a client, between the last response and its next query.
    pub think_time: Time,
}

/// Sizes of the responses.
#[derive(Clone, PartialEq, Debug)]
pub enum Response {
    /// Each response draws its size.
    Each(SizeDistribution),
    /// The responses of a query add up to this; their sizes differ by at most a byte.
    Total(u64),
}

/// A validated query traffic.
struct Plan {
    clients: Vec<u32>,
    servers: Vec<u32>,
    /// The same, sorted.
    sorted: Vec<u32>,
}

impl Plan {
    /// Number of servers that a client can use.
    fn servers_of(&self, client: u32) -> usize {
        self.servers.len() - usize::from(self.sorted.binary_search(&client).is_ok())
    }
}

impl Query {
    /// The clients in the order of their groups.
    ///
    /// # Errors
    /// `pattern.clients` and a correction.
    pub fn clients_in_order(&self, places: &Places) -> Result<Vec<u32>, WorkloadError> {
        in_order("pattern.clients", self.clients.as_deref(), places)
    }

    fn plan(&self, places: &Places) -> Result<Plan, WorkloadError> {
        let fail = |key, problem: String, right: &str| Err(WorkloadError::key(key, problem, right));
        let clients = self.clients_in_order(places)?;
        let servers = in_order("pattern.servers", self.servers.as_deref(), places)?;
        let mut sorted = servers.clone();
        sorted.sort_unstable();
        let plan = Plan { clients, servers, sorted };
        let of_clients = || plan.clients.iter().map(|client| (*client, plan.servers_of(*client)));
        let (client, fewest) = of_clients().min_by_key(|c| c.1).unwrap_or((0, 0));
        if fewest == 0 {
            return fail(
                "pattern.servers",
                format!("host {client} has no server other than itself"),
                "name other hosts",
            );
        }
        if self.degree.is_some_and(|degree| degree == 0 || degree as usize > fewest) {
            let problem = format!(
                "{} different servers, but host {client} has {fewest} possible ones",
                self.degree.unwrap_or_default()
            );
            return fail("pattern.degree", problem, &format!("it is 1 to {fewest} here"));
        }
        if self.rounds == 0 {
            return fail("pattern.rounds", "no client sends a request".into(), "at least 1 is needed");
        }
        if !(1..ENDLESS).contains(&self.request) {
            let problem = format!("{} B is not a possible request size", self.request);
            return fail("pattern.request", problem, "requests have 1 B or more");
        }
        match &self.response {
            Response::Each(SizeDistribution::Fixed(ENDLESS)) => {
                return fail("size", "a query with an endless response never completes".into(), "give it a size");
            }
            Response::Each(size) => size.check()?,
            Response::Total(total) => {
                let most = of_clients().map(|c| self.degree_of(c.1)).max().unwrap_or(0) as u64;
                if *total < most || *total >= ENDLESS {
                    let problem = format!("{total} B cannot be {most} responses");
                    return fail("pattern.total", problem, "each response has 1 B or more");
                }
            }
        }
        let delays = [
            ("pattern.service_time", self.service_time[1]),
            ("pattern.jitter", self.jitter),
            ("pattern.think_time", self.think_time),
        ];
        if let Some((key, delay)) = delays.into_iter().find(|(_, delay)| *delay > MAX_DELAY) {
            return fail(key, format!("{delay} is longer than any run"), &format!("it is at most {MAX_DELAY}"));
        }
        if self.service_time[0] > self.service_time[1] {
            let problem = format!("{} is above {}", self.service_time[0], self.service_time[1]);
            return fail("pattern.service_time", problem, "the shorter time comes first");
        }
        // Groups and triggers are numbered in 32 bits.
        let queries = plan.clients.len() as f64 * f64::from(self.rounds);
        let triggers = of_clients().map(|c| self.degree_of(c.1) as f64 + 1.0).sum::<f64>() * f64::from(self.rounds);
        if queries >= f64::from(NO_GROUP) || triggers >= f64::from(u32::MAX) {
            let problem = format!("that makes {queries:.1e} queries with {triggers:.1e} triggers");
            return fail("pattern.rounds", problem, "lower it, or ask fewer servers");
        }
        Ok(plan)
    }

    /// Number of servers per query, of this number of possible ones.
    fn degree_of(&self, servers: usize) -> usize {
        self.degree.map_or(servers, |degree| degree as usize)
    }

    pub(crate) fn expected(&self, places: &Places, span: Time) -> Result<Expected, WorkloadError> {
        let plan = self.plan(places)?;
        let rack = |host: u32| places.rack_of.get(host as usize).copied();
        let mut racks: Vec<_> = plan.servers.iter().map(|server| rack(*server)).collect();
        racks.sort_unstable();
        let (mut pairs, mut crossing, mut bytes) = (0.0, 0.0, 0.0);
        for client in &plan.clients {
            let of = rack(*client);
            let same = racks.partition_point(|r| *r <= of) - racks.partition_point(|r| *r < of);
            let servers = plan.servers_of(*client);
            let degree = self.degree_of(servers) as f64;
            pairs += degree;
            crossing += degree * (plan.servers.len() - same) as f64 / servers as f64;
            bytes += match &self.response {
                Response::Each(size) => size.mean() * degree,
                Response::Total(total) => *total as f64,
            };
        }
        let flows = if span > Time::ZERO { 2.0 * pairs * f64::from(self.rounds) } else { 0.0 };
        Ok(Expected::once(flows, (self.request as f64 + bytes / pairs) / 2.0, crossing / pairs))
    }

    pub(crate) fn flows(
        &self,
        places: &Places,
        mut draws: Draws,
        span: Time,
    ) -> Result<impl Iterator<Item = Flow> + Send + use<>, WorkloadError> {
        let plan = self.plan(places)?;
        let query = self.clone();
        let queries = if span > Time::ZERO { plan.clients.len() as u32 * self.rounds } else { 0 };
        let mut order: Vec<u32> = (0..plan.servers.len() as u32).collect();
        let mut next_trigger = 0;
        // The trigger of the last answer to a query; none after a client's last query.
        let mut answered = None;
        Ok((0..queries).flat_map(move |group| {
            let client = plan.clients[(group / query.rounds) as usize];
            let round = group % query.rounds;
            let before = answered.take();
            let servers = plan.servers_of(client);
            let degree = query.degree_of(servers);
            let mut asked = Vec::with_capacity(degree);
            if degree == servers {
                asked.extend(plan.servers.iter().copied().filter(|server| *server != client));
            } else {
                let itself = |at: u32| plan.servers[at as usize] == client;
                distinct(&mut order, degree, &mut draws.hosts, itself, |at| asked.push(plan.servers[at as usize]));
            }
            let first_trigger = next_trigger;
            next_trigger += degree as u32;
            // Nothing waits for the last query.
            if round + 1 < query.rounds {
                answered = Some(next_trigger);
                next_trigger += 1;
            }
            let mut flows = Vec::with_capacity(2 * degree);
            for (i, (server, trigger)) in asked.into_iter().zip(first_trigger..).enumerate() {
                let flow = |src, dst, bytes, dependency| Flow { src, dst, bytes, group, dependency, ..Flow::default() };
                let think_time = if round > 0 { query.think_time } else { Time::ZERO };
                let delay = think_time.saturating_add(offset(query.jitter, &mut draws.jitter));
                let dependency = Dependency { after: before, delay, counts: Some(trigger), ..Dependency::default() };
                flows.push(flow(client, server, query.request, dependency));
                let bytes = match &query.response {
                    Response::Each(size) => size.sample(&mut draws.sizes),
                    Response::Total(total) => {
                        let each = total / degree as u64;
                        each + u64::from((i as u64) < total % degree as u64)
                    }
                };
                let [least, most] = query.service_time;
                let delay = least.saturating_add(offset(most.saturating_sub(least), &mut draws.service_time));
                let dependency = Dependency {
                    after: Some(trigger),
                    delay,
                    answers: true,
                    counts: answered,
                    ..Dependency::default()
                };
                flows.push(flow(server, client, bytes, dependency));
            }
            flows
        }))
    }
}
