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

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use sql::parse::ast::Statement;
use sql::parse::normal::Fingerprint;
use types::{Oid, Style, Type};

use crate::query::{Planned, tag_of};

/// How many bytes the statements of a generation have together, with their plans, as [`weight`] estimates them.
const GENERATION_BYTES_MAX: usize = 32 << 20;
/// The memory of the shortest statement with its plan: 10 KB for an `INSERT` of one row
/// (`tests/hostile/memory tables`).
const STATEMENT_BYTES: usize = 10 << 10;
/// A statement and its plans take about so many times as much as its text beside that.
const TEXT_WEIGHT: usize = 50;
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
    /// True where it is the template of statements that mean something else.
    unfit: AtomicBool,
    /// False where its constants may mean the moment at which they are read.
    is_timeless: bool,
    plans: RwLock<Vec<(Basis, Arc<Planned>)>>,
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

    pub fn keep(&self, basis: Basis, planned: &Arc<Planned>, role: Oid) {
        if !self.is_timeless {
            return;
        }
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

/// About how many bytes a statement takes with its plan.
fn weight(text: &str) -> usize {
    STATEMENT_BYTES + text.len() * TEXT_WEIGHT
}

type Generation = HashMap<Arc<str>, Arc<Known>>;

/// The statements of an instance that were read before: those used lately, and those used before.
#[derive(Default)]
pub(crate) struct Plans {
    young: RwLock<Generation>,
    old: Mutex<Generation>,
    young_bytes: Mutex<usize>,
}

impl Plans {
    /// The statement of a text that was read before.
    pub fn find(&self, text: &str) -> Option<Arc<Known>> {
        if let Some(known) = self.young.read().get(text) {
            return Some(Arc::clone(known));
        }
        let known = self.old.lock().remove(text)?;
        self.keep(&known);
        Some(known)
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
        let mut bytes = self.young_bytes.lock();
        *bytes += weight(&known.text);
        let mut young = self.young.write();
        if *bytes > GENERATION_BYTES_MAX {
            *bytes = weight(&known.text);
            *self.old.lock() = mem::take(&mut *young);
        }
        young.insert(Arc::clone(&known.text), Arc::clone(known));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(plans: &Plans, text: &str) -> Option<Arc<Known>> {
        let mut parsed = sql::parse::statements(text).expect("it is SQL");
        plans.add(text, &Arc::new(parsed.remove(0).statement))
    }

    #[test]
    fn what_is_used_stays_and_what_is_not_is_forgotten() {
        let plans = Plans::default();
        let used = add(&plans, "SELECT 1").expect("it has a plan");
        let filler = "x".repeat(TEXT_BYTES_MAX / 2);
        let most = GENERATION_BYTES_MAX / weight(&filler);
        for number in 0..4 * most {
            add(&plans, &format!("SELECT '{filler}', {number}")).expect("it has a plan");
            assert!(Arc::ptr_eq(&used, &plans.find("SELECT 1").expect("it is known")));
        }
        let kept = plans.young.read().len() + plans.old.lock().len();
        assert!(kept <= 2 * most + 2, "{kept}");
    }

    /// Short statements were weighed by their texts alone: 40,000 of them, one for each of as many tables, took half a
    /// gigabyte.
    #[test]
    fn short_statements_weigh_what_their_plans_take() {
        let plans = Plans::default();
        let most = GENERATION_BYTES_MAX / STATEMENT_BYTES;
        for number in 0..3 * most {
            add(&plans, &format!("SELECT {number}")).expect("it has a plan");
        }
        let kept = plans.young.read().len() + plans.old.lock().len();
        assert!((most / 2..=2 * most).contains(&kept), "{kept}");
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
