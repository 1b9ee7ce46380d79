//! [`Crew`]: the threads that take the pieces of an operator together.
//!
//! ```text
//!   statement's thread   piece  piece  piece  piece ─┐
//!   helper               piece  piece  piece ────────┼─> states, which the statement's thread merges
//!   helper               piece  piece  piece  piece ─┘
//! ```
//!
//! All statements of a process share the helpers, one for each processor but one. A statement gets those that are idle,
//! so no statement waits for the helpers of another.
//!
//! A member of a crew knows the parameters, the clock and the style of the statement, and the values around it. It
//! cannot ask for state that only the session knows (sequences, settings, names of users' types, subqueries). A crew
//! whose member needs that gives up, and the statement's thread computes all alone. A subquery that reads nothing of
//! the row is answered first, and the crew begins anew.

use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use batch::Run;
use plan::explain::seen::Report;
use rayon_core::{ThreadPool, ThreadPoolBuilder};
use scalar::function::{Call, Function};
use scalar::{Clock, Random, Session};
use sql::eval::{Around, Frame, Host, Kept};
use store::BlockReads;
use types::time::TimestampTz;
use types::{Datum, DatumRef, Domains, Error, Objects, Oid, Result, Shape, SqlState, Type};
use types::{Style, TypeSource};

use crate::ctx::Env;
use crate::op::Input;
use crate::tables::Piece;

/// Some of the pieces of an operator, for one member of a crew.
pub(crate) trait Part: Send {
    /// Calls `f` with the next rows; it returns how many of them it keeps. False at the end.
    fn next_piece(&mut self, run: Run<'_>, f: &mut TakePiece<'_>) -> Result<bool>;

    /// Notes in the statement what the part has seen, once it is at its end.
    fn end(&mut self, _: &Env<'_>) {}
}

/// The parts of an operator.
pub(crate) type Parts<'p> = Vec<Box<dyn Part + 'p>>;

/// A function that takes rows; it returns how many of them it keeps.
pub(crate) type TakePiece<'f> = dyn FnMut(Piece<'_, '_>) -> Result<u64> + 'f;

/// The work of an operator on the pieces of its input, by one member of a crew.
pub(crate) trait Step: Send {
    /// Calls `f` with what becomes of a piece. Returns how many rows of it are kept.
    fn take(&mut self, run: Run<'_>, piece: Piece<'_, '_>, f: &mut TakePiece<'_>) -> Result<u64>;
}

/// Returns the parts of an operator whose input has these parts. `step` makes the step of each.
pub(crate) fn parts_by<'p, S: Step + 'p>(input: Parts<'p>, step: impl Fn() -> S) -> Parts<'p> {
    let part = |input| -> Box<dyn Part + 'p> { Box::new(StepPart { input, step: step() }) };
    input.into_iter().map(part).collect()
}

/// A part of an operator that takes the pieces of its input one by one.
struct StepPart<'p, S> {
    input: Box<dyn Part + 'p>,
    step: S,
}

impl<S: Step> Part for StepPart<'_, S> {
    fn next_piece(&mut self, run: Run<'_>, f: &mut TakePiece<'_>) -> Result<bool> {
        let Self { input, step } = self;
        input.next_piece(run, &mut |piece| step.take(run, piece, f))
    }

    fn end(&mut self, env: &Env<'_>) {
        self.input.end(env);
    }
}

/// The destination of the rows that a member takes.
pub(crate) trait Sink: Send {
    /// Takes the rows of a piece. Returns how many of them are kept.
    fn take(&mut self, run: Run<'_>, piece: &Piece<'_, '_>) -> Result<u64>;

    /// Returns about how many bytes are held.
    fn bytes(&self) -> usize;
}

/// How far a crew has come.
enum Outcome {
    /// All pieces are taken, or as many as the members may hold.
    Taken,
    /// A member needs what only the session knows: the value of this subquery, or something else.
    GaveUp(Option<usize>),
}

/// The threads that help statements.
struct Pool {
    threads: ThreadPool,
    size: usize,
    idle: AtomicUsize,
}

impl Pool {
    /// Returns the pool of the process; `None` if there is one processor, or no thread can be started.
    fn get() -> Option<&'static Pool> {
        static POOL: OnceLock<Option<Pool>> = OnceLock::new();
        /// As much as a thread has that runs statements: expressions may be deep.
        const STACK_BYTES: usize = 16 << 20;
        let start = || {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            let count = processors.checked_sub(1).filter(|count| *count > 0)?;
            let builder = ThreadPoolBuilder::new().num_threads(count).stack_size(STACK_BYTES);
            let threads = builder.thread_name(|at| format!("helper {at}")).build().ok()?;
            Some(Pool { threads, size: count, idle: AtomicUsize::new(count) })
        };
        POOL.get_or_init(start).as_ref()
    }
}

/// Idle helpers that a statement has taken, until this is dropped.
struct Helpers {
    pool: &'static Pool,
    count: usize,
}

impl Helpers {
    fn take(most: usize) -> Option<Helpers> {
        let pool = Pool::get()?;
        let taken = |idle: usize| (idle > 0 && most > 0).then(|| idle - idle.min(most));
        let idle = pool.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).ok()?;
        Some(Helpers { pool, count: idle.min(most) })
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.pool.idle.fetch_add(self.count, Ordering::AcqRel);
    }
}

/// The work that helpers have done for an operator.
#[derive(Clone, Copy, Default)]
pub(crate) struct Helped {
    /// True if they cannot.
    pub(crate) gives_up: bool,
    /// How many have at most.
    pub(crate) threads: u64,
}

impl Helped {
    pub(crate) fn report(self) -> Report {
        Report { helpers: self.threads, ..Report::default() }
    }
}

/// Puts the results of a crew together: the groups of an aggregate, or the kept rows of a join.
pub(crate) trait Gather {
    /// The groups or rows of one member.
    type Sink: Sink;

    /// Returns a sink that has taken nothing.
    fn sink(&self) -> Self::Sink;

    /// Puts the sinks together, and takes what is left of the parts if the sinks are full. Returns false if it cannot.
    ///
    /// # Errors
    /// The errors of the parts and of their merge.
    fn gather(
        &mut self,
        env: &Env<'_>,
        sinks: Vec<Self::Sink>,
        parts: &mut Parts<'_>,
    ) -> Result<bool>;
}

/// Has a crew take the pieces of an input, if the input can be taken apart. The members may hold so many bytes together.
/// The caller then reads the input to its end by [`Operator::next_piece`](crate::op::Operator::next_piece), which gives
/// the pieces that the crew has not taken: all of them if it gave up.
///
/// # Errors
/// The errors of the input and `to`, and the first error of a member; `57014`.
pub(crate) fn take(
    env: &Env<'_>,
    input: &mut Input,
    bytes_max: usize,
    helped: &mut Helped,
    to: &mut impl Gather,
) -> Result<()> {
    // A statement that is to look at a few rows does not get far enough to need help.
    if env.ctx.help.threads_max == 0 || env.ctx.rows_max.is_some() || helped.gives_up {
        return Ok(());
    }
    let Some(pool) = Pool::get() else { return Ok(()) };
    let members = 1 + pool.size.min(env.ctx.help.threads_max);
    let mut known = Vec::new();
    loop {
        let needed = {
            let mut parts = input.parts(env, members)?;
            if parts.is_empty() {
                return Ok(());
            }
            let mut sinks: Vec<_> = parts.iter().map(|_| to.sink()).collect();
            match Crew::new(env, &known, bytes_max).take(env, &mut parts, &mut sinks, helped)? {
                Outcome::Taken if to.gather(env, sinks, &mut parts)? => return Ok(()),
                Outcome::Taken => None,
                Outcome::GaveUp(needed) => needed,
            }
        };
        input.rewind(env.shared);
        let Some(number) = needed else {
            helped.gives_up = true;
            return Ok(());
        };
        known.push((number, env.subplan(number, &mut std::iter::empty())?));
    }
}

/// The state that the members of a crew share.
struct Crew<'c> {
    style: &'c Style,
    now: TimestampTz,
    statement: TimestampTz,
    params: &'c [Datum],
    slots: Vec<Datum>,
    /// The values of subqueries.
    known: &'c [(usize, Datum)],
    /// The number of values that are computed once.
    kept: usize,
    cancel: &'c AtomicBool,
    /// No member begins another piece.
    is_full: AtomicBool,
    /// A member has failed or given up: the others stop at once.
    is_over: AtomicBool,
    gave_up: AtomicBool,
    /// The subquery that a member needs, or [`NOTHING`].
    needed: AtomicUsize,
    failed: Mutex<Option<Error>>,
    bytes: AtomicUsize,
    bytes_max: usize,
}

const NOTHING: usize = usize::MAX;

impl<'c> Crew<'c> {
    /// Returns a crew for a statement, whose members may hold so many bytes together. `known` has values of subqueries.
    fn new(env: &'c Env<'_>, known: &'c [(usize, Datum)], bytes_max: usize) -> Crew<'c> {
        let context = env.ctx.frame.context;
        Crew {
            style: context.types.style,
            now: context.types.now,
            statement: context.statement,
            params: env.ctx.frame.params,
            slots: env.shared.slots.borrow().clone(),
            known,
            kept: env.shared.kept_count(),
            cancel: env.ctx.cancel,
            is_full: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            gave_up: AtomicBool::new(false),
            needed: AtomicUsize::new(NOTHING),
            failed: Mutex::new(None),
            bytes: AtomicUsize::new(0),
            bytes_max,
        }
    }

    /// Has the calling thread and idle helpers take the pieces of the parts into the sinks, of which there are as many.
    ///
    /// # Errors
    /// The first error of a member; `57014`.
    fn take<S: Sink>(
        &self,
        env: &Env<'_>,
        parts: &mut Parts<'_>,
        sinks: &mut [S],
        helped: &mut Helped,
    ) -> Result<Outcome> {
        let helpers = Helpers::take(parts.len().saturating_sub(1));
        let count = helpers.as_ref().map_or(0, |helpers| helpers.count as u64);
        helped.threads = helped.threads.max(count);
        let mut pairs = parts.iter_mut().zip(sinks);
        let own = pairs.next();
        let rows = AtomicUsize::new(0);
        let reads = Mutex::new(BlockReads::default());
        let work = |part: &mut Box<dyn Part + '_>, sink: &mut S| {
            let seen = interrupt::during(self.cancel, || self.work(part.as_mut(), sink));
            rows.fetch_add(seen, Ordering::Relaxed);
        };
        match helpers {
            None => own.into_iter().for_each(|(part, sink)| work(part, sink)),
            Some(helpers) => helpers.pool.threads.in_place_scope(|scope| {
                for (part, sink) in pairs.take(helpers.count) {
                    let (work, reads) = (&work, &reads);
                    scope.spawn(move |_| {
                        let before = BlockReads::of_thread();
                        work(part, sink);
                        let seen = BlockReads::of_thread().since(before);
                        reads.lock().unwrap_or_else(PoisonError::into_inner).add(seen);
                    });
                }
                own.into_iter().for_each(|(part, sink)| work(part, sink));
            }),
        }
        reads.into_inner().unwrap_or_else(PoisonError::into_inner).add_to_thread();
        env.shared.add_ticks(rows.into_inner() as u64);
        if self.gave_up.load(Ordering::Relaxed) {
            let needed = self.needed.load(Ordering::Relaxed);
            return Ok(Outcome::GaveUp((needed != NOTHING).then_some(needed)));
        }
        if let Some(error) = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        Ok(Outcome::Taken)
    }

    /// Takes the pieces of a part. Returns how many rows were looked at.
    fn work(&self, part: &mut dyn Part, sink: &mut dyn Sink) -> usize {
        let member = Member::new(self);
        let context = member.context();
        let frame = Frame { context: &context, params: self.params, host: &member };
        let rows = Cell::new(0);
        let tick = |more: u64| {
            rows.set(rows.get() + more as usize);
            match self.is_over.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed) {
                true => Err(interrupt::Interrupted.into()),
                false => Ok(()),
            }
        };
        let run = Run { frame, around: &member, tick: &tick };
        let mut held = 0;
        loop {
            if self.is_full.load(Ordering::Relaxed) || self.is_over.load(Ordering::Relaxed) {
                break;
            }
            match part.next_piece(run, &mut |piece| sink.take(run, &piece)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    self.is_over.store(true, Ordering::Relaxed);
                    break;
                }
            }
            let now = sink.bytes().max(held);
            let all = self.bytes.fetch_add(now - held, Ordering::Relaxed) + now - held;
            held = now;
            if all > self.bytes_max {
                self.is_full.store(true, Ordering::Relaxed);
            }
        }
        rows.get()
    }

    /// Has all members stop: one needs what only the session knows.
    fn give_up(&self) -> Error {
        self.gave_up.store(true, Ordering::Relaxed);
        self.is_over.store(true, Ordering::Relaxed);
        Error::new(SqlState::INTERNAL_ERROR, "a helper does not know what the session knows")
    }
}

/// A member of a crew, and what it knows of the statement.
struct Member<'m> {
    crew: &'m Crew<'m>,
    /// Values that are the same for all rows.
    kept: Vec<OnceCell<Kept>>,
}

impl<'m> Member<'m> {
    fn new(crew: &'m Crew<'m>) -> Member<'m> {
        Member { crew, kept: (0..crew.kept).map(|_| OnceCell::new()).collect() }
    }

    fn context(&self) -> scalar::Context<'_> {
        let types = types::Context {
            style: self.crew.style,
            now: self.crew.now,
            types: self,
            domains: self,
            objects: self,
        };
        let statement = self.crew.statement;
        scalar::Context { types, statement, clock: self, random: self, session: self }
    }
}

impl Around for Member<'_> {
    fn slot(&self, number: usize) -> Datum {
        self.crew.slots[number].clone()
    }

    fn kept(&self, number: usize) -> Option<&OnceCell<Kept>> {
        self.kept.get(number)
    }

    fn subplan(
        &self,
        number: usize,
        args: &mut dyn Iterator<Item = Result<Datum>>,
    ) -> Result<Datum> {
        let reads_row = args.next().is_some();
        let known = self.crew.known.iter().find(|(known, _)| *known == number && !reads_row);
        if let Some((_, value)) = known {
            return Ok(value.clone());
        }
        if !reads_row {
            self.crew.needed.store(number, Ordering::Relaxed);
        }
        Err(self.crew.give_up())
    }
}

impl Host for Member<'_> {
    fn next_value(&self, _: Oid) -> Result<i64> {
        Err(self.crew.give_up())
    }

    fn call(&self, _: &Function, _: &Call<'_>, _: &[DatumRef<'_>]) -> Result<Datum> {
        Err(self.crew.give_up())
    }

    fn rows(&self, _: &Function, _: &Call<'_>, _: &[DatumRef<'_>]) -> Result<scalar::Rows> {
        Err(self.crew.give_up())
    }
}

// These calls cannot fail. They have the crew give up and return any value: nobody looks at the results then.

impl Clock for Member<'_> {
    fn now(&self) -> TimestampTz {
        self.crew.give_up();
        self.crew.statement
    }
}

impl Random for Member<'_> {
    fn bits(&self) -> u64 {
        self.crew.give_up();
        0
    }

    fn seed(&self, _: f64) {
        self.crew.give_up();
    }

    fn secret(&self) -> [u8; 16] {
        self.crew.give_up();
        [0; 16]
    }
}

impl Session for Member<'_> {
    fn setting(&self, _: &str) -> Option<String> {
        self.crew.give_up();
        None
    }

    fn database(&self) -> &str {
        self.crew.give_up();
        ""
    }

    fn user(&self) -> &str {
        self.crew.give_up();
        ""
    }

    fn session_user(&self) -> &str {
        self.crew.give_up();
        ""
    }
}

impl TypeSource for Member<'_> {
    fn shape(&self, _: Type) -> Option<Shape> {
        self.crew.give_up();
        None
    }

    fn name(&self, _: Type) -> Option<String> {
        self.crew.give_up();
        None
    }

    fn array_of(&self, _: Type) -> Option<Type> {
        self.crew.give_up();
        None
    }

    fn multirange_of(&self, _: Type) -> Option<Type> {
        self.crew.give_up();
        None
    }
}

impl Domains for Member<'_> {
    fn check(&self, _: Type, _: DatumRef<'_>) -> Result<()> {
        Err(self.crew.give_up())
    }
}

impl Objects for Member<'_> {
    fn oid(&self, _: Type, _: &str) -> Result<Oid> {
        Err(self.crew.give_up())
    }

    fn name(&self, _: Type, _: Oid) -> Option<String> {
        self.crew.give_up();
        None
    }
}
