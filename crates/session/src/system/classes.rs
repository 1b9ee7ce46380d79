//! Operator classes: how an index compares the values of a type.
//!
//! ```text
//!   CREATE INDEX ON t (a)                      int4_ops           the default of the type
//!   CREATE INDEX ON t (b text_pattern_ops)     text_pattern_ops   named: shown, and dumped
//! ```
//!
//! Text is compared by its bytes, so that the classes for patterns compare as the others do.

use table::catalog::IndexMethod::{self, Btree, Gin, Hash};
use types::{Oid, Shape, SqlState, Type, TypeSource};

use super::rows::{Rows, bool, oid, text, type_oid};
use super::{OWNER, PG_CATALOG};

/// An operator class of PostgreSQL that indexes can have here.
pub struct OperatorClass {
    /// Its number.
    pub oid: Oid,
    method: IndexMethod,
    name: &'static str,
    /// The type of the values; a pseudo-type stands for all of its kind.
    ty: Type,
    /// True where it is the one of its type that need not be named.
    pub is_default: bool,
}

const fn class(
    number: u32,
    method: IndexMethod,
    name: &'static str,
    ty: Type,
    is_default: bool,
) -> OperatorClass {
    OperatorClass { oid: Oid(number), method, name, ty, is_default }
}

const CLASSES: &[OperatorClass] = &[
    class(10_000, Btree, "array_ops", Type::ANYARRAY, true),
    class(10_003, Btree, "bool_ops", Type::BOOL, true),
    class(10_004, Btree, "bpchar_ops", Type::BPCHAR, true),
    class(4219, Btree, "bpchar_pattern_ops", Type::BPCHAR, false),
    class(10_006, Btree, "bytea_ops", Type::BYTEA, true),
    class(10_007, Btree, "char_ops", Type::CHAR, true),
    class(3122, Btree, "date_ops", Type::DATE, true),
    class(10_069, Btree, "enum_ops", Type::ANYENUM, true),
    class(10_012, Btree, "float4_ops", Type::FLOAT4, true),
    class(3123, Btree, "float8_ops", Type::FLOAT8, true),
    class(1979, Btree, "int2_ops", Type::INT2, true),
    class(1978, Btree, "int4_ops", Type::INT4, true),
    class(3124, Btree, "int8_ops", Type::INT8, true),
    class(10_022, Btree, "interval_ops", Type::INTERVAL, true),
    class(10_088, Btree, "jsonb_ops", Type::JSONB, true),
    class(10_028, Btree, "name_ops", Type::NAME, true),
    class(3125, Btree, "numeric_ops", Type::NUMERIC, true),
    class(1981, Btree, "oid_ops", Type::OID, true),
    class(10_034, Btree, "record_ops", Type::RECORD, true),
    class(3126, Btree, "text_ops", Type::TEXT, true),
    class(4217, Btree, "text_pattern_ops", Type::TEXT, false),
    class(10_038, Btree, "time_ops", Type::TIME, true),
    class(3128, Btree, "timestamp_ops", Type::TIMESTAMP, true),
    class(3127, Btree, "timestamptz_ops", Type::TIMESTAMPTZ, true),
    class(10_041, Btree, "timetz_ops", Type::TIMETZ, true),
    class(10_065, Btree, "uuid_ops", Type::UUID, true),
    class(10_044, Btree, "varchar_ops", Type::TEXT, false),
    class(4218, Btree, "varchar_pattern_ops", Type::TEXT, false),
    class(10_001, Hash, "array_ops", Type::ANYARRAY, true),
    class(10_048, Hash, "bool_ops", Type::BOOL, true),
    class(10_005, Hash, "bpchar_ops", Type::BPCHAR, true),
    class(10_058, Hash, "bpchar_pattern_ops", Type::BPCHAR, false),
    class(10_049, Hash, "bytea_ops", Type::BYTEA, true),
    class(10_008, Hash, "char_ops", Type::CHAR, true),
    class(10_011, Hash, "date_ops", Type::DATE, true),
    class(10_070, Hash, "enum_ops", Type::ANYENUM, true),
    class(10_013, Hash, "float4_ops", Type::FLOAT4, true),
    class(10_014, Hash, "float8_ops", Type::FLOAT8, true),
    class(10_019, Hash, "int2_ops", Type::INT2, true),
    class(10_020, Hash, "int4_ops", Type::INT4, true),
    class(10_021, Hash, "int8_ops", Type::INT8, true),
    class(10_023, Hash, "interval_ops", Type::INTERVAL, true),
    class(10_089, Hash, "jsonb_ops", Type::JSONB, true),
    class(10_029, Hash, "name_ops", Type::NAME, true),
    class(10_030, Hash, "numeric_ops", Type::NUMERIC, true),
    class(10_031, Hash, "oid_ops", Type::OID, true),
    class(10_035, Hash, "record_ops", Type::RECORD, true),
    class(10_037, Hash, "text_ops", Type::TEXT, true),
    class(10_056, Hash, "text_pattern_ops", Type::TEXT, false),
    class(10_039, Hash, "time_ops", Type::TIME, true),
    class(10_046, Hash, "timestamp_ops", Type::TIMESTAMP, true),
    class(10_040, Hash, "timestamptz_ops", Type::TIMESTAMPTZ, true),
    class(10_042, Hash, "timetz_ops", Type::TIMETZ, true),
    class(10_066, Hash, "uuid_ops", Type::UUID, true),
    class(10_045, Hash, "varchar_ops", Type::TEXT, false),
    class(10_057, Hash, "varchar_pattern_ops", Type::TEXT, false),
    class(10_064, Gin, "array_ops", Type::ANYARRAY, true),
    class(10_090, Gin, "jsonb_ops", Type::JSONB, true),
    class(10_091, Gin, "jsonb_path_ops", Type::JSONB, false),
];

impl OperatorClass {
    /// True where values of a type can be compared by it. `ty` is no domain.
    fn takes(&self, types: &dyn TypeSource, ty: Type) -> bool {
        match (self.ty, types.shape_of(ty)) {
            (Type::ANYARRAY, Ok(Shape::Array(_)))
            | (Type::ANYENUM, Ok(Shape::Enum(_)))
            | (Type::RECORD, Ok(Shape::Composite(_))) => true,
            // `varchar` is compared as text.
            (known, _) => known == ty || known == Type::TEXT && ty == Type::VARCHAR,
        }
    }
}

/// The operator class of an index over values of a type: the one with this name, or the default.
pub fn class_of(
    types: &dyn TypeSource,
    ty: Type,
    method: IndexMethod,
    name: Option<&str>,
) -> Option<&'static OperatorClass> {
    let (ty, _) = types.base_of(ty);
    CLASSES.iter().find(|class| {
        let is_meant = match name {
            Some(name) => class.name == name,
            None => class.is_default,
        };
        class.method == method && is_meant && class.takes(types, ty)
    })
}

/// The operator class that a definition names, for values of a type.
///
/// # Errors
/// 42704 where there is none of that name, 42804 where it is not for such values.
pub fn named_class(
    types: &dyn TypeSource,
    ty: Type,
    method: IndexMethod,
    name: &str,
) -> types::Result<&'static OperatorClass> {
    let is_known = |class: &OperatorClass| class.method == method && class.name == name;
    if !CLASSES.iter().any(is_known) {
        let message = format!(
            "operator class \"{name}\" does not exist for access method \"{}\"",
            method.name()
        );
        return Err(types::Error::new(SqlState::UNDEFINED_OBJECT, message));
    }
    class_of(types, ty, method, Some(name)).ok_or_else(|| {
        let message =
            format!("operator class \"{name}\" does not accept data type {}", types.name_of(ty));
        types::Error::new(SqlState::DATATYPE_MISMATCH, message)
    })
}

/// `pg_opclass`
pub(super) fn classes(rows: &mut Rows) {
    for class in CLASSES {
        let method = super::relations::method_oid(class.method);
        let is_json = class.ty == Type::JSONB && class.method == Gin;
        let key = match class.method {
            Gin if class.ty == Type::ANYARRAY => Type::ANYELEMENT,
            Gin if is_json && class.is_default => Type::TEXT,
            Gin if is_json => Type::INT4,
            _ => Type::NONE,
        };
        rows.row(&[
            ("oid", oid(class.oid)),
            ("opcmethod", oid(method)),
            ("opcname", text(class.name)),
            ("opcnamespace", oid(PG_CATALOG)),
            ("opcowner", oid(OWNER)),
            ("opcintype", type_oid(class.ty)),
            ("opcdefault", bool(class.is_default)),
            ("opckeytype", type_oid(key)),
        ]);
    }
}
