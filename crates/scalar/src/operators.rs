//! The operators: symbol, types of the operands and of the result, and the function behind it.
//!
//! The numbers are those of PostgreSQL's `pg_operator` and `pg_proc`. A prefix operator has no left
//! operand. Commutators and negators follow from the symbols and are not written down.

use std::collections::HashMap;
use std::sync::LazyLock;

use types::geometry::is_geometric;
use types::{Oid, Type};

use crate::{extension, geometry};

/// One entry of `pg_operator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operator {
    /// The number that `pg_operator` has for it.
    pub oid: Oid,
    /// The symbol.
    pub name: &'static str,
    /// The type of the left operand; [`Type::NONE`] for a prefix operator.
    pub left: Type,
    /// The type of the right operand.
    pub right: Type,
    /// The type of the result.
    pub ret: Type,
    /// The function that computes it.
    pub function: Oid,
}

impl Operator {
    /// The operator that gives the same with its operands exchanged: `>` for `<`.
    pub fn commutator(&self) -> Option<&'static Operator> {
        let name = match self.name {
            // Addresses have no commutators of these in PostgreSQL's catalog.
            "&" | "|" if is_address(self.left) => return None,
            "&&" if self.left == Type::TSQUERY => return None,
            // Values in the plane have some that others lack, and none for their sides.
            "<<" | ">>" if is_geometric(self.right) => return None,
            "#" | "?#" if matches!(self.left, Type::BOX | Type::PATH) => return None,
            same @ ("~=" | "<->" | "?#" | "?-" | "?|" | "?-|" | "?||" | "*" | "+" | "#")
                if is_geometric(self.right) =>
            {
                same
            }
            // Of numbers and strings of bits these are shifts.
            "<<" if self.ret == Type::BOOL => ">>",
            ">>" if self.ret == Type::BOOL => "<<",
            "<<=" => ">>=",
            ">>=" => "<<=",
            "<" => ">",
            ">" => "<",
            "<=" => ">=",
            ">=" => "<=",
            "@>" => "<@",
            "<@" => "@>",
            "#<#" => "#>#",
            "#>#" => "#<#",
            "#<=#" => "#>=#",
            "#>=#" => "#<=#",
            "~<~" if self.left == Type::CITEXT => "~>~",
            "~>~" if self.left == Type::CITEXT => "~<~",
            "~<=~" if self.left == Type::CITEXT => "~>=~",
            "~>=~" if self.left == Type::CITEXT => "~<=~",
            "<%" => "%>",
            "%>" => "<%",
            "<<%" => "%>>",
            "%>>" => "<<%",
            "<<->" => "<->>",
            "<->>" => "<<->",
            "<<<->" => "<->>>",
            "<->>>" => "<<<->",
            same @ ("%" | "<->") if self.left == Type::TEXT => same,
            same @ ("@" | "~" | "?" | "^@" | "^~" | "^?")
                if extension::is_of_tree(self.left, self.right) =>
            {
                same
            }
            "^@>" => "^<@",
            "^<@" => "^@>",
            "@@" if self.left != self.right => "@@",
            "@@@" => "@@@",
            same @ ("=" | "<>" | "*" | "&&" | "&" | "|" | "#" | "+" | "-|-") => same,
            _ => return None,
        };
        let found = find(name, self.right, self.left)?;
        // Sums are symmetric where the table has both directions; `date + time` has.
        (found.ret == self.ret).then_some(found)
    }

    /// The operator that gives the opposite truth value: `>=` for `<`.
    pub fn negator(&self) -> Option<&'static Operator> {
        let name = match self.name {
            _ if self.left == Type::PATH => return None,
            "<" => ">=",
            ">" => "<=",
            "<=" => ">",
            ">=" => "<",
            "=" => "<>",
            "<>" if self.left == Type::POINT => "~=",
            "~=" if self.left == Type::POINT => "<>",
            "<>" => "=",
            "#<#" => "#>=#",
            "#>=#" => "#<#",
            "#>#" => "#<=#",
            "#<=#" => "#>#",
            "~~" => "!~~",
            "!~~" => "~~",
            "~~*" => "!~~*",
            "!~~*" => "~~*",
            "~" if self.ret == Type::BOOL => "!~",
            "!~" => "~",
            "~*" => "!~*",
            "!~*" => "~*",
            _ => return None,
        };
        find(name, self.left, self.right)
    }
}

/// True for the types whose values are addresses.
fn is_address(ty: Type) -> bool {
    matches!(ty, Type::INET | Type::MACADDR | Type::MACADDR8)
}

/// The operators of this symbol, of any operands.
pub fn named(name: &str) -> &'static [Operator] {
    static BY_NAME: LazyLock<HashMap<&str, &[Operator]>> = LazyLock::new(|| {
        all().chunk_by(|a, b| a.name == b.name).map(|same| (same[0].name, same)).collect()
    });
    BY_NAME.get(name).copied().unwrap_or_default()
}

/// The operator of this symbol for exactly these operands.
pub fn find(name: &str, left: Type, right: Type) -> Option<&'static Operator> {
    named(name).iter().find(|operator| operator.left == left && operator.right == right)
}

/// The operator with this number.
pub fn by_oid(oid: Oid) -> Option<&'static Operator> {
    static BY_OID: LazyLock<HashMap<Oid, &Operator>> =
        LazyLock::new(|| all().iter().map(|operator| (operator.oid, operator)).collect());
    BY_OID.get(&oid).copied()
}

/// All operators, those of one symbol together.
pub fn all() -> &'static [Operator] {
    static ALL: LazyLock<Vec<Operator>> = LazyLock::new(|| {
        let of_extensions = extension::OPERATORS.iter().copied().flatten();
        let of_core = TABLE.iter().chain(geometry::OPERATORS);
        let mut all: Vec<Operator> = of_core.chain(of_extensions).copied().collect();
        all.sort_by_key(|operator| operator.name);
        all
    });
    &ALL
}

macro_rules! operators {
    ($($name:literal { $($oid:literal $left:ident $right:ident -> $ret:ident = $function:literal;)* })*) => {
        &[$($($crate::operators::Operator {
            oid: types::Oid($oid),
            name: $name,
            left: types::Type::$left,
            right: types::Type::$right,
            ret: types::Type::$ret,
            function: types::Oid($function),
        },)*)*]
    };
}

pub(crate) use operators;

const TABLE: &[Operator] = operators! {
    "!!" {
        3682 NONE TSQUERY -> TSQUERY = 3671;
    }
    "!~" {
        640 NAME TEXT -> BOOL = 1252;
        642 TEXT TEXT -> BOOL = 1256;
        1056 BPCHAR TEXT -> BOOL = 1659;
    }
    "!~*" {
        1227 NAME TEXT -> BOOL = 1241;
        1229 TEXT TEXT -> BOOL = 1239;
        1235 BPCHAR TEXT -> BOOL = 1657;
    }
    "!~~" {
        1208 NAME TEXT -> BOOL = 859;
        1210 TEXT TEXT -> BOOL = 851;
        1212 BPCHAR TEXT -> BOOL = 1632;
        2017 BYTEA BYTEA -> BOOL = 2006;
    }
    "!~~*" {
        1626 NAME TEXT -> BOOL = 1636;
        1628 TEXT TEXT -> BOOL = 1634;
        1630 BPCHAR TEXT -> BOOL = 1661;
    }
    "#" {
        1793 BIT BIT -> BIT = 1675;
        1876 INT2 INT2 -> INT2 = 1894;
        1882 INT4 INT4 -> INT4 = 1900;
        1888 INT8 INT8 -> INT8 = 1906;
    }
    "#-" {
        3287 JSONB TEXT_ARRAY -> JSONB = 3304;
    }
    "#>" {
        3213 JSONB TEXT_ARRAY -> JSONB = 3217;
        3966 JSON TEXT_ARRAY -> JSON = 3951;
    }
    "#>>" {
        3206 JSONB TEXT_ARRAY -> TEXT = 3940;
        3967 JSON TEXT_ARRAY -> TEXT = 3953;
    }
    "%" {
        439 INT8 INT8 -> INT8 = 945;
        529 INT2 INT2 -> INT2 = 155;
        530 INT4 INT4 -> INT4 = 156;
        1762 NUMERIC NUMERIC -> NUMERIC = 1729;
    }
    "&" {
        1791 BIT BIT -> BIT = 1673;
        1874 INT2 INT2 -> INT2 = 1892;
        1880 INT4 INT4 -> INT4 = 1898;
        1886 INT8 INT8 -> INT8 = 1904;
        2635 INET INET -> INET = 2628;
        3148 MACADDR MACADDR -> MACADDR = 3145;
        3369 MACADDR8 MACADDR8 -> MACADDR8 = 4121;
    }
    "&&" {
        2750 ANYARRAY ANYARRAY -> BOOL = 2747;
        2866 ANYRANGE ANYMULTIRANGE -> BOOL = 4246;
        2867 ANYMULTIRANGE ANYRANGE -> BOOL = 4247;
        2868 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4248;
        3552 INET INET -> BOOL = 3551;
        3680 TSQUERY TSQUERY -> TSQUERY = 3669;
        3888 ANYRANGE ANYRANGE -> BOOL = 3857;
    }
    "&<" {
        2875 ANYRANGE ANYMULTIRANGE -> BOOL = 4264;
        2876 ANYMULTIRANGE ANYRANGE -> BOOL = 4265;
        2877 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4266;
        3895 ANYRANGE ANYRANGE -> BOOL = 3865;
    }
    "&>" {
        3585 ANYRANGE ANYMULTIRANGE -> BOOL = 4267;
        3896 ANYRANGE ANYRANGE -> BOOL = 3866;
        4035 ANYMULTIRANGE ANYRANGE -> BOOL = 4268;
        4142 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4269;
    }
    "*" {
        514 INT4 INT4 -> INT4 = 141;
        526 INT2 INT2 -> INT2 = 152;
        544 INT2 INT4 -> INT4 = 170;
        545 INT4 INT2 -> INT4 = 171;
        589 FLOAT4 FLOAT4 -> FLOAT4 = 202;
        594 FLOAT8 FLOAT8 -> FLOAT8 = 216;
        686 INT8 INT8 -> INT8 = 465;
        690 INT8 INT4 -> INT8 = 1276;
        694 INT4 INT8 -> INT8 = 1280;
        820 INT8 INT2 -> INT8 = 839;
        824 INT2 INT8 -> INT8 = 943;
        843 MONEY FLOAT4 -> MONEY = 846;
        845 FLOAT4 MONEY -> MONEY = 848;
        908 MONEY FLOAT8 -> MONEY = 896;
        912 MONEY INT4 -> MONEY = 864;
        914 MONEY INT2 -> MONEY = 866;
        916 FLOAT8 MONEY -> MONEY = 919;
        917 INT4 MONEY -> MONEY = 862;
        918 INT2 MONEY -> MONEY = 863;
        1119 FLOAT4 FLOAT8 -> FLOAT8 = 279;
        1129 FLOAT8 FLOAT4 -> FLOAT8 = 283;
        1583 INTERVAL FLOAT8 -> INTERVAL = 1618;
        1584 FLOAT8 INTERVAL -> INTERVAL = 1624;
        1760 NUMERIC NUMERIC -> NUMERIC = 1726;
        3346 MONEY INT8 -> MONEY = 3344;
        3349 INT8 MONEY -> MONEY = 3399;
        3900 ANYRANGE ANYRANGE -> ANYRANGE = 3868;
        4394 ANYMULTIRANGE ANYMULTIRANGE -> ANYMULTIRANGE = 4272;
    }
    "+" {
        550 INT2 INT2 -> INT2 = 176;
        551 INT4 INT4 -> INT4 = 177;
        552 INT2 INT4 -> INT4 = 178;
        553 INT4 INT2 -> INT4 = 179;
        586 FLOAT4 FLOAT4 -> FLOAT4 = 204;
        591 FLOAT8 FLOAT8 -> FLOAT8 = 218;
        684 INT8 INT8 -> INT8 = 463;
        688 INT8 INT4 -> INT8 = 1274;
        692 INT4 INT8 -> INT8 = 1278;
        818 INT8 INT2 -> INT8 = 837;
        822 INT2 INT8 -> INT8 = 841;
        906 MONEY MONEY -> MONEY = 894;
        1076 DATE INTERVAL -> TIMESTAMP = 2071;
        1100 DATE INT4 -> DATE = 1141;
        1116 FLOAT4 FLOAT8 -> FLOAT8 = 281;
        1126 FLOAT8 FLOAT4 -> FLOAT8 = 285;
        1327 TIMESTAMPTZ INTERVAL -> TIMESTAMPTZ = 1189;
        1337 INTERVAL INTERVAL -> INTERVAL = 1169;
        1360 DATE TIME -> TIMESTAMP = 1272;
        1361 DATE TIMETZ -> TIMESTAMPTZ = 1297;
        1363 TIME DATE -> TIMESTAMP = 1296;
        1366 TIMETZ DATE -> TIMESTAMPTZ = 1298;
        1758 NUMERIC NUMERIC -> NUMERIC = 1724;
        1800 TIME INTERVAL -> TIME = 1747;
        1802 TIMETZ INTERVAL -> TIMETZ = 1749;
        1849 INTERVAL TIME -> TIME = 1848;
        1916 NONE INT8 -> INT8 = 1910;
        1917 NONE INT2 -> INT2 = 1911;
        1918 NONE INT4 -> INT4 = 1912;
        1919 NONE FLOAT4 -> FLOAT4 = 1913;
        1920 NONE FLOAT8 -> FLOAT8 = 1914;
        1921 NONE NUMERIC -> NUMERIC = 1915;
        2066 TIMESTAMP INTERVAL -> TIMESTAMP = 2032;
        2551 INTERVAL DATE -> TIMESTAMP = 2546;
        2552 INTERVAL TIMETZ -> TIMETZ = 2547;
        2553 INTERVAL TIMESTAMP -> TIMESTAMP = 2548;
        2554 INTERVAL TIMESTAMPTZ -> TIMESTAMPTZ = 2549;
        2555 INT4 DATE -> DATE = 2550;
        2637 INET INT8 -> INET = 2630;
        2638 INT8 INET -> INET = 2631;
        3898 ANYRANGE ANYRANGE -> ANYRANGE = 3867;
        4392 ANYMULTIRANGE ANYMULTIRANGE -> ANYMULTIRANGE = 4270;
        5025 PG_LSN NUMERIC -> PG_LSN = 5022;
        5026 NUMERIC PG_LSN -> PG_LSN = 5023;
    }
    "-" {
        484 NONE INT8 -> INT8 = 462;
        554 INT2 INT2 -> INT2 = 180;
        555 INT4 INT4 -> INT4 = 181;
        556 INT2 INT4 -> INT4 = 182;
        557 INT4 INT2 -> INT4 = 183;
        558 NONE INT4 -> INT4 = 212;
        559 NONE INT2 -> INT2 = 213;
        584 NONE FLOAT4 -> FLOAT4 = 206;
        585 NONE FLOAT8 -> FLOAT8 = 220;
        587 FLOAT4 FLOAT4 -> FLOAT4 = 205;
        592 FLOAT8 FLOAT8 -> FLOAT8 = 219;
        685 INT8 INT8 -> INT8 = 464;
        689 INT8 INT4 -> INT8 = 1275;
        693 INT4 INT8 -> INT8 = 1279;
        819 INT8 INT2 -> INT8 = 838;
        823 INT2 INT8 -> INT8 = 942;
        907 MONEY MONEY -> MONEY = 895;
        1077 DATE INTERVAL -> TIMESTAMP = 2072;
        1099 DATE DATE -> INT4 = 1140;
        1101 DATE INT4 -> DATE = 1142;
        1117 FLOAT4 FLOAT8 -> FLOAT8 = 282;
        1127 FLOAT8 FLOAT4 -> FLOAT8 = 286;
        1328 TIMESTAMPTZ TIMESTAMPTZ -> INTERVAL = 1188;
        1329 TIMESTAMPTZ INTERVAL -> TIMESTAMPTZ = 1190;
        1336 NONE INTERVAL -> INTERVAL = 1168;
        1338 INTERVAL INTERVAL -> INTERVAL = 1170;
        1399 TIME TIME -> INTERVAL = 1690;
        1751 NONE NUMERIC -> NUMERIC = 1771;
        1759 NUMERIC NUMERIC -> NUMERIC = 1725;
        1801 TIME INTERVAL -> TIME = 1748;
        1803 TIMETZ INTERVAL -> TIMETZ = 1750;
        2067 TIMESTAMP TIMESTAMP -> INTERVAL = 2031;
        2068 TIMESTAMP INTERVAL -> TIMESTAMP = 2033;
        2639 INET INT8 -> INET = 2632;
        2640 INET INET -> INT8 = 2633;
        3228 PG_LSN PG_LSN -> NUMERIC = 3237;
        3285 JSONB TEXT -> JSONB = 3302;
        3286 JSONB INT4 -> JSONB = 3303;
        3398 JSONB TEXT_ARRAY -> JSONB = 3343;
        3899 ANYRANGE ANYRANGE -> ANYRANGE = 3869;
        4393 ANYMULTIRANGE ANYMULTIRANGE -> ANYMULTIRANGE = 4271;
        5027 PG_LSN NUMERIC -> PG_LSN = 5024;
    }
    "->" {
        3211 JSONB TEXT -> JSONB = 3478;
        3212 JSONB INT4 -> JSONB = 3215;
        3962 JSON TEXT -> JSON = 3947;
        3964 JSON INT4 -> JSON = 3949;
    }
    "->>" {
        3477 JSONB TEXT -> TEXT = 3214;
        3481 JSONB INT4 -> TEXT = 3216;
        3963 JSON TEXT -> TEXT = 3948;
        3965 JSON INT4 -> TEXT = 3950;
    }
    "-|-" {
        3897 ANYRANGE ANYRANGE -> BOOL = 3862;
        4179 ANYRANGE ANYMULTIRANGE -> BOOL = 4255;
        4180 ANYMULTIRANGE ANYRANGE -> BOOL = 4257;
        4198 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4256;
    }
    "/" {
        527 INT2 INT2 -> INT2 = 153;
        528 INT4 INT4 -> INT4 = 154;
        546 INT2 INT4 -> INT4 = 172;
        547 INT4 INT2 -> INT4 = 173;
        588 FLOAT4 FLOAT4 -> FLOAT4 = 203;
        593 FLOAT8 FLOAT8 -> FLOAT8 = 217;
        687 INT8 INT8 -> INT8 = 466;
        691 INT8 INT4 -> INT8 = 1277;
        695 INT4 INT8 -> INT8 = 1281;
        821 INT8 INT2 -> INT8 = 840;
        825 INT2 INT8 -> INT8 = 948;
        844 MONEY FLOAT4 -> MONEY = 847;
        909 MONEY FLOAT8 -> MONEY = 897;
        913 MONEY INT4 -> MONEY = 865;
        915 MONEY INT2 -> MONEY = 867;
        1118 FLOAT4 FLOAT8 -> FLOAT8 = 280;
        1128 FLOAT8 FLOAT4 -> FLOAT8 = 284;
        1585 INTERVAL FLOAT8 -> INTERVAL = 1326;
        1761 NUMERIC NUMERIC -> NUMERIC = 1727;
        3347 MONEY INT8 -> MONEY = 3345;
        3825 MONEY MONEY -> FLOAT8 = 3822;
    }
    "<" {
        37 INT4 INT8 -> BOOL = 854;
        58 BOOL BOOL -> BOOL = 56;
        95 INT2 INT2 -> BOOL = 64;
        97 INT4 INT4 -> BOOL = 66;
        255 NAME TEXT -> BOOL = 241;
        261 TEXT NAME -> BOOL = 248;
        412 INT8 INT8 -> BOOL = 469;
        418 INT8 INT4 -> BOOL = 476;
        534 INT2 INT4 -> BOOL = 160;
        535 INT4 INT2 -> BOOL = 161;
        609 OID OID -> BOOL = 716;
        622 FLOAT4 FLOAT4 -> BOOL = 289;
        631 CHAR CHAR -> BOOL = 1246;
        645 OIDVECTOR OIDVECTOR -> BOOL = 677;
        660 NAME NAME -> BOOL = 655;
        664 TEXT TEXT -> BOOL = 740;
        672 FLOAT8 FLOAT8 -> BOOL = 295;
        902 MONEY MONEY -> BOOL = 890;
        1058 BPCHAR BPCHAR -> BOOL = 1049;
        1072 ANYARRAY ANYARRAY -> BOOL = 391;
        1095 DATE DATE -> BOOL = 1087;
        1110 TIME TIME -> BOOL = 1102;
        1122 FLOAT4 FLOAT8 -> BOOL = 301;
        1132 FLOAT8 FLOAT4 -> BOOL = 307;
        1203 INET INET -> BOOL = 921;
        1222 MACADDR MACADDR -> BOOL = 831;
        1322 TIMESTAMPTZ TIMESTAMPTZ -> BOOL = 1154;
        1332 INTERVAL INTERVAL -> BOOL = 1164;
        1552 TIMETZ TIMETZ -> BOOL = 1354;
        1754 NUMERIC NUMERIC -> BOOL = 1722;
        1786 BIT BIT -> BOOL = 1595;
        1806 VARBIT VARBIT -> BOOL = 1671;
        1864 INT2 INT8 -> BOOL = 1852;
        1870 INT8 INT2 -> BOOL = 1858;
        1957 BYTEA BYTEA -> BOOL = 1949;
        2062 TIMESTAMP TIMESTAMP -> BOOL = 2054;
        2345 DATE TIMESTAMP -> BOOL = 2338;
        2358 DATE TIMESTAMPTZ -> BOOL = 2351;
        2371 TIMESTAMP DATE -> BOOL = 2364;
        2384 TIMESTAMPTZ DATE -> BOOL = 2377;
        2534 TIMESTAMP TIMESTAMPTZ -> BOOL = 2520;
        2540 TIMESTAMPTZ TIMESTAMP -> BOOL = 2527;
        2799 TID TID -> BOOL = 2791;
        2862 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4274;
        2974 UUID UUID -> BOOL = 2954;
        2990 RECORD RECORD -> BOOL = 2983;
        3224 PG_LSN PG_LSN -> BOOL = 3231;
        3242 JSONB JSONB -> BOOL = 4039;
        3364 MACADDR8 MACADDR8 -> BOOL = 4114;
        3518 ANYENUM ANYENUM -> BOOL = 3510;
        3627 TSVECTOR TSVECTOR -> BOOL = 3616;
        3674 TSQUERY TSQUERY -> BOOL = 3662;
        3884 ANYRANGE ANYRANGE -> BOOL = 3871;
        5073 XID8 XID8 -> BOOL = 5034;
    }
    "<->" {
        5005 TSQUERY TSQUERY -> TSQUERY = 5003;
    }
    "<<" {
        931 INET INET -> BOOL = 927;
        1795 BIT INT4 -> BIT = 1677;
        1878 INT2 INT4 -> INT2 = 1896;
        1884 INT4 INT4 -> INT4 = 1902;
        1890 INT8 INT4 -> INT8 = 1908;
        3893 ANYRANGE ANYRANGE -> BOOL = 3863;
        4395 ANYRANGE ANYMULTIRANGE -> BOOL = 4258;
        4396 ANYMULTIRANGE ANYRANGE -> BOOL = 4259;
        4397 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4260;
    }
    "<<=" {
        932 INET INET -> BOOL = 928;
    }
    "<=" {
        80 INT4 INT8 -> BOOL = 856;
        256 NAME TEXT -> BOOL = 242;
        262 TEXT NAME -> BOOL = 249;
        414 INT8 INT8 -> BOOL = 471;
        420 INT8 INT4 -> BOOL = 478;
        522 INT2 INT2 -> BOOL = 148;
        523 INT4 INT4 -> BOOL = 149;
        540 INT2 INT4 -> BOOL = 166;
        541 INT4 INT2 -> BOOL = 167;
        611 OID OID -> BOOL = 717;
        624 FLOAT4 FLOAT4 -> BOOL = 290;
        632 CHAR CHAR -> BOOL = 72;
        647 OIDVECTOR OIDVECTOR -> BOOL = 678;
        661 NAME NAME -> BOOL = 656;
        665 TEXT TEXT -> BOOL = 741;
        673 FLOAT8 FLOAT8 -> BOOL = 296;
        904 MONEY MONEY -> BOOL = 891;
        1059 BPCHAR BPCHAR -> BOOL = 1050;
        1074 ANYARRAY ANYARRAY -> BOOL = 393;
        1096 DATE DATE -> BOOL = 1088;
        1111 TIME TIME -> BOOL = 1103;
        1124 FLOAT4 FLOAT8 -> BOOL = 302;
        1134 FLOAT8 FLOAT4 -> BOOL = 308;
        1204 INET INET -> BOOL = 922;
        1223 MACADDR MACADDR -> BOOL = 832;
        1323 TIMESTAMPTZ TIMESTAMPTZ -> BOOL = 1155;
        1333 INTERVAL INTERVAL -> BOOL = 1165;
        1553 TIMETZ TIMETZ -> BOOL = 1355;
        1694 BOOL BOOL -> BOOL = 1691;
        1755 NUMERIC NUMERIC -> BOOL = 1723;
        1788 BIT BIT -> BOOL = 1594;
        1808 VARBIT VARBIT -> BOOL = 1670;
        1866 INT2 INT8 -> BOOL = 1854;
        1872 INT8 INT2 -> BOOL = 1860;
        1958 BYTEA BYTEA -> BOOL = 1950;
        2063 TIMESTAMP TIMESTAMP -> BOOL = 2055;
        2346 DATE TIMESTAMP -> BOOL = 2339;
        2359 DATE TIMESTAMPTZ -> BOOL = 2352;
        2372 TIMESTAMP DATE -> BOOL = 2365;
        2385 TIMESTAMPTZ DATE -> BOOL = 2378;
        2535 TIMESTAMP TIMESTAMPTZ -> BOOL = 2521;
        2541 TIMESTAMPTZ TIMESTAMP -> BOOL = 2528;
        2801 TID TID -> BOOL = 2793;
        2863 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4275;
        2976 UUID UUID -> BOOL = 2955;
        2992 RECORD RECORD -> BOOL = 2985;
        3226 PG_LSN PG_LSN -> BOOL = 3232;
        3244 JSONB JSONB -> BOOL = 4041;
        3365 MACADDR8 MACADDR8 -> BOOL = 4115;
        3520 ANYENUM ANYENUM -> BOOL = 3512;
        3628 TSVECTOR TSVECTOR -> BOOL = 3617;
        3675 TSQUERY TSQUERY -> BOOL = 3663;
        3885 ANYRANGE ANYRANGE -> BOOL = 3872;
        5075 XID8 XID8 -> BOOL = 5036;
    }
    "<>" {
        36 INT4 INT8 -> BOOL = 853;
        85 BOOL BOOL -> BOOL = 84;
        259 NAME TEXT -> BOOL = 245;
        265 TEXT NAME -> BOOL = 252;
        402 TID TID -> BOOL = 1265;
        411 INT8 INT8 -> BOOL = 468;
        417 INT8 INT4 -> BOOL = 475;
        518 INT4 INT4 -> BOOL = 144;
        519 INT2 INT2 -> BOOL = 145;
        531 TEXT TEXT -> BOOL = 157;
        538 INT2 INT4 -> BOOL = 164;
        539 INT4 INT2 -> BOOL = 165;
        608 OID OID -> BOOL = 185;
        621 FLOAT4 FLOAT4 -> BOOL = 288;
        630 CHAR CHAR -> BOOL = 70;
        643 NAME NAME -> BOOL = 659;
        644 OIDVECTOR OIDVECTOR -> BOOL = 619;
        671 FLOAT8 FLOAT8 -> BOOL = 294;
        901 MONEY MONEY -> BOOL = 889;
        1057 BPCHAR BPCHAR -> BOOL = 1053;
        1071 ANYARRAY ANYARRAY -> BOOL = 390;
        1094 DATE DATE -> BOOL = 1091;
        1109 TIME TIME -> BOOL = 1106;
        1121 FLOAT4 FLOAT8 -> BOOL = 300;
        1131 FLOAT8 FLOAT4 -> BOOL = 306;
        1202 INET INET -> BOOL = 925;
        1221 MACADDR MACADDR -> BOOL = 835;
        1321 TIMESTAMPTZ TIMESTAMPTZ -> BOOL = 1153;
        1331 INTERVAL INTERVAL -> BOOL = 1163;
        1551 TIMETZ TIMETZ -> BOOL = 1353;
        1753 NUMERIC NUMERIC -> BOOL = 1719;
        1785 BIT BIT -> BOOL = 1582;
        1805 VARBIT VARBIT -> BOOL = 1667;
        1863 INT2 INT8 -> BOOL = 1851;
        1869 INT8 INT2 -> BOOL = 1857;
        1956 BYTEA BYTEA -> BOOL = 1953;
        2061 TIMESTAMP TIMESTAMP -> BOOL = 2053;
        2350 DATE TIMESTAMP -> BOOL = 2343;
        2363 DATE TIMESTAMPTZ -> BOOL = 2356;
        2376 TIMESTAMP DATE -> BOOL = 2369;
        2389 TIMESTAMPTZ DATE -> BOOL = 2382;
        2539 TIMESTAMP TIMESTAMPTZ -> BOOL = 2525;
        2545 TIMESTAMPTZ TIMESTAMP -> BOOL = 2532;
        2861 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4245;
        2973 UUID UUID -> BOOL = 2959;
        2989 RECORD RECORD -> BOOL = 2982;
        3223 PG_LSN PG_LSN -> BOOL = 3236;
        3241 JSONB JSONB -> BOOL = 4038;
        3315 XID XID -> BOOL = 3308;
        3316 XID INT4 -> BOOL = 3309;
        3363 MACADDR8 MACADDR8 -> BOOL = 4118;
        3517 ANYENUM ANYENUM -> BOOL = 3509;
        3630 TSVECTOR TSVECTOR -> BOOL = 3619;
        3677 TSQUERY TSQUERY -> BOOL = 3665;
        3883 ANYRANGE ANYRANGE -> BOOL = 3856;
        5072 XID8 XID8 -> BOOL = 5085;
    }
    "<@" {
        2752 ANYARRAY ANYARRAY -> BOOL = 2749;
        2872 ANYELEMENT ANYMULTIRANGE -> BOOL = 4252;
        2873 ANYRANGE ANYMULTIRANGE -> BOOL = 4253;
        2874 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4254;
        3250 JSONB JSONB -> BOOL = 4050;
        3694 TSQUERY TSQUERY -> BOOL = 3692;
        3891 ANYELEMENT ANYRANGE -> BOOL = 3860;
        3892 ANYRANGE ANYRANGE -> BOOL = 3861;
        4540 ANYMULTIRANGE ANYRANGE -> BOOL = 4542;
    }
    "=" {
        15 INT4 INT8 -> BOOL = 852;
        91 BOOL BOOL -> BOOL = 60;
        92 CHAR CHAR -> BOOL = 61;
        93 NAME NAME -> BOOL = 62;
        94 INT2 INT2 -> BOOL = 63;
        96 INT4 INT4 -> BOOL = 65;
        98 TEXT TEXT -> BOOL = 67;
        254 NAME TEXT -> BOOL = 240;
        260 TEXT NAME -> BOOL = 247;
        352 XID XID -> BOOL = 68;
        353 XID INT4 -> BOOL = 1319;
        385 CID CID -> BOOL = 69;
        387 TID TID -> BOOL = 1292;
        410 INT8 INT8 -> BOOL = 467;
        416 INT8 INT4 -> BOOL = 474;
        532 INT2 INT4 -> BOOL = 158;
        533 INT4 INT2 -> BOOL = 159;
        607 OID OID -> BOOL = 184;
        620 FLOAT4 FLOAT4 -> BOOL = 287;
        649 OIDVECTOR OIDVECTOR -> BOOL = 679;
        670 FLOAT8 FLOAT8 -> BOOL = 293;
        900 MONEY MONEY -> BOOL = 888;
        1054 BPCHAR BPCHAR -> BOOL = 1048;
        1070 ANYARRAY ANYARRAY -> BOOL = 744;
        1093 DATE DATE -> BOOL = 1086;
        1108 TIME TIME -> BOOL = 1145;
        1120 FLOAT4 FLOAT8 -> BOOL = 299;
        1130 FLOAT8 FLOAT4 -> BOOL = 305;
        1201 INET INET -> BOOL = 920;
        1220 MACADDR MACADDR -> BOOL = 830;
        1320 TIMESTAMPTZ TIMESTAMPTZ -> BOOL = 1152;
        1330 INTERVAL INTERVAL -> BOOL = 1162;
        1550 TIMETZ TIMETZ -> BOOL = 1352;
        1752 NUMERIC NUMERIC -> BOOL = 1718;
        1784 BIT BIT -> BOOL = 1581;
        1804 VARBIT VARBIT -> BOOL = 1666;
        1862 INT2 INT8 -> BOOL = 1850;
        1868 INT8 INT2 -> BOOL = 1856;
        1955 BYTEA BYTEA -> BOOL = 1948;
        2060 TIMESTAMP TIMESTAMP -> BOOL = 2052;
        2347 DATE TIMESTAMP -> BOOL = 2340;
        2360 DATE TIMESTAMPTZ -> BOOL = 2353;
        2373 TIMESTAMP DATE -> BOOL = 2366;
        2386 TIMESTAMPTZ DATE -> BOOL = 2379;
        2536 TIMESTAMP TIMESTAMPTZ -> BOOL = 2522;
        2542 TIMESTAMPTZ TIMESTAMP -> BOOL = 2529;
        2860 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4244;
        2972 UUID UUID -> BOOL = 2956;
        2988 RECORD RECORD -> BOOL = 2981;
        3222 PG_LSN PG_LSN -> BOOL = 3233;
        3240 JSONB JSONB -> BOOL = 4043;
        3362 MACADDR8 MACADDR8 -> BOOL = 4113;
        3516 ANYENUM ANYENUM -> BOOL = 3508;
        3629 TSVECTOR TSVECTOR -> BOOL = 3618;
        3676 TSQUERY TSQUERY -> BOOL = 3664;
        3882 ANYRANGE ANYRANGE -> BOOL = 3855;
        5068 XID8 XID8 -> BOOL = 5084;
    }
    ">" {
        59 BOOL BOOL -> BOOL = 57;
        76 INT4 INT8 -> BOOL = 855;
        258 NAME TEXT -> BOOL = 244;
        264 TEXT NAME -> BOOL = 251;
        413 INT8 INT8 -> BOOL = 470;
        419 INT8 INT4 -> BOOL = 477;
        520 INT2 INT2 -> BOOL = 146;
        521 INT4 INT4 -> BOOL = 147;
        536 INT2 INT4 -> BOOL = 162;
        537 INT4 INT2 -> BOOL = 163;
        610 OID OID -> BOOL = 1638;
        623 FLOAT4 FLOAT4 -> BOOL = 291;
        633 CHAR CHAR -> BOOL = 73;
        646 OIDVECTOR OIDVECTOR -> BOOL = 681;
        662 NAME NAME -> BOOL = 657;
        666 TEXT TEXT -> BOOL = 742;
        674 FLOAT8 FLOAT8 -> BOOL = 297;
        903 MONEY MONEY -> BOOL = 892;
        1060 BPCHAR BPCHAR -> BOOL = 1051;
        1073 ANYARRAY ANYARRAY -> BOOL = 392;
        1097 DATE DATE -> BOOL = 1089;
        1112 TIME TIME -> BOOL = 1104;
        1123 FLOAT4 FLOAT8 -> BOOL = 303;
        1133 FLOAT8 FLOAT4 -> BOOL = 309;
        1205 INET INET -> BOOL = 923;
        1224 MACADDR MACADDR -> BOOL = 833;
        1324 TIMESTAMPTZ TIMESTAMPTZ -> BOOL = 1157;
        1334 INTERVAL INTERVAL -> BOOL = 1167;
        1554 TIMETZ TIMETZ -> BOOL = 1357;
        1756 NUMERIC NUMERIC -> BOOL = 1720;
        1787 BIT BIT -> BOOL = 1593;
        1807 VARBIT VARBIT -> BOOL = 1669;
        1865 INT2 INT8 -> BOOL = 1853;
        1871 INT8 INT2 -> BOOL = 1859;
        1959 BYTEA BYTEA -> BOOL = 1951;
        2064 TIMESTAMP TIMESTAMP -> BOOL = 2057;
        2349 DATE TIMESTAMP -> BOOL = 2341;
        2362 DATE TIMESTAMPTZ -> BOOL = 2354;
        2375 TIMESTAMP DATE -> BOOL = 2367;
        2388 TIMESTAMPTZ DATE -> BOOL = 2380;
        2538 TIMESTAMP TIMESTAMPTZ -> BOOL = 2523;
        2544 TIMESTAMPTZ TIMESTAMP -> BOOL = 2530;
        2800 TID TID -> BOOL = 2790;
        2865 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4277;
        2975 UUID UUID -> BOOL = 2958;
        2991 RECORD RECORD -> BOOL = 2984;
        3225 PG_LSN PG_LSN -> BOOL = 3235;
        3243 JSONB JSONB -> BOOL = 4040;
        3366 MACADDR8 MACADDR8 -> BOOL = 4116;
        3519 ANYENUM ANYENUM -> BOOL = 3511;
        3632 TSVECTOR TSVECTOR -> BOOL = 3621;
        3679 TSQUERY TSQUERY -> BOOL = 3667;
        3887 ANYRANGE ANYRANGE -> BOOL = 3874;
        5074 XID8 XID8 -> BOOL = 5035;
    }
    ">=" {
        82 INT4 INT8 -> BOOL = 857;
        257 NAME TEXT -> BOOL = 243;
        263 TEXT NAME -> BOOL = 250;
        415 INT8 INT8 -> BOOL = 472;
        430 INT8 INT4 -> BOOL = 479;
        524 INT2 INT2 -> BOOL = 151;
        525 INT4 INT4 -> BOOL = 150;
        542 INT2 INT4 -> BOOL = 168;
        543 INT4 INT2 -> BOOL = 169;
        612 OID OID -> BOOL = 1639;
        625 FLOAT4 FLOAT4 -> BOOL = 292;
        634 CHAR CHAR -> BOOL = 74;
        648 OIDVECTOR OIDVECTOR -> BOOL = 680;
        663 NAME NAME -> BOOL = 658;
        667 TEXT TEXT -> BOOL = 743;
        675 FLOAT8 FLOAT8 -> BOOL = 298;
        905 MONEY MONEY -> BOOL = 893;
        1061 BPCHAR BPCHAR -> BOOL = 1052;
        1075 ANYARRAY ANYARRAY -> BOOL = 396;
        1098 DATE DATE -> BOOL = 1090;
        1113 TIME TIME -> BOOL = 1105;
        1125 FLOAT4 FLOAT8 -> BOOL = 304;
        1135 FLOAT8 FLOAT4 -> BOOL = 310;
        1206 INET INET -> BOOL = 924;
        1225 MACADDR MACADDR -> BOOL = 834;
        1325 TIMESTAMPTZ TIMESTAMPTZ -> BOOL = 1156;
        1335 INTERVAL INTERVAL -> BOOL = 1166;
        1555 TIMETZ TIMETZ -> BOOL = 1356;
        1695 BOOL BOOL -> BOOL = 1692;
        1757 NUMERIC NUMERIC -> BOOL = 1721;
        1789 BIT BIT -> BOOL = 1592;
        1809 VARBIT VARBIT -> BOOL = 1668;
        1867 INT2 INT8 -> BOOL = 1855;
        1873 INT8 INT2 -> BOOL = 1861;
        1960 BYTEA BYTEA -> BOOL = 1952;
        2065 TIMESTAMP TIMESTAMP -> BOOL = 2056;
        2348 DATE TIMESTAMP -> BOOL = 2342;
        2361 DATE TIMESTAMPTZ -> BOOL = 2355;
        2374 TIMESTAMP DATE -> BOOL = 2368;
        2387 TIMESTAMPTZ DATE -> BOOL = 2381;
        2537 TIMESTAMP TIMESTAMPTZ -> BOOL = 2524;
        2543 TIMESTAMPTZ TIMESTAMP -> BOOL = 2531;
        2802 TID TID -> BOOL = 2792;
        2864 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4276;
        2977 UUID UUID -> BOOL = 2957;
        2993 RECORD RECORD -> BOOL = 2986;
        3227 PG_LSN PG_LSN -> BOOL = 3234;
        3245 JSONB JSONB -> BOOL = 4042;
        3367 MACADDR8 MACADDR8 -> BOOL = 4117;
        3521 ANYENUM ANYENUM -> BOOL = 3513;
        3631 TSVECTOR TSVECTOR -> BOOL = 3620;
        3678 TSQUERY TSQUERY -> BOOL = 3666;
        3886 ANYRANGE ANYRANGE -> BOOL = 3873;
        5076 XID8 XID8 -> BOOL = 5037;
    }
    ">>" {
        933 INET INET -> BOOL = 929;
        1796 BIT INT4 -> BIT = 1678;
        1879 INT2 INT4 -> INT2 = 1897;
        1885 INT4 INT4 -> INT4 = 1903;
        1891 INT8 INT4 -> INT8 = 1909;
        3894 ANYRANGE ANYRANGE -> BOOL = 3864;
        4398 ANYRANGE ANYMULTIRANGE -> BOOL = 4261;
        4399 ANYMULTIRANGE ANYRANGE -> BOOL = 4262;
        4400 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4263;
    }
    ">>=" {
        934 INET INET -> BOOL = 930;
    }
    "?" {
        3247 JSONB TEXT -> BOOL = 4047;
    }
    "?&" {
        3249 JSONB TEXT_ARRAY -> BOOL = 4049;
    }
    "?|" {
        3248 JSONB TEXT_ARRAY -> BOOL = 4048;
    }
    "@" {
        473 NONE INT8 -> INT8 = 1230;
        590 NONE FLOAT4 -> FLOAT4 = 207;
        595 NONE FLOAT8 -> FLOAT8 = 221;
        682 NONE INT2 -> INT2 = 1253;
        773 NONE INT4 -> INT4 = 1251;
        1763 NONE NUMERIC -> NUMERIC = 1704;
    }
    "@>" {
        2751 ANYARRAY ANYARRAY -> BOOL = 2748;
        2869 ANYMULTIRANGE ANYELEMENT -> BOOL = 4249;
        2870 ANYMULTIRANGE ANYRANGE -> BOOL = 4250;
        2871 ANYMULTIRANGE ANYMULTIRANGE -> BOOL = 4251;
        3246 JSONB JSONB -> BOOL = 4046;
        3693 TSQUERY TSQUERY -> BOOL = 3691;
        3889 ANYRANGE ANYELEMENT -> BOOL = 3858;
        3890 ANYRANGE ANYRANGE -> BOOL = 3859;
        4539 ANYRANGE ANYMULTIRANGE -> BOOL = 4541;
    }
    "@?" {
        4012 JSONB JSONPATH -> BOOL = 4010;
    }
    "@@" {
        3636 TSVECTOR TSQUERY -> BOOL = 3634;
        3637 TSQUERY TSVECTOR -> BOOL = 3635;
        3762 TEXT TEXT -> BOOL = 3760;
        3763 TEXT TSQUERY -> BOOL = 3761;
        4013 JSONB JSONPATH -> BOOL = 4011;
    }
    "@@@" {
        3660 TSVECTOR TSQUERY -> BOOL = 3634;
        3661 TSQUERY TSVECTOR -> BOOL = 3635;
    }
    "^" {
        965 FLOAT8 FLOAT8 -> FLOAT8 = 232;
        1038 NUMERIC NUMERIC -> NUMERIC = 1739;
    }
    "^@" {
        3877 TEXT TEXT -> BOOL = 3696;
    }
    "|" {
        1792 BIT BIT -> BIT = 1674;
        1875 INT2 INT2 -> INT2 = 1893;
        1881 INT4 INT4 -> INT4 = 1899;
        1887 INT8 INT8 -> INT8 = 1905;
        2636 INET INET -> INET = 2629;
        3149 MACADDR MACADDR -> MACADDR = 3146;
        3370 MACADDR8 MACADDR8 -> MACADDR8 = 4122;
    }
    "|/" {
        596 NONE FLOAT8 -> FLOAT8 = 230;
    }
    "||" {
        349 ANYCOMPATIBLEARRAY ANYCOMPATIBLE -> ANYCOMPATIBLEARRAY = 378;
        374 ANYCOMPATIBLE ANYCOMPATIBLEARRAY -> ANYCOMPATIBLEARRAY = 379;
        375 ANYCOMPATIBLEARRAY ANYCOMPATIBLEARRAY -> ANYCOMPATIBLEARRAY = 383;
        654 TEXT TEXT -> TEXT = 1258;
        1797 VARBIT VARBIT -> VARBIT = 1679;
        2018 BYTEA BYTEA -> BYTEA = 2011;
        2779 TEXT ANYNONARRAY -> TEXT = 2003;
        2780 ANYNONARRAY TEXT -> TEXT = 2004;
        3284 JSONB JSONB -> JSONB = 3301;
        3633 TSVECTOR TSVECTOR -> TSVECTOR = 3625;
        3681 TSQUERY TSQUERY -> TSQUERY = 3670;
    }
    "||/" {
        597 NONE FLOAT8 -> FLOAT8 = 231;
    }
    "~" {
        639 NAME TEXT -> BOOL = 79;
        641 TEXT TEXT -> BOOL = 1254;
        1055 BPCHAR TEXT -> BOOL = 1658;
        1794 NONE BIT -> BIT = 1676;
        1877 NONE INT2 -> INT2 = 1895;
        1883 NONE INT4 -> INT4 = 1901;
        1889 NONE INT8 -> INT8 = 1907;
        2634 NONE INET -> INET = 2627;
        3147 NONE MACADDR -> MACADDR = 3144;
        3368 NONE MACADDR8 -> MACADDR8 = 4120;
    }
    "~*" {
        1226 NAME TEXT -> BOOL = 1240;
        1228 TEXT TEXT -> BOOL = 1238;
        1234 BPCHAR TEXT -> BOOL = 1656;
    }
    "~~" {
        1207 NAME TEXT -> BOOL = 858;
        1209 TEXT TEXT -> BOOL = 850;
        1211 BPCHAR TEXT -> BOOL = 1631;
        2016 BYTEA BYTEA -> BOOL = 2005;
    }
    "~~*" {
        1625 NAME TEXT -> BOOL = 1635;
        1627 TEXT TEXT -> BOOL = 1633;
        1629 BPCHAR TEXT -> BOOL = 1660;
    }
};
