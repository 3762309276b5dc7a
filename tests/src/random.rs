//! Random numbers with a seed, and how many to draw: the same in every test that draws.

/// Splitmix64: small, good enough, the same everywhere.
pub struct Random(u64);

impl Random {
    /// Numbers that follow from the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The number that follows.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.number() % n).unwrap_or(0)
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// One of these, or `otherwise` if there is none.
    pub fn pick_or<T: Copy>(&mut self, from: &[T], otherwise: T) -> T {
        self.pick(from).copied().unwrap_or(otherwise)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The seed of every random test: fixed, unless `IVERSON_SEED` says otherwise.
#[must_use]
pub fn seed() -> u64 {
    variable("IVERSON_SEED").unwrap_or(20_240_229)
}

/// How often a random test runs: `usual`, unless `IVERSON_COUNT` says otherwise.
#[must_use]
pub fn count(usual: u64) -> u64 {
    variable("IVERSON_COUNT").unwrap_or(usual)
}

/// The number of the first case, so that one case of a long run can be tried alone: 0, unless
/// `IVERSON_FIRST` says otherwise.
#[must_use]
pub fn first() -> u64 {
    variable("IVERSON_FIRST").unwrap_or(0)
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
