//! Comparisons: `=`, `<>`, `<`, `<=`, `>`, `>=` of every type that has an order.
//!
//! Numbers of different types are compared as the wider one. NaN equals itself and is above all
//! other numbers, in contrast to IEEE 754, so that it can be sorted and indexed. Text is compared
//! by its code points.

use std::cmp::Ordering;

use numeric::Numeric;
use types::compare::cmp_float as float;
use types::geometry::is_geometric;
use types::time::{Date, Time, Timestamp, TimestampTz};
use types::{DatumRef, Error, Modifier, Oid, RecordRef, Result, SqlState, Type};

use crate::function::{Call, Function, functions};
use crate::{bits, network};

pub(crate) const TABLE: &[Function] = functions! {
    852 int48eq(INT4, INT8) -> BOOL = (a: i32, b: i64) i64::from(a) == b;
    853 int48ne(INT4, INT8) -> BOOL = (a: i32, b: i64) i64::from(a) != b;
    854 int48lt(INT4, INT8) -> BOOL = (a: i32, b: i64) i64::from(a) < b;
    856 int48le(INT4, INT8) -> BOOL = (a: i32, b: i64) i64::from(a) <= b;
    855 int48gt(INT4, INT8) -> BOOL = (a: i32, b: i64) i64::from(a) > b;
    857 int48ge(INT4, INT8) -> BOOL = (a: i32, b: i64) i64::from(a) >= b;
    60 booleq(BOOL, BOOL) -> BOOL = (a: bool, b: bool) a == b;
    84 boolne(BOOL, BOOL) -> BOOL = (a: bool, b: bool) a != b;
    56 boollt(BOOL, BOOL) -> BOOL = (a: bool, b: bool) !a & b;
    1691 boolle(BOOL, BOOL) -> BOOL = (a: bool, b: bool) a <= b;
    57 boolgt(BOOL, BOOL) -> BOOL = (a: bool, b: bool) a & !b;
    1692 boolge(BOOL, BOOL) -> BOOL = (a: bool, b: bool) a >= b;
    63 int2eq(INT2, INT2) -> BOOL = (a: i16, b: i16) a == b;
    145 int2ne(INT2, INT2) -> BOOL = (a: i16, b: i16) a != b;
    64 int2lt(INT2, INT2) -> BOOL = (a: i16, b: i16) a < b;
    148 int2le(INT2, INT2) -> BOOL = (a: i16, b: i16) a <= b;
    146 int2gt(INT2, INT2) -> BOOL = (a: i16, b: i16) a > b;
    151 int2ge(INT2, INT2) -> BOOL = (a: i16, b: i16) a >= b;
    65 int4eq(INT4, INT4) -> BOOL = (a: i32, b: i32) a == b;
    144 int4ne(INT4, INT4) -> BOOL = (a: i32, b: i32) a != b;
    66 int4lt(INT4, INT4) -> BOOL = (a: i32, b: i32) a < b;
    149 int4le(INT4, INT4) -> BOOL = (a: i32, b: i32) a <= b;
    147 int4gt(INT4, INT4) -> BOOL = (a: i32, b: i32) a > b;
    150 int4ge(INT4, INT4) -> BOOL = (a: i32, b: i32) a >= b;
    240 nameeqtext(NAME, TEXT) -> BOOL = (a: &str, b: &str) a == b;
    245 namenetext(NAME, TEXT) -> BOOL = (a: &str, b: &str) a != b;
    241 namelttext(NAME, TEXT) -> BOOL = (a: &str, b: &str) a < b;
    242 nameletext(NAME, TEXT) -> BOOL = (a: &str, b: &str) a <= b;
    244 namegttext(NAME, TEXT) -> BOOL = (a: &str, b: &str) a > b;
    243 namegetext(NAME, TEXT) -> BOOL = (a: &str, b: &str) a >= b;
    247 texteqname(TEXT, NAME) -> BOOL = (a: &str, b: &str) a == b;
    252 textnename(TEXT, NAME) -> BOOL = (a: &str, b: &str) a != b;
    248 textltname(TEXT, NAME) -> BOOL = (a: &str, b: &str) a < b;
    249 textlename(TEXT, NAME) -> BOOL = (a: &str, b: &str) a <= b;
    251 textgtname(TEXT, NAME) -> BOOL = (a: &str, b: &str) a > b;
    250 textgename(TEXT, NAME) -> BOOL = (a: &str, b: &str) a >= b;
    467 int8eq(INT8, INT8) -> BOOL = (a: i64, b: i64) a == b;
    468 int8ne(INT8, INT8) -> BOOL = (a: i64, b: i64) a != b;
    469 int8lt(INT8, INT8) -> BOOL = (a: i64, b: i64) a < b;
    471 int8le(INT8, INT8) -> BOOL = (a: i64, b: i64) a <= b;
    470 int8gt(INT8, INT8) -> BOOL = (a: i64, b: i64) a > b;
    472 int8ge(INT8, INT8) -> BOOL = (a: i64, b: i64) a >= b;
    474 int84eq(INT8, INT4) -> BOOL = (a: i64, b: i32) a == i64::from(b);
    475 int84ne(INT8, INT4) -> BOOL = (a: i64, b: i32) a != i64::from(b);
    476 int84lt(INT8, INT4) -> BOOL = (a: i64, b: i32) a < i64::from(b);
    478 int84le(INT8, INT4) -> BOOL = (a: i64, b: i32) a <= i64::from(b);
    477 int84gt(INT8, INT4) -> BOOL = (a: i64, b: i32) a > i64::from(b);
    479 int84ge(INT8, INT4) -> BOOL = (a: i64, b: i32) a >= i64::from(b);
    158 int24eq(INT2, INT4) -> BOOL = (a: i16, b: i32) i32::from(a) == b;
    164 int24ne(INT2, INT4) -> BOOL = (a: i16, b: i32) i32::from(a) != b;
    160 int24lt(INT2, INT4) -> BOOL = (a: i16, b: i32) i32::from(a) < b;
    166 int24le(INT2, INT4) -> BOOL = (a: i16, b: i32) i32::from(a) <= b;
    162 int24gt(INT2, INT4) -> BOOL = (a: i16, b: i32) i32::from(a) > b;
    168 int24ge(INT2, INT4) -> BOOL = (a: i16, b: i32) i32::from(a) >= b;
    159 int42eq(INT4, INT2) -> BOOL = (a: i32, b: i16) a == i32::from(b);
    165 int42ne(INT4, INT2) -> BOOL = (a: i32, b: i16) a != i32::from(b);
    161 int42lt(INT4, INT2) -> BOOL = (a: i32, b: i16) a < i32::from(b);
    167 int42le(INT4, INT2) -> BOOL = (a: i32, b: i16) a <= i32::from(b);
    163 int42gt(INT4, INT2) -> BOOL = (a: i32, b: i16) a > i32::from(b);
    169 int42ge(INT4, INT2) -> BOOL = (a: i32, b: i16) a >= i32::from(b);
    184 oideq(OID, OID) -> BOOL = (a: Oid, b: Oid) a == b;
    185 oidne(OID, OID) -> BOOL = (a: Oid, b: Oid) a != b;
    716 oidlt(OID, OID) -> BOOL = (a: Oid, b: Oid) a < b;
    717 oidle(OID, OID) -> BOOL = (a: Oid, b: Oid) a <= b;
    1638 oidgt(OID, OID) -> BOOL = (a: Oid, b: Oid) a > b;
    1639 oidge(OID, OID) -> BOOL = (a: Oid, b: Oid) a >= b;
    287 float4eq(FLOAT4, FLOAT4) -> BOOL = (a: f32, b: f32) float(a.into(), b.into()).is_eq();
    288 float4ne(FLOAT4, FLOAT4) -> BOOL = (a: f32, b: f32) float(a.into(), b.into()).is_ne();
    289 float4lt(FLOAT4, FLOAT4) -> BOOL = (a: f32, b: f32) float(a.into(), b.into()).is_lt();
    290 float4le(FLOAT4, FLOAT4) -> BOOL = (a: f32, b: f32) float(a.into(), b.into()).is_le();
    291 float4gt(FLOAT4, FLOAT4) -> BOOL = (a: f32, b: f32) float(a.into(), b.into()).is_gt();
    292 float4ge(FLOAT4, FLOAT4) -> BOOL = (a: f32, b: f32) float(a.into(), b.into()).is_ge();
    62 nameeq(NAME, NAME) -> BOOL = (a: &str, b: &str) a == b;
    659 namene(NAME, NAME) -> BOOL = (a: &str, b: &str) a != b;
    655 namelt(NAME, NAME) -> BOOL = (a: &str, b: &str) a < b;
    656 namele(NAME, NAME) -> BOOL = (a: &str, b: &str) a <= b;
    657 namegt(NAME, NAME) -> BOOL = (a: &str, b: &str) a > b;
    658 namege(NAME, NAME) -> BOOL = (a: &str, b: &str) a >= b;
    67 texteq(TEXT, TEXT) -> BOOL = (a: &str, b: &str) a == b;
    157 textne(TEXT, TEXT) -> BOOL = (a: &str, b: &str) a != b;
    740 text_lt(TEXT, TEXT) -> BOOL = (a: &str, b: &str) a < b;
    741 text_le(TEXT, TEXT) -> BOOL = (a: &str, b: &str) a <= b;
    742 text_gt(TEXT, TEXT) -> BOOL = (a: &str, b: &str) a > b;
    743 text_ge(TEXT, TEXT) -> BOOL = (a: &str, b: &str) a >= b;
    293 float8eq(FLOAT8, FLOAT8) -> BOOL = (a: f64, b: f64) float(a, b).is_eq();
    294 float8ne(FLOAT8, FLOAT8) -> BOOL = (a: f64, b: f64) float(a, b).is_ne();
    295 float8lt(FLOAT8, FLOAT8) -> BOOL = (a: f64, b: f64) float(a, b).is_lt();
    296 float8le(FLOAT8, FLOAT8) -> BOOL = (a: f64, b: f64) float(a, b).is_le();
    297 float8gt(FLOAT8, FLOAT8) -> BOOL = (a: f64, b: f64) float(a, b).is_gt();
    298 float8ge(FLOAT8, FLOAT8) -> BOOL = (a: f64, b: f64) float(a, b).is_ge();
    1048 bpchareq(BPCHAR, BPCHAR) -> BOOL = (a: &str, b: &str) a == b;
    1053 bpcharne(BPCHAR, BPCHAR) -> BOOL = (a: &str, b: &str) a != b;
    1049 bpcharlt(BPCHAR, BPCHAR) -> BOOL = (a: &str, b: &str) a < b;
    1050 bpcharle(BPCHAR, BPCHAR) -> BOOL = (a: &str, b: &str) a <= b;
    1051 bpchargt(BPCHAR, BPCHAR) -> BOOL = (a: &str, b: &str) a > b;
    1052 bpcharge(BPCHAR, BPCHAR) -> BOOL = (a: &str, b: &str) a >= b;
    1086 date_eq(DATE, DATE) -> BOOL = (a: Date, b: Date) a == b;
    1091 date_ne(DATE, DATE) -> BOOL = (a: Date, b: Date) a != b;
    1087 date_lt(DATE, DATE) -> BOOL = (a: Date, b: Date) a < b;
    1088 date_le(DATE, DATE) -> BOOL = (a: Date, b: Date) a <= b;
    1089 date_gt(DATE, DATE) -> BOOL = (a: Date, b: Date) a > b;
    1090 date_ge(DATE, DATE) -> BOOL = (a: Date, b: Date) a >= b;
    1145 time_eq(TIME, TIME) -> BOOL = (a: Time, b: Time) a == b;
    1106 time_ne(TIME, TIME) -> BOOL = (a: Time, b: Time) a != b;
    1102 time_lt(TIME, TIME) -> BOOL = (a: Time, b: Time) a < b;
    1103 time_le(TIME, TIME) -> BOOL = (a: Time, b: Time) a <= b;
    1104 time_gt(TIME, TIME) -> BOOL = (a: Time, b: Time) a > b;
    1105 time_ge(TIME, TIME) -> BOOL = (a: Time, b: Time) a >= b;
    299 float48eq(FLOAT4, FLOAT8) -> BOOL = (a: f32, b: f64) float(a.into(), b).is_eq();
    300 float48ne(FLOAT4, FLOAT8) -> BOOL = (a: f32, b: f64) float(a.into(), b).is_ne();
    301 float48lt(FLOAT4, FLOAT8) -> BOOL = (a: f32, b: f64) float(a.into(), b).is_lt();
    302 float48le(FLOAT4, FLOAT8) -> BOOL = (a: f32, b: f64) float(a.into(), b).is_le();
    303 float48gt(FLOAT4, FLOAT8) -> BOOL = (a: f32, b: f64) float(a.into(), b).is_gt();
    304 float48ge(FLOAT4, FLOAT8) -> BOOL = (a: f32, b: f64) float(a.into(), b).is_ge();
    305 float84eq(FLOAT8, FLOAT4) -> BOOL = (a: f64, b: f32) float(a, b.into()).is_eq();
    306 float84ne(FLOAT8, FLOAT4) -> BOOL = (a: f64, b: f32) float(a, b.into()).is_ne();
    307 float84lt(FLOAT8, FLOAT4) -> BOOL = (a: f64, b: f32) float(a, b.into()).is_lt();
    308 float84le(FLOAT8, FLOAT4) -> BOOL = (a: f64, b: f32) float(a, b.into()).is_le();
    309 float84gt(FLOAT8, FLOAT4) -> BOOL = (a: f64, b: f32) float(a, b.into()).is_gt();
    310 float84ge(FLOAT8, FLOAT4) -> BOOL = (a: f64, b: f32) float(a, b.into()).is_ge();
    1152 timestamptz_eq(TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL = (a: TimestampTz, b: TimestampTz) a == b;
    1153 timestamptz_ne(TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL = (a: TimestampTz, b: TimestampTz) a != b;
    1154 timestamptz_lt(TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL = (a: TimestampTz, b: TimestampTz) a < b;
    1155 timestamptz_le(TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL = (a: TimestampTz, b: TimestampTz) a <= b;
    1157 timestamptz_gt(TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL = (a: TimestampTz, b: TimestampTz) a > b;
    1156 timestamptz_ge(TIMESTAMPTZ, TIMESTAMPTZ) -> BOOL = (a: TimestampTz, b: TimestampTz) a >= b;
    1718 numeric_eq(NUMERIC, NUMERIC) -> BOOL = (a: Numeric, b: Numeric) a == b;
    1719 numeric_ne(NUMERIC, NUMERIC) -> BOOL = (a: Numeric, b: Numeric) a != b;
    1722 numeric_lt(NUMERIC, NUMERIC) -> BOOL = (a: Numeric, b: Numeric) a < b;
    1723 numeric_le(NUMERIC, NUMERIC) -> BOOL = (a: Numeric, b: Numeric) a <= b;
    1720 numeric_gt(NUMERIC, NUMERIC) -> BOOL = (a: Numeric, b: Numeric) a > b;
    1721 numeric_ge(NUMERIC, NUMERIC) -> BOOL = (a: Numeric, b: Numeric) a >= b;
    1850 int28eq(INT2, INT8) -> BOOL = (a: i16, b: i64) i64::from(a) == b;
    1851 int28ne(INT2, INT8) -> BOOL = (a: i16, b: i64) i64::from(a) != b;
    1852 int28lt(INT2, INT8) -> BOOL = (a: i16, b: i64) i64::from(a) < b;
    1854 int28le(INT2, INT8) -> BOOL = (a: i16, b: i64) i64::from(a) <= b;
    1853 int28gt(INT2, INT8) -> BOOL = (a: i16, b: i64) i64::from(a) > b;
    1855 int28ge(INT2, INT8) -> BOOL = (a: i16, b: i64) i64::from(a) >= b;
    1856 int82eq(INT8, INT2) -> BOOL = (a: i64, b: i16) a == i64::from(b);
    1857 int82ne(INT8, INT2) -> BOOL = (a: i64, b: i16) a != i64::from(b);
    1858 int82lt(INT8, INT2) -> BOOL = (a: i64, b: i16) a < i64::from(b);
    1860 int82le(INT8, INT2) -> BOOL = (a: i64, b: i16) a <= i64::from(b);
    1859 int82gt(INT8, INT2) -> BOOL = (a: i64, b: i16) a > i64::from(b);
    1861 int82ge(INT8, INT2) -> BOOL = (a: i64, b: i16) a >= i64::from(b);
    1948 byteaeq(BYTEA, BYTEA) -> BOOL = (a: &[u8], b: &[u8]) a == b;
    1953 byteane(BYTEA, BYTEA) -> BOOL = (a: &[u8], b: &[u8]) a != b;
    1949 bytealt(BYTEA, BYTEA) -> BOOL = (a: &[u8], b: &[u8]) a < b;
    1950 byteale(BYTEA, BYTEA) -> BOOL = (a: &[u8], b: &[u8]) a <= b;
    1951 byteagt(BYTEA, BYTEA) -> BOOL = (a: &[u8], b: &[u8]) a > b;
    1952 byteage(BYTEA, BYTEA) -> BOOL = (a: &[u8], b: &[u8]) a >= b;
    2052 timestamp_eq(TIMESTAMP, TIMESTAMP) -> BOOL = (a: Timestamp, b: Timestamp) a == b;
    2053 timestamp_ne(TIMESTAMP, TIMESTAMP) -> BOOL = (a: Timestamp, b: Timestamp) a != b;
    2054 timestamp_lt(TIMESTAMP, TIMESTAMP) -> BOOL = (a: Timestamp, b: Timestamp) a < b;
    2055 timestamp_le(TIMESTAMP, TIMESTAMP) -> BOOL = (a: Timestamp, b: Timestamp) a <= b;
    2057 timestamp_gt(TIMESTAMP, TIMESTAMP) -> BOOL = (a: Timestamp, b: Timestamp) a > b;
    2056 timestamp_ge(TIMESTAMP, TIMESTAMP) -> BOOL = (a: Timestamp, b: Timestamp) a >= b;
    1292 tideq(TID, TID) -> BOOL = (a: i64, b: i64) a == b;
    1265 tidne(TID, TID) -> BOOL = (a: i64, b: i64) a != b;
    2791 tidlt(TID, TID) -> BOOL = (a: i64, b: i64) a < b;
    2793 tidle(TID, TID) -> BOOL = (a: i64, b: i64) a <= b;
    2790 tidgt(TID, TID) -> BOOL = (a: i64, b: i64) a > b;
    2792 tidge(TID, TID) -> BOOL = (a: i64, b: i64) a >= b;
    2956 uuid_eq(UUID, UUID) -> BOOL = (a: [u8; 16], b: [u8; 16]) a == b;
    2959 uuid_ne(UUID, UUID) -> BOOL = (a: [u8; 16], b: [u8; 16]) a != b;
    2954 uuid_lt(UUID, UUID) -> BOOL = (a: [u8; 16], b: [u8; 16]) a < b;
    2955 uuid_le(UUID, UUID) -> BOOL = (a: [u8; 16], b: [u8; 16]) a <= b;
    2958 uuid_gt(UUID, UUID) -> BOOL = (a: [u8; 16], b: [u8; 16]) a > b;
    2957 uuid_ge(UUID, UUID) -> BOOL = (a: [u8; 16], b: [u8; 16]) a >= b;
    3233 pg_lsn_eq(PG_LSN, PG_LSN) -> BOOL = (a: i64, b: i64) (a as u64) == (b as u64);
    3236 pg_lsn_ne(PG_LSN, PG_LSN) -> BOOL = (a: i64, b: i64) (a as u64) != (b as u64);
    3231 pg_lsn_lt(PG_LSN, PG_LSN) -> BOOL = (a: i64, b: i64) (a as u64) < (b as u64);
    3232 pg_lsn_le(PG_LSN, PG_LSN) -> BOOL = (a: i64, b: i64) (a as u64) <= (b as u64);
    3235 pg_lsn_gt(PG_LSN, PG_LSN) -> BOOL = (a: i64, b: i64) (a as u64) > (b as u64);
    3234 pg_lsn_ge(PG_LSN, PG_LSN) -> BOOL = (a: i64, b: i64) (a as u64) >= (b as u64);
    5084 xid8eq(XID8, XID8) -> BOOL = (a: i64, b: i64) (a as u64) == (b as u64);
    5085 xid8ne(XID8, XID8) -> BOOL = (a: i64, b: i64) (a as u64) != (b as u64);
    5034 xid8lt(XID8, XID8) -> BOOL = (a: i64, b: i64) (a as u64) < (b as u64);
    5036 xid8le(XID8, XID8) -> BOOL = (a: i64, b: i64) (a as u64) <= (b as u64);
    5035 xid8gt(XID8, XID8) -> BOOL = (a: i64, b: i64) (a as u64) > (b as u64);
    5037 xid8ge(XID8, XID8) -> BOOL = (a: i64, b: i64) (a as u64) >= (b as u64);
    68 xideq(XID, XID) -> BOOL = (a: Oid, b: Oid) a == b;
    3308 xidneq(XID, XID) -> BOOL = (a: Oid, b: Oid) a != b;
    1319 xideqint4(XID, INT4) -> BOOL = (a: Oid, b: i32) a.0 == (b as u32);
    3309 xidneqint4(XID, INT4) -> BOOL = (a: Oid, b: i32) a.0 != (b as u32);
    69 cideq(CID, CID) -> BOOL = (a: Oid, b: Oid) a == b;
    1246 charlt(CHAR, CHAR) -> BOOL = (a: &str, b: &str) a < b;
    61 chareq(CHAR, CHAR) -> BOOL = (a: &str, b: &str) a == b;
    70 charne(CHAR, CHAR) -> BOOL = (a: &str, b: &str) a != b;
    72 charle(CHAR, CHAR) -> BOOL = (a: &str, b: &str) a <= b;
    73 chargt(CHAR, CHAR) -> BOOL = (a: &str, b: &str) a > b;
    74 charge(CHAR, CHAR) -> BOOL = (a: &str, b: &str) a >= b;
    679 oidvectoreq(OIDVECTOR, OIDVECTOR) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a == b;
    619 oidvectorne(OIDVECTOR, OIDVECTOR) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a != b;
    677 oidvectorlt(OIDVECTOR, OIDVECTOR) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a < b;
    678 oidvectorle(OIDVECTOR, OIDVECTOR) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a <= b;
    681 oidvectorgt(OIDVECTOR, OIDVECTOR) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a > b;
    680 oidvectorge(OIDVECTOR, OIDVECTOR) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a >= b;
    744 array_eq(ANYARRAY, ANYARRAY) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a == b;
    390 array_ne(ANYARRAY, ANYARRAY) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a != b;
    391 array_lt(ANYARRAY, ANYARRAY) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a < b;
    393 array_le(ANYARRAY, ANYARRAY) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a <= b;
    392 array_gt(ANYARRAY, ANYARRAY) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a > b;
    396 array_ge(ANYARRAY, ANYARRAY) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a >= b;
    1162 interval_eq(INTERVAL, INTERVAL) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a == b;
    1163 interval_ne(INTERVAL, INTERVAL) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a != b;
    1164 interval_lt(INTERVAL, INTERVAL) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a < b;
    1165 interval_le(INTERVAL, INTERVAL) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a <= b;
    1167 interval_gt(INTERVAL, INTERVAL) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a > b;
    1166 interval_ge(INTERVAL, INTERVAL) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a >= b;
    1352 timetz_eq(TIMETZ, TIMETZ) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a == b;
    1353 timetz_ne(TIMETZ, TIMETZ) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a != b;
    1354 timetz_lt(TIMETZ, TIMETZ) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a < b;
    1355 timetz_le(TIMETZ, TIMETZ) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a <= b;
    1357 timetz_gt(TIMETZ, TIMETZ) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a > b;
    1356 timetz_ge(TIMETZ, TIMETZ) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a >= b;
    2981 record_eq(RECORD, RECORD) -> BOOL = (call; a: RecordRef<'_>, b: RecordRef<'_>)
        records(call, a, b, RecordComparison::Equality)?.is_eq();
    2982 record_ne(RECORD, RECORD) -> BOOL = (call; a: RecordRef<'_>, b: RecordRef<'_>)
        records(call, a, b, RecordComparison::Equality)?.is_ne();
    2983 record_lt(RECORD, RECORD) -> BOOL = (call; a: RecordRef<'_>, b: RecordRef<'_>)
        records(call, a, b, RecordComparison::Order)?.is_lt();
    2985 record_le(RECORD, RECORD) -> BOOL = (call; a: RecordRef<'_>, b: RecordRef<'_>)
        records(call, a, b, RecordComparison::Order)?.is_le();
    2984 record_gt(RECORD, RECORD) -> BOOL = (call; a: RecordRef<'_>, b: RecordRef<'_>)
        records(call, a, b, RecordComparison::Order)?.is_gt();
    2986 record_ge(RECORD, RECORD) -> BOOL = (call; a: RecordRef<'_>, b: RecordRef<'_>)
        records(call, a, b, RecordComparison::Order)?.is_ge();
    3508 enum_eq(ANYENUM, ANYENUM) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a == b;
    3509 enum_ne(ANYENUM, ANYENUM) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a != b;
    3510 enum_lt(ANYENUM, ANYENUM) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a < b;
    3512 enum_le(ANYENUM, ANYENUM) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a <= b;
    3511 enum_gt(ANYENUM, ANYENUM) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a > b;
    3513 enum_ge(ANYENUM, ANYENUM) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a >= b;
    4043 jsonb_eq(JSONB, JSONB) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a == b;
    4038 jsonb_ne(JSONB, JSONB) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a != b;
    4039 jsonb_lt(JSONB, JSONB) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a < b;
    4041 jsonb_le(JSONB, JSONB) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a <= b;
    4040 jsonb_gt(JSONB, JSONB) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a > b;
    4042 jsonb_ge(JSONB, JSONB) -> BOOL = (a: DatumRef<'_>, b: DatumRef<'_>) a >= b;
};

/// A comparison of two values that their order alone decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// True for a function that compares two values.
fn is_listed(function: Oid) -> bool {
    [TABLE, network::COMPARISONS, bits::COMPARISONS]
        .iter()
        .any(|table| table.iter().any(|known| known.oid == function))
}

impl Comparison {
    /// The comparison that a function is, which need not be called then; `None` for all others, such as
    /// comparisons of records.
    pub fn of(function: &Function) -> Option<Comparison> {
        let is_integer = |ty: &Type| [Type::INT2, Type::INT4, Type::INT8].contains(ty);
        let is_plain = match function.args {
            [left, right] if left == right => PLAIN.contains(left),
            [left, right] => is_integer(left) && is_integer(right),
            _ => false,
        };
        let how = match function.args {
            [Type::DATE, Type::TIMESTAMP] | [Type::TIMESTAMP, Type::DATE] => {
                function.name.split('_').nth(1)?
            }
            _ if is_plain && is_listed(function.oid) => &function.name[function.name.len() - 2..],
            _ => return None,
        };
        Some(match how {
            "eq" => Comparison::Equal,
            "ne" => Comparison::NotEqual,
            "lt" => Comparison::Less,
            "le" => Comparison::LessOrEqual,
            "gt" => Comparison::Greater,
            "ge" => Comparison::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The result for two values; `None`, which is NULL, where one of them is NULL.
    #[inline]
    pub fn test(self, left: DatumRef<'_>, right: DatumRef<'_>) -> Option<bool> {
        let order = match (left, right) {
            (DatumRef::Null, _) | (_, DatumRef::Null) => return None,
            (DatumRef::Int4(left), DatumRef::Int4(right)) => left.cmp(&right),
            (DatumRef::Int8(left), DatumRef::Int8(right)) => left.cmp(&right),
            (DatumRef::Date(left), DatumRef::Date(right)) => left.cmp(&right),
            (DatumRef::Date(left), DatumRef::Timestamp(right)) => left.cmp_timestamp(right),
            (DatumRef::Timestamp(left), DatumRef::Date(right)) => {
                right.cmp_timestamp(left).reverse()
            }
            // Lengths that differ decide before any byte is looked at.
            (DatumRef::Text(left), DatumRef::Text(right)) => match self {
                Comparison::Equal => return Some(left == right),
                Comparison::NotEqual => return Some(left != right),
                _ => left.cmp(right),
            },
            _ => match (integer(left), integer(right)) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => left.cmp(&right),
            },
        };
        Some(match self {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        })
    }
}

/// The types whose comparisons are those of [`DatumRef`].
const PLAIN: [Type; 23] = [
    Type::BOOL,
    Type::INT2,
    Type::INT4,
    Type::INT8,
    Type::OID,
    Type::FLOAT4,
    Type::FLOAT8,
    Type::NUMERIC,
    Type::TEXT,
    Type::NAME,
    Type::BPCHAR,
    Type::CHAR,
    Type::BYTEA,
    Type::UUID,
    Type::DATE,
    Type::TIME,
    Type::TIMESTAMP,
    Type::TIMESTAMPTZ,
    Type::INET,
    Type::MACADDR,
    Type::MACADDR8,
    Type::BIT,
    Type::VARBIT,
];

fn integer(value: DatumRef<'_>) -> Option<i64> {
    match value {
        DatumRef::Int2(value) => Some(value.into()),
        DatumRef::Int4(value) => Some(value.into()),
        DatumRef::Int8(value) => Some(value),
        _ => None,
    }
}

/// The kind of a comparison of records, field by field.
#[derive(Clone, Copy)]
enum RecordComparison {
    Equality,
    Order,
}

/// Compares two records field by field, up to the first that differs. The fields up to there have
/// the same types; of records without a type of their own this is known only now.
fn records(
    call: &Call<'_>,
    a: RecordRef<'_>,
    b: RecordRef<'_>,
    wanted: RecordComparison,
) -> Result<Ordering> {
    let name = |ty| types::format_type(call.context.types.types, ty, Modifier::NONE);
    let mismatch = |message: String| Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    for (at, ((left, _, one), (right, _, other))) in a.iter().zip(b.iter()).enumerate() {
        if left != right {
            return mismatch(format!(
                "cannot compare dissimilar column types {} and {} at record column {}",
                name(left),
                name(right),
                at + 1
            ));
        }
        if matches!(left, Type::JSON | Type::JSONPATH) || is_geometric(left) {
            let what = match wanted {
                RecordComparison::Equality => "an equality operator",
                RecordComparison::Order => "a comparison function",
            };
            let message = format!("could not identify {what} for type {}", name(left));
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
        }
        let order = match (one, other) {
            (DatumRef::Record(one), DatumRef::Record(other)) => records(call, one, other, wanted)?,
            (one, other) => one.cmp(&other),
        };
        if order.is_ne() {
            return Ok(order);
        }
    }
    if a.len() != b.len() {
        return mismatch(
            "cannot compare record types with different numbers of columns".to_owned(),
        );
    }
    Ok(Ordering::Equal)
}
