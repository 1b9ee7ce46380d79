//! Parallel reads: several threads take the pieces of an operator's input together ([`ParallelRun`]).
//!
//! ```text
//!   statement's thread   piece  piece  piece  piece ─┐
//!   worker               piece  piece  piece ────────┼─> states, which the statement's thread merges
//!   worker               piece  piece  piece  piece ─┘
//! ```
//!
//! All statements of a process share the workers, one for each processor but one. A statement gets those that are idle,
//! so no statement waits for the workers of another. The statement's thread and its workers are the participants.
//!
//! A participant has the parameters, the clock and the style of the statement, and the values of outer rows. It cannot
//! use state that only the session has (sequences, settings, names of users' types, subqueries). If a participant needs
//! that, the run gives up, and the statement's thread computes everything alone. A subquery that reads nothing of the
//! row is computed first, and the run begins anew.

use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use batch::Run;
use plan::explain::operator_stats::Report;
use rayon_core::{ThreadPool, ThreadPoolBuilder};
use scalar::function::{Call, Function};
use scalar::{Clock, Random, Session};
use sql::eval::{CachedValue, Frame, Host, OuterValues};
use store::BlockReads;
use types::time::TimestampTz;
use types::{Datum, DatumRef, Domains, Error, Objects, Oid, Result, Shape, SqlState, Type};
use types::{Style, TypeSource};

use crate::ctx::Env;
use crate::op::Input;
use crate::tables::Piece;

/// Some of the pieces of an operator, for one participant.
pub(crate) trait Part: Send {
    /// Calls `f` with the next rows; it returns how many of them it keeps. False at the end.
    fn next_piece(&mut self, run: Run<'_>, f: &mut TakePiece<'_>) -> Result<bool>;

    /// Reports the counts of the part to the statement, at its end.
    fn end(&mut self, _: &Env<'_>) {}
}

/// The parts of an operator.
pub(crate) type Parts<'p> = Vec<Box<dyn Part + 'p>>;

/// A function that takes rows; it returns how many of them it keeps.
pub(crate) type TakePiece<'f> = dyn FnMut(Piece<'_, '_>) -> Result<u64> + 'f;

/// The work of an operator on the pieces of its input, by one participant.
pub(crate) trait Step: Send {
    /// Calls `f` with the results for a piece. Returns how many rows of it are kept.
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

/// The destination of the rows that a participant takes.
pub(crate) trait Sink: Send {
    /// Takes the rows of a piece. Returns how many of them are kept.
    fn take(&mut self, run: Run<'_>, piece: &Piece<'_, '_>) -> Result<u64>;

    /// Returns about how many bytes are held.
    fn bytes(&self) -> usize;
}

/// The outcome of a parallel run.
enum Outcome {
    /// All pieces are taken, or as many as the participants may hold.
    Taken,
    /// A participant needs what only the session knows: the value of this subquery, or something else.
    GaveUp(Option<usize>),
}

/// The worker threads.
struct Pool {
    threads: ThreadPool,
    size: usize,
    idle: AtomicUsize,
}

impl Pool {
    /// Returns the pool of the process; `None` if there is one processor, or no thread can be started.
    fn get() -> Option<&'static Pool> {
        static POOL: OnceLock<Option<Pool>> = OnceLock::new();
        /// As much as the threads that run statements have, because expressions may be deep.
        const STACK_BYTES: usize = 16 << 20;
        let start = || {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            let count = processors.checked_sub(1).filter(|count| *count > 0)?;
            let builder = ThreadPoolBuilder::new().num_threads(count).stack_size(STACK_BYTES);
            let threads = builder.thread_name(|at| format!("worker {at}")).build().ok()?;
            Some(Pool { threads, size: count, idle: AtomicUsize::new(count) })
        };
        POOL.get_or_init(start).as_ref()
    }
}

/// Idle workers that a statement has taken, until this is dropped.
struct Workers {
    pool: &'static Pool,
    count: usize,
}

impl Workers {
    fn take(most: usize) -> Option<Workers> {
        let pool = Pool::get()?;
        let taken = |idle: usize| (idle > 0 && most > 0).then(|| idle - idle.min(most));
        let idle = pool.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).ok()?;
        Some(Workers { pool, count: idle.min(most) })
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.pool.idle.fetch_add(self.count, Ordering::AcqRel);
    }
}

/// The use of workers by an operator.
#[derive(Clone, Copy, Default)]
pub(crate) struct WorkerUse {
    /// True if the operator cannot use workers.
    pub(crate) gives_up: bool,
    /// The most workers that took part at a time.
    pub(crate) threads: u64,
}

impl WorkerUse {
    pub(crate) fn report(self) -> Report {
        Report { workers: self.threads, ..Report::default() }
    }
}

/// Merges the results of the participants: the groups of an aggregate, or the kept rows of a join.
pub(crate) trait Gather {
    /// The groups or rows of one participant.
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

/// Runs several threads over the pieces of an input, if the input can be split. The participants may hold `bytes_max`
/// bytes together. The caller then reads the input to its end by
/// [`Operator::next_piece`](crate::op::Operator::next_piece), which gives the pieces that the threads have not taken:
/// all of them if the run gave up.
///
/// # Errors
/// The errors of the input and `to`, and the first error of a participant; `57014`.
pub(crate) fn take(
    env: &Env<'_>,
    input: &mut Input,
    bytes_max: usize,
    worker_use: &mut WorkerUse,
    to: &mut impl Gather,
) -> Result<()> {
    // A statement that is to look at a few rows does not get far enough to need workers.
    if env.ctx.parallelism.threads_max == 0 || env.ctx.rows_max.is_some() || worker_use.gives_up {
        return Ok(());
    }
    let Some(pool) = Pool::get() else { return Ok(()) };
    let participants = 1 + pool.size.min(env.ctx.parallelism.threads_max);
    let mut known = Vec::new();
    loop {
        let needed = {
            let mut parts = input.parts(env, participants)?;
            if parts.is_empty() {
                return Ok(());
            }
            let mut sinks: Vec<_> = parts.iter().map(|_| to.sink()).collect();
            match ParallelRun::new(env, &known, bytes_max)
                .take(env, &mut parts, &mut sinks, worker_use)?
            {
                Outcome::Taken if to.gather(env, sinks, &mut parts)? => return Ok(()),
                Outcome::Taken => None,
                Outcome::GaveUp(needed) => needed,
            }
        };
        input.rewind(env.shared);
        let Some(number) = needed else {
            worker_use.gives_up = true;
            return Ok(());
        };
        known.push((number, env.subplan(number, &mut std::iter::empty())?));
    }
}

/// The state that the participants share.
struct ParallelRun<'c> {
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
    /// No participant begins another piece.
    is_full: AtomicBool,
    /// A participant has failed or given up: the others stop at once.
    is_over: AtomicBool,
    gave_up: AtomicBool,
    /// The subquery that a participant needs, or [`NOTHING`].
    needed: AtomicUsize,
    failed: Mutex<Option<Error>>,
    bytes: AtomicUsize,
    bytes_max: usize,
}

const NOTHING: usize = usize::MAX;

impl<'c> ParallelRun<'c> {
    /// Returns a run for a statement, whose participants may hold so many bytes together. `known` has values of subqueries.
    fn new(env: &'c Env<'_>, known: &'c [(usize, Datum)], bytes_max: usize) -> ParallelRun<'c> {
        let context = env.ctx.frame.context;
        ParallelRun {
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

    /// Runs the calling thread and idle workers, which take the pieces of the parts into the sinks. There are as many
    /// sinks as participants.
    ///
    /// # Errors
    /// The first error of a participant; `57014`.
    fn take<S: Sink>(
        &self,
        env: &Env<'_>,
        parts: &mut Parts<'_>,
        sinks: &mut [S],
        worker_use: &mut WorkerUse,
    ) -> Result<Outcome> {
        let workers = Workers::take(parts.len().saturating_sub(1));
        let count = workers.as_ref().map_or(0, |workers| workers.count as u64);
        worker_use.threads = worker_use.threads.max(count);
        let mut pairs = parts.iter_mut().zip(sinks);
        let own = pairs.next();
        let rows = AtomicUsize::new(0);
        let reads = Mutex::new(BlockReads::default());
        let work = |part: &mut Box<dyn Part + '_>, sink: &mut S| {
            let seen = interrupt::during(self.cancel, || self.work(part.as_mut(), sink));
            rows.fetch_add(seen, Ordering::Relaxed);
        };
        match workers {
            None => own.into_iter().for_each(|(part, sink)| work(part, sink)),
            Some(workers) => workers.pool.threads.in_place_scope(|scope| {
                for (part, sink) in pairs.take(workers.count) {
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
        let participant = Participant::new(self);
        let context = participant.context();
        let frame = Frame { context: &context, params: self.params, host: &participant };
        let rows = Cell::new(0);
        let tick = |more: u64| {
            rows.set(rows.get() + more as usize);
            match self.is_over.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed) {
                true => Err(interrupt::Interrupted.into()),
                false => Ok(()),
            }
        };
        let run = Run { frame, around: &participant, tick: &tick };
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

    /// Stops all participants, because one needs state that only the session has.
    fn give_up(&self) -> Error {
        self.gave_up.store(true, Ordering::Relaxed);
        self.is_over.store(true, Ordering::Relaxed);
        Error::new(SqlState::INTERNAL_ERROR, "a worker does not know what the session knows")
    }
}

/// A participant, and the state of the statement that it knows.
struct Participant<'m> {
    run: &'m ParallelRun<'m>,
    /// Values that are the same for all rows.
    kept: Vec<OnceCell<CachedValue>>,
}

impl<'m> Participant<'m> {
    fn new(run: &'m ParallelRun<'m>) -> Participant<'m> {
        Participant { run, kept: (0..run.kept).map(|_| OnceCell::new()).collect() }
    }

    fn context(&self) -> scalar::Context<'_> {
        let types = types::Context {
            style: self.run.style,
            now: self.run.now,
            types: self,
            domains: self,
            objects: self,
        };
        let statement = self.run.statement;
        scalar::Context { types, statement, clock: self, random: self, session: self }
    }
}

impl OuterValues for Participant<'_> {
    fn slot(&self, number: usize) -> Datum {
        self.run.slots[number].clone()
    }

    fn kept(&self, number: usize) -> Option<&OnceCell<CachedValue>> {
        self.kept.get(number)
    }

    fn subplan(
        &self,
        number: usize,
        args: &mut dyn Iterator<Item = Result<Datum>>,
    ) -> Result<Datum> {
        let reads_row = args.next().is_some();
        let known = self.run.known.iter().find(|(known, _)| *known == number && !reads_row);
        if let Some((_, value)) = known {
            return Ok(value.clone());
        }
        if !reads_row {
            self.run.needed.store(number, Ordering::Relaxed);
        }
        Err(self.run.give_up())
    }
}

impl Host for Participant<'_> {
    fn next_value(&self, _: Oid) -> Result<i64> {
        Err(self.run.give_up())
    }

    fn call(&self, _: &Function, _: &Call<'_>, _: &[DatumRef<'_>]) -> Result<Datum> {
        Err(self.run.give_up())
    }

    fn rows(&self, _: &Function, _: &Call<'_>, _: &[DatumRef<'_>]) -> Result<scalar::Rows> {
        Err(self.run.give_up())
    }
}

// These calls cannot fail. They end the run and return an arbitrary value, which is not used.

impl Clock for Participant<'_> {
    fn now(&self) -> TimestampTz {
        self.run.give_up();
        self.run.statement
    }
}

impl Random for Participant<'_> {
    fn bits(&self) -> u64 {
        self.run.give_up();
        0
    }

    fn seed(&self, _: f64) {
        self.run.give_up();
    }

    fn secret(&self) -> [u8; 16] {
        self.run.give_up();
        [0; 16]
    }
}

impl Session for Participant<'_> {
    fn setting(&self, _: &str) -> Option<String> {
        self.run.give_up();
        None
    }

    fn database(&self) -> &str {
        self.run.give_up();
        ""
    }

    fn user(&self) -> &str {
        self.run.give_up();
        ""
    }

    fn session_user(&self) -> &str {
        self.run.give_up();
        ""
    }
}

impl TypeSource for Participant<'_> {
    fn shape(&self, _: Type) -> Option<Shape> {
        self.run.give_up();
        None
    }

    fn name(&self, _: Type) -> Option<String> {
        self.run.give_up();
        None
    }

    fn array_of(&self, _: Type) -> Option<Type> {
        self.run.give_up();
        None
    }

    fn multirange_of(&self, _: Type) -> Option<Type> {
        self.run.give_up();
        None
    }
}

impl Domains for Participant<'_> {
    fn check(&self, _: Type, _: DatumRef<'_>) -> Result<()> {
        Err(self.run.give_up())
    }
}

impl Objects for Participant<'_> {
    fn oid(&self, _: Type, _: &str) -> Result<Oid> {
        Err(self.run.give_up())
    }

    fn name(&self, _: Type, _: Oid) -> Option<String> {
        self.run.give_up();
        None
    }
}
