//! `RAISE`, `ASSERT` and `GET DIAGNOSTICS`.

use sql::parse::plpgsql::{Diagnostic, Fragment, Level, Raise, RaiseOption, Target};
use types::{Datum, Modifier, Object, SqlState, Type};

use super::{Failure, MESSAGE_BYTES_MAX, Runner, Tried, Typed, place, with_context};
use crate::error::{Error, Severity};

impl Runner<'_> {
    /// `RAISE`
    pub(super) fn raise(&mut self, raise: &Raise) -> Tried<()> {
        if raise.again {
            let Some(handled) = self.handled.last() else {
                let state = SqlState::STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER;
                let message =
                    "RAISE without parameters cannot be used outside an exception handler";
                return Err(Error::new(state, message).into());
            };
            return Err(Failure { error: handled.clone(), is_placed: true });
        }
        let mut state = raise.condition.as_ref().map(|(state, _)| *state);
        let mut message = match &raise.format {
            Some(format) => Some(self.formatted(format, &raise.values)?),
            None => None,
        };
        let (mut detail, mut hint) = (None, None);
        let mut objects = Vec::new();
        for (option, fragment) in &raise.options {
            let text = self.text(fragment)?;
            let Some(text) = text else {
                let message = "RAISE statement option cannot be null";
                return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message).into());
            };
            let (name, slot) = match option {
                RaiseOption::State => {
                    if state.is_some() {
                        return Err(twice("ERRCODE").into());
                    }
                    state = Some(state_of(&text)?);
                    continue;
                }
                RaiseOption::Message => ("MESSAGE", &mut message),
                RaiseOption::Detail => ("DETAIL", &mut detail),
                RaiseOption::Hint => ("HINT", &mut hint),
                of_object => {
                    let (object, name) = object_of(*of_object);
                    if objects.iter().any(|(known, _)| *known == object) {
                        return Err(twice(name).into());
                    }
                    objects.push((object, text));
                    continue;
                }
            };
            if slot.replace(text).is_some() {
                return Err(twice(name).into());
            }
        }
        let severity = match raise.level {
            Level::Debug => Severity::Debug,
            Level::Log => Severity::Log,
            Level::Info => Severity::Info,
            Level::Notice => Severity::Notice,
            Level::Warning => Severity::Warning,
            Level::Exception => Severity::Error,
        };
        let state_told = state.unwrap_or(match raise.level {
            Level::Exception => SqlState::RAISE_EXCEPTION,
            Level::Warning => SqlState::WARNING,
            _ => SqlState::SUCCESSFUL_COMPLETION,
        });
        let message = message.unwrap_or_else(|| match (&raise.condition, state) {
            (Some((_, name)), _) => name.clone(),
            (None, Some(state)) => state.code().to_owned(),
            (None, None) => SqlState::RAISE_EXCEPTION.code().to_owned(),
        });
        let mut told = Error::notice(severity, state_told, message);
        if let Some(detail) = detail {
            told = told.detail(detail);
        }
        if let Some(hint) = hint {
            told = told.hint(hint);
        }
        for (object, name) in objects {
            told.cause = told.cause.about(object, name);
        }
        if severity == Severity::Error {
            return Err(told.into());
        }
        // Listeners for messages of drivers read both.
        (told.routine, told.line) = (Some("exec_stmt_raise"), Some(self.line));
        self.tell(with_context(told, &place(self.line, "at RAISE")))
    }

    /// Sends a message to the client.
    fn tell(&mut self, told: Error) -> Tried<()> {
        self.told += told.message().len() + 100;
        if self.told > MESSAGE_BYTES_MAX {
            let message = "a DO block has sent too many messages";
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).into());
        }
        self.session.client.say(told);
        let notices = &mut *self.session.client.notices.borrow_mut();
        self.out.notices(notices);
        Ok(())
    }

    /// A format with the values in the place of each `%`.
    fn formatted(&mut self, format: &str, values: &[Fragment]) -> Tried<String> {
        let mut values = values.iter();
        let mut out = String::new();
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            if chars.next_if_eq(&'%').is_some() {
                out.push('%');
                continue;
            }
            if let Some(value) = values.next() {
                match self.text(value)? {
                    Some(text) => out.push_str(&text),
                    None => out.push_str("<NULL>"),
                }
            }
        }
        Ok(out)
    }

    /// The value of an expression as text; `None` for NULL.
    fn text(&mut self, fragment: &Fragment) -> Tried<Option<String>> {
        let value = self.value(fragment)?;
        let statement_context = self.session.statement_context();
        let context = statement_context.types();
        Ok(types::text::to_string(value.value.as_ref(), value.ty, value.modifier, &context))
    }

    /// `ASSERT`
    pub(super) fn assert(&mut self, condition: &Fragment, message: Option<&Fragment>) -> Tried<()> {
        if self.session.setting("plpgsql.check_asserts").is_some_and(|on| is_off(&on)) {
            return Ok(());
        }
        if self.is_true(condition)? {
            return Ok(());
        }
        let told = match message {
            Some(message) => self.text(message)?,
            None => None,
        };
        let message = told.unwrap_or_else(|| "assertion failed".to_owned());
        Err(Error::new(SqlState::ASSERT_FAILURE, message).into())
    }

    /// `GET DIAGNOSTICS`
    pub(super) fn diagnostics(
        &mut self,
        stacked: bool,
        items: &[(Target, Diagnostic)],
    ) -> Tried<()> {
        let handled = self.handled.last().cloned();
        if stacked && handled.is_none() {
            let state = SqlState::STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER;
            let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            return Err(Error::new(state, message).into());
        }
        for (target, item) in items {
            let of = |text: &dyn Fn(&Error) -> Option<String>| {
                let text = handled.as_ref().and_then(text).unwrap_or_default();
                (Datum::text(text), Type::TEXT)
            };
            let object =
                |object| of(&|error: &Error| error.cause.object(object).map(str::to_owned));
            let (value, ty) = match item {
                Diagnostic::RowCount => {
                    (Datum::Int8(i64::try_from(self.row_count).unwrap_or(i64::MAX)), Type::INT8)
                }
                Diagnostic::Context => {
                    (Datum::text(place(self.line, "at GET DIAGNOSTICS")), Type::TEXT)
                }
                Diagnostic::Routine => (Datum::Oid(types::Oid::NONE), Type::OID),
                Diagnostic::State => of(&|error| Some(error.state().code().to_owned())),
                Diagnostic::Message => of(&|error| Some(error.message().to_owned())),
                Diagnostic::Detail => of(&|error| error.cause.detail().map(str::to_owned)),
                Diagnostic::Hint => of(&|error| error.cause.hint().map(str::to_owned)),
                Diagnostic::ErrorContext => of(&|error| error.cause.context().map(str::to_owned)),
                Diagnostic::Column => object(Object::Column),
                Diagnostic::Constraint => object(Object::Constraint),
                Diagnostic::Type => object(Object::Type),
                Diagnostic::Table => object(Object::Table),
                Diagnostic::Schema => object(Object::Schema),
            };
            self.assign(target, Typed { value, ty, modifier: Modifier::NONE })?;
        }
        Ok(())
    }
}

fn is_off(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "off" | "false" | "no" | "0" | "f" | "n")
}

/// The code that `ERRCODE` says: five characters, or the name of a condition.
fn state_of(text: &str) -> Tried<SqlState> {
    let found = SqlState::from_code(text).or_else(|| SqlState::from_condition(text).next());
    found.ok_or_else(|| {
        let message = format!("unrecognized exception condition \"{text}\"");
        Error::new(SqlState::UNDEFINED_OBJECT, message).into()
    })
}

fn object_of(option: RaiseOption) -> (Object, &'static str) {
    match option {
        RaiseOption::Column => (Object::Column, "COLUMN"),
        RaiseOption::Constraint => (Object::Constraint, "CONSTRAINT"),
        RaiseOption::Type => (Object::Type, "DATATYPE"),
        RaiseOption::Schema => (Object::Schema, "SCHEMA"),
        _ => (Object::Table, "TABLE"),
    }
}

fn twice(name: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("RAISE option already specified: {name}"))
}
