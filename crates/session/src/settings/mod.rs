//! Settings of a session: the values of `SET`, `SHOW` and `RESET`.
//!
//! ```text
//!                     begin    SET a=2   SAVEPOINT s   SET LOCAL a=3   ROLLBACK TO s   COMMIT
//!   session   a=1              a=2                     a=2             a=2             a=2
//!   local                                              a=3                             -
//!   undo      []               [a:1]     mark 1        [a:1, a:2]      [a:1]           []
//! ```
//!
//! Each setting has a value of the session and, while a transaction lasts, maybe one of `SET LOCAL`
//! before it. A rollback of a transaction, also in part, undoes its settings: an undo log has the
//! former slot of each setting. Values that evaluation needs all the time, the style of values and
//! a few numbers, are kept in a form of their own as well.

pub mod known;
pub(crate) mod special;
pub mod value;

use std::sync::Arc;

use charset::Charset;
use types::time::TimestampTz;
use types::{SqlState, Style};

use crate::configuration::Configured;
use crate::error::{Error, Result};
use known::{Known, Scope};
use value::Value;

/// The settings whose changes are reported to a client.
const REPORTED: [&str; 14] = [
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "scram_iterations",
    "search_path",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
];

/// The setting that is reported under its own name after [`REPORTED`], which is sorted.
const REPORTED_LAST: &str = "TimeZone";

/// The values that one setting has.
#[derive(Clone, PartialEq, Debug)]
struct Slot {
    session: Value,
    /// Of `SET LOCAL`, until the transaction ends.
    local: Option<Value>,
    /// The value that `RESET` restores.
    reset: Value,
}

impl Slot {
    fn new(value: Value) -> Self {
        Slot { session: value.clone(), local: None, reset: value }
    }

    fn value(&self) -> &Value {
        self.local.as_ref().unwrap_or(&self.session)
    }
}

/// How long a value holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// To the end of the session: `SET`.
    Session,
    /// To the end of the transaction: `SET LOCAL`.
    Local,
    /// From the beginning of the session: what it was connected with. `RESET` goes back to it.
    Start,
    /// The same, of what is kept for the role or the database, where superusers have put it.
    Kept,
}

/// The settings of one session.
#[derive(Debug)]
pub struct Settings {
    slots: Vec<Slot>,
    /// The names of the settings beyond those that are known: any two words with a point between.
    custom: Vec<String>,
    undo: Vec<(usize, Slot)>,
    /// The values that the server has for settings, as they were taken over last.
    configured: Vec<(usize, Value)>,
    /// The values that the client was told last.
    told: Vec<(&'static str, String)>,
    /// Which of what the client was told may have changed since, in the order in which it did.
    changed: Vec<&'static str>,
    // The values that are read all the time.
    style: Arc<Style>,
    search_path: Arc<[String]>,
    identity: Arc<SessionIdentity>,
    /// `join_collapse_limit` is 1.
    keeps_join_order: bool,
    system_time: Option<TimestampTz>,
    charset: Charset,
    logged: Logged,
}

/// Which statements the server logs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Logged {
    /// Logs statements that take so many milliseconds or more: `log_min_duration_statement`. None
    /// below 0.
    pub min_duration_ms: i64,
    /// Those of these kinds, when they begin: `log_statement`.
    pub kinds: LoggedKinds,
}

/// The words of `log_statement`; each has those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LoggedKinds {
    /// No statements.
    None,
    /// Definitions.
    Definitions,
    /// Changes of rows.
    Changes,
    /// All statements.
    All,
}

/// The identity of the client.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionIdentity {
    /// The role that logged in, or was named by `SET SESSION AUTHORIZATION`.
    pub session_user: Box<str>,
    /// The role whose rights are in force: the same, unless `SET ROLE` named another.
    pub user: Box<str>,
}

impl Settings {
    /// The settings of a new session.
    pub fn new(superuser: bool) -> Self {
        let slots = known::all().iter().map(|known| {
            let value = value::read(known, known.name, known.default);
            Slot::new(value.expect("a default is a value"))
        });
        let mut settings = Settings {
            slots: slots.collect(),
            custom: Vec::new(),
            undo: Vec::new(),
            configured: Vec::new(),
            told: Vec::new(),
            changed: Vec::new(),
            style: Arc::default(),
            search_path: special::name_list("\"$user\", public").unwrap_or_default().into(),
            identity: Arc::default(),
            keeps_join_order: false,
            system_time: None,
            charset: Charset::UTF8,
            logged: Logged { min_duration_ms: -1, kinds: LoggedKinds::None },
        };
        settings.tell_internal("is_superuser", if superuser { "on" } else { "off" });
        settings
    }

    /// How values are written.
    pub fn style(&self) -> &Arc<Style> {
        &self.style
    }

    /// The names in `search_path`.
    pub fn search_path(&self) -> &Arc<[String]> {
        &self.search_path
    }

    /// The time at which tables are read; none for the present.
    pub fn system_time(&self) -> Option<TimestampTz> {
        self.system_time
    }

    /// Which statements the server logs.
    pub fn logged(&self) -> Logged {
        self.logged
    }

    /// The encoding of the client.
    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// True if joins are made in the order in which a statement writes them: `join_collapse_limit` is 1.
    pub fn keeps_join_order(&self) -> bool {
        self.keeps_join_order
    }

    /// The identity of the client.
    pub fn identity(&self) -> &Arc<SessionIdentity> {
        &self.identity
    }

    /// Sets the current user, and returns the previous one.
    pub fn act_as(&mut self, user: &str) -> Arc<SessionIdentity> {
        let session_user = self.identity.session_user.clone();
        let now = Arc::new(SessionIdentity { session_user, user: user.into() });
        std::mem::replace(&mut self.identity, now)
    }

    /// Undoes [`Settings::act_as`].
    pub fn set_identity(&mut self, identity: Arc<SessionIdentity>) {
        self.identity = identity;
    }

    /// Puts a schema in front of the search path, and returns the previous search path.
    pub fn look_first_in(&mut self, schema: &str) -> Arc<[String]> {
        let first = std::iter::once(schema.to_owned());
        let now = first.chain(self.search_path.iter().cloned()).collect();
        std::mem::replace(&mut self.search_path, now)
    }

    /// Undoes [`Settings::look_first_in`].
    pub fn set_search_path(&mut self, path: Arc<[String]>) {
        self.search_path = path;
    }

    /// Sets a setting that only tells, such as the user.
    pub fn tell_internal(&mut self, name: &str, text: &str) {
        let place = known::find(name).expect("the setting is known");
        let value = value::read(&known::all()[place], name, text).expect("the value is one");
        self.slots[place] = Slot::new(value);
        self.apply(place);
    }

    /// Tells whether the user may do everything, for as long as another setting holds that says who
    /// it is.
    pub fn set_superuser(&mut self, superuser: bool, extent: Extent) {
        let place = known::find("is_superuser").expect("the setting is known");
        self.put(place, Value::Bool(superuser), extent);
    }

    /// Takes over the values that the server has for settings. A value that the session, its role or its
    /// database has instead stays.
    pub(crate) fn configure(&mut self, values: &[Configured], now: TimestampTz) {
        let mut configured = Vec::with_capacity(values.len());
        for Configured { name, value: text, .. } in values {
            // They were checked when they were read.
            let Ok(place) = self.place_to_set(name) else { continue };
            let value = match known::all().get(place) {
                Some(known) => value::read(known, name, text)
                    .and_then(|value| special::check(known, name, value, &self.style, now)),
                None => Ok(Value::Text(text.as_str().into())),
            };
            configured.extend(value.map(|value| (place, value)));
        }
        let before = std::mem::replace(&mut self.configured, configured);
        let places: Vec<usize> =
            before.iter().chain(&self.configured).map(|(place, _)| *place).collect();
        for place in places {
            let of = |values: &[(usize, Value)]| {
                let found = values.iter().find(|(known, _)| *known == place);
                found.map_or_else(|| default_of(place), |(_, value)| value.clone())
            };
            let (was, is) = (of(&before), of(&self.configured));
            if was == is || self.slots[place].reset != was {
                continue;
            }
            let slot = &mut self.slots[place];
            slot.reset = is.clone();
            if slot.session == was {
                slot.session = is;
            }
            self.apply(place);
        }
    }

    /// Sets `name` to what `text` says now; `None` for its default.
    ///
    /// # Errors
    /// `42704` where there is no such setting, `55P02` where it cannot be set now, `22023` where it
    /// does not take the value.
    pub fn set_at(
        &mut self,
        name: &str,
        text: Option<&str>,
        extent: Extent,
        now: TimestampTz,
    ) -> Result<()> {
        let place = self.place_to_set(name)?;
        if let Some(known) = known::all().get(place) {
            self.may_set(known, name, extent)?;
        }
        let value = match (text, known::all().get(place)) {
            (None, _) => self.slots[place].reset.clone(),
            (Some(text), Some(known)) => {
                let value = value::read(known, name, text)?;
                special::check(known, name, value, &self.style, now)?
            }
            (Some(text), None) => Value::Text(text.into()),
        };
        self.put(place, value, extent);
        Ok(())
    }

    /// The same where no time is meant.
    ///
    /// # Errors
    /// As [`Settings::set_at`].
    pub fn set(&mut self, name: &str, text: Option<&str>, extent: Extent) -> Result<()> {
        self.set_at(name, text, extent, TimestampTz(0))
    }

    fn put(&mut self, place: usize, value: Value, extent: Extent) {
        let slot = &mut self.slots[place];
        self.undo.push((place, slot.clone()));
        match extent {
            Extent::Local => slot.local = Some(value),
            Extent::Session => {
                slot.session = value;
                slot.local = None;
            }
            Extent::Start | Extent::Kept => *slot = Slot::new(value),
        }
        self.apply(place);
    }

    fn may_set(&self, known: &Known, name: &str, extent: Extent) -> Result<()> {
        let message = match known.scope {
            Scope::User => return Ok(()),
            Scope::Superuser if self.bool("is_superuser") || extent == Extent::Kept => {
                return Ok(());
            }
            Scope::Superuser => {
                return Err(Error::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied to set parameter \"{name}\""),
                ));
            }
            Scope::Backend if extent == Extent::Start || extent == Extent::Kept => return Ok(()),
            Scope::Backend => "cannot be set after connection start",
            Scope::Server => "cannot be changed without restarting the server",
            Scope::Internal => "cannot be changed",
        };
        let message = format!("parameter \"{name}\" {message}");
        Err(Error::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message))
    }

    /// Goes back to the values that the session began with.
    pub fn reset_all(&mut self) {
        for place in 0..self.slots.len() {
            let slot = &self.slots[place];
            let plain = known::all().get(place).is_none_or(|known| {
                let kept = ["role", "session_authorization", "seed"];
                matches!(known.scope, Scope::User | Scope::Superuser)
                    && !kept.contains(&known.name)
                    && !known.name.starts_with("transaction_")
            });
            if plain && (slot.local.is_some() || slot.session != slot.reset) {
                let reset = slot.reset.clone();
                self.put(place, reset, Extent::Session);
            }
        }
    }

    /// The value of a setting as `SHOW` shows it; `None` if there is no such setting.
    pub fn show(&self, name: &str) -> Option<String> {
        let place = self.place(name)?;
        let value = self.slots[place].value();
        Some(match known::all().get(place) {
            Some(known) => value::show(known, value),
            None => value::bare(value),
        })
    }

    /// The value that `RESET` restores, for the known setting at a place.
    pub(crate) fn reset_value(&self, place: usize) -> &Value {
        &self.slots[place].reset
    }

    /// All settings with their values as `SHOW` shows them, in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = (&Known, &Value)> {
        known::all().iter().zip(&self.slots).map(|(known, slot)| (known, slot.value()))
    }

    /// The value of a known setting that is a whole number; 0 for any other.
    pub fn integer(&self, name: &str) -> i64 {
        match self.known(name) {
            Value::Integer(value) => *value,
            _ => 0,
        }
    }

    /// The value of a known setting that is a number; 0 for any other.
    pub fn real(&self, name: &str) -> f64 {
        match self.known(name) {
            Value::Real(value) => *value,
            _ => 0.0,
        }
    }

    /// The value of a known setting that is a switch; false for any other.
    pub fn bool(&self, name: &str) -> bool {
        matches!(self.known(name), Value::Bool(true))
    }

    /// The value of a known setting that is a text or a word; empty for any other.
    pub fn text(&self, name: &str) -> &str {
        match self.known(name) {
            Value::Text(text) => text,
            _ => "",
        }
    }

    fn known(&self, name: &str) -> &Value {
        self.slots[known::find(name).expect("the setting is known")].value()
    }

    fn place(&self, name: &str) -> Option<usize> {
        known::find(name).or_else(|| {
            let custom = self.custom.iter().position(|known| known.eq_ignore_ascii_case(name));
            custom.map(|place| known::all().len() + place)
        })
    }

    /// The place of a setting that is to be set: custom ones come to be by it.
    fn place_to_set(&mut self, name: &str) -> Result<usize> {
        if let Some(place) = self.place(name) {
            return Ok(place);
        }
        if !name.contains('.') {
            return Err(unknown(name));
        }
        let simple = |part: &str| {
            let mut chars = part.chars();
            chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
                && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
        };
        if !name.split('.').all(simple) {
            return Err(Error::new(
                SqlState::INVALID_NAME,
                format!("invalid configuration parameter name \"{name}\""),
            )
            .detail(
                "Custom parameter names must be two or more simple identifiers separated by dots.",
            ));
        }
        self.custom.push(name.to_owned());
        self.slots.push(Slot::new(Value::Text("".into())));
        Ok(self.slots.len() - 1)
    }

    /// Takes over a value into the form in which it is looked at.
    fn apply(&mut self, place: usize) {
        let Some(known) = known::all().get(place) else { return };
        let is_told = self.told.iter().any(|(name, _)| *name == known.name);
        if is_told && !self.changed.contains(&known.name) {
            self.changed.push(known.name);
        }
        let value = self.slots[place].value();
        if known.name == "search_path" {
            if let Value::Text(text) = value {
                self.search_path = special::name_list(text).unwrap_or_default().into();
            }
        } else if known.name == "client_encoding" {
            self.charset = Charset::named(self.text(known.name)).unwrap_or_default();
        } else if known.name == "log_min_duration_statement" {
            self.logged.min_duration_ms = self.integer(known.name);
        } else if known.name == "log_statement" {
            self.logged.kinds = match self.text(known.name) {
                "ddl" => LoggedKinds::Definitions,
                "mod" => LoggedKinds::Changes,
                "all" => LoggedKinds::All,
                _ => LoggedKinds::None,
            };
        } else if known.name == "join_collapse_limit" {
            self.keeps_join_order = *value == Value::Integer(1);
        } else if known.name == "system_time_as_of" {
            let (text, style) = (self.text(known.name), Style::default());
            // A kept value was checked when it was set.
            self.system_time = special::time(text, &style, TimestampTz(0)).ok();
        } else if let Some(mode) = known.name.strip_prefix("default_")
            && is_of_transaction(mode)
        {
            // Outside of transactions their modes are those that the next one will have.
            let (place, value) = (known::find(mode).expect("the setting is known"), value.clone());
            let reset = self.slots[place].reset.clone();
            let local = self.slots[place].local.take();
            self.slots[place] = Slot { session: value, local, reset };
        } else if ["role", "session_authorization"].contains(&known.name) {
            let session_user = self.text("session_authorization");
            let user = Some(self.text("role")).filter(|role| *role != "none");
            self.identity = Arc::new(SessionIdentity {
                session_user: session_user.into(),
                user: user.unwrap_or(session_user).into(),
            });
        } else {
            special::apply(known, value, Arc::make_mut(&mut self.style));
        }
    }

    // --- transactions ----------------------------------------------------------------------------

    /// The present place in the undo log.
    pub fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Undoes what was set since `mark`.
    pub fn undo_to(&mut self, mark: usize) {
        while self.undo.len() > mark {
            if let Some((place, slot)) = self.undo.pop() {
                self.slots[place] = slot;
                self.apply(place);
            }
        }
    }

    /// Ends a transaction that has committed: `SET LOCAL` ends, what else was set stays.
    pub fn commit(&mut self) {
        for (place, _) in std::mem::take(&mut self.undo) {
            if self.slots[place].local.take().is_some() {
                self.apply(place);
            }
        }
    }

    // --- what the client is told -----------------------------------------------------------------

    /// The settings that are reported to a client, with their values. They count as reported. They
    /// count as told.
    pub fn reported(&mut self) -> Vec<(&'static str, String)> {
        let names = REPORTED.into_iter().chain([REPORTED_LAST]);
        self.told = names.map(|name| (name, self.show(name).unwrap_or_default())).collect();
        self.changed.clear();
        self.told.clone()
    }

    /// Those of them that have changed since the client was told, the last to do so first, as PostgreSQL
    /// tells them.
    pub fn changes(&mut self) -> Vec<(&'static str, String)> {
        let mut changes = Vec::new();
        while let Some(name) = self.changed.pop() {
            let now = self.show(name).unwrap_or_default();
            let told = self.told.iter_mut().find(|(known, _)| *known == name);
            if let Some((_, value)) = told.filter(|(_, value)| *value != now) {
                value.clone_from(&now);
                changes.push((name, now));
            }
        }
        changes
    }
}

/// The default value of a setting.
fn default_of(place: usize) -> Value {
    match known::all().get(place) {
        Some(known) => value::read(known, known.name, known.default).expect("a default is a value"),
        None => Value::Text("".into()),
    }
}

/// True for the settings that tell what the transaction is like, and not what transactions are like
/// unless they say otherwise.
pub fn is_of_transaction(name: &str) -> bool {
    let modes = ["transaction_isolation", "transaction_read_only", "transaction_deferrable"];
    modes.iter().any(|mode| mode.eq_ignore_ascii_case(name))
}

/// The error for a setting that there is not.
pub fn unknown(name: &str) -> Error {
    let message = format!("unrecognized configuration parameter \"{name}\"");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}
