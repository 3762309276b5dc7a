//! Numbers that look random and are the same for the same seed, on every machine.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    /// The sequence of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.bits() % u64::try_from(end.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `from`; `otherwise` if there is none.
    pub fn pick<T: Copy>(&mut self, from: &[T], otherwise: T) -> T {
        from.get(self.below(from.len())).copied().unwrap_or(otherwise)
    }
}
