//! Modifiers: the `(10)` of `varchar(10)`.

/// What narrows a type: PostgreSQL's typmod, a number whose meaning the type knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Modifier(pub i32);

impl Modifier {
    /// The type as wide as it is.
    pub const NONE: Modifier = Modifier(-1);

    /// The number, where there is a modifier.
    pub fn get(self) -> Option<i32> {
        (self.0 >= 0).then_some(self.0)
    }
}

impl Default for Modifier {
    fn default() -> Self {
        Self::NONE
    }
}
