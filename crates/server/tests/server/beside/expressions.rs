//! Expressions by type, from columns that are in scope.
//!
//! An expression of [`Dice::expression`] fails for no row. [`Dice::risky`] gives one that may fail, and always with the
//! same code, so that the order in which rows are met does not decide what the client sees.

use vfs::SimRandom;

/// The types that expressions have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Bool,
    Int,
    Numeric,
    Float,
    Text,
    Day,
    At,
    Doc,
    Array,
}

use Kind::{Array, At, Bool, Day, Doc, Float, Int, Numeric, Text};

pub const KINDS: [Kind; 9] = [Bool, Int, Numeric, Float, Text, Day, At, Doc, Array];

/// The columns of a table with the kind of those that expressions use freely. The values of the others are extreme.
type Columns = &'static [(&'static str, &'static str, Option<Kind>)];

pub const MAIN: Columns = &[
    ("id", "int primary key", Some(Int)),
    ("word", "text", Some(Text)),
    ("code", "char(3)", None),
    ("flag", "bool", Some(Bool)),
    ("small", "int2", Some(Int)),
    ("n", "int4", Some(Int)),
    ("big", "int8", None),
    ("x", "int4", None),
    ("y", "int8", None),
    ("exact", "numeric", Some(Numeric)),
    ("wild", "numeric", None),
    ("money", "numeric(12, 2)", Some(Numeric)),
    ("f", "float8", Some(Float)),
    ("g", "float8", None),
    ("r", "float4", None),
    ("day", "date", Some(Day)),
    ("eve", "date", None),
    ("at", "timestamp", Some(At)),
    ("z", "timestamptz", None),
    ("span", "interval", None),
    ("note", "text", Some(Text)),
    ("odd", "varchar(20)", Some(Text)),
    ("doc", "jsonb", Some(Doc)),
    ("tags", "text[]", Some(Array)),
    ("nums", "int[]", None),
    ("u", "uuid", None),
];

pub const SECOND: Columns = &[
    ("sid", "int", Some(Int)),
    ("sn", "int4", Some(Int)),
    ("sword", "text", Some(Text)),
    ("scode", "char(3)", None),
    ("sday", "date", Some(Day)),
    ("sbig", "int8", None),
    ("smoney", "numeric(12, 2)", Some(Numeric)),
    ("sf", "float8", Some(Float)),
    ("snote", "text", Some(Text)),
    ("sdoc", "jsonb", Some(Doc)),
];

pub const THIRD: Columns = &[
    ("tid", "int", Some(Int)),
    ("tn", "int8", Some(Int)),
    ("tword", "varchar(9)", Some(Text)),
    ("texact", "numeric", Some(Numeric)),
    ("tflag", "bool", Some(Bool)),
];

/// Random choices.
pub struct Dice(pub SimRandom);

impl Dice {
    pub fn below(&self, n: u64) -> u64 {
        self.0.below(n)
    }

    pub fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'t>(&self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len() as u64) as usize]
    }

    pub fn kind(&self) -> Kind {
        KINDS[self.below(KINDS.len() as u64) as usize]
    }

    /// A row of the main table after its key, as values of SQL.
    pub fn main_row(&self) -> String {
        let rare = |usual: String, odd: &[&str]| {
            if self.one_in(25) { self.pick(odd).to_owned() } else { usual }
        };
        let or_null = |value: String| if self.one_in(9) { "NULL".into() } else { value };
        let quarter = |n: u64| format!("{}.{}", self.below(n), self.pick(&["0", "25", "5", "75"]));
        let (k, s) = (self.below(4), self.below(3));
        let doc = match self.below(14) {
            0 => self
                .pick(&[
                    "{}",
                    "[\"s\", 1]",
                    "\"s\"",
                    "7",
                    "null",
                    "[]",
                    "{\"k\": [1, 2, {\"a\": null}]}",
                ])
                .into(),
            1 => format!(
                "{{\"k\": null, \"deep\": {{\"k\": {k}, \"l\": [{s}, {k}]}}, \"s\": [\"x{s}\"]}}"
            ),
            2 => format!("{{\"s\": {k}.5, \"n{k}{s}\": true}}"),
            3 => format!("{{\"k\": \"{k}\", \"é\": \"\\u00e9\\n\"}}"),
            _ => format!("{{\"k\": {k}, \"s\": \"x{s}\", \"l\": [{s}, {k}]}}"),
        };
        let sign = self.pick(&["", "", "-"]);
        let exact = format!(
            "{sign}{}.{}",
            self.below(90),
            self.pick(&["5", "50", "125", "0", "000001", "33"])
        );
        let wild = self.pick(&[
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
            "1e1000",
            "-1e1000",
            "1e-1000",
            "123456789012345678901234567890.5",
            "-0.00000000000000000000000000000000000000001",
            "0",
            "0.000",
            "9999999999999999.99",
            "1e15",
            "1e-15",
            "7",
            "18446744073709551616",
            "-9223372036854775808",
            "9223372036854775807",
            "3.14159265358979323846264338327950288",
        ]);
        let g = self.pick(&[
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
            "1.7976931348623157e308",
            "5e-324",
            "0.1",
            "-0.1",
            "1e17",
            "9007199254740993",
            "3",
            "-1e-300",
            "2.5",
            "123456.789",
        ]);
        let odd = self.pick(&[
            "''",
            "' '",
            "'a '",
            "'A'",
            "'a'",
            "'Z'",
            "'é'",
            "'z'",
            "'ä'",
            "'aa'",
            "'a%b'",
            "'a_b'",
            "E'a\\\\b'",
            "E'tab\\t'",
            "E'line\\n'",
            "'ß'",
            "'😀'",
            "'É'",
            "'10'",
            "'9'",
            "'quote'''",
            "'\"x\"'",
            "'NULL'",
        ]);
        let all = [
            self.pick(&["'a'", "'b'", "'c d'", "''", "'ä'", "'Z'", "'aa'"]).to_owned(),
            self.pick(&["'DE'", "'US'", "'F'", "''", "'a%'"]).to_owned(),
            self.pick(&["true", "false"]).to_owned(),
            self.below(7).to_string(),
            (self.below(2_000) as i64 - 900).to_string(),
            (self.below(1 << 40) as i64 - (1 << 39)).to_string(),
            rare((self.below(50) as i64 - 20).to_string(), &["2147483647", "-2147483648", "0"]),
            rare(
                (self.below(1 << 50) as i64).to_string(),
                &["9223372036854775807", "-9223372036854775808", "0"],
            ),
            exact,
            wild.to_owned(),
            format!("{sign}{}.{:02}", self.below(5_000), self.below(100)),
            rare(format!("{sign}{}", quarter(900)), &["'NaN'", "'Infinity'", "0"]),
            g.to_owned(),
            quarter(50),
            format!("date '2024-01-01' + {}", self.below(500)),
            rare(
                format!("date '1999-12-01' + {}", self.below(70)),
                &["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'5874897-12-31'"],
            ),
            format!("timestamp '2024-02-27 23:00' + interval '97 second' * {}", self.below(9_000)),
            rare(
                format!(
                    "timestamptz '2024-01-01 00:00:00+00' + interval '1 minute' * {}",
                    self.below(90_000)
                ),
                &["'infinity'", "'-infinity'", "'1970-01-01 00:00:00.000001+00'"],
            ),
            format!(
                "interval '1 day' * {} + interval '{} minutes'",
                self.below(29),
                self.below(1_400)
            ),
            format!("'note {} of many'", self.below(100_000)),
            odd.to_owned(),
            format!("'{doc}'"),
            self.pick(&["'{a,b}'", "'{}'", "'{c,NULL}'", "'{b}'", "'{\"\",\" \"}'"]).to_owned(),
            self.pick(&[
                "'{1,2,3}'",
                "'{}'",
                "'{NULL}'",
                "'{{1,2},{3,4}}'",
                "'[2:3]={7,8}'",
                "'{2}'",
            ])
            .to_owned(),
            format!("'00000000-0000-4000-8000-{:012x}'", self.below(300)),
        ];
        all.map(or_null).join(", ")
    }

    pub fn second_row(&self) -> String {
        let or_null = |value: String| if self.one_in(9) { "NULL".into() } else { value };
        let n = (self.below(2_000) as i64 - 900) / [1, 20][self.below(2) as usize];
        let all = [
            n.to_string(),
            self.pick(&["'a'", "'b'", "'z'", "''"]).into(),
            self.pick(&["'DE'", "'F'", "'XX'"]).into(),
            format!("date '2024-01-01' + {}", self.below(80)),
            self.below(1 << 40).to_string(),
            format!("{}.{:02}", self.below(5_000), self.below(100)),
            format!("{}.5", self.below(900)),
            format!("'partner {}'", self.below(1_000)),
            format!("'{{\"k\": {}, \"s\": \"x{}\"}}'", self.below(6), self.below(3)),
        ];
        all.map(or_null).join(", ")
    }

    pub fn third_row(&self) -> String {
        let or_null = |value: String| if self.one_in(9) { "NULL".into() } else { value };
        let all = [
            (self.below(60) as i64 - 20).to_string(),
            self.pick(&["'a'", "'b'", "'z'", "''", "'ä'"]).into(),
            format!("{}.{}", self.below(9), self.pick(&["5", "50", "0"])),
            self.pick(&["true", "false"]).into(),
        ];
        all.map(or_null).join(", ")
    }
}

/// The columns that an expression can name.
#[derive(Clone, Default)]
pub struct Scope {
    pub columns: Vec<(&'static str, Option<Kind>)>,
    /// Whether the main table is among them, whose other columns have places of their own.
    pub has_main: bool,
}

impl Scope {
    pub fn add(&mut self, columns: Columns) {
        self.columns.extend(columns.iter().map(|(name, _, kind)| (*name, *kind)));
        self.has_main |= columns[0].0 == "id";
    }
}

impl Dice {
    /// A column or a constant.
    fn leaf(&self, kind: Kind, scope: &Scope) -> String {
        let of: Vec<&str> = scope
            .columns
            .iter()
            .filter(|(_, has)| *has == Some(kind))
            .map(|(name, _)| *name)
            .collect();
        if !of.is_empty() && !self.one_in(6) {
            return self.pick(&of).to_owned();
        }
        match kind {
            Bool => self.pick(&["true", "false", "NULL::bool"]).into(),
            Int => self.pick(&["0", "1", "7", "-3", "100"]).into(),
            Numeric => self.pick(&["0.5", "1.10", "2500.00", "0.0", "-3.25"]).into(),
            Float => self.pick(&["0.5::float8", "2::float8", "-8.25::float8"]).into(),
            Text => self.pick(&["'a'", "''", "'note 7'", "'x1'", "'é'", "NULL::text"]).into(),
            Day => format!("(date '2024-01-01' + {})", self.below(100)),
            At => format!("(timestamp '2024-03-01' + interval '{} hours')", self.below(300)),
            Doc => self.pick(&["'{\"k\": 1}'::jsonb", "'[1]'::jsonb", "NULL::jsonb"]).into(),
            Array => self.pick(&["'{a}'::text[]", "array['b', NULL]", "NULL::text[]"]).into(),
        }
    }

    /// An expression that fails for no row.
    pub fn expression(&self, kind: Kind, scope: &Scope, depth: u32) -> String {
        if depth == 0 || self.one_in(4) {
            return self.leaf(kind, scope);
        }
        let of = |kind: Kind| self.expression(kind, scope, depth - 1);
        let leaf = |kind: Kind| self.leaf(kind, scope);
        match self.below(12) {
            0 => {
                return format!(
                    "CASE WHEN {} THEN {} ELSE {} END",
                    self.condition(scope, depth - 1),
                    of(kind),
                    of(kind)
                );
            }
            1 => {
                return format!(
                    "CASE WHEN {} THEN {} END",
                    self.condition(scope, depth - 1),
                    of(kind)
                );
            }
            2 => return format!("coalesce({}, {})", of(kind), of(kind)),
            3 if kind != Array => return format!("nullif({}, {})", of(kind), leaf(kind)),
            4 if !matches!(kind, Array | Doc | Bool) => {
                return format!(
                    "{}({}, {})",
                    self.pick(&["greatest", "least"]),
                    of(kind),
                    of(kind)
                );
            }
            5 if kind == Int || kind == Text => {
                let value = leaf(Int);
                let (one, other, last) = (leaf(kind), leaf(kind), leaf(kind));
                return format!(
                    "CASE {value} WHEN 1 THEN {one} WHEN 7 THEN {other} ELSE {last} END"
                );
            }
            _ => {}
        }
        match kind {
            Bool => self.condition(scope, depth - 1),
            Int => match self.below(13) {
                0 | 1 => format!("({}::int8 {} {})", of(Int), self.pick(&["+", "-"]), of(Int)),
                2 => format!("({}::int8 * {})", leaf(Int), leaf(Int)),
                3 => format!("mod({}, {})", of(Int), self.pick(&["7", "10", "-3"])),
                4 => format!("({} / {})", of(Int), self.pick(&["7", "2", "-3"])),
                5 => format!("abs({}::int8)", of(Int)),
                6 => format!("length({})", of(Text)),
                7 => format!(
                    "extract({} FROM {})::int8",
                    self.pick(&[
                        "year", "month", "day", "dow", "doy", "week", "quarter", "isoyear"
                    ]),
                    leaf(Day)
                ),
                8 => format!(
                    "extract({} FROM {})::int8",
                    self.pick(&["hour", "minute", "epoch", "day"]),
                    leaf(At)
                ),
                9 => format!("({} - {})", leaf(Day), leaf(Day)),
                10 => {
                    format!("({}::int8 {} {})", leaf(Int), self.pick(&["&", "|", "#"]), leaf(Int))
                }
                11 => match self.one_in(2) {
                    true => format!("cardinality({})", leaf(Array)),
                    false => format!("array_length({}, 1)", leaf(Array)),
                },
                _ => format!(
                    "(position({} in {}))",
                    self.pick(&["'a'", "'1'", "' '", "''"]),
                    of(Text)
                ),
            },
            Numeric => match self.below(11) {
                0 | 1 => format!("({} {} {})", of(Numeric), self.pick(&["+", "-"]), of(Numeric)),
                2 => format!("({} * {})", of(Numeric), of(Numeric)),
                3 => format!("({} / {})", of(Numeric), self.pick(&["3.0", "0.007", "-12", "1e10"])),
                4 => format!("round({}, {})", of(Numeric), self.pick(&["0", "1", "-2", "5"])),
                5 => format!(
                    "{}({})",
                    self.pick(&["abs", "floor", "ceil", "sign", "trunc"]),
                    of(Numeric)
                ),
                6 => format!("{}::numeric", of(Int)),
                7 => format!("({} * {})", leaf(Numeric), leaf(Int)),
                8 => format!("mod({}, 1.7)", of(Numeric)),
                9 => {
                    format!("{}::numeric({})", leaf(Numeric), self.pick(&["20, 3", "30", "30, 10"]))
                }
                _ => format!("extract(epoch FROM {})", leaf(At)),
            },
            // Sums of quarters are exact, whatever the order of the rows is.
            Float => match self.below(6) {
                0 | 1 => format!("({} {} {})", of(Float), self.pick(&["+", "-"]), leaf(Float)),
                2 => format!("({} * {})", leaf(Float), self.pick(&["2", "0.5", "-4"])),
                3 => format!("{}::float8", leaf(Int)),
                4 => format!(
                    "{}({})",
                    self.pick(&["abs", "floor", "ceil", "round", "trunc", "-"]),
                    of(Float)
                ),
                _ => format!("(4 * {})", leaf(Float)),
            },
            Text => match self.below(20) {
                0 => format!(
                    "{}({})",
                    self.pick(&["upper", "lower", "initcap", "reverse", "btrim", "rtrim"]),
                    of(Text)
                ),
                1 => format!("({} || {})", of(Text), of(Text)),
                2 => format!(
                    "substr({}, {}, {})",
                    of(Text),
                    self.pick(&["1", "2", "0", "-1"]),
                    self.below(8)
                ),
                3 => format!(
                    "{}({}, {})",
                    self.pick(&["left", "right"]),
                    of(Text),
                    self.pick(&["1", "3", "-2"])
                ),
                4 => {
                    format!("replace({}, {}, 'q')", of(Text), self.pick(&["'a'", "'note'", "' '"]))
                }
                5 => format!("split_part({}, ' ', {})", of(Text), self.pick(&["1", "2", "-1"])),
                6 => format!(
                    "{}({}, 6, {})",
                    self.pick(&["lpad", "rpad"]),
                    of(Text),
                    self.pick(&["'*'", "'ab'"])
                ),
                7 => format!("translate({}, 'ab1', 'xy')", of(Text)),
                8 => format!("concat({}, {}, '-')", of(Text), of(Int)),
                9 => {
                    format!("{}::text", of(self.pick_kind(&[Int, Numeric, Bool, Day, Doc, Array])))
                }
                10 => format!(
                    "to_char({}, {})",
                    leaf(Day),
                    self.pick(&["'YYYY-MM'", "'Dy DDth'", "'IYYY-IW'"])
                ),
                11 => format!(
                    "to_char({}, {})",
                    leaf(Numeric),
                    self.pick(&["'FM99990.00'", "'S9999.9'", "'000.0'"])
                ),
                12 => format!("({} ->> {})", of(Doc), self.pick(&["'k'", "'s'", "'deep'", "0"])),
                13 => format!(
                    "({} #>> {})",
                    of(Doc),
                    self.pick(&["'{deep,k}'", "'{s,0}'", "'{l,1}'"])
                ),
                14 => format!("jsonb_typeof({})", of(Doc)),
                15 => format!("({} || array['z'])[{}]", leaf(Array), self.pick(&["1", "2", "0"])),
                16 => format!("array_to_string({}, ',', '?')", of(Array)),
                17 => format!("md5({})", of(Text)),
                18 => format!("regexp_replace({}, '[0-9]+', '#')", of(Text)),
                _ => format!("concat_ws('/', {}, {})", of(Text), of(Text)),
            },
            Day => match self.below(5) {
                0 => format!("({} + {})", of(Day), self.pick(&["1", "31", "-400"])),
                1 => format!("{}::date", of(At)),
                2 => format!(
                    "date_trunc({}, {})::date",
                    self.pick(&["'month'", "'week'", "'year'", "'quarter'"]),
                    leaf(Day)
                ),
                3 => format!("make_date(2024, {}, {})", self.below(12) + 1, self.below(28) + 1),
                _ => format!("({} + interval '{} months')::date", leaf(Day), self.below(30)),
            },
            At => match self.below(5) {
                0 => format!(
                    "({} {} interval '{}')",
                    of(At),
                    self.pick(&["+", "-"]),
                    self.pick(&["1 hour", "1 month", "90 seconds", "1 year 2 days"])
                ),
                1 => format!(
                    "date_trunc({}, {})",
                    self.pick(&["'hour'", "'day'", "'month'", "'minute'"]),
                    of(At)
                ),
                2 => format!("{}::timestamp", of(Day)),
                3 => format!(
                    "({} + {})",
                    leaf(Day),
                    self.pick(&["time '12:30'", "interval '1 day 1 second'"])
                ),
                _ => format!("date_bin('15 minutes', {}, '2001-01-01')", leaf(At)),
            },
            Doc => match self.below(9) {
                0 | 1 => format!(
                    "({} -> {})",
                    of(Doc),
                    self.pick(&["'k'", "'s'", "'deep'", "'l'", "0", "-1"])
                ),
                2 => format!(
                    "({} #> {})",
                    of(Doc),
                    self.pick(&["'{deep,k}'", "'{s,0}'", "'{l,-1}'", "'{}'"])
                ),
                3 => format!(
                    "jsonb_path_query_first({}, {})",
                    of(Doc),
                    self.pick(&["'$.k'", "'$.l[*] ? (@ > 1)'", "'$.**.k'", "'$.deep.l.size()'"])
                ),
                4 => format!(
                    "to_jsonb({})",
                    of(self.pick_kind(&[Int, Text, Bool, Numeric, Array, Day]))
                ),
                5 => format!("jsonb_build_object('a', {}, 'b', {})", of(Int), of(Text)),
                6 => format!("jsonb_build_array({}, {})", of(Text), of(Bool)),
                7 => format!("jsonb_strip_nulls({})", of(Doc)),
                _ => format!("({} || '{{\"z\": 1}}')", leaf(Doc)),
            },
            Array => match self.below(5) {
                0 => format!("({} || {})", of(Array), of(Array)),
                1 => format!("array[{}, {}]::text[]", of(Text), of(Text)),
                2 => format!("string_to_array({}, ' ')", of(Text)),
                3 => format!("array_remove({}, 'a')", of(Array)),
                _ => format!("array_append({}, {})", of(Array), of(Text)),
            },
        }
    }

    pub fn pick_kind(&self, of: &[Kind]) -> Kind {
        of[self.below(of.len() as u64) as usize]
    }

    /// A condition that fails for no row.
    pub fn condition(&self, scope: &Scope, depth: u32) -> String {
        let of = |kind: Kind| self.expression(kind, scope, depth.saturating_sub(1));
        let how = self.pick(&[
            "=",
            "<>",
            "<",
            "<=",
            ">",
            ">=",
            "IS DISTINCT FROM",
            "IS NOT DISTINCT FROM",
        ]);
        if depth > 0 {
            let inner = || self.condition(scope, depth - 1);
            match self.below(9) {
                0 => return format!("({} AND {})", inner(), inner()),
                1 => return format!("({} OR {})", inner(), inner()),
                2 => return format!("NOT ({})", inner()),
                3 => {
                    return format!(
                        "(({}) IS {})",
                        inner(),
                        self.pick(&["NOT TRUE", "UNKNOWN", "FALSE"])
                    );
                }
                _ => {}
            }
        }
        if scope.has_main && self.one_in(2) {
            return self.on_main(how);
        }
        match self.below(11) {
            0 | 1 => format!("{} {how} {}", of(Int), of(Int)),
            2 => format!("{} {how} {}", of(Numeric), of(Numeric)),
            3 => format!("{} {how} {}", of(Float), of(Float)),
            4 => format!("{} {how} {}", of(Text), of(Text)),
            5 => format!("{} {how} {}", of(Day), of(self.pick_kind(&[Day, At]))),
            6 => format!("{} {how} {}", of(Doc), of(Doc)),
            7 => {
                let kind = self.kind();
                format!("{} IS {}NULL", of(kind), self.pick(&["", "NOT "]))
            }
            8 => {
                let not = self.pick(&["", "NOT "]);
                let pattern = self.pick(&[
                    "'%a%'",
                    "'note 1%'",
                    "'_'",
                    "''",
                    "'%e %7%'",
                    "'%'",
                    "'a\\%b'",
                    "'%many'",
                    "'_%b'",
                    "NULL",
                ]);
                format!("{} {not}{} {pattern}", of(Text), self.pick(&["LIKE", "LIKE", "ILIKE"]))
            }
            9 => format!(
                "{} {}BETWEEN {} AND {}",
                of(Int),
                self.pick(&["", "NOT ", ""]),
                of(Int),
                of(Int)
            ),
            _ => format!(
                "{} {}IN ({}, {}, {})",
                of(Int),
                self.pick(&["", "NOT "]),
                of(Int),
                self.below(9),
                self.pick(&["12", "NULL"])
            ),
        }
    }

    /// A condition on the columns whose values are extreme, or that is usual in queries.
    pub fn on_main(&self, how: &str) -> String {
        let n = self.below(1_800) as i64 - 850;
        match self.below(24) {
            0 => format!("n {how} {n}"),
            1 => format!("n BETWEEN {} AND {n}", n - 300),
            2 => format!(
                "x {how} {}",
                self.pick(&["2147483647", "-2147483648", "2147483648", "0.5", "3", "1e10"])
            ),
            3 => format!(
                "y {how} {}",
                self.pick(&["9223372036854775807", "-9223372036854775808", "1e19", "0", "4e14"])
            ),
            4 => format!(
                "wild {how} {}",
                self.pick(&[
                    "'NaN'",
                    "'Infinity'",
                    "0",
                    "1e-1000",
                    "123456789012345678901234567890.50",
                    "1e15",
                    "7.000"
                ])
            ),
            5 => format!(
                "g {how} {}",
                self.pick(&["'NaN'", "'Infinity'", "0", "0.1", "9007199254740993", "1e308"])
            ),
            6 => format!(
                "eve {how} {}",
                self.pick(&[
                    "'infinity'",
                    "'-infinity'",
                    "date '2000-01-01'",
                    "timestamp '1999-12-31 12:00'",
                    "'0044-03-15 BC'"
                ])
            ),
            7 => format!(
                "z {how} {}",
                self.pick(&[
                    "'infinity'",
                    "timestamptz '2024-02-01 00:00+00'",
                    "timestamp '2024-02-01'",
                    "date '2024-02-01'"
                ])
            ),
            8 => format!("code {how} {}", self.pick(&["'DE'", "'DE '", "'F'", "''", "'US'::text"])),
            9 => format!("odd {how} {}", self.pick(&["'a'", "'a '", "'ä'", "''", "'Z'", "'é'"])),
            10 => format!("r {how} {}", self.pick(&["12.25", "'NaN'", "7::float4", "3.1"])),
            11 => format!(
                "span {how} interval '{}'",
                self.pick(&["10 days", "1 month", "240 hours", "1 day 12 hours"])
            ),
            12 => format!(
                "doc @> '{}'",
                self.pick(&[
                    "{\"k\": 1}",
                    "{\"k\": 1, \"s\": \"x1\"}",
                    "{\"deep\": {\"k\": 2}}",
                    "{}",
                    "[1]",
                    "{\"s\": 1.50}",
                    "{\"l\": [2]}"
                ])
            ),
            13 => format!(
                "doc {} {}",
                self.pick(&["?", "?"]),
                self.pick(&["'k'", "'s'", "'deep'", "'é'"])
            ),
            14 => format!("doc {} array['k', 's']", self.pick(&["?|", "?&"])),
            15 => format!("doc ->> 'k' {how} '{}'", self.below(4)),
            16 => format!(
                "jsonb_path_exists(doc, '{}')",
                self.pick(&[
                    "$.k ? (@ > 1)",
                    "$.l[*] ? (@ == 2)",
                    "$.deep",
                    "$.s ? (@ starts with \"x\")"
                ])
            ),
            17 => format!("doc @@ '{}'", self.pick(&["$.k > 1", "$.l[0] == 1", "exists($.deep)"])),
            18 => format!(
                "tags {} {}",
                self.pick(&["@>", "&&", "<@", "=", "<"]),
                self.pick(&["'{a}'", "'{}'", "'{b,c}'", "'{c,NULL}'"])
            ),
            19 => format!(
                "{} = {}(tags)",
                self.pick(&["'a'", "'c'", "word"]),
                self.pick(&["ANY", "ALL"])
            ),
            20 => format!(
                "nums {} {}",
                self.pick(&["@>", "&&", "=", "<", ">"]),
                self.pick(&["'{2}'", "'{}'", "'{{1,2},{3,4}}'", "'{1,2,3}'"])
            ),
            21 => format!("u {how} '00000000-0000-4000-8000-0000000000{:02x}'", self.below(250)),
            22 => format!("note ~ '{}'", self.pick(&["^note [1-3]", "7 of", "(1|2)+ of", "x"])),
            _ => format!("code IN ('DE', '{}')", self.pick(&["US", "F", "XX"])),
        }
    }

    /// An expression over the main table that may fail, always with the same code.
    pub fn risky(&self) -> String {
        self.pick(&[
            "n / small",
            "x + n",
            "x * x",
            "-x",
            "abs(x)",
            "y + n",
            "y - big",
            "y * small",
            "n % small",
            "money / exact",
            "f / nullif(f, 0.25) / (n - 5)",
            "greatest(least(wild, 1e1000), -1e1000)::int8",
            "g::int4",
            "y::int4",
            "x::int2",
            "greatest(wild, 0)::numeric(10, 2)",
            "g * g",
            "(doc ->> 'k')::int",
            "(doc -> 'k')::int",
            "odd::int",
            "sqrt(n)",
            "ln(money)",
            "eve - date '2000-01-01'",
            "small::int2 * 9999::int2",
            "chr(n)",
            "(g::numeric ^ 40)::float4",
            "g::float4",
            "y::float8::int8",
            "(2 ^ n)::text",
            "10::numeric ^ n",
            "eve::timestamp",
            "eve + 1000",
            "jsonb_array_length(doc)",
            "note::date",
            "extract(hour FROM at)::int / small",
            "lpad(word, n)",
            "substr(word, 1, n)",
        ])
        .to_owned()
    }
}
