//! All-reduce in three phases: reduce-scatter in the server, all-reduce on each rail, all-gather in the server, each as
//! a ring.

use super::plan::{Plan, Shape, block};
use super::ring::steps;

/// Rank r is GPU r mod g of server r / g, and the ranks of a rail are those with the same GPU.
pub(super) fn all_reduce(shape: &Shape<'_>, plan: &mut Plan) -> Result<(), String> {
    let (n, g) = (shape.ranks, shape.server.unwrap_or(0));
    if g == 0 || !n.is_multiple_of(g) || g == n || g == 1 {
        let what = if g == 0 { "no number of ranks in a server".into() } else { format!("servers of {g}") };
        return Err(format!(
            "hierarchical has {what}; give a divisor of the {n} ranks that is neither 1 nor {n} as ranks of a server"
        ));
    }
    let mut arrived: Vec<Option<u32>> = vec![None; n as usize];
    let phase = |plan: &mut Plan, members: Vec<u32>, bytes, behind: &[usize], arrived: &mut Vec<Option<u32>>| {
        for behind in behind {
            let first: Vec<Option<u32>> = members.iter().map(|rank| arrived[*rank as usize]).collect();
            let last = steps(plan, &members, bytes, *behind, &first);
            members.iter().zip(last).for_each(|(rank, last)| arrived[*rank as usize] = last);
        }
    };
    let servers = || (0..n / g).map(|server| (server * g..(server + 1) * g).collect::<Vec<u32>>());
    servers().for_each(|members| phase(plan, members, shape.bytes, &[1], &mut arrived));
    for gpu in 0..g {
        let rail = (0..n / g).map(|server| server * g + gpu).collect();
        phase(plan, rail, block(shape.bytes, gpu.into(), g.into()), &[1, 0], &mut arrived);
    }
    servers().for_each(|members| phase(plan, members, shape.bytes, &[0], &mut arrived));
    Ok(())
}
