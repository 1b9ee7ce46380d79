//! Programs against tables of the values that PostgreSQL gives to the same expressions.

use scalar::context::{Clock, Random, Session};
use scalar::function::Call;
use sql::bind::{ColumnDefault, Relation, RelationColumn, RelationKind};
use sql::eval::{Frame, Host, Program};
use sql::plan::{Action, Node};
use types::time::TimestampTz;
use types::{
    Context, Datum, DatumRef, Domains, Error, Modifier, Oid, Result, SqlState, Style, Type, text,
};

use crate::catalog::Catalog;

/// A session in which the time is always 2000-01-01, and nothing is random.
struct Still;

impl Clock for Still {
    fn now(&self) -> TimestampTz {
        TimestampTz(0)
    }
}

impl Random for Still {
    fn bits(&self) -> u64 {
        0
    }

    fn seed(&self, _: f64) {}

    fn secret(&self) -> [u8; 16] {
        [0; 16]
    }
}

impl Session for Still {
    fn setting(&self, _: &str) -> Option<String> {
        None
    }

    fn database(&self) -> &str {
        "test"
    }

    fn user(&self) -> &str {
        "tester"
    }

    fn session_user(&self) -> &str {
        "tester"
    }
}

impl Domains for Still {
    fn check(&self, domain: Type, value: DatumRef<'_>) -> Result<()> {
        match value {
            DatumRef::Int4(..=0) => Err(Error::new(
                SqlState::CHECK_VIOLATION,
                format!("value for domain {} violates its check", domain.oid()),
            )),
            _ => Ok(()),
        }
    }
}

impl Host for Still {
    fn next_value(&self, _: Oid) -> Result<i64> {
        Ok(1)
    }

    fn call(&self, function: &scalar::Function, _: &Call<'_>, _: &[DatumRef<'_>]) -> Result<Datum> {
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, function.name))
    }

    fn rows(
        &self,
        function: &scalar::Function,
        _: &Call<'_>,
        _: &[DatumRef<'_>],
    ) -> Result<scalar::Rows> {
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, function.name))
    }
}

/// The table whose row the expressions are over.
fn relation() -> Relation {
    let columns = [
        ("id", Type::INT4, -1),
        ("name", Type::TEXT, -1),
        ("age", Type::INT4, -1),
        ("tags", Type::TEXT_ARRAY, -1),
        ("salary", Type::NUMERIC, (10 << 16 | 2) + 4),
        ("born", Type::DATE, -1),
        ("active", Type::BOOL, -1),
    ];
    let column = |(at, (name, ty, modifier)): (usize, &(&str, Type, i32))| RelationColumn {
        attnum: at as i16 + 1,
        name: (*name).to_owned(),
        ty: *ty,
        modifier: Modifier(*modifier),
        collation: types::Oid::NONE,
        not_null: false,
        default: ColumnDefault::None,
    };
    Relation {
        oid: Oid(16500),
        schema: "public".to_owned(),
        name: "r".to_owned(),
        kind: RelationKind::Table,
        row_type: Type::RECORD,
        columns: columns.iter().enumerate().map(column).collect(),
        unique: Vec::new(),
        owner: Oid::NONE,
        versioned: false,
        check: sql::bind::CheckOption::None,
        is_barrier: false,
        is_of_invoker: false,
    }
}

/// The row: 7, 'ann', NULL, {a,b,c}, 12.50, 2020-02-29, true.
fn row(context: &Context<'_>) -> Vec<Datum> {
    let texts = [
        Some("7"),
        Some("ann"),
        None,
        Some("{a,b,c}"),
        Some("12.50"),
        Some("2020-02-29"),
        Some("t"),
    ];
    let columns = relation().columns;
    let value = |(text, column): (&Option<&str>, &RelationColumn)| match text {
        Some(text) => {
            text::parse(text, column.ty, column.modifier, context).expect("a value of the type")
        }
        None => Datum::Null,
    };
    texts.iter().zip(&columns).map(value).collect()
}

/// The value of an expression over the row, as text.
pub fn value(expression: &str) -> String {
    let catalog = Catalog::new();
    let style = Style::default();
    let types = Context { types: &catalog, domains: &Still, ..Context::new(&style) };
    let context = scalar::Context {
        types,
        statement: TimestampTz(0),
        clock: &Still,
        random: &Still,
        session: &Still,
    };
    let row = row(&types);
    let row: Vec<DatumRef<'_>> = row.iter().map(Datum::as_ref).collect();
    let frame = Frame { context: &context, params: &[], host: &Still };
    let result = sql::bind::expression(expression, Some(&relation()), &catalog, types)
        .map_err(|error| error.cause)
        .and_then(|bound| {
            let program = Program::compile(&bound, &catalog)?;
            Ok((program.run(&row, frame)?, bound))
        });
    match result {
        Ok((value, bound)) => {
            let text = text::to_string(value.as_ref(), bound.ty, bound.modifier, &types);
            format!("=> {}", text.as_deref().unwrap_or("null"))
        }
        Err(error) => format!("!! {} {}", error.state(), error.message()),
    }
}

/// The value of a column of `person` after an assignment: `column = old; target = value`.
pub fn assigned(assignment: &str) -> String {
    let catalog = Catalog::new();
    let style = Style::default();
    let types = Context { types: &catalog, domains: &Still, ..Context::new(&style) };
    let context = scalar::Context {
        types,
        statement: TimestampTz(0),
        clock: &Still,
        random: &Still,
        session: &Still,
    };
    let (before, change) = assignment.split_once("; ").expect("a value and an assignment");
    let (column, old) = before.split_once(" = ").expect("a column and its value");
    let result = sql::parse::statements(&format!("update person set {change}"))
        .and_then(|parsed| sql::bind::statement(&parsed[0].statement, &catalog, types, &[]))
        .map_err(|error| error.cause)
        .and_then(|bound| {
            let Node::Modify(modify) = &bound.plan.node else { panic!("{assignment}") };
            let Action::Update { set, .. } = &modify.action else { panic!("{assignment}") };
            let columns = &modify.input.columns;
            let mut row = vec![Datum::Null; columns.len()];
            let place = columns.iter().position(|known| known.name == column).expect("a column");
            if old != "null" {
                row[place] = text::parse(old, columns[place].ty, Modifier::NONE, &types)?;
            }
            let row: Vec<DatumRef<'_>> = row.iter().map(Datum::as_ref).collect();
            let program = Program::compile(&set[0].1, &catalog)?;
            let frame = Frame { context: &context, params: &[], host: &Still };
            Ok((program.run(&row, frame)?, set[0].1.ty))
        });
    match result {
        Ok((value, ty)) => {
            let text = text::to_string(value.as_ref(), ty, Modifier::NONE, &types);
            format!("=> {}", text.as_deref().unwrap_or("null"))
        }
        Err(error) => format!("!! {} {}", error.state(), error.message()),
    }
}
