//! Constants: `1`, `'-1'::integer`, `'a'::text`, `NULL::date`.

use types::{Datum, Modifier, Type};

use super::Printer;
use crate::plan::Expr;

/// Whether a constant says its type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// Where it does not follow from how the constant looks.
    Needed,
    /// Always.
    Always,
    /// Never: a cast follows.
    Never,
}

impl Printer<'_> {
    pub(super) fn constant(&mut self, value: &Datum, of: &Expr, label: Label) {
        let (ty, modifier) = (of.ty, of.modifier);
        let text = types::text::to_string(value.as_ref(), ty, modifier, &self.context);
        let Some(text) = text else {
            self.push("NULL");
            if label != Label::Never {
                self.label(ty, modifier);
            }
            return;
        };
        let starts_with_digit = text.starts_with(|first: char| first.is_ascii_digit());
        let (is_bare, mut needs_label) = match ty {
            Type::INT4 => (starts_with_digit, !starts_with_digit),
            Type::NUMERIC => {
                let is_bare = starts_with_digit && text.contains(['e', 'E', '.']);
                (is_bare, !is_bare || modifier != Modifier::NONE)
            }
            Type::BOOL => {
                self.push(if *value == Datum::Bool(true) { "true" } else { "false" });
                (true, false)
            }
            Type::UNKNOWN => (false, false),
            _ => (false, true),
        };
        match () {
            () if ty == Type::BOOL => {}
            () if is_bare => self.push(&text),
            () => self.literal(&text),
        }
        needs_label |= label == Label::Always;
        if needs_label && label != Label::Never {
            self.label(ty, modifier);
        }
    }

    /// A string, as it is read where `standard_conforming_strings` is on.
    pub(super) fn literal(&mut self, text: &str) {
        self.push("'");
        self.push(&text.replace('\'', "''"));
        self.push("'");
    }

    fn label(&mut self, ty: Type, modifier: Modifier) {
        let of = self.type_text(ty, modifier);
        self.push("::");
        self.push(&of);
    }
}
