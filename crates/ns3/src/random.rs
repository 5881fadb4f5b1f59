//! That simulator's random numbers: MRG32k3a (L'Ecuyer 1999), a new stream for each decision.

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;

type Matrix = [[u64; 3]; 3];

const A1: Matrix = [[0, 1, 0], [0, 0, 1], [M1 - 810_728, 1_403_580, 0]];
const A2: Matrix = [[0, 1, 0], [0, 0, 1], [M2 - 1_370_589, 0, 527_612]];

fn product(a: &Matrix, b: &Matrix, m: u64) -> Matrix {
    let cell =
        |i: usize, j: usize| ((0..3).map(|k| a[i][k] as u128 * b[k][j] as u128).sum::<u128>() % m as u128) as u64;
    core::array::from_fn(|i| core::array::from_fn(|j| cell(i, j)))
}

fn apply(a: &Matrix, v: &[u64; 3], m: u64) -> [u64; 3] {
    core::array::from_fn(|i| ((0..3).map(|k| a[i][k] as u128 * v[k] as u128).sum::<u128>() % m as u128) as u64)
}

/// `a` to the power 2^`doublings`.
fn doubled(a: &Matrix, doublings: u32, m: u64) -> Matrix {
    (0..doublings).fold(*a, |a, _| product(&a, &a, m))
}

/// The generator's state at the beginning of a stream's first run.
#[derive(Clone, Debug)]
struct State {
    one: [u64; 3],
    two: [u64; 3],
}

impl State {
    /// Stream number `stream`: 2^127 steps each, and 2^76 for the run.
    fn at(stream: u64) -> Self {
        let (mut one, mut two) = ([1; 3], [1; 3]);
        let (mut by_one, mut by_two) = (doubled(&A1, 127, M1), doubled(&A2, 127, M2));
        let mut left = stream;
        while left > 0 {
            if left & 1 == 1 {
                one = apply(&by_one, &one, M1);
                two = apply(&by_two, &two, M2);
            }
            by_one = product(&by_one, &by_one, M1);
            by_two = product(&by_two, &by_two, M2);
            left >>= 1;
        }
        Self { one: apply(&doubled(&A1, 76, M1), &one, M1), two: apply(&doubled(&A2, 76, M2), &two, M2) }
    }

    /// The next number in (0, 1).
    fn step(&mut self) -> f64 {
        let p1 = (1_403_580 * self.one[1] as u128 + (M1 - 810_728) as u128 * self.one[0] as u128) % M1 as u128;
        let p1 = p1 as u64;
        self.one = [self.one[1], self.one[2], p1];
        let p2 = (527_612 * self.two[2] as u128 + (M2 - 1_370_589) as u128 * self.two[0] as u128) % M2 as u128;
        let p2 = p2 as u64;
        self.two = [self.two[1], self.two[2], p2];
        let z = if p1 > p2 { p1 - p2 } else { p1 + M1 - p2 };
        z as f64 * (1.0 / (M1 + 1) as f64)
    }
}

/// The first number of one stream after another.
#[derive(Clone, Debug)]
pub struct Decisions {
    next: State,
    jump: (Matrix, Matrix),
}

impl Decisions {
    /// Beginning with stream `first`.
    pub fn new(first: u64) -> Self {
        Self { next: State::at(first), jump: (doubled(&A1, 127, M1), doubled(&A2, 127, M2)) }
    }

    /// The next stream's first number, in (0, 1).
    pub fn draw(&mut self) -> f64 {
        let drawn = self.next.clone().step();
        self.skip();
        drawn
    }

    /// A stream that is used for something else.
    pub fn skip(&mut self) {
        self.next.one = apply(&self.jump.0, &self.next.one, M1);
        self.next.two = apply(&self.jump.1, &self.next.two, M2);
    }
}

/// One stream, number after number: for link errors.
#[derive(Clone, Debug)]
pub struct Errors(State);

impl Default for Errors {
    /// Streams numbered by a program are above 2^63; this one is number 50.
    fn default() -> Self {
        Self(State::at((1 << 63) + 50))
    }
}

impl Errors {
    /// The next number, in (0, 1).
    pub fn draw(&mut self) -> f64 {
        self.0.step()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_draws_of_streams() {
        let mut decisions = Decisions::new(2258);
        let known: [f64; 4] = [0.3501513057461641, 0.8411273250716003, 0.4668451813291288, 0.8043771498628072];
        assert_eq!(known.map(|_| decisions.draw()), known);
    }
}
