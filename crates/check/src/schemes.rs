//! The check of a scheme.

use crate::answers::{Answer, Broken};
use crate::events::{Log, Op, sequences};
use crate::parameters::{Scaled, Subject, draws};
use crate::search::{Case, Checked, Found, Plan, caught, search};
use crate::world::World;
use fanin_cc::{Actions, Settings};
use fanin_units::Time;
use proptest::strategy::Strategy;
use serde_json::Map;

/// One sequence, twice: what happened, and the promise that was not kept.
///
/// # Errors
/// The promise.
pub fn run(make: &dyn Fn() -> Settings, ops: &[Op]) -> Result<(), Found> {
    let (first, _) = once(make, ops)?;
    let (again, log) = once(make, ops)?;
    if first == again {
        return Ok(());
    }
    let at = first.0.iter().zip(&again.0).position(|(one, other)| one != other);
    let (at, detail) = match at.map(|at| (&first.0[at], &again.0[at])) {
        Some((one, other)) => (other.at(), format!("first {}, and in the replay {}", one.told(), other.told())),
        None => (Time::ZERO, "it counted other actions, or answered more often, in the replay".to_string()),
    };
    let rule = "a replay gives the same answers";
    // What came after the first difference does not matter.
    let events = log.told().into_iter().filter(|(when, _)| *when <= at || at == Time::ZERO).collect();
    Err(Found { broken: Broken { rule, detail, at }, events, parameters: Map::new() })
}

type Said = (Vec<Answer>, Actions);

fn once(make: &dyn Fn() -> Settings, ops: &[Op]) -> Result<(Said, Log), Found> {
    let mut built = None;
    let ran = caught(|| {
        let world = built.insert(World::new(&make()));
        world.open()?;
        ops.iter().try_for_each(|op| world.step(*op))?;
        world.drain()
    });
    match (ran, built) {
        (Ok(()), Some(world)) => {
            let actions = world.actions().clone();
            Ok(((world.answers, actions), world.log))
        }
        (Ok(()), None) => Ok(((Vec::new(), Actions::default()), Log::default())),
        (Err(broken), built) => {
            let events = built.map(|world| world.log.told()).unwrap_or_default();
            Err(Found { broken, events, parameters: Map::new() })
        }
    }
}

/// Events, under some parameters.
#[derive(Clone, PartialEq, Debug)]
struct SchemeCase {
    draws: Vec<Scaled>,
    ops: Vec<Op>,
}

impl Case for SchemeCase {
    fn parts(&self) -> usize {
        self.draws.len() + self.ops.len()
    }
    fn without(&self, part: usize) -> Self {
        let mut fewer = self.clone();
        match part.checked_sub(self.draws.len()) {
            None => drop(fewer.draws.remove(part)),
            Some(op) => drop(fewer.ops.remove(op)),
        }
        fewer
    }
    fn simpler(&self, part: usize) -> Vec<Self> {
        let mut simpler = self.clone();
        if let Some(op) = part.checked_sub(self.draws.len()) {
            simpler.ops[op] = self.ops[op].of_the_first();
            return vec![simpler];
        }
        let milder = std::iter::successors(self.draws[part].milder(), |draw| draw.milder());
        // The mildest comes last: each that fails is taken in turn.
        milder
            .map(|draw| {
                simpler.draws[part] = draw;
                simpler.clone()
            })
            .collect()
    }
}

/// Runs so many random sequences, which the seed draws, until one breaks a promise.
///
/// # Errors
/// Why the scheme cannot be made with the parameters that are set.
pub fn check(subject: &Subject<'_>, plan: Plan<'_>) -> Result<Checked, String> {
    let scalable = subject.scalable()?;
    let fallback = (subject.make)(&subject.changes(&scalable, &[]))?;
    let drawn = (draws(), sequences()).prop_map(|(draws, ops)| SchemeCase { draws, ops });
    let run = |case: &SchemeCase| {
        let parameters = subject.changes(&scalable, &case.draws);
        let make = || (subject.make)(&parameters).unwrap_or_else(|_| fallback.clone());
        run(&make, &case.ops).map_err(|found| Found { parameters: parameters.clone(), ..found })
    };
    Ok(search(&drawn, &run, plan))
}
