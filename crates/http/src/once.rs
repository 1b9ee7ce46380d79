//! Bodies that are instructions: a body that names a member twice may mean either, so it is refused.
//! In documents, and values within such bodies, the last of them counts, as ever.
//!
//! ```text
//!   [{"op":"add","op":"remove","path":"/a"}]                         refused: a step has one "op"
//!   [{"op":"add","path":"/a","value":{"n":1,"n":2}}]                 taken: {"n":2} is a value
//! ```

use json::{Kind, Sink, Stopped, Tape, TapeBuilder};

use crate::problem::Problem;

/// Which objects of a body say what is to be done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The body itself.
    Object,
    /// The steps of a JSON Patch.
    Patch,
    /// A transaction, its operations, and the steps of patches among these.
    Transaction,
}

/// Builds a tape, unless a member is named twice.
struct Once {
    form: Form,
    tape: TapeBuilder,
    /// The names so far of each container that is open; none are kept of those that are values.
    open: Vec<Option<Vec<Box<[u8]>>>>,
    /// True within a member "patch" of an operation.
    is_patch: bool,
    twice: Option<String>,
}

/// Reads such a body.
///
/// # Errors
/// 400 where it is no JSON, or names a member twice; 422 where it is beyond the limits.
pub(crate) fn read(body: &[u8], form: Form, limits: &json::Limits) -> Result<Tape, Problem> {
    let (tape, open) = (TapeBuilder::new(), Vec::new());
    let mut once = Once { form, tape, open, is_patch: false, twice: None };
    let parsed = json::parse_slice(body, limits, &mut once);
    if let Some(name) = once.twice {
        return Err(Problem::bad(format!("{name:?} is given twice")));
    }
    parsed?;
    Ok(once.tape.finish())
}

impl Once {
    /// True if an object that begins now says what is to be done.
    fn is_told(&self) -> bool {
        match (self.form, self.open.len()) {
            (Form::Object, 0) | (Form::Patch, 1) | (Form::Transaction, 0 | 2) => true,
            (Form::Transaction, 4) => self.is_patch,
            _ => false,
        }
    }
}

impl Sink for Once {
    fn name(&mut self, text: &[u8]) -> Result<(), Stopped> {
        if self.open.len() == 3 {
            self.is_patch = text == b"patch";
        }
        if let Some(Some(names)) = self.open.last_mut() {
            if names.iter().any(|name| **name == *text) {
                self.twice = Some(String::from_utf8_lossy(text).into_owned());
                return Err(Stopped);
            }
            names.push(text.into());
            // None has so many: the search stays short.
            names.truncate(64);
        }
        self.tape.name(text)
    }

    fn scalar(&mut self, kind: Kind, text: &[u8]) -> Result<(), Stopped> {
        self.tape.scalar(kind, text)
    }

    fn open(&mut self, kind: Kind) -> Result<(), Stopped> {
        let is_told = kind == Kind::Object && self.is_told();
        self.open.push(is_told.then(Vec::new));
        Sink::open(&mut self.tape, kind)
    }

    fn close(&mut self) -> Result<(), Stopped> {
        self.open.pop();
        Sink::close(&mut self.tape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A member that is named twice is found wherever it says what is to be done, and nowhere else.
    #[test]
    fn twice() {
        let limits = anywhen::limits();
        let is_taken = |form, text: &str| read(text.as_bytes(), form, &limits).is_ok();
        for (form, text, taken) in [
            (Form::Object, r#"{"a":1,"b":2}"#, true),
            (Form::Object, r#"{"a":1,"\u0061":2}"#, false),
            (Form::Object, r#"{"a":{"b":1,"b":2}}"#, true),
            (Form::Patch, r#"[{"op":"add","op":"remove"}]"#, false),
            (Form::Patch, r#"[{"op":"add"},{"op":"add","value":{"n":1,"n":2}}]"#, true),
            (Form::Patch, r#"[{"op":"add","value":[[{"n":1,"n":2}]]}]"#, true),
            (Form::Transaction, r#"{"since":1,"since":2}"#, false),
            (Form::Transaction, r#"{"operations":[{"op":"a","op":"b"}]}"#, false),
            (Form::Transaction, r#"{"operations":[{"patch":[{"op":"a","op":"b"}]}]}"#, false),
            (Form::Transaction, r#"{"operations":[{"value":[{"op":"a","op":"b"}]}]}"#, true),
            (Form::Transaction, r#"{"operations":[{"value":{"op":"a","op":"b"}}]}"#, true),
        ] {
            assert_eq!(is_taken(form, text), taken, "{text}");
        }
        let tape = read(br#"[{"value":{"n":1,"n":2}}]"#, Form::Patch, &limits).expect("taken");
        assert_eq!(tape.root().to_json(), r#"[{"value":{"n":2}}]"#);
    }
}
