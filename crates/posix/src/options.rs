//! The options for reading and matching an expression.

/// The syntax of expressions: the characters that have a special meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Syntax {
    /// Advanced expressions, the usual ones.
    #[default]
    Advanced,
    /// POSIX's extended expressions: no escapes but for punctuation, no short matches.
    Extended,
    /// POSIX's basic expressions: groups and bounds have backslashes.
    Basic,
    /// A plain text.
    Quoted,
}

/// The options that the letters of a flags argument, or of `(?letters)`, set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Options {
    /// Advanced, unless `b`, `e` or `q` chooses another syntax.
    pub syntax: Syntax,
    /// `i`: letters match in both cases.
    pub any_case: bool,
    /// `x`: blanks and comments in the expression do not count.
    pub expanded: bool,
    /// Half of `n`: `.` and `[^...]` do not match a line break.
    pub breaks_stop: bool,
    /// The other half: `^` and `$` match at line breaks.
    pub breaks_anchor: bool,
}

impl Options {
    /// Sets what a letter stands for. Returns false for a letter that is no option.
    pub fn set(&mut self, letter: char) -> bool {
        match letter {
            'b' => self.syntax = Syntax::Basic,
            'c' => self.any_case = false,
            'e' => self.syntax = Syntax::Extended,
            'i' => self.any_case = true,
            'm' | 'n' => (self.breaks_stop, self.breaks_anchor) = (true, true),
            'p' => (self.breaks_stop, self.breaks_anchor) = (true, false),
            'q' => self.syntax = Syntax::Quoted,
            's' => (self.breaks_stop, self.breaks_anchor) = (false, false),
            't' => self.expanded = false,
            'w' => (self.breaks_stop, self.breaks_anchor) = (false, true),
            'x' => self.expanded = true,
            _ => return false,
        }
        true
    }

    /// Takes the expression as a plain text. Only the option on case stays.
    pub(crate) fn quote(&mut self) {
        *self = Self { syntax: Syntax::Quoted, any_case: self.any_case, ..Self::default() };
    }

    /// True if the options ask for a plain text and have others that mean nothing for it.
    pub(crate) fn contradict(&self) -> bool {
        self.syntax == Syntax::Quoted && (self.expanded || self.breaks_stop || self.breaks_anchor)
    }
}
