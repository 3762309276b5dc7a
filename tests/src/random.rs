//! **Pseudo-random numbers** with a seed. Every test that draws uses this generator, and takes its
//! seed and its number of cases from here.

/// The SplitMix64 generator: small, and identical on every machine.
pub struct Random(u64);

impl Random {
    /// Returns a generator with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`, or 0 if `n` is 0.
    pub fn number_below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.number() % n).unwrap_or(0)
    }

    /// Returns one of these elements, or `None` if the slice is empty.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.number_below(from.len()))
    }

    /// Returns one of these elements, or `otherwise` if the slice is empty.
    pub fn pick_or<T: Copy>(&mut self, from: &[T], otherwise: T) -> T {
        self.pick(from).copied().unwrap_or(otherwise)
    }

    /// Returns true with probability `1 / n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.number_below(n) == 0
    }
}

/// Returns the seed of every random test: `IVERSON_SEED`, or a constant if that is not set.
#[must_use]
pub fn seed() -> u64 {
    variable("IVERSON_SEED").unwrap_or(20_240_229)
}

/// Returns the number of cases of a random test: `IVERSON_COUNT`, or `usual` if that is not set.
#[must_use]
pub fn case_count(usual: u64) -> u64 {
    variable("IVERSON_COUNT").unwrap_or(usual)
}

/// Returns the number of the first case: `IVERSON_FIRST`, or 0. With it, one case of a long run can
/// be repeated alone.
#[must_use]
pub fn first_case() -> u64 {
    variable("IVERSON_FIRST").unwrap_or(0)
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
