//! A seeded random number generator.

/// SplitMix64, which is small and gives the same results on every platform.
pub struct Rng(u64);

impl Rng {
    /// The generator of one step of a history.
    pub fn of(seed: u64, history: u32, step: u32) -> Self {
        let mut rng = Self(seed ^ (u64::from(history) << 32) ^ u64::from(step).wrapping_mul(0x9e37_79b9));
        rng.next_u64();
        rng
    }

    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `limit - 1`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next_u64() % limit.max(1)
    }

    pub fn one_in(&mut self, limit: u64) -> bool {
        self.below(limit) == 0
    }

    /// A random element of `choices`, which must not be empty.
    pub fn choose<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let index = usize::try_from(self.below(choices.len() as u64)).unwrap_or_default();
        &choices[index]
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        *self.choose(choices)
    }

    /// A random element of `choices`, which must not be empty, in proportion to its weight.
    pub fn weighted<T: Copy>(&mut self, choices: &[(u64, T)]) -> T {
        let total = choices.iter().map(|(weight, _)| weight).sum();
        let mut remaining = self.below(total);
        let chosen = choices.iter().find(|(weight, _)| {
            let is_chosen = remaining < *weight;
            remaining = remaining.saturating_sub(*weight);
            is_chosen
        });
        chosen.unwrap_or(&choices[0]).1
    }

    /// A random key seed.
    pub fn key(&mut self) -> [u8; 32] {
        let mut key = [0; 32];
        for part in key.chunks_mut(8) {
            part.copy_from_slice(&self.next_u64().to_le_bytes());
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_repeat_choices_and_different_ones_do_not() {
        let numbers = |seed, history, step| {
            let mut rng = Rng::of(seed, history, step);
            (0..8).map(|_| rng.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(1, 2, 3), numbers(1, 2, 3));
        assert_ne!(numbers(1, 2, 3), numbers(1, 2, 4));
        assert_ne!(numbers(1, 2, 3), numbers(1, 3, 3));
        assert_ne!(numbers(1, 2, 3), numbers(2, 2, 3));
    }

    #[test]
    fn choices_follow_their_weights_and_weight_zero_is_never_chosen() {
        let mut rng = Rng::of(1, 2, 3);
        let mut counts = [0; 3];
        (0..1_000).for_each(|_| counts[rng.weighted(&[(3, 0), (0, 1), (1, 2)])] += 1);
        assert_eq!(counts[1], 0);
        assert!((650..850).contains(&counts[0]), "{counts:?}");
    }
}
