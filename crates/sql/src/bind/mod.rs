//! The binder: from statements to plans. It resolves every name and type, and checks the rules of SQL.
//!
//! ```text
//!   parse::Statement ──> Binder ──> Plan
//!                          │
//!     names   the interface to the catalog    expr    expressions (part, subquery)
//!     scope   the visible columns             call    functions, aggregates, windows
//!     from    FROM and joins                  coerce  casts, literals, parameters
//!     select  SELECT, clause by clause        types   names of types
//!     group   GROUP BY and its rules          dml     INSERT, UPDATE, DELETE, MERGE
//!     query   WITH, UNION, VALUES, LIMIT      place   columns get their places
//!     uses    uses that need rights           file    files as tables
//!     policy  row-level security              portion FOR PORTION OF
//!     outline the clauses as written, for `deparse`
//!     variables   names of a procedural language
//! ```
//!
//! Every column gets a number of its own while a statement is bound, and expressions refer to
//! columns by it; [`place`] turns the numbers into places at the end.

mod aggregate;
mod call;
mod coerce;
mod collation;
mod conflict;
mod dml;
mod equivalence;
mod expr;
mod file;
mod from;
mod from_functions;
mod from_table;
mod group;
mod insert;
mod join;
mod json;
mod late;
mod merge;
mod names;
mod operator;
mod outline;
mod part;
mod place;
mod policy;
mod portion;
mod query;
mod row_locks;
mod scope;
mod select;
mod subquery;
mod types;
mod updatable;
mod uses;
mod variables;
pub mod walk;
mod window;

pub use collation::{keyed_text, sort_key};
pub use names::{
    CheckOption, Collation, ColumnDefault, FILE_READERS, FileCall, FileOption, IndexKey, Names,
    Policy, PolicyCommand, Relation, RelationColumn, RelationKind, UniqueIndex,
};
pub use outline::{DefinitionUse, outline, outline_expression};
pub use policy::policy_condition;
pub use updatable::why_not_updatable;
pub use uses::{Use, Uses};
pub use variables::{Variable, Variables};

use std::collections::HashMap;

use ::types::{Datum, Modifier, Oid, Origins, SqlState, Type, TypeSource, extension};
use scalar::cast::{CoercionContext, CoercionPath};
use scalar::facts::Facts;
use scalar::registry;

use crate::error::{At, Error, Result};
use crate::parse::ast::{Call, Statement, Step, TypeName};
use crate::plan::{Cast, Column, Expr, ExprKind, Moment, Origin, Plan};
use scope::{Described, Scope};

/// A bound statement.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The bound plan.
    pub plan: Plan,
    /// The types of its parameters, as they were given or as they follow from their use.
    pub params: Vec<Type>,
    /// The uses of relations that need rights.
    pub uses: Uses,
    /// The names in its own text, where that is to be kept.
    pub text: Text,
    /// The numbers of the variables that its parameters stand for, where it was bound with variables.
    pub variables: Vec<u32>,
}

/// The names in a text that the catalog keeps, so that its meaning survives renames.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Text {
    /// The columns that each `*` stands for.
    pub stars: Vec<Star>,
    /// The columns that names stand for.
    pub named: Vec<Named>,
    /// The joins whose condition is that columns of one name are equal.
    pub merges: Vec<Merge>,
    /// The attributes of composite values.
    pub attributes: Vec<AttributeName>,
}

/// A name of an attribute of a composite value in a text.
#[derive(Clone, PartialEq, Debug)]
pub struct AttributeName {
    /// Where it is.
    pub at: At,
    /// The composite type.
    pub ty: Type,
    /// The attribute, among those that are there.
    pub index: usize,
    /// True if it names an output, which has no alias.
    pub is_output: bool,
}

/// A column as it can be written.
#[derive(Clone, PartialEq, Debug)]
pub enum Written {
    /// Its name, qualified if its `FROM` item has a name, and the column of a relation that it stands for.
    Column(Option<Qualifier>, String, Option<Origin>),
    /// The column of a full join that its two sides have: the one of both that is there, and its name.
    Either(Box<(Written, Written)>, String),
}

/// The name of an item of `FROM`, and the relation that this is the name of.
pub type Qualifier = (String, Option<Oid>);

/// A name of a column in a text.
#[derive(Clone, PartialEq, Debug)]
pub struct Named {
    /// Where its last part is.
    pub at: At,
    /// Where it begins, with what qualifies it.
    pub from: At,
    /// The column that it stands for; with a table where it had one, or where only that makes sure
    /// that it always will.
    pub column: Written,
    /// True if it is an output without an alias, whose name others may use.
    pub is_output: bool,
}

/// `JOIN ... USING (...)` or `NATURAL JOIN`, and what is equal in it.
#[derive(Clone, PartialEq, Debug)]
pub struct Merge {
    /// Where it begins behind its left side: for a natural join the word `NATURAL`.
    pub at: At,
    /// True for a natural join.
    pub is_natural: bool,
    /// Where the right side ends, and where the condition does.
    pub ends: (usize, usize),
    /// The columns, left and right; none if one of them cannot be written.
    pub pairs: Option<Vec<(Written, Written)>>,
    /// The names of the columns.
    pub names: Vec<String>,
}

/// A `*`, and the columns that it stands for.
#[derive(Clone, PartialEq, Debug)]
pub struct Star {
    /// Where it is, with what qualifies it.
    pub at: At,
    /// True if others can name its columns: it is an output of a query in another.
    pub is_named: bool,
    /// The columns.
    pub columns: Vec<Written>,
}

/// Binds a query or a statement that changes rows. `params` are the types of the parameters as far
/// as they are known: [`Type::UNKNOWN`] for those that follow from their use.
///
/// # Errors
/// PostgreSQL's errors: `42P01` for missing tables, `42703` for columns, `42883` for functions, and so on,
/// with the position in the text.
pub fn statement(
    statement: &Statement,
    names: &dyn Names,
    context: ::types::Context<'_>,
    params: &[Type],
) -> Result<Bound> {
    bind(statement, Binder::new(names, context, params))
}

/// Binds a statement in which variables may be named. Each of them that it uses is a parameter.
///
/// # Errors
/// As [`statement`], and `42702` for a name that is both a variable and a column.
pub fn with_variables(
    statement: &Statement,
    names: &dyn Names,
    context: ::types::Context<'_>,
    variables: &dyn Variables,
) -> Result<Bound> {
    let mut binder = Binder::new(names, context, &[]);
    (binder.variables, binder.open_params) = (Some(variables), false);
    bind(statement, binder)
}

/// The places in a statement at which variables are named, and the number of each.
///
/// # Errors
/// As [`with_variables`].
pub fn variable_places(
    statement: &Statement,
    names: &dyn Names,
    context: ::types::Context<'_>,
    variables: &dyn Variables,
) -> Result<Vec<(At, u32)>> {
    let mut binder = Binder::new(names, context, &[]);
    (binder.variables, binder.open_params) = (Some(variables), false);
    binder.data_statement(statement, true)?;
    Ok(binder.named_at)
}

/// Binds the value of a variable after an assignment to a part of it: the variable, and then the new value of the
/// part, are the first parameters. `value` is an expression whose value is assigned, or the type of a third parameter
/// that has it. Returns the expression and the variables that its parameters stand for.
///
/// # Errors
/// As [`statement`].
pub fn part_of_variable(
    (name, number, ty, modifier): (&str, u32, Type, Modifier),
    steps: &[Step],
    value: PartValue<'_>,
    names: &dyn Names,
    context: ::types::Context<'_>,
    variables: &dyn Variables,
) -> Result<(Expr, Vec<u32>)> {
    let mut binder = Binder::new(names, context, &[]);
    (binder.variables, binder.open_params) = (Some(variables), false);
    binder.enter();
    let old = binder.parameter(number, ty, modifier, At::NONE);
    let value = match value {
        PartValue::Expr(value) => binder.expr(value)?,
        PartValue::Known(number, ty) => binder.parameter(number, ty, Modifier::NONE, At::NONE),
    };
    let steps: Vec<&Step> = steps.iter().collect();
    let mut expr = binder.assign_part(old, &steps, value, name)?;
    binder.leave();
    place::expr(&mut expr, &[]);
    Ok((expr, binder.used))
}

/// The value that a statement assigns to a part of a variable.
#[derive(Clone, Copy, Debug)]
pub enum PartValue<'a> {
    /// The result of an expression.
    Expr(&'a crate::parse::ast::Expr),
    /// A value of a type, by the number of its variable.
    Known(u32, Type),
}

/// The expression that makes of its one parameter a value for a variable of another type: by the cast of
/// assignments, or else by the text of the value.
///
/// # Errors
/// Fails if the type has no values.
pub fn variable_cast(
    (from, from_modifier): (Type, Modifier),
    (to, modifier): (Type, Modifier),
    names: &dyn Names,
    context: ::types::Context<'_>,
) -> Result<Expr> {
    let mut binder = Binder::new(names, context, &[from]);
    let value = Expr { kind: ExprKind::Param(0), ty: from, modifier: from_modifier, at: At::NONE };
    let cast = match from {
        Type::UNKNOWN => None,
        _ => binder.coerce(value.clone(), to, CoercionContext::Assignment)?,
    };
    let cast = cast.unwrap_or_else(|| {
        let how = Cast::Type { how: CoercionPath::InOut, when: CoercionContext::Assignment };
        let base = binder.facts().base(to);
        let value = if from == Type::UNKNOWN { Expr { ty: Type::TEXT, ..value } } else { value };
        let kind = ExprKind::Cast { expr: Box::new(value), how };
        let read = Expr { kind, ty: base, modifier: Modifier::NONE, at: At::NONE };
        binder.domain_value(read, to, CoercionContext::Assignment)
    });
    Ok(binder.fit(cast, modifier, false))
}

/// Binds a query whose text the catalog will keep, and records the names in it.
///
/// # Errors
/// As [`statement`].
pub fn kept(
    statement: &Statement,
    names: &dyn Names,
    context: ::types::Context<'_>,
) -> Result<Bound> {
    let mut binder = Binder::new(names, context, &[]);
    binder.text = Some(Text::default());
    bind(statement, binder)
}

fn bind(statement: &Statement, mut binder: Binder<'_>) -> Result<Bound> {
    let mut plan = binder.data_statement(statement, true)?;
    binder.check_params()?;
    place::plan(&mut plan);
    let Binder { params, uses, text, used, .. } = binder;
    Ok(Bound { plan, params, uses, text: text.unwrap_or_default(), variables: used })
}

/// Binds an expression over the columns of a relation, such as a default, a check or the key of an
/// index. Its columns are those of the relation, from 0; a default sees none.
///
/// # Errors
/// As [`statement`].
pub fn expression(
    text: &str,
    over: Option<&Relation>,
    names: &dyn Names,
    context: ::types::Context<'_>,
) -> Result<Expr> {
    let ast = crate::parse::expression(text)?;
    let (mut binder, row) = Binder::over(names, context, over);
    let expr = binder.expr(&ast)?;
    let mut expr = binder.settle(expr)?;
    binder.leave();
    place::expr(&mut expr, &row);
    Ok(expr)
}

/// The attributes of composite values that an expression names, which is bound as by [`expression`].
///
/// # Errors
/// As [`statement`].
pub fn attributes_in(
    text: &str,
    over: Option<&Relation>,
    names: &dyn Names,
    context: ::types::Context<'_>,
) -> Result<Vec<AttributeName>> {
    let ast = crate::parse::expression(text)?;
    let (mut binder, _) = Binder::over(names, context, over);
    binder.text = Some(Text::default());
    binder.expr(&ast)?;
    Ok(binder.text.unwrap_or_default().attributes)
}

/// The name that follows from an expression, as an output without one or a key of an index has it: that of
/// its column or function. `None` if none follows.
pub fn name_of(text: &str) -> Option<String> {
    let ast = crate::parse::expression(text).ok()?;
    select::name_of(&ast).map(|(name, _)| name)
}

/// The type that a name means, and its modifier.
///
/// # Errors
/// `42704` if there is no such type; `22023` and `42601` for modifiers that it cannot have.
pub fn type_name(
    name: &TypeName,
    names: &dyn Names,
    context: ::types::Context<'_>,
) -> Result<(Type, Modifier)> {
    Binder::new(names, context, &[]).type_of_name(name)
}

/// Binds an expression over the columns of a relation to a value for a column of it.
///
/// # Errors
/// As [`statement`], and `42804` where the value cannot be stored there.
pub fn column_value(
    text: &str,
    over: Option<&Relation>,
    column: &RelationColumn,
    names: &dyn Names,
    context: ::types::Context<'_>,
) -> Result<Expr> {
    let ast = crate::parse::expression(text)?;
    let mut binder = Binder::new(names, context, &[]);
    binder.stored = true;
    let mut row = Vec::new();
    binder.enter();
    if let Some(relation) = over {
        row = binder.relation_columns(relation);
        binder.show_relation(relation, &row);
    }
    let expr = binder.expr(&ast)?;
    let mut expr = binder.assign(expr, &column.name, column.ty, column.modifier)?;
    binder.leave();
    place::expr(&mut expr, &row);
    Ok(expr)
}

/// The state of binding one statement.
struct Binder<'a> {
    names: &'a dyn Names,
    context: ::types::Context<'a>,
    /// The types of the parameters; unknown until their use determines them.
    params: Vec<Type>,
    /// True if parameters without a type are allowed.
    open_params: bool,
    /// The queries around, the innermost last.
    scopes: Vec<Scope>,
    /// For each column, by its number, the scope in whose `FROM` it is.
    owners: Vec<u32>,
    /// The fields of columns that are rows without a type of their own, by the column's number.
    records: HashMap<u32, Described>,
    /// For each column, by its number, the use of a relation whose column it shows, and the number
    /// of that.
    sources: Vec<Option<(usize, i16)>>,
    uses: Uses,
    /// The names in the text, where it is to be kept.
    text: Option<Text>,
    /// The columns of full joins that are made of those of both sides.
    merged: Vec<(u32, Written)>,
    /// The role whose rights apply: the owner of the view that is being expanded.
    by: Option<Oid>,
    /// True while a text is bound that the catalog keeps.
    kept: bool,
    /// The access to the table that is bound next, where the statement changes it.
    target: Option<policy::Access>,
    /// The tables whose policies are being bound.
    secured: Vec<Oid>,
    /// True for an expression that the catalog keeps.
    stored: bool,
    next_scope: u32,
    next_table: u32,
    /// How deep views are nested.
    views: usize,
    /// The moment at which the tables of the view that is being expanded are read.
    moment: Option<Moment>,
    /// The values that views compute from the row that a statement changes, for its `RETURNING`.
    computed: Vec<(Expr, Column)>,
    /// True inside the `RETURNING` of `MERGE`.
    merge_action: bool,
    /// The table of `WITH` that was looked for in itself, where it was found.
    probed: Option<u32>,
    /// How many were looked for.
    probes: usize,
    /// For each column, by its number, its collation; none for that of its type.
    collations: Vec<collation::Derived>,
    /// The collations of the columns of tables of `WITH`, by the number of the table.
    of_tables: HashMap<u32, Vec<collation::Derived>>,
    /// True if a collation is written, or is that of a column.
    has_collations: bool,
    /// The collations of the operands of the `CASE`s around.
    operands: Vec<collation::Derived>,
    /// The outline so far, if the text is to be printed.
    outlining: Option<outline::Outlining>,
    /// The source of variables, where names may mean them, and the variables that were used.
    variables: Option<&'a dyn Variables>,
    used: Vec<u32>,
    /// Where variables are named, and their numbers.
    named_at: Vec<(At, u32)>,
}

impl<'a> Binder<'a> {
    /// A binder of a text that the catalog keeps, which sees the columns of `relation`.
    fn over(
        names: &'a dyn Names,
        context: ::types::Context<'a>,
        relation: Option<&Relation>,
    ) -> (Self, Vec<Column>) {
        let mut binder = Binder::new(names, context, &[]);
        binder.stored = true;
        let mut row = Vec::new();
        binder.enter();
        if let Some(relation) = relation {
            row = binder.relation_columns(relation);
            binder.show_relation(relation, &row);
        }
        (binder, row)
    }

    fn new(names: &'a dyn Names, context: ::types::Context<'a>, params: &[Type]) -> Self {
        Binder {
            names,
            context,
            params: params.to_vec(),
            open_params: true,
            scopes: Vec::new(),
            owners: Vec::new(),
            records: HashMap::new(),
            sources: Vec::new(),
            uses: Uses::default(),
            text: None,
            merged: Vec::new(),
            by: None,
            kept: false,
            target: None,
            secured: Vec::new(),
            stored: false,
            next_scope: 0,
            next_table: 0,
            views: 0,
            moment: names.moment().map(|time| {
                let time = ExprKind::Const(Datum::TimestampTz(time));
                Moment::AsOf(Expr::of(time, Type::TIMESTAMPTZ, At::NONE))
            }),
            computed: Vec::new(),
            merge_action: false,
            probed: None,
            probes: 0,
            collations: Vec::new(),
            of_tables: HashMap::new(),
            has_collations: false,
            operands: Vec::new(),
            outlining: None,
            variables: None,
            used: Vec::new(),
            named_at: Vec::new(),
        }
    }

    /// The known facts about types.
    fn facts(&self) -> Facts<'a> {
        let types: &'a dyn TypeSource = self.names;
        Facts(types)
    }

    /// True while a text is bound that the catalog keeps: an expression, or the query of a view.
    fn is_stored(&self) -> bool {
        self.kept || self.stored || self.views > 0
    }

    /// The origins in which operators without a schema are looked up. A text in the catalog has no schemas of
    /// operators, so its operators are looked up in all extensions.
    fn origins(&self) -> Origins {
        match self.is_stored() {
            true => self.names.all_origins(),
            false => self.names.origins(),
        }
    }

    /// The origins in which a function is looked up. In a text in the catalog a function of an extension has its
    /// schema, unless a built-in function has the same name.
    fn origins_of(&self, call: &Call) -> Origins {
        match &call.name.parts[..] {
            [.., schema, _] if !call.syntax => self.names.origins_in(&schema.text),
            [name] if self.is_stored() => {
                let mut named = registry::functions(&name.text).iter();
                match named.any(|function| extension::of(function.oid).is_none()) {
                    true => self.names.all_origins(),
                    false => Origins::CORE,
                }
            }
            _ => self.names.origins(),
        }
    }

    /// A new column of the scope that is being bound.
    fn column(
        &mut self,
        name: impl Into<String>,
        ty: Type,
        modifier: Modifier,
        origin: Option<Origin>,
    ) -> Column {
        let id = u32::try_from(self.owners.len()).expect("a statement has fewer columns");
        let owner = self.scopes.last().map_or(u32::MAX, |scope| scope.serial);
        self.owners.push(owner);
        self.sources.push(None);
        self.collations.push(collation::Derived::None);
        Column { name: name.into(), ty, modifier, origin, id }
    }

    /// A new column that holds the values of an expression.
    fn column_for(&mut self, name: impl Into<String>, expr: &Expr) -> Column {
        let (ty, modifier) = (expr.ty, expr.modifier);
        let fields = if ty == Type::RECORD { self.fields_of(expr) } else { None };
        let column = self.column(name, ty, modifier, None);
        self.note_collation(&column, expr);
        if let Some(fields) = fields {
            self.records.insert(column.id, fields);
        }
        column
    }

    /// Makes columns those of the scope that is being bound.
    fn adopt(&mut self, columns: &[Column]) {
        let owner = self.scopes.last().map_or(u32::MAX, |scope| scope.serial);
        for column in columns {
            self.owners[column.id as usize] = owner;
        }
        self.leave_query(columns);
    }

    /// All parameters must have a type at the end.
    fn check_params(&self) -> Result<()> {
        match self.params.iter().position(|ty| *ty == Type::UNKNOWN) {
            None => Ok(()),
            Some(open) => Err(Error::new(
                SqlState::INDETERMINATE_DATATYPE,
                format!("could not determine data type of parameter ${}", open + 1),
            )),
        }
    }
}
