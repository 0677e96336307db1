//! Choices that a seed repeats.

/// SplitMix64: small, and the same everywhere.
pub struct Rng(u64);

impl Rng {
    /// The rng of one place: a run's seed, a history, a step of it.
    pub fn of(seed: u64, history: u32, step: u32) -> Self {
        let mut rng = Self(seed ^ (u64::from(history) << 32) ^ u64::from(step).wrapping_mul(0x9e37_79b9));
        rng.roll();
        rng
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `limit - 1`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit.max(1)
    }

    pub fn one_in(&mut self, limit: u64) -> bool {
        self.below(limit) == 0
    }

    /// One of some: there must be one.
    pub fn choose<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let index = usize::try_from(self.below(choices.len() as u64)).unwrap_or_default();
        &choices[index]
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        *self.choose(choices)
    }

    /// One of some, each as often as its weight says: there must be one.
    pub fn weighed<T: Copy>(&mut self, choices: &[(u64, T)]) -> T {
        let all = choices.iter().map(|(weight, _)| weight).sum();
        let mut left = self.below(all);
        let chosen = choices.iter().find(|(weight, _)| {
            let is_here = left < *weight;
            left = left.saturating_sub(*weight);
            is_here
        });
        chosen.unwrap_or(&choices[0]).1
    }

    /// The seed of a key.
    pub fn key(&mut self) -> [u8; 32] {
        let mut key = [0; 32];
        for part in key.chunks_mut(8) {
            part.copy_from_slice(&self.roll().to_le_bytes());
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_place_gives_the_same_choices_and_another_place_others() {
        let thrown = |seed, history, step| {
            let mut rng = Rng::of(seed, history, step);
            (0..8).map(|_| rng.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(thrown(1, 2, 3), thrown(1, 2, 3));
        assert_ne!(thrown(1, 2, 3), thrown(1, 2, 4));
        assert_ne!(thrown(1, 2, 3), thrown(1, 3, 3));
        assert_ne!(thrown(1, 2, 3), thrown(2, 2, 3));
    }

    #[test]
    fn what_weighs_more_comes_more_often_and_what_weighs_nothing_never() {
        let mut rng = Rng::of(1, 2, 3);
        let mut times = [0; 3];
        (0..1_000).for_each(|_| times[rng.weighed(&[(3, 0), (0, 1), (1, 2)])] += 1);
        assert_eq!(times[1], 0);
        assert!((650..850).contains(&times[0]), "{times:?}");
    }
}
