//! The context of an evaluation, other than its arguments.
//!
//! ```text
//!   Context ── types      style, time zone, types and names of users   (a types::Context)
//!           ── clock      transaction, statement, now
//!           ── random     uniform bits, seeded by setseed
//!           ── session    settings, current user, database, schemas
//! ```
//!
//! A function never reads a clock, an environment or a generator of its own: the same context and
//! the same arguments give the same result.

use types::time::TimestampTz;

/// The context of an evaluation.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The context that the forms of values depend on; its `now` is the start of the transaction.
    pub types: types::Context<'a>,
    /// The start of the statement.
    pub statement: TimestampTz,
    /// The wall clock, for `clock_timestamp()`.
    pub clock: &'a dyn Clock,
    /// Where random numbers come from.
    pub random: &'a dyn Random,
    /// Settings and names of the session.
    pub session: &'a dyn Session,
}

/// A clock that goes on while a statement runs.
pub trait Clock {
    /// The moment of the call.
    fn now(&self) -> TimestampTz;
}

/// A source of random bits. It belongs to one session, so calls do not race.
pub trait Random {
    /// 64 uniform bits for `random()` and the like, repeatable after [`Random::seed`].
    fn bits(&self) -> u64;

    /// Starts the repeatable sequence that belongs to a seed.
    fn seed(&self, seed: f64);

    /// 16 unpredictable bytes, for `gen_random_uuid()`.
    fn secret(&self) -> [u8; 16];
}

/// The session, as functions ask it.
pub trait Session {
    /// The value of a setting such as `work_mem`; `None` if there is no such setting.
    fn setting(&self, name: &str) -> Option<String>;

    /// The name of the database.
    fn database(&self) -> &str;

    /// The name of the user whose rights are in force.
    fn user(&self) -> &str;

    /// The name of the user who logged in.
    fn session_user(&self) -> &str;
}
