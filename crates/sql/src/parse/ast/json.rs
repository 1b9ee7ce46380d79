//! SQL/JSON of the standard as it was written: constructors, `IS JSON`, and searches by path.
//!
//! `value FORMAT JSON` is the cast of the value to `json`.

use scalar::standard::{JsonKind, JsonSearchKind};

use super::{Expr, Name, TypeName};
use crate::error::At;

/// A construct of SQL/JSON.
#[derive(Clone, PartialEq, Debug)]
pub enum Json {
    /// `JSON_OBJECT('a': 1 ...)`
    Object {
        /// Names and values.
        fields: Vec<(Expr, Expr)>,
        /// `ABSENT ON NULL`
        absent: bool,
        /// `WITH UNIQUE KEYS`
        unique: bool,
        /// `RETURNING`
        returning: Option<TypeName>,
    },
    /// `JSON_ARRAY(1, 2 ...)`
    Array {
        /// The elements.
        elements: Vec<Expr>,
        /// `ABSENT ON NULL`, which is what it does unless told otherwise.
        absent: bool,
        /// `RETURNING`
        returning: Option<TypeName>,
    },
    /// `JSON_ARRAY(SELECT ...)`
    Rows {
        /// The query, as an array of its values.
        rows: Box<Expr>,
        /// `RETURNING`
        returning: Option<TypeName>,
    },
    /// `JSON_OBJECTAGG` or `JSON_ARRAYAGG`
    Aggregate {
        /// The call of the aggregate that does it, of `json` or of `jsonb`.
        call: Box<Expr>,
        /// `RETURNING`
        returning: Option<TypeName>,
    },
    /// `JSON(...)`
    Parse {
        /// The text.
        value: Box<Expr>,
        /// `WITH UNIQUE KEYS`
        unique: bool,
    },
    /// `JSON_SCALAR(...)`
    Scalar(Box<Expr>),
    /// `JSON_SERIALIZE(...)`
    Serialize {
        /// The JSON.
        value: Box<Expr>,
        /// `RETURNING`
        returning: Option<TypeName>,
    },
    /// `IS [NOT] JSON`
    Is {
        /// The tested expression.
        expr: Box<Expr>,
        /// The kind that it must have.
        kind: Option<JsonKind>,
        /// `WITH UNIQUE KEYS`
        unique: bool,
        /// True for `NOT`.
        negated: bool,
    },
    /// `JSON_EXISTS`, `JSON_VALUE` or `JSON_QUERY`
    Search(Box<JsonSearch>),
}

/// A search by path.
#[derive(Clone, PartialEq, Debug)]
pub struct JsonSearch {
    /// The wanted answer.
    pub what: JsonSearchKind,
    /// Where it is looked for.
    pub document: Expr,
    /// The path.
    pub path: Expr,
    /// `PASSING`
    pub passing: Vec<(Expr, Name)>,
    /// `RETURNING`
    pub returning: Option<TypeName>,
    /// `ON EMPTY`
    pub on_empty: Option<(JsonBehavior, At)>,
    /// `ON ERROR`
    pub on_error: Option<(JsonBehavior, At)>,
}

/// The result where a search finds nothing, or fails.
#[derive(Clone, PartialEq, Debug)]
pub enum JsonBehavior {
    /// `ERROR`
    Error,
    /// `NULL`, `UNKNOWN`
    Null,
    /// `TRUE`, `FALSE`
    Bool(bool),
    /// `EMPTY ARRAY`
    EmptyArray,
    /// `EMPTY OBJECT`
    EmptyObject,
    /// `DEFAULT value`
    Default(Expr),
}

impl Json {
    /// The name of the column that shows it.
    pub fn column_name(&self) -> Option<&'static str> {
        Some(match self {
            Json::Object { .. } => "json_object",
            Json::Array { .. } | Json::Rows { .. } => "json_array",
            Json::Aggregate { call, .. } => match &call.kind {
                super::ExprKind::Call(call) if call.name.last().contains("object") => {
                    "json_objectagg"
                }
                _ => "json_arrayagg",
            },
            Json::Parse { .. } => "json",
            Json::Scalar(_) => "json_scalar",
            Json::Serialize { .. } => "json_serialize",
            Json::Is { .. } => return None,
            Json::Search(search) => match search.what {
                JsonSearchKind::Exists => "json_exists",
                JsonSearchKind::Value => "json_value",
                JsonSearchKind::Query { .. } => "json_query",
            },
        })
    }
}
