//! Statements that were read before, and the plans that were made for them.
//!
//! ```text
//!   text ──────────────> Known ─── the statement
//!   text ──template──>        └─── plans: path, types of parameters, settings, rows ──> Planned
//! ```
//!
//! All sessions share them. A plan depends on more than its text: on the schemas that names are looked for in,
//! the types of the parameters, the settings that constants are read with, and how many rows the tables have.
//! Those are its [`Basis`]; a plan from before a table has doubled or halved is never found again. The plan
//! itself knows which part of the catalog it was made from: it is valid until one of its relations changes, or
//! anything but relations does.
//!
//! A statement of the simple protocol is known by its template, which has parameters in the place of
//! constants. Where a template cannot be used in the place of its statements, it is marked unfit, and
//! they are known by their own texts.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use sql::parse::ast::Statement;
use sql::parse::normal::Fingerprint;
use types::{Oid, Style, Type};

use crate::query::{Planned, tag_of};

/// How many bytes the statements of a generation have together, with their plans, as [`weight`] estimates them.
const GENERATION_BYTES_MAX: usize = 8 << 20;
/// Generations of statements that were used before: the oldest goes when another one is full. The more there are, the
/// less memory comes and goes at once.
const OLD_MAX: usize = 7;
/// The shortest statement takes so many bytes without a plan, and each plan takes so many: an `INSERT` of one row has
/// about 10 KB with its plan.
const STATEMENT_BYTES: usize = 2 << 10;
const PLAN_BYTES: usize = 8 << 10;
/// A statement takes about so many times as much as its text beside that, and each of its plans takes so many times as
/// much.
const STATEMENT_TEXT_WEIGHT: usize = 10;
const PLAN_TEXT_WEIGHT: usize = 40;
/// The longest text that is kept, in bytes.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// How many plans are kept for one text.
const PLANS_MAX: usize = 8;

/// The inputs of a plan, other than its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Basis {
    /// The generation of plans: tables have another number of rows in the next one.
    pub generation: u64,
    /// The schemas that names are looked for in.
    pub path: Vec<Oid>,
    /// The types that were given for the parameters.
    pub params: Vec<Type>,
    /// Joins are made in the order in which they are written.
    keeps_join_order: bool,
    /// The settings that constants are read with.
    style: (u8, u8, Arc<str>),
}

impl Basis {
    pub fn new(
        generation: u64,
        path: &[Oid],
        params: &[Type],
        keeps_join_order: bool,
        style: &Style,
    ) -> Self {
        let style =
            (style.date_order as u8, style.interval_style as u8, style.time_zone.name().into());
        Basis { generation, path: path.to_vec(), params: params.to_vec(), keeps_join_order, style }
    }
}

/// A statement that was read before.
pub(crate) struct Known {
    pub text: Arc<str>,
    pub statement: Arc<Statement>,
    /// True if it is the template of statements that mean something else.
    unfit: AtomicBool,
    /// False if its constants may mean the moment at which they are read.
    is_timeless: bool,
    plans: RwLock<Vec<(Basis, Arc<Planned>)>>,
    /// Its weight as the young generation has it, in bytes. Written under the lock of the generation.
    weighed: AtomicUsize,
    /// Its number in `pg_stat_statements`, once it was computed.
    pub fingerprint: OnceLock<Option<Fingerprint>>,
}

impl Known {
    fn new(text: &str, statement: Arc<Statement>) -> Self {
        Known {
            text: text.into(),
            statement,
            unfit: AtomicBool::new(false),
            is_timeless: is_timeless(text),
            plans: RwLock::default(),
            weighed: AtomicUsize::new(0),
            fingerprint: OnceLock::new(),
        }
    }

    pub fn is_fit(&self) -> bool {
        !self.unfit.load(Ordering::Relaxed)
    }

    /// To be called when statements turn out to mean something else than the template.
    pub fn set_unfit(&self) {
        self.unfit.store(true, Ordering::Relaxed);
    }

    pub fn plan(&self, basis: &Basis, role: Oid) -> Option<Arc<Planned>> {
        let plans = self.plans.read();
        let mut fitting =
            plans.iter().filter(|(known, planned)| known == basis && planned.is_for(role));
        fitting.next().map(|(_, planned)| Arc::clone(planned))
    }

    fn keep(&self, basis: Basis, planned: &Arc<Planned>, role: Oid) {
        let mut plans = self.plans.write();
        let is_replaced = |known: &Basis, other: &Planned| *known == basis && (other.is_for(role));
        plans.retain(|(known, other)| {
            known.generation >= basis.generation && !is_replaced(known, other)
        });
        if plans.len() == PLANS_MAX {
            plans.remove(0);
        }
        plans.push((basis, Arc::clone(planned)));
    }

    /// About how many bytes it takes with its plans.
    fn weight(&self) -> usize {
        weight(&self.text, self.plans.read().len())
    }
}

/// False for texts whose constants may mean the moment at which they are read.
fn is_timeless(text: &str) -> bool {
    !["now", "today", "tomorrow", "yesterday"].iter().any(|word| {
        let bytes = text.as_bytes();
        bytes
            .windows(word.len() + 1)
            .any(|window| window[0] == b'\'' && window[1..].eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// About how many bytes a statement takes with so many plans.
fn weight(text: &str, plans: usize) -> usize {
    let plan = PLAN_BYTES + text.len() * PLAN_TEXT_WEIGHT;
    STATEMENT_BYTES + text.len() * STATEMENT_TEXT_WEIGHT + plans * plan
}

/// Statements by their texts.
#[derive(Default)]
struct Generation {
    statements: HashMap<Arc<str>, Arc<Known>>,
    /// The weight of all of them.
    bytes: usize,
}

impl Generation {
    /// Takes a statement in with its weight of now.
    fn put(&mut self, known: &Arc<Known>) {
        let before = self.statements.insert(Arc::clone(&known.text), Arc::clone(known));
        if let Some(before) = before {
            // It is the same one, or that of another session which read the text at the same time.
            self.bytes -= before.weighed.swap(0, Ordering::Relaxed);
        }
        let weight = known.weight();
        known.weighed.store(weight, Ordering::Relaxed);
        self.bytes += weight;
    }
}

/// The statements of an instance that were read before: those used lately, and those used before.
#[derive(Default)]
pub(crate) struct Plans {
    young: RwLock<Generation>,
    /// The newest generation comes last.
    old: Mutex<VecDeque<HashMap<Arc<str>, Arc<Known>>>>,
}

impl Plans {
    /// The statement of a text that was read before.
    pub fn find(&self, text: &str) -> Option<Arc<Known>> {
        if let Some(known) = self.young.read().statements.get(text) {
            return Some(Arc::clone(known));
        }
        let known = self.take_old(text)?;
        self.keep(&known);
        Some(known)
    }

    /// Takes the statement of a text out of the old generations.
    fn take_old(&self, text: &str) -> Option<Arc<Known>> {
        self.old.lock().iter_mut().rev().find_map(|generation| generation.remove(text))
    }

    /// Keeps a plan with its statement, which weighs more from then on. The statement is among those used lately then.
    pub fn keep_plan(&self, known: &Arc<Known>, basis: Basis, planned: &Arc<Planned>, role: Oid) {
        if known.is_timeless {
            known.keep(basis, planned, role);
            self.take_old(&known.text);
            self.keep(known);
        }
    }

    /// Keeps a statement; `None` for one that has no plan, or too long a text.
    pub fn add(&self, text: &str, statement: &Arc<Statement>) -> Option<Arc<Known>> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        tag_of(statement)?;
        let known = Arc::new(Known::new(text, Arc::clone(statement)));
        self.keep(&known);
        Some(known)
    }

    fn keep(&self, known: &Arc<Known>) {
        let mut young = self.young.write();
        young.put(known);
        if young.bytes > GENERATION_BYTES_MAX {
            let mut before = mem::take(&mut *young);
            before.statements.remove(&known.text);
            before.statements.values().for_each(|old| old.weighed.store(0, Ordering::Relaxed));
            young.put(known);
            let mut old = self.old.lock();
            if old.len() == OLD_MAX {
                old.pop_front();
            }
            old.push_back(before.statements);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use txn::EngineOptions;
    use vfs::{Env, SimVfs};

    use super::*;
    use crate::instance::{Instance, Options, StartUp};
    use crate::statement::Parsed;

    fn add(plans: &Plans, text: &str) -> Option<Arc<Known>> {
        let mut parsed = sql::parse::statements(text).expect("it is SQL");
        plans.add(text, &Arc::new(parsed.remove(0).statement))
    }

    /// How many statements are kept, used lately or before.
    fn kept(plans: &Plans) -> usize {
        let old: usize = plans.old.lock().iter().map(HashMap::len).sum();
        plans.young.read().statements.len() + old
    }

    #[test]
    fn what_is_used_stays_and_what_is_not_is_forgotten() {
        let plans = Plans::default();
        let used = add(&plans, "SELECT 1").expect("it has a plan");
        let filler = "x".repeat(TEXT_BYTES_MAX / 2);
        let most = GENERATION_BYTES_MAX / weight(&filler, 0);
        for number in 0..2 * (1 + OLD_MAX) * most {
            add(&plans, &format!("SELECT '{filler}', {number}")).expect("it has a plan");
            assert!(Arc::ptr_eq(&used, &plans.find("SELECT 1").expect("it is known")));
        }
        let kept = kept(&plans);
        assert!(kept <= (1 + OLD_MAX) * (most + 1), "{kept}");
    }

    /// Short statements were weighed by their texts alone: 40,000 of them, one for each of as many tables, took half a
    /// gigabyte.
    #[test]
    fn short_statements_weigh_what_they_take() {
        let plans = Plans::default();
        let most = GENERATION_BYTES_MAX / STATEMENT_BYTES;
        for number in 0..2 * (1 + OLD_MAX) * most {
            add(&plans, &format!("SELECT {number}")).expect("it has a plan");
        }
        let kept = kept(&plans);
        assert!((OLD_MAX * most / 2..=(1 + OLD_MAX) * most).contains(&kept), "{kept}");
    }

    /// A statement was weighed once, with one plan, although eight can hang on it: one for each list of types of its
    /// parameters.
    #[test]
    fn a_statement_weighs_as_much_as_its_plans() {
        let options = Options {
            env: Env::sim(&SimVfs::unrecorded(), 1),
            settings: Vec::new(),
            defaults: Vec::new(),
            folder: None,
            memory_bytes_max: 64 << 20,
            memory_total_bytes: None,
            temporary: None,
        };
        let engine = EngineOptions::default();
        let instance = Instance::open_at(Path::new("db"), engine, options).expect("it opens");
        let superuser = || "postgres".to_owned();
        let start = StartUp { user: superuser(), database: superuser(), ..StartUp::default() };
        let mut session = instance.connect(start).expect("a session begins");
        session.look().expect("the catalog is read");
        let bytes = || instance.plans.young.read().bytes;
        let text = "SELECT $1";
        let parsed = Parsed::shared(text, &instance.plans).expect("it is SQL").remove(0);
        let (alone, plan) = (bytes(), weight(text, 1) - weight(text, 0));
        let types = [
            Type::INT2,
            Type::INT4,
            Type::INT8,
            Type::TEXT,
            Type::BOOL,
            Type::DATE,
            Type::FLOAT8,
            Type::NUMERIC,
            Type::UUID,
            Type::BYTEA,
        ];
        for (before, ty) in types.into_iter().enumerate() {
            for _ in 0..2 {
                session.planned(&parsed, &[ty]).expect("it has a plan");
                assert_eq!(bytes() - alone, (before + 1).min(PLANS_MAX) * plan, "{before}");
            }
        }
        let known = parsed.known.expect("it is known");
        // The text is read again by another session: its statement takes the place of the one before.
        instance.plans.add(text, &known.statement).expect("it has a plan");
        assert_eq!(bytes(), alone);
        let parsed = Parsed::shared(text, &instance.plans).expect("it is SQL").remove(0);
        session.planned(&parsed, &[Type::TEXT]).expect("it has a plan");
        assert_eq!(bytes() - alone, plan);
    }

    #[test]
    fn what_has_no_plan_is_not_known() {
        let plans = Plans::default();
        for text in ["BEGIN", "CREATE TABLE t ()"] {
            assert!(add(&plans, text).is_none(), "{text}");
        }
    }

    #[test]
    fn constants_that_mean_now_are_found() {
        assert!(!is_timeless("SELECT 'Now'::timestamp"));
        assert!(!is_timeless("SELECT date 'tomorrow'"));
        assert!(is_timeless("SELECT now(), 'knowing'"));
    }
}
