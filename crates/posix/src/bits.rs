//! A set of places of a text.

#[derive(Clone, Default, Debug)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// A set for places up to `last`.
    pub fn new(last: usize) -> Self {
        Self(vec![0; last / 64 + 1])
    }

    pub fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    pub fn contains(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// The first place from `at` on.
    pub fn next(&self, at: usize) -> Option<usize> {
        let mut word = at / 64;
        let mut bits = self.0.get(word)? & (!0 << (at % 64));
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}
