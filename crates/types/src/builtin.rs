//! The types that come with the database: everything that `pg_type` says of them.
//!
//! One row of the table is a type and its array type, which follows from it:
//!
//! ```text
//!   1043  varchar  "character varying"  -1  S  ...  io "varchar"  ──>  1015  _varchar  element 1043
//! ```
//!
//! The numbers, names and letters are PostgreSQL 17's, because clients read them.

use std::sync::LazyLock;

use crate::{Oid, Origins, Repr, Type};

/// The facts about a built-in type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// The type.
    pub ty: Type,
    /// The name in the catalog: `int4`, `_int4`.
    pub name: &'static str,
    /// The name in SQL, of the element for an array: `integer`.
    sql_name: &'static str,
    /// How many bytes PostgreSQL keeps for a value; -1 and -2 where it varies.
    pub length: i16,
    /// The letter of the category: `N` numbers, `S` strings, `A` arrays, `P` pseudo-types.
    pub category: char,
    /// The letter of the alignment.
    pub align: char,
    /// The letter of the storage strategy.
    pub storage: char,
    /// The prefix of the names of the functions for input and output: `int4`, `date_`, `array_`.
    io: &'static str,
    /// The type of the parts that a subscript reaches; [`Type::NONE`] where there are none.
    pub element: Type,
    /// The type of arrays of this one; [`Type::NONE`] where there are none.
    pub array: Type,
    /// How values are held; `None` for pseudo-types, which have none.
    pub repr: Option<Repr>,
}

impl Facts {
    /// True for types that stand for others in signatures, or for no value at all.
    pub fn is_pseudo(&self) -> bool {
        self.category == 'P' || self.ty == Type::UNKNOWN
    }

    /// The letter of the type's kind, `pg_type.typtype`: base, range, multirange or pseudo-type.
    pub fn kind(&self) -> char {
        match self.repr {
            _ if self.is_pseudo() => 'p',
            Some(Repr::Range) => 'r',
            Some(Repr::Multirange) => 'm',
            _ => 'b',
        }
    }

    /// True for the arrays proper, and not for `int2vector` and `oidvector`.
    pub fn is_array(&self) -> bool {
        self.io == "array_"
    }

    /// True for the types of a category that the others of it are cast to when there is a choice.
    pub fn is_preferred(&self) -> bool {
        const PREFERRED: [Type; 8] = [
            Type::BOOL,
            Type::TEXT,
            Type::OID,
            Type::FLOAT8,
            Type::INET,
            Type::TIMESTAMPTZ,
            Type::INTERVAL,
            Type::VARBIT,
        ];
        PREFERRED.contains(&self.ty)
    }

    /// True for types that take a modifier, as `varchar(10)` does.
    pub fn takes_modifier(&self) -> bool {
        const TAKERS: [Type; 10] = [
            Type::BPCHAR,
            Type::VARCHAR,
            Type::TIME,
            Type::TIMETZ,
            Type::TIMESTAMP,
            Type::TIMESTAMPTZ,
            Type::INTERVAL,
            Type::NUMERIC,
            Type::BIT,
            Type::VARBIT,
        ];
        TAKERS.contains(&self.ty) || self.is_array() && TAKERS.contains(&self.element)
    }

    /// True if PostgreSQL passes values in a register: `typbyval`.
    pub fn is_by_value(&self) -> bool {
        matches!(self.length, 1 | 2 | 4 | 8) && self.ty != Type::MACADDR8
    }

    /// The character between the elements of an array of such values.
    pub fn delimiter(&self) -> char {
        if matches!(self.ty, Type::BOX | Type::BOX_ARRAY) { ';' } else { ',' }
    }

    /// The collation of the type's values: 100 is the default one, 950 is `C`, 0 is none.
    pub fn collation(&self) -> Oid {
        match if self.is_array() { self.element } else { self.ty } {
            Type::NAME => Oid(950),
            Type::TEXT | Type::BPCHAR | Type::VARCHAR | Type::CITEXT | Type::PG_NODE_TREE => {
                Oid(100)
            }
            _ => Oid::NONE,
        }
    }

    /// The name in SQL, without quotes where none are needed: `integer`, `integer[]`, `"char"`.
    pub fn sql_name(&self) -> String {
        format!("{}{}", self.sql_name, if self.is_array() { "[]" } else { "" })
    }

    /// The name of the function that reads the text form: `int4in`, `array_in`.
    pub fn input_function(&self) -> String {
        format!("{}in", self.io)
    }

    /// The name of the function that writes the text form.
    pub fn output_function(&self) -> String {
        format!("{}out", self.io)
    }

    /// The name of the function that reads the binary form, where there is one.
    pub fn receive_function(&self) -> Option<String> {
        self.has_binary().then(|| format!("{}recv", self.io))
    }

    /// The name of the function that writes the binary form, where there is one.
    pub fn send_function(&self) -> Option<String> {
        self.has_binary().then(|| format!("{}send", self.io))
    }

    fn has_binary(&self) -> bool {
        let generic = matches!(self.ty, Type::ANYARRAY | Type::ANYCOMPATIBLEARRAY);
        match self.repr {
            Some(_) => self.ty != Type::ACLITEM,
            None => generic,
        }
    }

    /// The name of the function that reads a modifier, where the type takes one.
    pub fn modifier_input_function(&self) -> Option<String> {
        self.takes_modifier().then(|| format!("{}typmodin", self.name.trim_start_matches('_')))
    }

    /// The name of the function that writes a modifier, where the type takes one.
    pub fn modifier_output_function(&self) -> Option<String> {
        self.takes_modifier().then(|| format!("{}typmodout", self.name.trim_start_matches('_')))
    }

    /// The name of the function that handles subscripts, where the type can be subscripted.
    pub fn subscript_function(&self) -> Option<&'static str> {
        match self.ty {
            Type::NAME | Type::POINT | Type::LSEG | Type::BOX | Type::LINE => {
                Some("raw_array_subscript_handler")
            }
            Type::JSONB => Some("jsonb_subscript_handler"),
            Type::HSTORE => Some("hstore_subscript_handler"),
            Type::INT2VECTOR | Type::OIDVECTOR => Some("array_subscript_handler"),
            _ => self.is_array().then_some("array_subscript_handler"),
        }
    }

    /// The facts of the array type of this type.
    const fn of_array(self, name: &'static str) -> Facts {
        Facts {
            ty: self.array,
            name,
            sql_name: self.sql_name,
            length: -1,
            category: if matches!(self.ty, Type::RECORD) { 'P' } else { 'A' },
            align: if self.align == 'd' { 'd' } else { 'i' },
            storage: 'x',
            io: "array_",
            element: self.ty,
            array: Type::NONE,
            repr: Some(Repr::Array),
        }
    }
}

/// The built-in types in the order of their OIDs, and where each is found.
struct Catalog {
    all: Vec<Facts>,
    /// By OID, the place in the list plus one; 0 for numbers that are no type.
    places: Vec<u8>,
}

fn catalog() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
        let mut all = Vec::with_capacity(TABLE.len() * 2);
        for (facts, array_name) in TABLE {
            all.push(*facts);
            if facts.array != Type::NONE {
                all.push(facts.of_array(array_name));
            }
        }
        all.sort_by_key(|facts| facts.ty);
        let last = all.last().map_or(0, |facts| facts.ty.oid().0 as usize);
        let mut places = vec![0; last + 1];
        for (at, facts) in all.iter().enumerate() {
            places[facts.ty.oid().0 as usize] =
                u8::try_from(at + 1).expect("fewer types than a byte counts");
        }
        Catalog { all, places }
    });
    &CATALOG
}

/// The facts of a built-in type; `None` for types of users and numbers that are no type.
pub fn facts(ty: Type) -> Option<&'static Facts> {
    let catalog = catalog();
    let place = *catalog.places.get(ty.oid().0 as usize)?;
    catalog.all.get(usize::from(place).checked_sub(1)?)
}

/// The built-in type with this name in the catalog, such as `int4`. Types of extensions are not found.
pub fn by_name(name: &str) -> Option<&'static Facts> {
    by_name_in(name, Origins::CORE)
}

/// The type with this name, built in or of an extension.
pub fn by_name_in(name: &str, origins: Origins) -> Option<&'static Facts> {
    all().iter().find(|facts| facts.name == name && origins.has(facts.ty.oid()))
}

/// All built-in types, in the order of their OIDs.
pub fn all() -> &'static [Facts] {
    &catalog().all
}

/// The type of the elements of the two vector types, the bytes of a name, and the parts of geometric values.
const fn element(ty: Type) -> Type {
    match ty {
        Type::INT2VECTOR => Type::INT2,
        Type::OIDVECTOR => Type::OID,
        Type::NAME => Type::CHAR,
        Type::POINT | Type::LINE => Type::FLOAT8,
        Type::LSEG | Type::BOX => Type::POINT,
        _ => Type::NONE,
    }
}

/// A range type, the type of its bounds, and the type of its multiranges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RangeFacts {
    /// The range type.
    pub range: Type,
    /// The type of the bounds.
    pub element: Type,
    /// The type of multiranges.
    pub multirange: Type,
}

/// The built-in range types.
pub const RANGES: [RangeFacts; 6] = [
    range_facts(Type::INT4RANGE, Type::INT4, Type::INT4MULTIRANGE),
    range_facts(Type::NUMRANGE, Type::NUMERIC, Type::NUMMULTIRANGE),
    range_facts(Type::TSRANGE, Type::TIMESTAMP, Type::TSMULTIRANGE),
    range_facts(Type::TSTZRANGE, Type::TIMESTAMPTZ, Type::TSTZMULTIRANGE),
    range_facts(Type::DATERANGE, Type::DATE, Type::DATEMULTIRANGE),
    range_facts(Type::INT8RANGE, Type::INT8, Type::INT8MULTIRANGE),
];

const fn range_facts(range: Type, element: Type, multirange: Type) -> RangeFacts {
    RangeFacts { range, element, multirange }
}

/// Returns what is known of a built-in range or multirange type.
///
/// # Panics
/// If the type is neither.
pub(crate) fn range(ty: Type) -> RangeFacts {
    let known = RANGES.iter().find(|facts| facts.range == ty || facts.multirange == ty);
    *known.expect("the table of ranges has all that are built in")
}

/// Makes the constants of [`Type`] and the table from one list.
macro_rules! types {
    ($($oid:literal $constant:ident $name:literal $sql_name:literal $length:literal $category:literal
       $align:literal $storage:literal $io:literal $($array:literal $array_constant:ident)?
       => $repr:expr;)*) => {
        impl Type {
            $(
                #[doc = concat!("`", $sql_name, "`, ", $oid, ".")]
                pub const $constant: Type = Type::from_oid($oid);
                $(
                    #[doc = concat!("`", $sql_name, "[]`, ", $array, ".")]
                    pub const $array_constant: Type = Type::from_oid($array);
                )?
            )*
        }

        /// Each type, and the name of its array type.
        const TABLE: &[(Facts, &str)] = &[$((
            Facts {
                ty: Type::$constant,
                name: $name,
                sql_name: $sql_name,
                length: $length,
                category: $category,
                align: $align,
                storage: $storage,
                io: $io,
                element: element(Type::$constant),
                array: Type::from_oid(0 $(+ $array)?),
                repr: $repr,
            },
            concat!("_", $name),
        ),)*];
    };
}

types! {
    16 BOOL "bool" "boolean" 1 'B' 'c' 'p' "bool" 1000 BOOL_ARRAY => Some(Repr::Bool);
    17 BYTEA "bytea" "bytea" -1 'U' 'i' 'x' "bytea" 1001 BYTEA_ARRAY => Some(Repr::Bytea);
    18 CHAR "char" "\"char\"" 1 'Z' 'c' 'p' "char" 1002 CHAR_ARRAY => Some(Repr::Text);
    19 NAME "name" "name" 64 'S' 'c' 'p' "name" 1003 NAME_ARRAY => Some(Repr::Text);
    20 INT8 "int8" "bigint" 8 'N' 'd' 'p' "int8" 1016 INT8_ARRAY => Some(Repr::Int8);
    21 INT2 "int2" "smallint" 2 'N' 's' 'p' "int2" 1005 INT2_ARRAY => Some(Repr::Int2);
    22 INT2VECTOR "int2vector" "int2vector" -1 'A' 'i' 'p' "int2vector" 1006 INT2VECTOR_ARRAY => Some(Repr::Array);
    23 INT4 "int4" "integer" 4 'N' 'i' 'p' "int4" 1007 INT4_ARRAY => Some(Repr::Int4);
    24 REGPROC "regproc" "regproc" 4 'N' 'i' 'p' "regproc" 1008 REGPROC_ARRAY => Some(Repr::Oid);
    25 TEXT "text" "text" -1 'S' 'i' 'x' "text" 1009 TEXT_ARRAY => Some(Repr::Text);
    26 OID "oid" "oid" 4 'N' 'i' 'p' "oid" 1028 OID_ARRAY => Some(Repr::Oid);
    27 TID "tid" "tid" 6 'U' 's' 'p' "tid" 1010 TID_ARRAY => Some(Repr::Int8);
    28 XID "xid" "xid" 4 'U' 'i' 'p' "xid" 1011 XID_ARRAY => Some(Repr::Oid);
    29 CID "cid" "cid" 4 'U' 'i' 'p' "cid" 1012 CID_ARRAY => Some(Repr::Oid);
    30 OIDVECTOR "oidvector" "oidvector" -1 'A' 'i' 'p' "oidvector" 1013 OIDVECTOR_ARRAY => Some(Repr::Array);
    114 JSON "json" "json" -1 'U' 'i' 'x' "json_" 199 JSON_ARRAY => Some(Repr::Text);
    194 PG_NODE_TREE "pg_node_tree" "pg_node_tree" -1 'Z' 'i' 'x' "pg_node_tree_" => Some(Repr::Text);
    600 POINT "point" "point" 16 'G' 'd' 'p' "point_" 1017 POINT_ARRAY => Some(Repr::Bytea);
    601 LSEG "lseg" "lseg" 32 'G' 'd' 'p' "lseg_" 1018 LSEG_ARRAY => Some(Repr::Bytea);
    602 PATH "path" "path" -1 'G' 'd' 'x' "path_" 1019 PATH_ARRAY => Some(Repr::Bytea);
    603 BOX "box" "box" 32 'G' 'd' 'p' "box_" 1020 BOX_ARRAY => Some(Repr::Bytea);
    604 POLYGON "polygon" "polygon" -1 'G' 'd' 'x' "poly_" 1027 POLYGON_ARRAY => Some(Repr::Bytea);
    628 LINE "line" "line" 24 'G' 'd' 'p' "line_" 629 LINE_ARRAY => Some(Repr::Bytea);
    650 CIDR "cidr" "cidr" -1 'I' 'i' 'm' "cidr_" 651 CIDR_ARRAY => Some(Repr::Bytea);
    700 FLOAT4 "float4" "real" 4 'N' 'i' 'p' "float4" 1021 FLOAT4_ARRAY => Some(Repr::Float4);
    701 FLOAT8 "float8" "double precision" 8 'N' 'd' 'p' "float8" 1022 FLOAT8_ARRAY => Some(Repr::Float8);
    705 UNKNOWN "unknown" "unknown" -2 'X' 'c' 'p' "unknown" => Some(Repr::Text);
    718 CIRCLE "circle" "circle" 24 'G' 'd' 'p' "circle_" 719 CIRCLE_ARRAY => Some(Repr::Bytea);
    774 MACADDR8 "macaddr8" "macaddr8" 8 'U' 'i' 'p' "macaddr8_" 775 MACADDR8_ARRAY => Some(Repr::Int8);
    790 MONEY "money" "money" 8 'N' 'd' 'p' "cash_" 791 MONEY_ARRAY => Some(Repr::Int8);
    829 MACADDR "macaddr" "macaddr" 6 'U' 'i' 'p' "macaddr_" 1040 MACADDR_ARRAY => Some(Repr::Int8);
    869 INET "inet" "inet" -1 'I' 'i' 'm' "inet_" 1041 INET_ARRAY => Some(Repr::Bytea);
    1033 ACLITEM "aclitem" "aclitem" 16 'U' 'd' 'p' "aclitem" 1034 ACLITEM_ARRAY => Some(Repr::Text);
    1042 BPCHAR "bpchar" "character" -1 'S' 'i' 'x' "bpchar" 1014 BPCHAR_ARRAY => Some(Repr::Text);
    1043 VARCHAR "varchar" "character varying" -1 'S' 'i' 'x' "varchar" 1015 VARCHAR_ARRAY => Some(Repr::Text);
    1082 DATE "date" "date" 4 'D' 'i' 'p' "date_" 1182 DATE_ARRAY => Some(Repr::Date);
    1083 TIME "time" "time without time zone" 8 'D' 'd' 'p' "time_" 1183 TIME_ARRAY => Some(Repr::Time);
    1114 TIMESTAMP "timestamp" "timestamp without time zone" 8 'D' 'd' 'p' "timestamp_" 1115 TIMESTAMP_ARRAY => Some(Repr::Timestamp);
    1184 TIMESTAMPTZ "timestamptz" "timestamp with time zone" 8 'D' 'd' 'p' "timestamptz_" 1185 TIMESTAMPTZ_ARRAY => Some(Repr::TimestampTz);
    1186 INTERVAL "interval" "interval" 16 'T' 'd' 'p' "interval_" 1187 INTERVAL_ARRAY => Some(Repr::Interval);
    1266 TIMETZ "timetz" "time with time zone" 12 'D' 'd' 'p' "timetz_" 1270 TIMETZ_ARRAY => Some(Repr::TimeTz);
    1560 BIT "bit" "bit" -1 'V' 'i' 'x' "bit_" 1561 BIT_ARRAY => Some(Repr::Bytea);
    1562 VARBIT "varbit" "bit varying" -1 'V' 'i' 'x' "varbit_" 1563 VARBIT_ARRAY => Some(Repr::Bytea);
    1700 NUMERIC "numeric" "numeric" -1 'N' 'i' 'm' "numeric_" 1231 NUMERIC_ARRAY => Some(Repr::Numeric);
    1790 REFCURSOR "refcursor" "refcursor" -1 'U' 'i' 'x' "text" 2201 REFCURSOR_ARRAY => Some(Repr::Text);
    2202 REGPROCEDURE "regprocedure" "regprocedure" 4 'N' 'i' 'p' "regprocedure" 2207 REGPROCEDURE_ARRAY => Some(Repr::Oid);
    2203 REGOPER "regoper" "regoper" 4 'N' 'i' 'p' "regoper" 2208 REGOPER_ARRAY => Some(Repr::Oid);
    2204 REGOPERATOR "regoperator" "regoperator" 4 'N' 'i' 'p' "regoperator" 2209 REGOPERATOR_ARRAY => Some(Repr::Oid);
    2205 REGCLASS "regclass" "regclass" 4 'N' 'i' 'p' "regclass" 2210 REGCLASS_ARRAY => Some(Repr::Oid);
    2206 REGTYPE "regtype" "regtype" 4 'N' 'i' 'p' "regtype" 2211 REGTYPE_ARRAY => Some(Repr::Oid);
    2249 RECORD "record" "record" -1 'P' 'd' 'x' "record_" 2287 RECORD_ARRAY => Some(Repr::Record);
    2275 CSTRING "cstring" "cstring" -2 'P' 'c' 'p' "cstring_" 1263 CSTRING_ARRAY => Some(Repr::Text);
    2276 ANY "any" "\"any\"" 4 'P' 'i' 'p' "any_" => None;
    2277 ANYARRAY "anyarray" "anyarray" -1 'P' 'd' 'x' "anyarray_" => None;
    2278 VOID "void" "void" 4 'P' 'i' 'p' "void_" => Some(Repr::Text);
    2279 TRIGGER "trigger" "trigger" 4 'P' 'i' 'p' "trigger_" => None;
    2280 LANGUAGE_HANDLER "language_handler" "language_handler" 4 'P' 'i' 'p' "language_handler_" => None;
    2281 INTERNAL "internal" "internal" 8 'P' 'd' 'p' "internal_" => None;
    2283 ANYELEMENT "anyelement" "anyelement" 4 'P' 'i' 'p' "anyelement_" => None;
    2776 ANYNONARRAY "anynonarray" "anynonarray" 4 'P' 'i' 'p' "anynonarray_" => None;
    2950 UUID "uuid" "uuid" 16 'U' 'c' 'p' "uuid_" 2951 UUID_ARRAY => Some(Repr::Uuid);
    2970 TXID_SNAPSHOT "txid_snapshot" "txid_snapshot" -1 'U' 'd' 'x' "txid_snapshot_" 2949 TXID_SNAPSHOT_ARRAY => Some(Repr::Text);
    3220 PG_LSN "pg_lsn" "pg_lsn" 8 'U' 'd' 'p' "pg_lsn_" 3221 PG_LSN_ARRAY => Some(Repr::Int8);
    3500 ANYENUM "anyenum" "anyenum" 4 'P' 'i' 'p' "anyenum_" => None;
    3614 TSVECTOR "tsvector" "tsvector" -1 'U' 'i' 'x' "tsvector" 3643 TSVECTOR_ARRAY => Some(Repr::Bytea);
    3615 TSQUERY "tsquery" "tsquery" -1 'U' 'i' 'p' "tsquery" 3645 TSQUERY_ARRAY => Some(Repr::Bytea);
    3734 REGCONFIG "regconfig" "regconfig" 4 'N' 'i' 'p' "regconfig" 3735 REGCONFIG_ARRAY => Some(Repr::Oid);
    3769 REGDICTIONARY "regdictionary" "regdictionary" 4 'N' 'i' 'p' "regdictionary" 3770 REGDICTIONARY_ARRAY => Some(Repr::Oid);
    3802 JSONB "jsonb" "jsonb" -1 'U' 'i' 'x' "jsonb_" 3807 JSONB_ARRAY => Some(Repr::Jsonb);
    3838 EVENT_TRIGGER "event_trigger" "event_trigger" 4 'P' 'i' 'p' "event_trigger_" => None;
    3831 ANYRANGE "anyrange" "anyrange" -1 'P' 'd' 'x' "anyrange_" => None;
    3904 INT4RANGE "int4range" "int4range" -1 'R' 'i' 'x' "range_" 3905 INT4RANGE_ARRAY => Some(Repr::Range);
    3906 NUMRANGE "numrange" "numrange" -1 'R' 'i' 'x' "range_" 3907 NUMRANGE_ARRAY => Some(Repr::Range);
    3908 TSRANGE "tsrange" "tsrange" -1 'R' 'd' 'x' "range_" 3909 TSRANGE_ARRAY => Some(Repr::Range);
    3910 TSTZRANGE "tstzrange" "tstzrange" -1 'R' 'd' 'x' "range_" 3911 TSTZRANGE_ARRAY => Some(Repr::Range);
    3912 DATERANGE "daterange" "daterange" -1 'R' 'i' 'x' "range_" 3913 DATERANGE_ARRAY => Some(Repr::Range);
    3926 INT8RANGE "int8range" "int8range" -1 'R' 'd' 'x' "range_" 3927 INT8RANGE_ARRAY => Some(Repr::Range);
    4451 INT4MULTIRANGE "int4multirange" "int4multirange" -1 'R' 'i' 'x' "multirange_" 6150 INT4MULTIRANGE_ARRAY => Some(Repr::Multirange);
    4532 NUMMULTIRANGE "nummultirange" "nummultirange" -1 'R' 'i' 'x' "multirange_" 6151 NUMMULTIRANGE_ARRAY => Some(Repr::Multirange);
    4533 TSMULTIRANGE "tsmultirange" "tsmultirange" -1 'R' 'd' 'x' "multirange_" 6152 TSMULTIRANGE_ARRAY => Some(Repr::Multirange);
    4534 TSTZMULTIRANGE "tstzmultirange" "tstzmultirange" -1 'R' 'd' 'x' "multirange_" 6153 TSTZMULTIRANGE_ARRAY => Some(Repr::Multirange);
    4535 DATEMULTIRANGE "datemultirange" "datemultirange" -1 'R' 'i' 'x' "multirange_" 6155 DATEMULTIRANGE_ARRAY => Some(Repr::Multirange);
    4536 INT8MULTIRANGE "int8multirange" "int8multirange" -1 'R' 'd' 'x' "multirange_" 6157 INT8MULTIRANGE_ARRAY => Some(Repr::Multirange);
    4537 ANYMULTIRANGE "anymultirange" "anymultirange" -1 'P' 'd' 'x' "anymultirange_" => None;
    4538 ANYCOMPATIBLEMULTIRANGE "anycompatiblemultirange" "anycompatiblemultirange" -1 'P' 'd' 'x' "anycompatiblemultirange_" => None;
    5080 ANYCOMPATIBLERANGE "anycompatiblerange" "anycompatiblerange" -1 'P' 'd' 'x' "anycompatiblerange_" => None;
    4072 JSONPATH "jsonpath" "jsonpath" -1 'U' 'i' 'x' "jsonpath_" 4073 JSONPATH_ARRAY => Some(Repr::Text);
    4089 REGNAMESPACE "regnamespace" "regnamespace" 4 'N' 'i' 'p' "regnamespace" 4090 REGNAMESPACE_ARRAY => Some(Repr::Oid);
    4096 REGROLE "regrole" "regrole" 4 'N' 'i' 'p' "regrole" 4097 REGROLE_ARRAY => Some(Repr::Oid);
    4191 REGCOLLATION "regcollation" "regcollation" 4 'N' 'i' 'p' "regcollation" 4192 REGCOLLATION_ARRAY => Some(Repr::Oid);
    5038 PG_SNAPSHOT "pg_snapshot" "pg_snapshot" -1 'U' 'd' 'x' "pg_snapshot_" 5039 PG_SNAPSHOT_ARRAY => Some(Repr::Text);
    5069 XID8 "xid8" "xid8" 8 'U' 'd' 'p' "xid8" 271 XID8_ARRAY => Some(Repr::Int8);
    5077 ANYCOMPATIBLE "anycompatible" "anycompatible" 4 'P' 'i' 'p' "anycompatible_" => None;
    5078 ANYCOMPATIBLEARRAY "anycompatiblearray" "anycompatiblearray" -1 'P' 'd' 'x' "anycompatiblearray_" => None;
    5079 ANYCOMPATIBLENONARRAY "anycompatiblenonarray" "anycompatiblenonarray" 4 'P' 'i' 'p' "anycompatiblenonarray_" => None;
    15104 CITEXT "citext" "citext" -1 'S' 'i' 'x' "citext" 15105 CITEXT_ARRAY => Some(Repr::Folded);
    15360 HSTORE "hstore" "hstore" -1 'U' 'i' 'x' "hstore_" 15361 HSTORE_ARRAY => Some(Repr::Bytea);
    15872 LTREE "ltree" "ltree" -1 'U' 'i' 'x' "ltree_" 15873 LTREE_ARRAY => Some(Repr::Bytea);
    15874 LQUERY "lquery" "lquery" -1 'U' 'i' 'x' "lquery_" 15875 LQUERY_ARRAY => Some(Repr::Text);
    15876 LTXTQUERY "ltxtquery" "ltxtquery" -1 'U' 'i' 'x' "ltxtq_" 15877 LTXTQUERY_ARRAY => Some(Repr::Text);
}
