//! Queries whose answer is the same in each database that means what PostgreSQL means.
//!
//! `%`, `%s` and `%t` stand for the three tables. Where a query has an order, it is total. Values that are equal and
//! shown differently (`1.0` and `1.00`) are neither keys of groups nor extremes, because any of them may be shown.

use super::expressions::{Dice, Kind, MAIN, SECOND, Scope, THIRD};

/// A query, and whether the order of its rows is given.
pub struct Question {
    pub text: String,
    pub is_ordered: bool,
}

/// The source of rows: the text after FROM, and the names in scope.
struct Source {
    from: String,
    scope: Scope,
    /// Columns that are different in any two rows, if there are such.
    ids: Vec<&'static str>,
}

impl Dice {
    pub fn question(&self) -> Question {
        match self.below(20) {
            0..=9 => self.aggregates(),
            10 | 11 => self.rows(),
            12 => self.distinct(),
            13 | 14 => self.windows(),
            15 => self.sets(),
            16 => self.over_groups(),
            17 => self.correlated(),
            _ => self.failing(),
        }
    }

    fn single(&self) -> Source {
        let mut scope = Scope::default();
        scope.add(MAIN);
        Source { from: "%".into(), scope, ids: vec!["id"] }
    }

    /// The condition that pairs rows of the first two tables, and whether it has a part that can be
    /// hashed.
    fn pairs(&self) -> &'static str {
        self.pick(&[
            "n = sn",
            "n = sn AND word = sword",
            "code = scode AND n = sn",
            "day = sday AND mod(n, 9) = mod(sn, 9)",
            "big = sbig",
            "money = smoney",
            "f = sf",
            "mod(n, 50) = sn",
            "id = sid",
            "n + 1 = sn AND sbig > 5",
            "n = sn AND small < sn",
            "n = sn AND note > snote",
            "n = sn AND f < 300",
            "doc -> 'k' = sdoc -> 'k' AND id = sid",
            "exact = sn",
            "at::date = sday AND small = 3",
            "id = sid AND doc @> sdoc",
            "x = sn AND n IS NOT NULL",
        ])
    }

    fn source(&self) -> Source {
        let mut source = self.single();
        let pairs = self.pairs();
        let kind = self.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN"]);
        let third = self.pick(&[
            "tn = sn",
            "tword = sword AND tn = sid",
            "tid = sid",
            "tn = small AND tn = sid",
            "texact = sn",
        ]);
        match self.below(12) {
            0..=3 => {}
            4 | 5 => {
                source.scope.add(SECOND);
                source.ids.push("sid");
                source.from = match self.one_in(2) {
                    true => format!("% {kind} %s ON {pairs}"),
                    false => format!("%s {kind} % ON {pairs}"),
                };
            }
            6 | 7 => {
                source.scope.add(SECOND);
                source.scope.add(THIRD);
                source.ids.extend(["sid", "tid"]);
                let other = self.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
                source.from = match self.below(3) {
                    0 => format!("% {kind} %s ON {pairs} {other} %t ON {third}"),
                    1 => format!(
                        "% {kind} (%s {other} %t ON {}) ON {pairs}",
                        self.pick(&["tn = sn", "tid = sid", "texact = sn"])
                    ),
                    _ => format!(
                        "%t {other} %s ON {} {kind} % ON {pairs}",
                        self.pick(&["tn = sn", "tid = sid"])
                    ),
                };
            }
            8 => {
                source.scope.add(SECOND);
                source.ids.push("sid");
                let mut inner = Scope::default();
                inner.add(SECOND);
                let condition = self.condition(&inner, 1);
                let kind = self.pick(&["LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
                source.from = format!("(SELECT * FROM %s WHERE {condition}) q {kind} % ON {pairs}");
            }
            9 | 10 => {
                let not = self.pick(&["", "NOT "]);
                source.from =
                    format!("(SELECT * FROM % WHERE {not}EXISTS (SELECT FROM %s WHERE {pairs})) q");
            }
            _ => {
                let (one, other) = self.pick_pair(&[
                    ("n", "sn"),
                    ("word", "sword"),
                    ("day", "sday"),
                    ("money", "smoney"),
                    ("id", "sid"),
                ]);
                let not = self.pick(&["", "NOT "]);
                let known = if self.one_in(2) {
                    format!(" WHERE {other} IS NOT NULL")
                } else {
                    String::new()
                };
                source.from = format!(
                    "(SELECT * FROM % WHERE {one} {not}IN (SELECT {other} FROM %s{known})) q"
                );
            }
        }
        source
    }

    fn pick_pair<'t>(&self, of: &[(&'t str, &'t str)]) -> (&'t str, &'t str) {
        of[self.below(of.len() as u64) as usize]
    }

    fn filter(&self, scope: &Scope) -> String {
        match self.below(3) {
            0 => String::new(),
            1 => format!(" WHERE {}", self.condition(scope, 1)),
            _ => format!(" WHERE {} AND {}", self.condition(scope, 1), self.condition(scope, 0)),
        }
    }

    /// The key by which rows are grouped: equal values look alike.
    fn key(&self, source: &Source) -> String {
        let of_second = ["sn", "sword", "scode", "sday", "smoney", "sf", "snote", "sdoc ->> 's'"];
        if source.ids.contains(&"sid") && self.one_in(3) {
            return self.pick(&of_second).into();
        }
        if source.ids.contains(&"tid") && self.one_in(3) {
            return self.pick(&["tn", "tword", "trim_scale(texact)", "tflag"]).into();
        }
        let column = self.pick(&[
            "word",
            "code",
            "flag",
            "small",
            "n",
            "x",
            "y",
            "trim_scale(exact)",
            "trim_scale(wild)",
            "money",
            "f",
            "g",
            "r",
            "day",
            "eve",
            "z",
            "span",
            "odd",
            "doc -> 'k'",
            "doc ->> 's'",
            "tags",
            "nums",
            "u",
            "mod(n, 10)",
            "date_trunc('month', day)",
            "date_trunc('day', at)",
            "n > 0",
            "upper(word)",
            "left(note, 6)",
            "extract(dow FROM day)",
            "tags[1]",
            "day - small",
            "n::text",
            "word IS NULL",
            "length(odd)",
            "code || word",
            "word LIKE '%a%'",
        ]);
        if self.one_in(4) {
            let kind = self.pick_kind(&[
                Kind::Bool,
                Kind::Int,
                Kind::Text,
                Kind::Day,
                Kind::At,
                Kind::Array,
            ]);
            return self.expression(kind, &source.scope, 2);
        }
        column.into()
    }

    /// An aggregate whose result does not depend on the order of rows.
    fn call(&self, source: &Source) -> String {
        let of = |kind: Kind| self.expression(kind, &source.scope, 2);
        let distinct = if self.one_in(6) { "DISTINCT " } else { "" };
        let id = source.ids.join(", ");
        let call = match self.below(26) {
            0 => "count(*)".into(),
            1 => format!("count({distinct}{})", of(self.kind())),
            2 => format!("sum({distinct}{})", of(Kind::Int)),
            3 => match distinct {
                "" => format!("sum({})", of(Kind::Numeric)),
                _ => format!("sum(DISTINCT trim_scale({}))", of(Kind::Numeric)),
            },
            4 => format!("sum({})", of(Kind::Float)),
            5 => format!("avg({distinct}{})", of(Kind::Int)),
            6 => match distinct {
                "" => format!("avg({})", of(Kind::Numeric)),
                _ => format!("avg(DISTINCT trim_scale({}))", of(Kind::Numeric)),
            },
            7 => format!("avg({})", of(Kind::Float)),
            8 | 9 => format!(
                "{}({})",
                self.pick(&["sum", "avg", "max", "min", "count"]),
                self.pick(&["x", "y", "big", "n", "small", "money"])
            ),
            10 => format!(
                "{}({})",
                self.pick(&["sum", "avg", "stddev_pop", "var_samp"]),
                self.pick(&["wild", "exact", "money", "exact * money"])
            ),
            11 => format!(
                "{}({})",
                self.pick(&["min", "max"]),
                self.pick(&[
                    "trim_scale(wild)",
                    "g",
                    "eve",
                    "z",
                    "odd",
                    "span",
                    "at",
                    "day",
                    "note",
                    "r",
                    "tags",
                    "nums"
                ])
            ),
            12 => format!(
                "{}({})",
                self.pick(&["min", "max"]),
                of(self.pick_kind(&[Kind::Int, Kind::Text, Kind::Day, Kind::At, Kind::Float]))
            ),
            13 => format!(
                "count(DISTINCT {})",
                self.pick(&[
                    "x", "y", "wild", "exact", "g", "eve", "odd", "code", "doc", "tags", "u",
                    "note", "r", "nums", "span"
                ])
            ),
            14 => format!("{}({})", self.pick(&["bool_and", "bool_or", "every"]), of(Kind::Bool)),
            15 => format!(
                "{}({})",
                self.pick(&["bit_and", "bit_or", "bit_xor"]),
                self.pick(&["small", "n", "big", "x"])
            ),
            16 => format!(
                "percentile_disc(0.{}) WITHIN GROUP (ORDER BY {}{})",
                self.below(100),
                self.pick(&[
                    "n",
                    "day",
                    "y",
                    "g",
                    "odd",
                    "money",
                    "at",
                    "word",
                    "trim_scale(wild)"
                ]),
                self.pick(&["", " DESC"])
            ),
            17 => format!(
                "percentile_cont(0.{}) WITHIN GROUP (ORDER BY {})",
                self.below(100),
                self.pick(&["n", "f", "small", "r", "span"])
            ),
            18 => {
                format!("mode() WITHIN GROUP (ORDER BY {})", self.pick(&["word", "small", "flag"]))
            }
            19 => format!("string_agg({}, ',' ORDER BY {id})", of(Kind::Text)),
            20 => format!(
                "array_agg({} ORDER BY {id})",
                self.pick(&["n", "word", "wild", "day", "doc", "flag"])
            ),
            21 => format!(
                "{}({})",
                self.pick(&["stddev", "variance", "var_pop", "stddev_samp"]),
                self.pick(&["n", "r", "money", "small", "x"])
            ),
            22 => format!(
                "{}(small, n)",
                self.pick(&["regr_count", "regr_avgx", "regr_sxx", "covar_pop"])
            ),
            23 => format!(
                "jsonb_agg({} ORDER BY {id})",
                of(self.pick_kind(&[Kind::Int, Kind::Doc, Kind::Text]))
            ),
            24 => format!(
                "sum({})",
                self.pick(&[
                    "span",
                    "CASE WHEN flag THEN money ELSE -money END",
                    "y::numeric",
                    "n * small",
                    "length(note)",
                    "money * (1 - exact)"
                ])
            ),
            _ => {
                let column = self.pick(&["n", "day", "id", "money"]);
                return format!("max({column}) - min({column})");
            }
        };
        if self.one_in(6) {
            return format!("{call} FILTER (WHERE {})", self.condition(&source.scope, 1));
        }
        call
    }

    fn aggregates(&self) -> Question {
        let source = self.source();
        let mut keys: Vec<String> = Vec::new();
        for _ in 0..self.below(5) {
            let key = self.key(&source);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let calls: Vec<String> = (0..1 + self.below(4)).map(|_| self.call(&source)).collect();
        let list: Vec<String> = keys.iter().cloned().chain(calls).collect();
        let names: Vec<String> = (1..=keys.len()).map(|number| number.to_string()).collect();
        let (mut group, mut is_unique) = (String::new(), true);
        if !keys.is_empty() {
            group = match self.below(16) {
                0 if keys.len() > 1 => format!("ROLLUP ({})", names.join(", ")),
                1 if keys.len() > 1 => format!("CUBE ({})", names.join(", ")),
                2 if keys.len() > 1 => {
                    format!("GROUPING SETS (({}), ({}), ())", names.join(", "), names[0])
                }
                _ => names.join(", "),
            };
            is_unique = group == names.join(", ");
            group = format!(" GROUP BY {group}");
        }
        let mut text = format!(
            "SELECT {} FROM {}{}{group}",
            list.join(", "),
            source.from,
            self.filter(&source.scope)
        );
        if self.one_in(4) {
            text += &match self.below(3) {
                0 => format!(" HAVING count(*) > {}", self.below(6)),
                1 => format!(" HAVING {} IS NOT NULL", self.call(&source)),
                _ => " HAVING sum(n) > 0".into(),
            };
        }
        let is_ordered = is_unique && !keys.is_empty() && self.one_in(3);
        if is_ordered {
            let directions: Vec<String> = names
                .iter()
                .map(|name| {
                    format!(
                        "{name}{}",
                        self.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"])
                    )
                })
                .collect();
            text += &format!(" ORDER BY {}{}", directions.join(", "), self.limit());
        }
        Question { text, is_ordered }
    }

    fn limit(&self) -> String {
        match self.below(3) {
            0 => String::new(),
            1 => format!(" LIMIT {}", self.below(30)),
            _ => format!(" LIMIT {} OFFSET {}", self.below(30), self.below(20)),
        }
    }

    /// Expressions of the rows themselves.
    fn rows(&self) -> Question {
        let source = self.source();
        let list: Vec<String> = (0..1 + self.below(4))
            .map(|_| match self.one_in(3) {
                true => MAIN[self.below(MAIN.len() as u64) as usize].0.to_owned(),
                // Without a name of its own it could have that of a column, which ORDER BY would then mean.
                false => format!("{} AS e", self.expression(self.kind(), &source.scope, 3)),
            })
            .collect();
        let condition = self.filter(&source.scope);
        let mut text = format!("SELECT {} FROM {}{condition}", list.join(", "), source.from);
        let is_ordered = self.one_in(2);
        if is_ordered {
            let first = self.pick(&[
                "",
                "n, ",
                "word DESC, ",
                "wild, ",
                "g DESC NULLS LAST, ",
                "doc, ",
                "eve, ",
                "odd, ",
            ]);
            text += &format!(" ORDER BY {first}{}{}", source.ids.join(", "), self.limit());
        }
        Question { text, is_ordered }
    }

    fn distinct(&self) -> Question {
        let source = self.source();
        let condition = self.filter(&source.scope);
        let keys: Vec<String> = (0..1 + self.below(3)).map(|_| self.key(&source)).collect();
        match self.below(3) {
            0 => {
                let ids = source.ids.join(", ");
                let text = format!(
                    "SELECT DISTINCT ON ({0}) {0}, {ids} FROM {1}{condition} ORDER BY {0}, {ids}",
                    self.pick(&["n", "word", "day", "code", "odd"]),
                    source.from
                );
                Question { text, is_ordered: true }
            }
            1 => {
                let names: Vec<String> =
                    (1..=keys.len()).map(|number| number.to_string()).collect();
                let text = format!(
                    "SELECT DISTINCT {} FROM {}{condition} ORDER BY {}{}",
                    keys.join(", "),
                    source.from,
                    names.join(", "),
                    self.limit()
                );
                Question { text, is_ordered: true }
            }
            _ => {
                let text =
                    format!("SELECT DISTINCT {} FROM {}{condition}", keys.join(", "), source.from);
                Question { text, is_ordered: false }
            }
        }
    }

    fn windows(&self) -> Question {
        let source = self.single();
        let condition = self.filter(&source.scope);
        let partition = format!(
            "PARTITION BY {}",
            self.pick(&["word", "small", "code, flag", "mod(n, 5)", "day", "tags"])
        );
        let partition = if self.one_in(3) { String::new() } else { partition };
        let order = self.pick(&[
            "n, id",
            "day DESC, id",
            "g, id DESC",
            "id",
            "wild NULLS FIRST, id",
            "odd, id",
        ]);
        let peers = self.pick(&["n", "day", "word", "small DESC", "money"]);
        let mut calls = Vec::new();
        for _ in 0..1 + self.below(3) {
            let frame = self.pick(&[
                "",
                " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
                " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                " ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING EXCLUDE CURRENT ROW",
                " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
            ]);
            calls.push(match self.below(7) {
                0 => format!("row_number() OVER ({partition} ORDER BY {order})"),
                1 => format!(
                    "{}() OVER ({partition} ORDER BY {peers})",
                    self.pick(&["rank", "dense_rank", "percent_rank", "cume_dist"])
                ),
                2 => format!(
                    "{}({}) OVER ({partition} ORDER BY {order}{frame})",
                    self.pick(&["sum", "count", "min", "max", "avg"]),
                    self.pick(&["n", "money", "small", "y", "f"])
                ),
                3 => format!(
                    "{}({}) OVER ({partition} ORDER BY {order})",
                    self.pick(&["lag", "lead"]),
                    self.pick(&["n", "word, 2", "wild", "day, 1, '2000-01-01'", "doc"])
                ),
                4 => format!(
                    "{}({}) OVER ({partition} ORDER BY {order}{frame})",
                    self.pick(&["first_value", "last_value"]),
                    self.pick(&["n", "odd", "wild"])
                ),
                5 => format!(
                    "{}({}) OVER ({partition} ORDER BY {peers})",
                    self.pick(&["sum", "count", "max"]),
                    self.pick(&["n", "money", "x"])
                ),
                _ => format!("ntile({}) OVER ({partition} ORDER BY {order})", 1 + self.below(6)),
            });
        }
        if self.one_in(4) {
            let keys = self.pick(&["word", "small", "day", "code"]);
            let text = format!(
                "SELECT {keys}, sum(n), sum(sum(money)) OVER (ORDER BY {keys}), rank() OVER (ORDER BY count(*)) FROM %{condition} GROUP BY {keys}"
            );
            return Question { text, is_ordered: false };
        }
        let text = format!("SELECT id, {} FROM %{condition}", calls.join(", "));
        Question { text, is_ordered: false }
    }

    fn sets(&self) -> Question {
        let columns = [
            ("n", "sn"),
            ("word", "sword"),
            ("code", "scode"),
            ("day", "sday"),
            ("money", "smoney"),
            ("f", "sf"),
            ("small", "sid"),
            ("tags[1]", "sword"),
            ("doc ->> 's'", "sdoc ->> 's'"),
        ];
        let pairs: Vec<_> = (0..1 + self.below(2)).map(|_| self.pick_pair(&columns)).collect();
        let list = |names: Vec<&str>| names.join(", ");
        let (mut one, mut other) = (Scope::default(), Scope::default());
        one.add(MAIN);
        other.add(SECOND);
        let set = self.pick(&[
            "UNION",
            "UNION ALL",
            "INTERSECT",
            "INTERSECT ALL",
            "EXCEPT",
            "EXCEPT ALL",
        ]);
        let set = format!(
            "SELECT {} FROM %{} {set} SELECT {} FROM %s{}",
            list(pairs.iter().map(|(one, _)| *one).collect()),
            self.filter(&one),
            list(pairs.iter().map(|(_, other)| *other).collect()),
            self.filter(&other)
        );
        let text = match self.below(3) {
            0 => format!("SELECT count(*) FROM ({set}) q"),
            _ => set,
        };
        Question { text, is_ordered: false }
    }

    /// Groups below something else.
    fn over_groups(&self) -> Question {
        let source = self.source();
        let condition = self.filter(&source.scope);
        let calls = [self.call(&source), self.call(&source)];
        let from = &source.from;
        let text = match self.below(5) {
            0 => format!(
                "SELECT count(*), count(b), max(a) FROM (SELECT word, count(*) AS a, {} AS b FROM {from}{condition} GROUP BY word, small) g",
                calls[0]
            ),
            1 => format!(
                "WITH g AS (SELECT small AS k, {} AS a, {} AS b FROM {from}{condition} GROUP BY small) SELECT h.id, g.a, g.b FROM % h JOIN g ON h.n = g.k",
                calls[0], calls[1]
            ),
            2 => format!(
                "SELECT k, a, tn FROM (SELECT n AS k, {} AS a FROM {from}{condition} GROUP BY n) g FULL JOIN %t ON k = tn",
                calls[0]
            ),
            3 => format!(
                "SELECT a, b FROM (SELECT {} AS a FROM {from}{condition}) g, (SELECT {} AS b FROM {from}) h",
                calls[0], calls[1]
            ),
            _ => {
                let condition = self.filter(&self.single().scope);
                format!(
                    "SELECT tag, count(*), sum(n), max(day) FROM %, unnest(tags) tag{condition} GROUP BY tag"
                )
            }
        };
        Question { text, is_ordered: false }
    }

    /// Subqueries that look at the row around them.
    fn correlated(&self) -> Question {
        let call = self.pick(&[
            "count(*)",
            "sum(sn)",
            "max(snote)",
            "min(smoney)",
            "avg(smoney)",
            "count(DISTINCT sword)",
            "string_agg(snote, ',' ORDER BY sid)",
        ]);
        let pairs = self.pairs();
        let condition = self.filter(&self.single().scope);
        let text = match self.below(5) {
            0 => format!("SELECT id, (SELECT {call} FROM %s WHERE {pairs}) FROM %{condition}"),
            1 => format!(
                "SELECT count(*), sum(n) FROM % WHERE n > (SELECT avg(sn) FROM %s) AND small {} (SELECT sn FROM %s WHERE sn IS NOT NULL)",
                self.pick(&["= ANY", "< ALL", "<> ALL", "> ANY"])
            ),
            2 => format!(
                "SELECT word, count((SELECT {call} FROM %s WHERE {pairs})), max((SELECT {call} FROM %s WHERE {pairs})) FROM %{condition} GROUP BY word"
            ),
            3 => format!(
                "SELECT id, q.c FROM % LEFT JOIN LATERAL (SELECT {call} AS c FROM %s WHERE {pairs}) q ON true{condition}"
            ),
            _ => format!(
                "SELECT count(*), sum(sn) FROM %s WHERE EXISTS (SELECT FROM % WHERE {pairs}) {} NOT EXISTS (SELECT FROM %t WHERE tn = sn)",
                self.pick(&["AND", "OR"])
            ),
        };
        Question { text, is_ordered: false }
    }

    /// A query with an expression that may fail for some row.
    fn failing(&self) -> Question {
        let risk = self.risky();
        let condition = match self.one_in(2) {
            true => String::new(),
            false => format!(" WHERE {}", self.on_main("<")),
        };
        let keys = self.pick(&["word", "small", "code", "n"]);
        let joined = self.pick(&["%s ON id = sid", "%s ON n = sn", "%t ON small = tn"]);
        let text = match self.below(12) {
            0 => format!("SELECT max({risk}) FROM %{condition}"),
            9 => format!(
                "SELECT {keys}, count(*) FROM %{condition} GROUP BY {keys} HAVING max({risk}) IS NULL"
            ),
            10 => {
                format!("SELECT {keys}, count(DISTINCT {risk}) FROM %{condition} GROUP BY {keys}")
            }
            11 => format!(
                "SELECT {keys}, count(*) FILTER (WHERE ({risk}) IS NULL) FROM %{condition} GROUP BY {keys}"
            ),
            6 => format!("SELECT count({risk}) FROM % JOIN {joined}{condition}"),
            7 => format!("SELECT {keys}, max({risk}) FROM % LEFT JOIN {joined} GROUP BY {keys}"),
            1 => format!("SELECT {keys}, count({risk}) FROM %{condition} GROUP BY {keys}"),
            2 => format!("SELECT {risk}, count(*) FROM %{condition} GROUP BY 1"),
            3 => format!("SELECT count(*) FROM % WHERE ({risk}) IS NOT NULL"),
            4 => format!("SELECT id, {risk} FROM %{condition}"),
            5 => format!(
                "SELECT {keys}, min({risk}) FILTER (WHERE small > 0 AND flag), count(*) FROM %{condition} GROUP BY {keys}"
            ),
            _ => format!(
                "SELECT {keys}, count(CASE WHEN n > 5 AND small > 0 THEN {risk} END) FROM %{condition} GROUP BY {keys}"
            ),
        };
        Question { text, is_ordered: false }
    }
}
