//! The models of HPCC's appendix: queues of paced flows (A.1), how fast utilisation converges (A.2) and to which
//! fairness (A.3). No scheme runs here; HPCC itself is tested in `crates/fabric/tests/hpcc_design.rs`.

use fanin_claims::strict;

/// Numbers that are the same on every machine (SplitMix64).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    /// From 0 up to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// 1 to `most`.
    fn up_to(&mut self, most: usize) -> usize {
        1 + (self.next() % most as u64) as usize
    }
}

fn power(base: f64, exponent: usize) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

/// P(V > x): the work V before a server at any time, in packets, with `n` sources of one packet per `period` packet
/// times and phases drawn at random. Exact (Roberts and Virtamo, 1991).
fn work_above(x: f64, n: usize, period: f64) -> f64 {
    let (mut sum, mut choose) = (0.0, 1.0);
    for k in 0..=n {
        let within = (k as f64 - x) / period;
        if within > 0.0 {
            let idle = (period - n as f64 + x) / (period - k as f64 + x);
            sum += choose * power(within, k) * power(1.0 - within, n - k) * idle;
        }
        choose = choose * (n - k) as f64 / (k + 1) as f64;
    }
    sum
}

/// The same by simulation: mean work at any time, mean packets at any time, and mean packets that a packet finds; with
/// how often the work is above `x`.
fn trial(n: usize, period: f64, x: f64, trials: usize) -> [f64; 4] {
    let mut draws = Draws(n as u64);
    let mut sums = [0.0; 4];
    for _ in 0..trials {
        let mut phases: Vec<f64> = (0..n).map(|_| draws.unit() * period).collect();
        phases.sort_by(f64::total_cmp);
        // After one period from an empty server the work is periodic (load at most 1).
        let (mut work, mut before) = (0.0f64, phases[n - 1] - period);
        for round in 0..2 {
            for phase in &phases {
                let gap = phase - before;
                let left = (work - gap).max(0.0);
                if round == 1 {
                    // Falling from `work` to `left`, then idle.
                    sums[0] += (work * work - left * left) / 2.0;
                    // The integral of ceil over that fall.
                    let whole = |v: f64| {
                        let full = v as u64 as f64;
                        full * (full + 1.0) / 2.0 + (v - full) * (full + 1.0)
                    };
                    sums[1] += whole(work) - whole(left);
                    sums[2] += (left.ceil()) / n as f64 * period;
                    sums[3] += (work.max(x) - left.max(x)).max(0.0);
                }
                work = left + 1.0;
                before = *phase;
            }
            before -= period;
        }
    }
    sums.map(|sum| sum / period / trials as f64)
}

#[test]
fn hpcc_a1_sumdd1() {
    let (n, x) = (50, 8.0);
    for (load, band) in [(0.95, 2.5..=4.0), (1.0, 3.3..=5.0)] {
        let period = n as f64 / load;
        // The mean of V is the integral of P(V > x).
        let steps = 50_000;
        let width = n as f64 / steps as f64;
        let work: f64 = (0..steps).map(|i| work_above((i as f64 + 0.5) * width, n, period) * width).sum();
        let [tried, waiting, found, above] = trial(n, period, x, 7000);
        let tail = work_above(20.0, n, period);
        println!(
            "load {load}: work {work:.3} (simulated {tried:.3}), packets {waiting:.3}, found by a packet {found:.3}, \
             P(V > 20) {tail:e}"
        );
        // The formula is the right one.
        assert!((tried / work - 1.0).abs() < 0.02, "{tried} {work}");
        let exact = work_above(x, n, period);
        assert!((above / exact - 1.0).abs() < 0.15, "{above} {exact}");
        // Whatever is counted as the queue.
        for mean in [work, waiting, found] {
            assert!(band.contains(&mean), "{mean} at {load}");
        }
        if load < 1.0 {
            assert!((1e-10..=2e-8).contains(&tail), "{tail}");
        }
    }
    let bridge = libm::sqrt(core::f64::consts::PI * n as f64 / 8.0);
    assert_eq!((bridge * 1000.0 + 0.5) as u64, 4431);
}

/// Paths over resources: the resources of each path (A), capacities (C) and rates of paths (R).
#[derive(Debug)]
struct Net {
    uses: Vec<Vec<bool>>,
    capacity: Vec<f64>,
    rates: Vec<f64>,
}

impl Net {
    fn new(capacity: &[f64], paths: &[(&[usize], f64)]) -> Self {
        let uses = (0..capacity.len()).map(|i| paths.iter().map(|(over, _)| over.contains(&i)).collect()).collect();
        Self { uses, capacity: capacity.to_vec(), rates: paths.iter().map(|(_, rate)| *rate).collect() }
    }

    /// Up to 6 resources and 10 paths, each over one at least.
    fn random(draws: &mut Draws) -> Self {
        let (i, j) = (draws.up_to(6), draws.up_to(10));
        let mut uses: Vec<Vec<bool>> = (0..i).map(|_| (0..j).map(|_| draws.next() & 1 == 1).collect()).collect();
        for path in 0..j {
            if uses.iter().all(|of| !of[path]) {
                uses[draws.up_to(i) - 1][path] = true;
            }
        }
        let mut positive = |n| (0..n).map(|_| 0.01 + 10.0 * draws.unit()).collect::<Vec<f64>>();
        Self { uses, capacity: positive(i), rates: positive(j) }
    }

    /// Y/C of each resource (5).
    fn used(&self) -> Vec<f64> {
        let load = |of: &Vec<bool>| of.iter().zip(&self.rates).map(|(on, rate)| if *on { *rate } else { 0.0 }).sum();
        self.uses
            .iter()
            .zip(&self.capacity)
            .map(|(of, capacity)| {
                let y: f64 = load(of);
                y / capacity
            })
            .collect()
    }

    /// The most used resource of each path.
    fn most(&self) -> Vec<f64> {
        let used = self.used();
        let of_path =
            |j: usize| (0..used.len()).filter(|i| self.uses[*i][j]).fold(0.0, |most: f64, i| most.max(used[i]));
        (0..self.rates.len()).map(of_path).collect()
    }

    /// One round: R U_target/max U + a; (6) is that with U_target = 1 and a = 0. Gives the largest relative change.
    fn step(&mut self, target: f64, add: f64) -> f64 {
        let most = self.most();
        let mut changed = 0.0f64;
        for (rate, most) in self.rates.iter_mut().zip(most) {
            let next = *rate * target / most + add;
            changed = changed.max((next / *rate - 1.0).abs());
            *rate = next;
        }
        changed
    }
}

const INSTANCES: u64 = 10_000;

#[test]
fn hpcc_lemma_i_ii() {
    let mut draws = Draws(1);
    for instance in 0..INSTANCES {
        let mut net = Net::random(&mut draws);
        net.step(1.0, 0.0);
        for n in 1..=30 {
            let before = net.rates.clone();
            assert!(net.used().iter().all(|used| *used <= 1.0 + 1e-9), "instance {instance}, step {n}: {net:?}");
            net.step(1.0, 0.0);
            let grew = net.rates.iter().zip(&before).all(|(now, before)| *now >= before * (1.0 - 1e-9));
            assert!(grew, "instance {instance}, step {n}: {before:?}, {net:?}");
        }
    }
    let mut rows = fanin_claims::claim!("hpcc-lemma-i-ii");
    rows.asserted(
        "networks in which a link is overloaded or a rate falls after the first step",
        "0",
        format!("0 of {INSTANCES}"),
    );
}

#[test]
fn hpcc_lemma_iii() {
    // As the paper has it, R constant after I steps, it does not hold: its proof takes a bottleneck away together with
    // its paths, but not what these use of other resources.
    let mut net = Net::new(&[1.0, 2.0], &[(&[0, 1], 2.0), (&[1], 1.0)]);
    for n in 0..40 {
        net.step(1.0, 0.0);
        let power = (1u64 << (n + 1)) as f64;
        assert_eq!(net.rates[0], 1.0);
        assert!((net.rates[1] - power / (power + 1.0)).abs() < 1e-12, "step {n}: {net:?}");
    }
    // What holds: it converges, and to rates none of which can grow unless another one shrinks.
    let mut draws = Draws(2);
    let (mut constant, mut settled, mut optimal, mut slowest) = (0, 0, 0, 0);
    for _ in 0..INSTANCES {
        let mut net = Net::random(&mut draws);
        for _ in 0..net.capacity.len() {
            net.step(1.0, 0.0);
        }
        let mut changed = net.step(1.0, 0.0);
        constant += (changed < 1e-12) as u32;
        for _ in net.capacity.len() + 1..400 {
            changed = net.step(1.0, 0.0);
        }
        settled += (changed < 1e-6) as u32;
        let slack = net.most().iter().fold(0.0f64, |slack, most| slack.max(1.0 - most));
        optimal += (slack < 1e-6) as u32;
        // The others are only slower: little of a resource is theirs.
        while changed >= 1e-6 {
            changed = net.step(1.0, 0.0);
            slowest += 1;
            assert!(slowest < 1_000_000, "{net:?}");
        }
    }
    let share = |n: u32| n as f64 / INSTANCES as f64;
    let (constant, settled, optimal) = (share(constant), share(settled), share(optimal));
    println!(
        "constant after I steps {constant}; after 400 settled {settled}, Pareto optimal {optimal}; {slowest} more"
    );
    assert!(settled >= 0.99 && optimal >= 0.99, "{settled} {optimal}");
    let mut rows = fanin_claims::claim!("hpcc-lemma-iii");
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    rows.row(
        "networks whose rates are constant after I steps",
        "all",
        percent(constant),
        "all",
        strict(constant == 1.0),
    );
    rows.row("settled after 400 steps, within 1e-6", "all", percent(settled), "at least 99 %", strict(settled >= 0.99));
    rows.row("Pareto optimal then, within 1e-6", "all", percent(optimal), "at least 99 %", strict(optimal >= 0.99));
}

/// The packets' side of it is in the fabric's test of this name.
#[test]
fn hpcc_a3_equilibrium() {
    let target = 0.95;
    let near =
        |ours: f64, theirs: f64, what: &str| assert!((ours / theirs - 1.0).abs() < 1e-6, "{what} {ours} {theirs}");
    let of_rate = |add: f64, used: f64| add / (1.0 - target / used);
    // One bottleneck: with R = U C/N the formula gives U = U_target + N a/C.
    for (n, capacity) in [(1, 1.0), (4, 10.0), (100, 3.0)] {
        for share in [0.001, 0.01, 0.04, 0.06] {
            let add = share * capacity / n as f64;
            let mut draws = Draws(3);
            let paths: Vec<(&[usize], f64)> = (0..n).map(|_| (&[0][..], capacity * (0.01 + draws.unit()))).collect();
            let mut net = Net::new(&[capacity], &paths);
            (0..40_000).for_each(|_| {
                net.step(target, add);
            });
            let used = net.used()[0];
            near(used, target + n as f64 * add / capacity, "U");
            for rate in &net.rates {
                near(*rate, of_rate(add, used), "R");
                near(used, target / (1.0 - add / rate), "U");
                assert_eq!(used < 1.0, add < rate * (1.0 - target), "a is {share} of a share");
            }
        }
    }
    // Two: `both` flows over both links, the others over one.
    let mut draws = Draws(4);
    let mut fair = [0.0f64; 2];
    for _ in 0..100 {
        let (both, first, second) = (draws.up_to(4), draws.up_to(4), draws.up_to(4));
        let capacity = [1.0 + 9.0 * draws.unit(), 1.0 + 9.0 * draws.unit()];
        let paths: Vec<(&[usize], f64)> = (0..both)
            .map(|_| &[0, 1][..])
            .chain((0..first).map(|_| &[0][..]))
            .chain((0..second).map(|_| &[1][..]))
            .map(|over| (over, 0.1 + draws.unit()))
            .collect();
        let flows = [(both + first) as f64, (both + second) as f64];
        // The most congested, and the other one.
        let (a, b) = if flows[0] / capacity[0] > flows[1] / capacity[1] { (0, 1) } else { (1, 0) };
        for (fair, add) in fair.iter_mut().zip([0.02, 0.002]) {
            let mut net = Net::new(&capacity, &paths);
            (0..60_000).for_each(|_| {
                net.step(target, add);
            });
            // U_(1) as with one. U_(2): the load of the shared paths is given, so C U = S + k a U/(U - U_target).
            let top = target + flows[a] * add / capacity[a];
            let (shared, own) = (both as f64 * of_rate(add, top), flows[b] - both as f64);
            let p = capacity[b] * target + shared + own * add;
            let next = (p + libm::sqrt(p * p - 4.0 * capacity[b] * shared * target)) / (2.0 * capacity[b]);
            let used = net.used();
            near(used[a], top, "U(1)");
            near(used[b], next, "U(2)");
            assert!(used[a] >= used[b]);
            let (least, most) = (of_rate(add, top), of_rate(add, next));
            assert!(least <= most);
            for (rate, (over, _)) in net.rates.iter().zip(&paths) {
                let expected = if over.contains(&a) { least } else { most };
                near(*rate, expected, "R");
                near(if over.contains(&a) { top } else { next }, target / (1.0 - add / rate), "U of R");
            }
            // Max-min: equal shares of the first, the others the rest of the second.
            let share = target * capacity[a] / flows[a];
            let rest = (target * capacity[b] - both as f64 * share) / own;
            *fair = fair.max((least / share - 1.0).abs()).max((most / rest - 1.0).abs());
        }
    }
    println!("a = 0.02 and 0.002: within {fair:?} of max-min");
    assert!(fair[1] < 0.05 && fair[1] < fair[0] / 5.0, "{fair:?}");
}

#[test]
fn hpcc_a3_alphafair() {
    // Two links of capacity 1, a flow over both and one over each; registers for each flow and link of its path.
    let (target, add) = (0.95, 1e-3);
    let share = |alpha: f64| {
        let paths: [&[usize]; 3] = [&[0, 1], &[0], &[1]];
        let mut registers = [[0.9, 0.2], [0.1, 0.0], [0.0, 0.5]];
        let mut rates = [0.0; 3];
        for _ in 0..20_000 {
            // (7)
            for (rate, (path, own)) in rates.iter_mut().zip(paths.iter().zip(&registers)) {
                *rate = libm::pow(path.iter().map(|i| libm::pow(own[*i], -alpha)).sum(), -1.0 / alpha);
            }
            let used = [rates[0] + rates[1], rates[0] + rates[2]];
            for (path, own) in paths.iter().zip(&mut registers) {
                path.iter().for_each(|i| own[*i] = own[*i] * target / used[*i] + add);
            }
        }
        rates[0] / (rates[0] + rates[1])
    };
    let (max_min, proportional, sum) = (share(20.0), share(1.0), share(0.01));
    println!("long path's share: alpha 20 {max_min}, 1 {proportional}, 0.01 {sum}");
    assert!((max_min / 0.5 - 1.0).abs() <= 0.05, "{max_min}");
    assert!((proportional * 3.0 - 1.0).abs() <= 0.05, "{proportional}");
    assert!(sum < 0.1, "{sum}");
    let mut rows = fanin_claims::claim!("hpcc-a3-alphafair");
    for (alpha, share, says) in [("20", max_min, 0.5), ("1", proportional, 1.0 / 3.0)] {
        let holds = (share / says - 1.0).abs() <= 0.05;
        let what = format!("share of the long path, alpha = {alpha}");
        rows.row(what, &format!("{says:.3}"), format!("{share:.3}"), "within 5 %", strict(holds));
    }
    rows.row("share of the long path, alpha = 0.01", "0", format!("{sum:.3}"), "below 0.1", strict(sum < 0.1));
}
