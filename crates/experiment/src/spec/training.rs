//! Patterns that compute: pipelines, and training over several kinds of parallelism.

use super::document::{self, Axis, AxisName, Pattern};
use super::graphs::MOST_NODES;
use super::one::One;
use super::setting::Setting;
use fanin_graph::collectives::Method;
use fanin_graph::job::{Job, Listed, Wrong};
use fanin_graph::pipeline::{Pipeline, Schedule};
use fanin_graph::training::{self, Training};
use fanin_graph::{Holds, LARGEST, Rules};
use fanin_units::{Bytes, Time};
use fanin_workload::Graph;
use std::sync::Arc;

const RULES: Rules = Rules { holds: Holds::Work, first_ready: false };

impl One<'_, '_> {
    /// The job of a pipeline, with a stage on each host.
    pub(super) fn pipeline(&mut self, pattern: &Pattern, setting: &Setting<'_>) -> Option<Graph> {
        let Pattern::Pipeline { schedule, size, micro_batches, forward, backward, repeat, hosts, placement, slow } =
            pattern
        else {
            return None;
        };
        let hosts = self.placed(hosts, *placement, None, setting)?;
        let times = (*forward, *backward);
        let bytes = self.size_of("size", *size)?;
        let of = self.stages(*schedule, (*micro_batches, *repeat), times, hosts.len() as u32, bytes)?;
        let mut sources: Vec<Listed> = (0..of.stages).map(|stage| Listed::new(of.nodes(stage))).collect();
        let job = Job::new(&mut sources, RULES, &Method::default()).ok()?;
        let job = self.slowed(job, slow.as_ref())?;
        Some(Graph { job: Arc::new(job), hosts })
    }

    /// The job of training.
    pub(super) fn training(&mut self, pattern: &Pattern, setting: &Setting<'_>) -> Option<Graph> {
        let Pattern::Training {
            tensor,
            data,
            pipeline,
            expert,
            order,
            schedule,
            micro_batches,
            forward,
            backward,
            repeat,
            hosts,
            placement,
            slow,
            algorithm,
            server,
            channels,
            chunk,
            window,
            pxn,
        } = pattern
        else {
            return None;
        };
        self.known(algorithm.as_deref())?;
        let method = self.method((algorithm.as_deref(), *window), (*server, *pxn), *channels, *chunk)?;
        let order = self.order(order.as_deref())?;
        let [(tensor, tensor_bytes), (data, data_bytes), (stages, bytes), (expert, expert_bytes)] =
            [("tensor", tensor), ("data", data), ("pipeline", pipeline), ("expert", expert)]
                .map(|(name, axis)| self.axis(name, *axis))
                .into_iter()
                .collect::<Option<Vec<(u32, u64)>>>()?
                .try_into()
                .ok()?;
        if !data.is_multiple_of(expert) {
            let problem = format!("{expert} does not divide the {data} ranks of data");
            self.fail(
                "pattern.expert.ranks",
                problem,
                "expert groups are neighbours on the data axis; write a divisor",
            );
            return None;
        }
        let schedule = schedule.unwrap_or(document::Schedule::OneForwardOneBackward);
        let counts = (micro_batches.unwrap_or(1), *repeat);
        let pipeline = self.stages(schedule, counts, (*forward, *backward), stages, bytes)?;
        let training = Training { pipeline, tensor, data, expert, tensor_bytes, data_bytes, expert_bytes, order };
        if window.is_some() && expert == 1 && algorithm.as_deref() != Some("direct") {
            let right = "give expert groups, whose all-to-all is direct, or algorithm = \"direct\"";
            self.fail("pattern.window", "no collective here is direct", right);
            return None;
        }
        let ranks = usize::try_from(training.ranks()).unwrap_or(usize::MAX);
        if ranks < 2 {
            self.fail("pattern", "it has one rank", "give tensor, data or pipeline at least 2 ranks");
            return None;
        }
        let hosts = self.placed(hosts, *placement, Some(("tensor x data x pipeline are", ranks)), setting)?;
        let passes = 2 * u64::from(pipeline.micro_batches) * u64::from(pipeline.steps);
        let each = 3 + 4 * u64::from(tensor - 1) + 4 * u64::from(expert - 1);
        let nodes = passes.saturating_mul(each).saturating_mul(ranks as u64);
        if nodes > MOST_NODES {
            let right = format!("make repeat or micro_batches smaller, at most {MOST_NODES} nodes");
            self.fail("pattern", format!("these are about {nodes} nodes"), right);
            return None;
        }
        match Job::new(&mut training.sources(), RULES, &method) {
            Ok(job) => {
                let job = self.slowed(job, slow.as_ref())?;
                Some(Graph { job: Arc::new(job), hosts })
            }
            Err(Wrong::Node { what, .. }) => {
                let (problem, right) = what.split_once("; ").unwrap_or((&what, ""));
                self.fail(if what.contains("too few") { "pattern" } else { "pattern.algorithm" }, problem, right);
                None
            }
        }
    }

    /// Ranks and bytes of an axis; without one, there is one rank.
    fn axis(&mut self, name: &str, axis: Option<Axis>) -> Option<(u32, u64)> {
        let Some(Axis { ranks, size }) = axis else { return Some((1, 0)) };
        if ranks == 0 || ranks > 1 << 20 {
            self.fail(&format!("pattern.{name}.ranks"), format!("it is {ranks}"), "write 1 to 1048576");
            return None;
        }
        Some((ranks, self.size_of(&format!("{name}.size"), size)?))
    }

    /// All three axes, beginning with that of neighbours.
    fn order(&mut self, order: Option<&[AxisName]>) -> Option<[training::Axis; 3]> {
        let default = [AxisName::Tensor, AxisName::Data, AxisName::Pipeline];
        let order = order.unwrap_or(&default);
        if order.len() != 3 || default.iter().any(|axis| !order.contains(axis)) {
            let problem = "it does not name each of the three axes once";
            self.fail("pattern.order", problem, "write a permutation of \"tensor\", \"data\", \"pipeline\"");
            return None;
        }
        let axis = |name: &AxisName| match name {
            AxisName::Tensor => training::Axis::Tensor,
            AxisName::Data => training::Axis::Data,
            AxisName::Pipeline => training::Axis::Pipeline,
        };
        Some([axis(&order[0]), axis(&order[1]), axis(&order[2])])
    }

    /// A size of messages.
    fn size_of(&mut self, key: &str, size: Bytes) -> Option<u64> {
        if size.get() > LARGEST {
            self.fail(&format!("pattern.{key}"), format!("{size} is too large"), "write at most 2^50 B");
            return None;
        }
        Some(size.get())
    }

    /// The stages of a pipeline.
    fn stages(
        &mut self,
        schedule: document::Schedule,
        (micro_batches, repeat): (u32, Option<u32>),
        (forward, backward): (Time, Time),
        stages: u32,
        bytes: u64,
    ) -> Option<Pipeline> {
        let schedule = match schedule {
            document::Schedule::GPipe => Schedule::GPipe,
            document::Schedule::OneForwardOneBackward => Schedule::OneForwardOneBackward,
        };
        let steps = repeat.unwrap_or(1);
        let nodes = 6 * u64::from(stages) * u64::from(micro_batches).saturating_mul(steps.into());
        let wrong = match () {
            () if micro_batches == 0 || micro_batches > 1 << 20 => {
                Some(("micro_batches", format!("it is {micro_batches}"), "write 1 to 1048576"))
            }
            () if steps == 0 => Some(("repeat", "it is 0".to_string(), "write at least 1")),
            () if nodes > MOST_NODES => {
                Some(("repeat", format!("these are {nodes} nodes"), "make repeat or micro_batches smaller"))
            }
            () => None,
        };
        if let Some((key, problem, right)) = wrong {
            self.fail(&format!("pattern.{key}"), problem, right);
            return None;
        }
        let (forward_ns, backward_ns) = (self.ns("forward", forward)?, self.ns("backward", backward)?);
        Some(Pipeline { schedule, stages, micro_batches, forward_ns, backward_ns, bytes, steps })
    }
}
