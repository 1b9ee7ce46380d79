//! Definitions as PostgreSQL prints them: the results of `pg_get_viewdef`, `pg_get_expr` and their
//! kin.
//!
//! ```text
//!   create view v as select * from a where id > 1 and name in ('x', 'y')
//!
//!    SELECT id,
//!       name
//!      FROM a
//!     WHERE ((id > 1) AND (name = ANY (ARRAY['x'::text, 'y'::text])))
//! ```
//!
//! The printer takes an [outline](crate::outline), so it knows types, casts and operators. Tools that
//! compare schemas compare this text, so it follows PostgreSQL to the letter:
//!
//! * an implicit cast is shown inside of operators and calls, and hidden where nothing is around it;
//! * each operator stands in parentheses, and in the pretty form only where they are needed;
//! * a column has its table in front, unless the whole query has one table only;
//! * each table of a query has a name of its own: a second `a` is `a_1`.
//!
//! | file | prints |
//! |---|---|
//! | `query` | `WITH`, `SELECT` and its clauses, set operations, `VALUES` |
//! | `from` | the items of `FROM`, joins |
//! | `expr` | expressions, and where they need parentheses |
//! | `call` | functions, aggregates, windows, casts |
//! | `json` | SQL/JSON |
//! | `constant` | constants |

mod call;
mod constant;
mod expr;
mod from;
mod json;
mod query;

use std::collections::HashMap;

use scalar::facts::Facts;
use types::{Context, Modifier, Oid, Type};

use crate::outline::{ColumnName, Notes, Outlined, OutlinedExpr};

/// How far a clause is indented.
const STANDARD: i32 = 8;
/// How far a join is indented.
const JOIN: i32 = 4;
/// How far an output is indented.
const OUTPUT: i32 = 4;
/// How far anything is indented at most; what is nested deeper is indented less for each level.
const INDENT_MAX: i32 = 40;

/// The names of objects as they are printed: with their schemas where the search path does not find them.
pub trait ObjectNames {
    /// The name of a relation, quoted.
    fn relation(&self, relation: Oid) -> String;

    /// The schema of a function that the search path does not find by its name.
    fn schema_of_function(&self, function: Oid) -> Option<String>;

    /// The name of a collation, quoted, with its schema where the search path does not find it.
    fn collation(&self, collation: Oid) -> String;
}

/// How a definition is printed.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// True if parentheses are left out that are not needed.
    pub pretty: bool,
    /// True if clauses stand on lines of their own.
    pub lines: bool,
    /// The length from which outputs go on new lines; 0 for each on its own.
    pub wrap: i32,
}

impl Layout {
    /// The layout of functions without an argument for it, or with one.
    pub fn new(pretty: bool) -> Self {
        Layout { pretty, lines: true, wrap: 0 }
    }
}

/// A query, whose columns have these names.
pub fn query(
    outlined: &Outlined,
    columns: &[String],
    objects: &dyn ObjectNames,
    context: Context<'_>,
    layout: Layout,
) -> String {
    let mut printer = Printer::new(&outlined.notes, objects, context, layout);
    printer.query(&outlined.query, Some(columns), true);
    printer.out
}

/// An expression over the columns of one relation.
pub fn expression(
    outlined: &OutlinedExpr,
    objects: &dyn ObjectNames,
    context: Context<'_>,
    layout: Layout,
) -> String {
    let mut printer = Printer::new(&outlined.notes, objects, context, layout);
    // Subqueries name the tables of all columns, the expression itself that of none.
    (printer.prefix, printer.is_in_query) = (false, true);
    printer.is_of_domain = outlined.is_of_domain;
    for (id, name) in &outlined.columns {
        printer.columns.insert(*id, (Some(outlined.table.clone()), name.clone()));
    }
    let ids = outlined.columns.iter().map(|(id, _)| *id).collect();
    printer.rows.push((ids, outlined.table.clone()));
    printer.expr(&outlined.expr, false);
    printer.out
}

/// True for an expression that stands in an index without parentheses.
pub fn looks_like_function(outlined: &OutlinedExpr) -> bool {
    expr::looks_like_function(&outlined.expr)
}

/// The state of printing a definition.
struct Printer<'a> {
    notes: &'a Notes,
    objects: &'a dyn ObjectNames,
    context: Context<'a>,
    layout: Layout,
    out: String,
    /// How far the next line is indented.
    level: i32,
    /// True if columns have their tables in front.
    prefix: bool,
    /// True if others see the names of the outputs.
    names_visible: bool,
    /// The name of each column.
    columns: HashMap<u32, (Option<String>, String)>,
    /// The whole rows that can be named: their columns, and the name of the table.
    rows: Vec<(Vec<u32>, String)>,
    /// The columns of both sides of full joins that have one name.
    both: Vec<(u32, u32, String)>,
    /// The names of tables that are taken, in this query and those around.
    taken: Vec<String>,
    /// True inside of a query.
    is_in_query: bool,
    /// True if the one column is the value of a domain.
    is_of_domain: bool,
}

impl<'a> Printer<'a> {
    fn new(
        notes: &'a Notes,
        objects: &'a dyn ObjectNames,
        context: Context<'a>,
        layout: Layout,
    ) -> Self {
        Printer {
            notes,
            objects,
            context,
            layout,
            out: String::new(),
            level: 0,
            prefix: true,
            names_visible: true,
            columns: HashMap::new(),
            rows: Vec::new(),
            both: Vec::new(),
            taken: Vec::new(),
            is_in_query: false,
            is_of_domain: false,
        }
    }

    fn facts(&self) -> Facts<'a> {
        Facts(self.context.types)
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn name(&mut self, name: &str) {
        self.out.push_str(&scalar::quote::identifier(name));
    }

    /// Names in parentheses.
    fn names<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        let quoted: Vec<String> = names.into_iter().map(scalar::quote::identifier).collect();
        self.out.push('(');
        self.out.push_str(&quoted.join(", "));
        self.out.push(')');
    }

    fn type_text(&self, ty: Type, modifier: Modifier) -> String {
        types::format_type(self.context.types, ty, modifier)
    }

    /// Begins a clause on a new line. The level changes before and after; `more` is added for this line.
    fn keyword(&mut self, text: &str, before: i32, after: i32, more: i32) {
        if !self.layout.lines {
            self.out.push_str(text);
            return;
        }
        self.level += before;
        self.trim_spaces();
        self.out.push('\n');
        let indent = match self.level {
            level if level < INDENT_MAX => level.max(0),
            level => (INDENT_MAX + (level - INDENT_MAX) / (STANDARD / 2)) % INDENT_MAX,
        };
        for _ in 0..indent + more {
            self.out.push(' ');
        }
        self.out.push_str(text);
        self.level = (self.level + after).max(0);
    }

    /// Begins a clause of a query.
    fn clause(&mut self, text: &str, more: i32) {
        self.keyword(text, -STANDARD, STANDARD, more);
    }

    fn trim_spaces(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
    }

    /// Prints a member of a list by itself, and gives its text.
    fn apart(&mut self, print: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.out);
        print(self);
        std::mem::replace(&mut self.out, before)
    }

    /// Puts a member of a list on a new line where it does not fit on the current one.
    fn wrap(&mut self, member: &str, also: bool, may_break: bool) {
        if !self.layout.lines || self.layout.wrap < 0 {
            return;
        }
        if member.starts_with('\n') {
            self.trim_spaces();
            return;
        }
        let line = self.out.rsplit('\n').next().map_or(0, str::len);
        let limit = usize::try_from(self.layout.wrap).unwrap_or(0);
        if may_break && (line + member.len() > limit || also) {
            self.keyword("", -STANDARD, STANDARD, OUTPUT);
        }
    }

    /// A name that no other table has here.
    fn unique(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        let mut number = 0;
        while self.taken.contains(&free) {
            number += 1;
            free = format!("{name}_{number}");
        }
        self.taken.push(free.clone());
        free
    }

    fn call_columns(&mut self, table: Option<&str>, columns: &[ColumnName], names: &[String]) {
        for ((id, _), name) in columns.iter().zip(names) {
            self.columns.insert(*id, (table.map(str::to_owned), name.clone()));
        }
    }
}
