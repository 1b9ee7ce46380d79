//! Names: the names of the arguments of functions, and of the columns of those that return rows.
//!
//! Only what can be used is listed: names for `make_interval(days => 1)`, columns for
//! `SELECT key FROM jsonb_each(...)`.

use std::collections::HashMap;
use std::sync::LazyLock;

use types::{Oid, Type};

use crate::extension;

/// The columns of a function that returns rows: names and types.
pub type Columns = &'static [(&'static str, Type)];

/// The names of a function's arguments; empty where they have none.
pub fn of_arguments(function: Oid) -> &'static [&'static str] {
    static INDEX: LazyLock<HashMap<Oid, &[&str]>> = LazyLock::new(|| {
        let all = ARGUMENTS.iter().chain(extension::ARGUMENTS);
        all.map(|(oid, names)| (Oid(*oid), *names)).collect()
    });
    INDEX.get(&function).copied().unwrap_or_default()
}

/// The columns of a function that returns rows of more than one; empty for all others.
pub fn of_columns(function: Oid) -> Columns {
    static INDEX: LazyLock<HashMap<Oid, Columns>> = LazyLock::new(|| {
        let all = COLUMNS.iter().chain(extension::COLUMNS);
        all.map(|(oid, columns)| (Oid(*oid), *columns)).collect()
    });
    INDEX.get(&function).copied().unwrap_or_default()
}

macro_rules! arguments {
    ($($oid:literal $($name:literal)*;)*) => {
        const ARGUMENTS: &[(u32, &[&str])] = &[$(($oid, &[$($name),*]),)*];
    };
}

macro_rules! columns {
    ($($oid:literal $($name:literal $type:ident),*;)*) => {
        const COLUMNS: &[(u32, Columns)] = &[$(($oid, &[$(($name, Type::$type)),*]),)*];
    };
}

arguments! {
    1177 "target" "path" "vars" "silent";
    1179 "target" "path" "vars" "silent";
    1180 "target" "path" "vars" "silent";
    1268 "str" "strict";
    1689 "acl";
    2023 "target" "path" "vars" "silent";
    2030 "target" "path" "vars" "silent";
    2096 "pid" "timeout";
    3078 "sequence_oid";
    3197 "key" "value";
    3208 "from_json";
    3214 "from_json" "field_name";
    3215 "from_json" "element_index";
    3216 "from_json" "element_index";
    3217 "from_json" "path_elems";
    3219 "from_json";
    3270 "key" "value";
    3305 "jsonb_in" "path" "replacement" "create_if_missing";
    3322 "tsvector";
    3343 "from_json" "path_elems";
    3461 "year" "month" "mday" "hour" "min" "sec";
    3462 "year" "month" "mday" "hour" "min" "sec";
    3463 "year" "month" "mday" "hour" "min" "sec" "timezone";
    3464 "years" "months" "weeks" "days" "hours" "mins" "secs";
    3465 "from_json";
    3478 "from_json" "field_name";
    3538 "value" "delimiter";
    3545 "value" "delimiter";
    3579 "jsonb_in" "path" "replacement" "insert_after";
    3713 "parser_oid";
    3714 "parser_name";
    3715 "parser_oid" "txt";
    3716 "parser_name" "txt";
    3846 "year" "month" "day";
    3847 "hour" "min" "sec";
    3932 "from_json";
    3940 "from_json" "path_elems";
    3947 "from_json" "field_name";
    3948 "from_json" "field_name";
    3949 "from_json" "element_index";
    3950 "from_json" "element_index";
    3951 "from_json" "path_elems";
    3953 "from_json" "path_elems";
    3955 "from_json";
    3958 "from_json";
    3959 "from_json";
    3960 "base" "from_json" "use_json_as_text";
    3961 "base" "from_json" "use_json_as_text";
    3969 "from_json";
    4005 "target" "path" "vars" "silent";
    4006 "target" "path" "vars" "silent";
    4007 "target" "path" "vars" "silent";
    4008 "target" "path" "vars" "silent";
    4009 "target" "path" "vars" "silent";
    5054 "jsonb_in" "path" "replacement" "create_if_missing" "null_value_treatment";
    6183 "config" "document";
    6184 "document";
    6211 "value" "type_name";
    6212 "mean" "stddev";
    6280 "key" "value";
    6281 "key" "value";
    6282 "key" "value";
    6288 "key" "value";
    6289 "key" "value";
    6290 "key" "value";
    6339 "min" "max";
    6340 "min" "max";
    6341 "min" "max";
    9500 "relation" "after" "upto";
    9501 "relation" "after" "upto";
    9502 "relation" "after" "upto";
    9503 "sequence";
    9510 "relation" "key";
    9511 "relation" "key" "from_version" "to_version";
    9512 "relation" "key" "path";
    9513 "relation" "key" "node_key";
    9514 "relation" "key" "path";
    9515 "relation" "key" "node_key";
    9516 "relation" "key" "path";
    9517 "relation" "key" "node_key";
    9518 "relation" "key";
    9519 "relation" "key" "version";
    9520 "relation" "key";
    9521 "relation" "key" "version";
    9522 "relation" "key" "from_version" "to_version";
    9523 "relation" "key" "path";
    9524 "relation" "key" "node_key";
    9525 "relation" "key" "path" "version";
    9526 "relation" "key" "node_key" "version";
    9530 "collection";
    9539 "schema" "keeps_history";
    9540 "objects";
    9541 "objects" "zoid";
    9542 "objects" "zoid" "tid";
    9543 "objects" "zoid" "tid";
    9544 "objects" "zoids" "before";
    9545 "objects" "zoid";
    9546 "objects" "zoid" "count";
    9547 "objects" "after" "upto";
    9548 "objects" "first" "last" "newest_first" "count";
    9549 "objects" "tid";
    9550 "objects" "count";
    9551 "objects" "zoid" "tid" "part";
    9552 "objects" "user_name" "description" "extension" "tid" "is_packed" "not_before";
    9553 "zoids" "serials" "pickles" "data_tids";
    9554 "zoid" "serial";
    9555 "zoid" "part" "data" "is_last";
    9558 "objects" "upto" "collects_garbage";
    9559 "objects" "zoid";
    9560 "objects" "zoid";
    9561 "objects" "zoid";
    9562 "tid";
    9563 "at";
    9564 "folder" "bytes_per_second";
}

columns! {
    1371 "locktype" TEXT, "database" OID, "relation" OID, "page" INT4, "tuple" INT2, "virtualxid" TEXT, "transactionid" XID, "classid" OID, "objid" OID, "objsubid" INT2, "virtualtransaction" TEXT, "pid" INT4, "mode" TEXT, "granted" BOOL, "fastpath" BOOL, "waitstart" TIMESTAMPTZ;
    1686 "word" TEXT, "catcode" CHAR, "barelabel" BOOL, "catdesc" TEXT, "baredesc" TEXT;
    1689 "grantor" OID, "grantee" OID, "privilege_type" TEXT, "is_grantable" BOOL;
    2289 "option_name" TEXT, "option_value" TEXT;
    2510 "name" TEXT, "statement" TEXT, "prepare_time" TIMESTAMPTZ, "parameter_types" REGTYPE_ARRAY, "result_types" REGTYPE_ARRAY, "from_sql" BOOL, "generic_plans" INT8, "custom_plans" INT8;
    2599 "abbrev" TEXT, "utc_offset" INTERVAL, "is_dst" BOOL;
    2856 "name" TEXT, "abbrev" TEXT, "utc_offset" INTERVAL, "is_dst" BOOL;
    3078 "start_value" INT8, "minimum_value" INT8, "maximum_value" INT8, "increment" INT8, "cycle_option" BOOL, "cache_size" INT8, "data_type" OID;
    3208 "key" TEXT, "value" JSONB;
    3219 "value" JSONB;
    3322 "lexeme" TEXT, "positions" INT2_ARRAY, "weights" TEXT_ARRAY;
    3423 "relid" REGCLASS, "parentrelid" REGCLASS, "isleaf" BOOL, "level" INT4;
    3425 "relid" REGCLASS;
    3465 "value" TEXT;
    3713 "tokid" INT4, "alias" TEXT, "description" TEXT;
    3714 "tokid" INT4, "alias" TEXT, "description" TEXT;
    3715 "tokid" INT4, "token" TEXT;
    3716 "tokid" INT4, "token" TEXT;
    3932 "key" TEXT, "value" TEXT;
    3955 "value" JSON;
    3958 "key" TEXT, "value" JSON;
    3959 "key" TEXT, "value" TEXT;
    3969 "value" TEXT;
    6183 "alias" TEXT, "description" TEXT, "token" TEXT, "dictionaries" REGDICTIONARY_ARRAY, "dictionary" REGDICTIONARY, "lexemes" TEXT_ARRAY;
    6184 "alias" TEXT, "description" TEXT, "token" TEXT, "dictionaries" REGDICTIONARY_ARRAY, "dictionary" REGDICTIONARY, "lexemes" TEXT_ARRAY;
    6211 "message" TEXT, "detail" TEXT, "hint" TEXT, "sql_error_code" TEXT;
    13135 "x" ANYELEMENT, "n" INT4;
    6318 "type" TEXT, "name" TEXT, "description" TEXT;
    9500 "_version" INT8, "_changed_at" TIMESTAMPTZ, "_op" TEXT, "old" JSONB, "new" JSONB;
    9501 "_version" INT8, "_changed_at" TIMESTAMPTZ, "_op" TEXT, "old" JSONB, "new" JSONB;
    9502 "_version" INT8, "_changed_at" TIMESTAMPTZ, "_op" TEXT, "old" JSONB, "new" JSONB;
    9503 "last_value" INT8, "log_cnt" INT8, "is_called" BOOL;
    9510 "version" INT8, "committed_at" TIMESTAMPTZ, "author" TEXT, "message" TEXT, "commit" INT8, "deleted" BOOL, "role" TEXT, "authored_at" TIMESTAMPTZ;
    9511 "node_key" INT8, "path" TEXT, "op" TEXT, "old" JSONB, "new" JSONB;
    9512 "from_version" INT8, "to_version" INT8, "from_time" TIMESTAMPTZ, "to_time" TIMESTAMPTZ, "value" JSONB, "node_key" INT8, "authored_at" TIMESTAMPTZ;
    9513 "from_version" INT8, "to_version" INT8, "from_time" TIMESTAMPTZ, "to_time" TIMESTAMPTZ, "value" JSONB, "node_key" INT8, "authored_at" TIMESTAMPTZ;
    9514 "value" JSONB, "from_version" INT8, "to_version" INT8, "versions" INT8, "from_time" TIMESTAMPTZ, "to_time" TIMESTAMPTZ;
    9515 "value" JSONB, "from_version" INT8, "to_version" INT8, "versions" INT8, "from_time" TIMESTAMPTZ, "to_time" TIMESTAMPTZ;
    9516 "version" INT8, "committed_at" TIMESTAMPTZ, "author" TEXT, "message" TEXT, "op" TEXT, "value" JSONB, "role" TEXT, "authored_at" TIMESTAMPTZ;
    9517 "version" INT8, "committed_at" TIMESTAMPTZ, "author" TEXT, "message" TEXT, "op" TEXT, "value" JSONB, "role" TEXT, "authored_at" TIMESTAMPTZ;
    9518 "node_key" INT8, "path" TEXT, "version" INT8, "committed_at" TIMESTAMPTZ, "author" TEXT, "message" TEXT, "value" JSONB, "role" TEXT, "authored_at" TIMESTAMPTZ;
    9519 "node_key" INT8, "path" TEXT, "version" INT8, "committed_at" TIMESTAMPTZ, "author" TEXT, "message" TEXT, "value" JSONB, "role" TEXT, "authored_at" TIMESTAMPTZ;
    9520 "path" TEXT, "count" INT8, "level" INT4;
    9521 "path" TEXT, "count" INT8, "level" INT4;
    9530 "key" TEXT, "version" INT8, "doc" JSONB;
    9541 "data" BYTEA, "tid" INT8;
    9542 "data" BYTEA, "tid" INT8, "next_tid" INT8;
    9544 "at" INT8, "data" BYTEA, "tid" INT8;
    9546 "tid" INT8, "user_name" BYTEA, "description" BYTEA, "extension" BYTEA, "size" INT8;
    9547 "tid" INT8, "zoids" INT8_ARRAY;
    9548 "tid" INT8, "is_packed" BOOL, "user_name" BYTEA, "description" BYTEA, "extension" BYTEA;
    9549 "zoid" INT8, "data" BYTEA, "data_tid" INT8;
    9553 "at" INT8, "newest" INT8;
    9559 "step" INT8, "zoid" INT8, "class" TEXT;
    9560 "zoid" INT8;
    9561 "zoid" INT8;
}
