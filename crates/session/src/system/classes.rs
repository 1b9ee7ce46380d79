//! Operator classes: the ways in which an index compares the values of a type.
//!
//! ```text
//!   CREATE INDEX ON t (a)                      int4_ops           the default of the type
//!   CREATE INDEX ON t (b text_pattern_ops)     text_pattern_ops   named: shown, and dumped
//! ```
//!
//! Text is compared by its bytes, so that the classes for patterns compare as the others do.

use table::catalog::IndexMethod::{self, Bloom, Brin, Btree, Gin, Gist, Hash, Spgist};
use types::{Oid, Origins, Shape, SqlState, Type, TypeSource};

use super::OWNER;
use super::rows::{CatalogContext, Rows, bool, oid, text, type_oid};
use crate::names::Names;

/// An operator class of PostgreSQL that indexes can have here.
pub struct OperatorClass {
    /// Its number.
    pub oid: Oid,
    method: IndexMethod,
    name: &'static str,
    /// The type of the values; a pseudo-type stands for all of its kind.
    ty: Type,
    /// True if it is the one of its type that need not be named.
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
    class(10_002, Btree, "bit_ops", Type::BIT, true),
    class(10_003, Btree, "bool_ops", Type::BOOL, true),
    class(10_004, Btree, "bpchar_ops", Type::BPCHAR, true),
    class(4219, Btree, "bpchar_pattern_ops", Type::BPCHAR, false),
    class(10_006, Btree, "bytea_ops", Type::BYTEA, true),
    class(10_007, Btree, "char_ops", Type::CHAR, true),
    class(10_009, Btree, "cidr_ops", Type::INET, false),
    class(3122, Btree, "date_ops", Type::DATE, true),
    class(10_069, Btree, "enum_ops", Type::ANYENUM, true),
    class(10_012, Btree, "float4_ops", Type::FLOAT4, true),
    class(3123, Btree, "float8_ops", Type::FLOAT8, true),
    class(10_015, Btree, "inet_ops", Type::INET, true),
    class(1979, Btree, "int2_ops", Type::INT2, true),
    class(1978, Btree, "int4_ops", Type::INT4, true),
    class(3124, Btree, "int8_ops", Type::INT8, true),
    class(10_022, Btree, "interval_ops", Type::INTERVAL, true),
    class(10_088, Btree, "jsonb_ops", Type::JSONB, true),
    class(10_024, Btree, "macaddr_ops", Type::MACADDR, true),
    class(10_026, Btree, "macaddr8_ops", Type::MACADDR8, true),
    class(10_028, Btree, "name_ops", Type::NAME, true),
    class(3125, Btree, "numeric_ops", Type::NUMERIC, true),
    class(1981, Btree, "oid_ops", Type::OID, true),
    class(10_080, Btree, "multirange_ops", Type::ANYMULTIRANGE, true),
    class(10_076, Btree, "range_ops", Type::ANYRANGE, true),
    class(10_034, Btree, "record_ops", Type::RECORD, true),
    class(3126, Btree, "text_ops", Type::TEXT, true),
    class(4217, Btree, "text_pattern_ops", Type::TEXT, false),
    class(10_038, Btree, "time_ops", Type::TIME, true),
    class(3128, Btree, "timestamp_ops", Type::TIMESTAMP, true),
    class(3127, Btree, "timestamptz_ops", Type::TIMESTAMPTZ, true),
    class(10_041, Btree, "timetz_ops", Type::TIMETZ, true),
    class(10_065, Btree, "uuid_ops", Type::UUID, true),
    class(10_043, Btree, "varbit_ops", Type::VARBIT, true),
    class(10_044, Btree, "varchar_ops", Type::TEXT, false),
    class(4218, Btree, "varchar_pattern_ops", Type::TEXT, false),
    class(10_001, Hash, "array_ops", Type::ANYARRAY, true),
    class(10_048, Hash, "bool_ops", Type::BOOL, true),
    class(10_005, Hash, "bpchar_ops", Type::BPCHAR, true),
    class(10_058, Hash, "bpchar_pattern_ops", Type::BPCHAR, false),
    class(10_049, Hash, "bytea_ops", Type::BYTEA, true),
    class(10_008, Hash, "char_ops", Type::CHAR, true),
    class(10_010, Hash, "cidr_ops", Type::INET, false),
    class(10_011, Hash, "date_ops", Type::DATE, true),
    class(10_070, Hash, "enum_ops", Type::ANYENUM, true),
    class(10_013, Hash, "float4_ops", Type::FLOAT4, true),
    class(10_014, Hash, "float8_ops", Type::FLOAT8, true),
    class(10_016, Hash, "inet_ops", Type::INET, true),
    class(10_019, Hash, "int2_ops", Type::INT2, true),
    class(10_020, Hash, "int4_ops", Type::INT4, true),
    class(10_021, Hash, "int8_ops", Type::INT8, true),
    class(10_023, Hash, "interval_ops", Type::INTERVAL, true),
    class(10_089, Hash, "jsonb_ops", Type::JSONB, true),
    class(10_025, Hash, "macaddr_ops", Type::MACADDR, true),
    class(10_027, Hash, "macaddr8_ops", Type::MACADDR8, true),
    class(10_029, Hash, "name_ops", Type::NAME, true),
    class(10_030, Hash, "numeric_ops", Type::NUMERIC, true),
    class(10_031, Hash, "oid_ops", Type::OID, true),
    class(10_081, Hash, "multirange_ops", Type::ANYMULTIRANGE, true),
    class(10_077, Hash, "range_ops", Type::ANYRANGE, true),
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
    class(10_047, Btree, "money_ops", Type::MONEY, true),
    class(10_071, Btree, "tsvector_ops", Type::TSVECTOR, true),
    class(10_073, Gin, "tsvector_ops", Type::TSVECTOR, true),
    class(10_074, Btree, "tsquery_ops", Type::TSQUERY, true),
    class(10_090, Gin, "jsonb_ops", Type::JSONB, true),
    class(10_091, Gin, "jsonb_path_ops", Type::JSONB, false),
    class(10_018, Spgist, "inet_ops", Type::INET, true),
    class(10_079, Spgist, "range_ops", Type::ANYRANGE, true),
    class(10_086, Spgist, "text_ops", Type::TEXT, true),
    class(10_017, Gist, "inet_ops", Type::INET, false),
    class(10_060, Gist, "box_ops", Type::BOX, true),
    class(10_061, Gist, "point_ops", Type::POINT, true),
    class(10_062, Gist, "poly_ops", Type::POLYGON, true),
    class(10_063, Gist, "circle_ops", Type::CIRCLE, true),
    class(10_078, Gist, "range_ops", Type::ANYRANGE, true),
    class(10_082, Gist, "multirange_ops", Type::ANYMULTIRANGE, true),
    class(15_240, Btree, "citext_ops", Type::CITEXT, true),
    class(15_241, Hash, "citext_ops", Type::CITEXT, true),
    class(15_242, Btree, "citext_pattern_ops", Type::CITEXT, false),
    class(15_540, Btree, "btree_hstore_ops", Type::HSTORE, true),
    class(15_541, Hash, "hash_hstore_ops", Type::HSTORE, true),
    class(15_542, Gin, "gin_hstore_ops", Type::HSTORE, true),
    class(15_840, Gin, "gin_trgm_ops", Type::TEXT, false),
    class(16_100, Btree, "ltree_ops", Type::LTREE, true),
    class(16_101, Hash, "hash_ltree_ops", Type::LTREE, true),
    class(16_102, Gist, "gist_ltree_ops", Type::LTREE, true),
    class(16_103, Gist, "gist__ltree_ops", Type::LTREE_ARRAY, true),
    class(8192, Gin, "int2_ops", Type::INT2, true),
    class(8193, Gin, "int4_ops", Type::INT4, true),
    class(8194, Gin, "int8_ops", Type::INT8, true),
    class(8195, Gin, "float4_ops", Type::FLOAT4, true),
    class(8196, Gin, "float8_ops", Type::FLOAT8, true),
    class(8197, Gin, "oid_ops", Type::OID, true),
    class(8198, Gin, "timestamp_ops", Type::TIMESTAMP, true),
    class(8199, Gin, "timestamptz_ops", Type::TIMESTAMPTZ, true),
    class(8200, Gin, "time_ops", Type::TIME, true),
    class(8201, Gin, "timetz_ops", Type::TIMETZ, true),
    class(8202, Gin, "date_ops", Type::DATE, true),
    class(8203, Gin, "interval_ops", Type::INTERVAL, true),
    class(8204, Gin, "macaddr_ops", Type::MACADDR, true),
    class(8205, Gin, "macaddr8_ops", Type::MACADDR8, true),
    class(8206, Gin, "inet_ops", Type::INET, true),
    class(8207, Gin, "cidr_ops", Type::CIDR, true),
    class(8208, Gin, "text_ops", Type::TEXT, true),
    class(8209, Gin, "varchar_ops", Type::VARCHAR, true),
    class(8210, Gin, "char_ops", Type::CHAR, true),
    class(8211, Gin, "bytea_ops", Type::BYTEA, true),
    class(8212, Gin, "bit_ops", Type::BIT, true),
    class(8213, Gin, "varbit_ops", Type::VARBIT, true),
    class(8214, Gin, "numeric_ops", Type::NUMERIC, true),
    class(8215, Gin, "enum_ops", Type::ANYENUM, true),
    class(8216, Gin, "uuid_ops", Type::UUID, true),
    class(8217, Gin, "name_ops", Type::NAME, true),
    class(8218, Gin, "bool_ops", Type::BOOL, true),
    class(8219, Gin, "bpchar_ops", Type::BPCHAR, true),
    class(8705, Bloom, "int4_ops", Type::INT4, true),
    class(8706, Bloom, "text_ops", Type::TEXT, true),
    class(10_092, Brin, "bytea_minmax_ops", Type::BYTEA, true),
    class(10_093, Brin, "bytea_bloom_ops", Type::BYTEA, false),
    class(10_094, Brin, "char_minmax_ops", Type::CHAR, true),
    class(10_095, Brin, "char_bloom_ops", Type::CHAR, false),
    class(10_096, Brin, "name_minmax_ops", Type::NAME, true),
    class(10_097, Brin, "name_bloom_ops", Type::NAME, false),
    class(10_098, Brin, "int8_minmax_ops", Type::INT8, true),
    class(10_099, Brin, "int8_minmax_multi_ops", Type::INT8, false),
    class(10_100, Brin, "int8_bloom_ops", Type::INT8, false),
    class(10_101, Brin, "int2_minmax_ops", Type::INT2, true),
    class(10_102, Brin, "int2_minmax_multi_ops", Type::INT2, false),
    class(10_103, Brin, "int2_bloom_ops", Type::INT2, false),
    class(10_104, Brin, "int4_minmax_ops", Type::INT4, true),
    class(10_105, Brin, "int4_minmax_multi_ops", Type::INT4, false),
    class(10_106, Brin, "int4_bloom_ops", Type::INT4, false),
    class(10_107, Brin, "text_minmax_ops", Type::TEXT, true),
    class(10_108, Brin, "text_bloom_ops", Type::TEXT, false),
    class(10_109, Brin, "oid_minmax_ops", Type::OID, true),
    class(10_110, Brin, "oid_minmax_multi_ops", Type::OID, false),
    class(10_111, Brin, "oid_bloom_ops", Type::OID, false),
    class(10_115, Brin, "float4_minmax_ops", Type::FLOAT4, true),
    class(10_116, Brin, "float4_minmax_multi_ops", Type::FLOAT4, false),
    class(10_117, Brin, "float4_bloom_ops", Type::FLOAT4, false),
    class(10_118, Brin, "float8_minmax_ops", Type::FLOAT8, true),
    class(10_119, Brin, "float8_minmax_multi_ops", Type::FLOAT8, false),
    class(10_120, Brin, "float8_bloom_ops", Type::FLOAT8, false),
    class(10_121, Brin, "macaddr_minmax_ops", Type::MACADDR, true),
    class(10_122, Brin, "macaddr_minmax_multi_ops", Type::MACADDR, false),
    class(10_123, Brin, "macaddr_bloom_ops", Type::MACADDR, false),
    class(10_124, Brin, "macaddr8_minmax_ops", Type::MACADDR8, true),
    class(10_125, Brin, "macaddr8_minmax_multi_ops", Type::MACADDR8, false),
    class(10_126, Brin, "macaddr8_bloom_ops", Type::MACADDR8, false),
    class(10_127, Brin, "inet_minmax_ops", Type::INET, false),
    class(10_128, Brin, "inet_minmax_multi_ops", Type::INET, false),
    class(10_129, Brin, "inet_bloom_ops", Type::INET, false),
    class(10_130, Brin, "inet_inclusion_ops", Type::INET, true),
    class(10_131, Brin, "bpchar_minmax_ops", Type::BPCHAR, true),
    class(10_132, Brin, "bpchar_bloom_ops", Type::BPCHAR, false),
    class(10_133, Brin, "time_minmax_ops", Type::TIME, true),
    class(10_134, Brin, "time_minmax_multi_ops", Type::TIME, false),
    class(10_135, Brin, "time_bloom_ops", Type::TIME, false),
    class(10_136, Brin, "date_minmax_ops", Type::DATE, true),
    class(10_137, Brin, "date_minmax_multi_ops", Type::DATE, false),
    class(10_138, Brin, "date_bloom_ops", Type::DATE, false),
    class(10_139, Brin, "timestamp_minmax_ops", Type::TIMESTAMP, true),
    class(10_140, Brin, "timestamp_minmax_multi_ops", Type::TIMESTAMP, false),
    class(10_141, Brin, "timestamp_bloom_ops", Type::TIMESTAMP, false),
    class(10_142, Brin, "timestamptz_minmax_ops", Type::TIMESTAMPTZ, true),
    class(10_143, Brin, "timestamptz_minmax_multi_ops", Type::TIMESTAMPTZ, false),
    class(10_144, Brin, "timestamptz_bloom_ops", Type::TIMESTAMPTZ, false),
    class(10_145, Brin, "interval_minmax_ops", Type::INTERVAL, true),
    class(10_146, Brin, "interval_minmax_multi_ops", Type::INTERVAL, false),
    class(10_147, Brin, "interval_bloom_ops", Type::INTERVAL, false),
    class(10_148, Brin, "timetz_minmax_ops", Type::TIMETZ, true),
    class(10_149, Brin, "timetz_minmax_multi_ops", Type::TIMETZ, false),
    class(10_150, Brin, "timetz_bloom_ops", Type::TIMETZ, false),
    class(10_151, Brin, "bit_minmax_ops", Type::BIT, true),
    class(10_152, Brin, "varbit_minmax_ops", Type::VARBIT, true),
    class(10_153, Brin, "numeric_minmax_ops", Type::NUMERIC, true),
    class(10_154, Brin, "numeric_minmax_multi_ops", Type::NUMERIC, false),
    class(10_155, Brin, "numeric_bloom_ops", Type::NUMERIC, false),
    class(10_156, Brin, "uuid_minmax_ops", Type::UUID, true),
    class(10_157, Brin, "uuid_minmax_multi_ops", Type::UUID, false),
    class(10_158, Brin, "uuid_bloom_ops", Type::UUID, false),
    class(10_159, Brin, "range_inclusion_ops", Type::ANYRANGE, true),
];

impl OperatorClass {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The name that a key of an index keeps: a default goes without saying, but for the classes that
    /// distinguish whole values of a column from values that are taken apart.
    pub fn kept_name(&self) -> Option<&'static str> {
        let is_of_scalars =
            matches!(self.method, Gin | Bloom) && types::extension::of(self.oid).is_some();
        let is_of_lexemes = self.method == Gin && self.ty == Type::TSVECTOR;
        let is_kept = !self.is_default || is_of_lexemes || is_of_scalars && self.ty != Type::HSTORE;
        is_kept.then_some(self.name)
    }

    /// True if values of a type can be compared by it. `ty` is no domain.
    fn takes(&self, types: &dyn TypeSource, ty: Type) -> bool {
        match (self.ty, types.shape_of(ty)) {
            (Type::ANYARRAY, Ok(Shape::Array(_)))
            | (Type::ANYENUM, Ok(Shape::Enum(_)))
            | (Type::RECORD, Ok(Shape::Composite(_)))
            | (Type::ANYRANGE, Ok(Shape::Range(_)))
            | (Type::ANYMULTIRANGE, Ok(Shape::Multirange(_))) => true,
            // `varchar` is compared as text, `cidr` as `inet`.
            (known, _) => {
                known == ty
                    || known == Type::TEXT && ty == Type::VARCHAR
                    || known == Type::INET && ty == Type::CIDR
            }
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

/// The default operator class of a database for values of a type, where there is one.
pub fn default_class(
    names: &Names,
    ty: Type,
    method: IndexMethod,
) -> Option<&'static OperatorClass> {
    let types: &dyn TypeSource = names;
    let (ty, _) = types.base_of(ty);
    CLASSES.iter().find(|class| {
        let is_there = || names.member_schema(class.oid).is_some();
        class.method == method && class.is_default && class.takes(names, ty) && is_there()
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
    origins: Origins,
) -> types::Result<&'static OperatorClass> {
    let is_known = |class: &OperatorClass| {
        class.method == method && class.name == name && origins.has(class.oid)
    };
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

/// The numbers of all operator classes.
pub(super) fn numbers() -> impl Iterator<Item = Oid> {
    CLASSES.iter().map(|class| class.oid)
}

/// `pg_opclass`
pub(super) fn classes(scene: CatalogContext<'_>, rows: &mut Rows) {
    for class in CLASSES {
        let Some(schema) = scene.names.member_schema(class.oid) else { continue };
        let method = super::relations::method_oid(class.method);
        let is_json = class.ty == Type::JSONB && class.method == Gin;
        let key = match class.method {
            Gin if class.ty == Type::ANYARRAY => Type::ANYELEMENT,
            Gin if is_json && class.is_default => Type::TEXT,
            Gin if is_json || class.ty == Type::TEXT => Type::INT4,
            Gin if matches!(class.ty, Type::HSTORE | Type::TSVECTOR) => Type::TEXT,
            _ => Type::NONE,
        };
        rows.row(&[
            ("oid", oid(class.oid)),
            ("opcmethod", oid(method)),
            ("opcname", text(class.name)),
            ("opcnamespace", oid(schema)),
            ("opcowner", oid(OWNER)),
            ("opcintype", type_oid(class.ty)),
            ("opcdefault", bool(class.is_default)),
            ("opckeytype", type_oid(key)),
        ]);
    }
}
