//! The queries and statements of the grammar: their clauses, what is in sight in each of them, and the
//! calls that each of them allows.

use types::Type;

use super::{Grammar, TABLES, VisibleColumn};

impl Grammar<'_> {
    /// A query whose rows have values of these types.
    pub(super) fn query(&self, types: &[Type]) -> String {
        let known = self.tables.borrow().len();
        let with =
            if self.one_in(5) && self.has_room() { self.with_clause(false) } else { String::new() };
        let body = match self.below(12) {
            0 if self.has_room() => {
                let op = self.word(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT ALL"]);
                let (left, right) = (self.select(types, false), self.select(types, false));
                let order = self.maybe(2, || format!(" ORDER BY {}", 1 + self.below(types.len())));
                format!("{left} {op} {right}{order}{}", self.limit())
            }
            1 => {
                let row = |_: usize| {
                    let values: Vec<String> =
                        types.iter().map(|ty| self.plainly(|| self.value(*ty))).collect();
                    format!("({})", values.join(", "))
                };
                format!("VALUES {}{}", self.list(2, row), self.limit())
            }
            _ => self.select(types, true),
        };
        self.tables.borrow_mut().truncate(known);
        format!("{with}{body}")
    }

    fn limit(&self) -> String {
        let count = || {
            self.plainly(|| match self.below(3) {
                0 => self.value(Type::INT8),
                _ => format!("{}", self.below(5)),
            })
        };
        let limit = self.maybe(3, || format!(" LIMIT {}", count()));
        format!("{limit}{}", self.maybe(8, || format!(" OFFSET {}", count())))
    }

    fn with_clause(&self, changes: bool) -> String {
        let recursive = self.one_in(3);
        let mut tables = Vec::new();
        for _ in 0..1 + self.below(2) {
            let name = self.name("c");
            let types: Vec<Type> = (0..1 + self.below(2)).map(|_| self.any_type()).collect();
            let columns: Vec<String> = (0..types.len()).map(|at| format!("x{at}")).collect();
            let hint = self.word(&["", "", "MATERIALIZED ", "NOT MATERIALIZED "]);
            let body = match () {
                () if changes && self.one_in(2) => self.change(Some(&types)),
                () if recursive && self.one_in(2) => {
                    let start = self.select(&types, false);
                    self.tables.borrow_mut().push((name.clone(), types.clone()));
                    let step = self.select(&types, false);
                    self.tables.borrow_mut().pop();
                    format!("{start} UNION {}{step} LIMIT 5", self.word(&["", "ALL "]))
                }
                () => self.query(&types),
            };
            tables.push(format!("{name}({}) AS {hint}({body})", columns.join(", ")));
            self.tables.borrow_mut().push((name, types));
        }
        format!("WITH {}{} ", if recursive { "RECURSIVE " } else { "" }, tables.join(", "))
    }

    /// An item of `FROM`, and its columns.
    fn item(&self, lateral: bool) -> (String, Vec<VisibleColumn>) {
        let alias = self.name("t");
        let seen = |columns: &[(&str, Type)]| -> Vec<VisibleColumn> {
            columns.iter().map(|(name, ty)| (format!("{alias}.{name}"), *ty)).collect()
        };
        let known = self.tables.borrow().clone();
        match self.below(8) {
            0 | 1 if !known.is_empty() => {
                let (name, types) = self.pick(&known);
                let columns =
                    types.iter().enumerate().map(|(at, ty)| (format!("{alias}.x{at}"), *ty));
                (format!("{name} {alias}"), columns.collect())
            }
            2 | 3 if self.has_room() => {
                let types: Vec<Type> = (0..1 + self.below(2)).map(|_| self.any_type()).collect();
                let query = match lateral {
                    true => self.query(&types),
                    false => {
                        let scopes = self.scopes.take();
                        let query = self.query(&types);
                        self.scopes.replace(scopes);
                        query
                    }
                };
                let names: Vec<String> = (0..types.len()).map(|at| format!("y{at}")).collect();
                let columns = types.iter().zip(&names);
                let columns = columns.map(|(ty, name)| (format!("{alias}.{name}"), *ty)).collect();
                let word = if lateral { "LATERAL " } else { "" };
                (format!("{word}({query}) {alias}({})", names.join(", ")), columns)
            }
            4 => {
                let ty = self.any_type();
                let call = self.with((false, false, true), || self.call(ty));
                let ordinality = self.maybe(4, || " WITH ORDINALITY".to_owned());
                match call.contains('(') && !call.starts_with('(') && !call.starts_with('\'') {
                    true => {
                        (format!("{call}{ordinality} {alias}(z)"), vec![(format!("{alias}.z"), ty)])
                    }
                    false => (
                        format!("generate_series(1, {}) {alias}(z)", self.below(4)),
                        vec![(format!("{alias}.z"), Type::INT4)],
                    ),
                }
            }
            _ => {
                let (name, columns) = self.pick(TABLES);
                let past = self.maybe(12, || " FOR SYSTEM_TIME AS OF now()".to_owned());
                (format!("{name}{past} {alias}"), seen(columns))
            }
        }
    }

    fn from(&self) -> String {
        let mut text = String::new();
        for at in 0..1 + self.below(2) {
            let lateral = at > 0 && self.one_in(2);
            let (item, columns) = self.item(lateral);
            if at == 0 {
                text = item;
            } else {
                let kind =
                    self.word(&["JOIN", "LEFT JOIN", "FULL JOIN", "RIGHT JOIN", "CROSS JOIN", ","]);
                if let Some(scope) = self.scopes.borrow_mut().last_mut() {
                    scope.extend(columns);
                }
                let on = match &*kind {
                    "CROSS JOIN" | "," => String::new(),
                    _ => format!(" ON {}", self.plainly(|| self.condition())),
                };
                text = format!("{text} {kind} {item}{on}");
                continue;
            }
            if let Some(scope) = self.scopes.borrow_mut().last_mut() {
                scope.extend(columns);
            }
        }
        text
    }

    fn select(&self, types: &[Type], clauses: bool) -> String {
        self.scopes.borrow_mut().push(Vec::new());
        let from = match self.one_in(5) {
            true => String::new(),
            false => format!(" FROM {}", self.from()),
        };
        let grouped = !from.is_empty() && self.one_in(3);
        let filter = self.maybe(2, || format!(" WHERE {}", self.plainly(|| self.condition())));
        let mut keys = Vec::new();
        let mut group = String::new();
        if grouped {
            for _ in 0..self.below(3) {
                let ty = self.any_type();
                keys.push((self.plainly(|| self.column(ty).unwrap_or_else(|| self.value(ty))), ty));
            }
            let names: Vec<String> = keys.iter().map(|(key, _)| key.clone()).collect();
            let names = names.join(", ");
            if !keys.is_empty() {
                group = match self.below(5) {
                    0 => format!(" GROUP BY ROLLUP ({names})"),
                    1 => format!(" GROUP BY CUBE ({names})"),
                    2 => format!(" GROUP BY GROUPING SETS (({names}), ())"),
                    3 => format!(" GROUP BY {}, ROLLUP ({names})", keys[0].0),
                    _ => format!(" GROUP BY {names}"),
                };
            }
            // From here on the keys are what there is.
            if !self.one_in(8)
                && let Some(scope) = self.scopes.borrow_mut().last_mut()
            {
                scope.splice(.., keys.clone());
            }
        }
        let having = match grouped && self.one_in(4) {
            true => format!(" HAVING {}", self.with((true, false, false), || self.condition())),
            false => String::new(),
        };
        let calls = (grouped, self.one_in(3), clauses && self.one_in(4));
        let outputs: Vec<String> = types
            .iter()
            .map(|ty| {
                let value =
                    self.with(calls, || match grouped && self.one_in(8) && !keys.is_empty() {
                        true => format!("GROUPING({})", keys[0].0),
                        false => self.value(*ty),
                    });
                if self.one_in(6) { format!("({value})::{}", self.type_name(*ty)) } else { value }
            })
            .collect();
        let distinct = match self.below(12) {
            0 => "DISTINCT ".to_owned(),
            1 if clauses => match self.is_wild(2) {
                true => {
                    format!("DISTINCT ON ({}) ", self.with(calls, || self.value(self.any_type())))
                }
                false => "DISTINCT ON (1) ".to_owned(),
            },
            _ => String::new(),
        };
        let window = match calls.1 {
            true => format!(" WINDOW w AS (ORDER BY {})", self.plainly(|| self.order_key())),
            false => String::new(),
        };
        let mut rest = String::new();
        if clauses {
            rest += &self.maybe(3, || {
                let keys = self.list(2, |_| self.with(calls, || self.order_key()));
                let first = if distinct.is_empty() || self.is_wild(2) { "" } else { "1, " };
                format!(" ORDER BY {first}{keys}")
            });
            rest += &self.limit();
            rest += if self.is_wild(10) { " FOR UPDATE" } else { "" };
        }
        self.scopes.borrow_mut().pop();
        format!(
            "SELECT {distinct}{}{from}{filter}{group}{having}{window}{rest}",
            outputs.join(", ")
        )
    }

    /// `INSERT`, `UPDATE`, `DELETE` or `MERGE`, whose `RETURNING` has these types.
    fn change(&self, returning: Option<&[Type]>) -> String {
        self.scopes.borrow_mut().push(Vec::new());
        let own =
            || vec![("scratch.n".to_owned(), Type::INT4), ("scratch.v".to_owned(), Type::TEXT)];
        let show = || {
            if let Some(scope) = self.scopes.borrow_mut().last_mut() {
                scope.extend(own());
            }
        };
        let int = || self.plainly(|| self.value(Type::INT4));
        let text = || self.plainly(|| self.value(Type::TEXT));
        let made = match self.below(4) {
            0 => {
                let rows = match self.one_in(2) {
                    true => self.query(&[Type::INT4, Type::TEXT]),
                    false => format!("VALUES ({}, {})", int(), text()),
                };
                show();
                let conflict = self.maybe(2, || match self.below(3) {
                    0 => " ON CONFLICT DO NOTHING".to_owned(),
                    _ => format!(
                        " ON CONFLICT (n) DO UPDATE SET v = {}{}",
                        text(),
                        self.maybe(3, || format!(" WHERE {}", self.plainly(|| self.condition())))
                    ),
                });
                format!("INSERT INTO scratch {rows}{conflict}")
            }
            1 => {
                show();
                let set = match self.below(3) {
                    0 => format!("(n, v) = ({})", self.query(&[Type::INT4, Type::TEXT])),
                    _ => format!("v = {}", text()),
                };
                let from = self.maybe(3, || format!(" FROM {}", self.from()));
                format!(
                    "UPDATE scratch SET {set}{from} WHERE {}",
                    self.plainly(|| self.condition())
                )
            }
            2 => {
                let using = self.maybe(3, || format!(" USING {}", self.from()));
                show();
                format!("DELETE FROM scratch{using} WHERE {}", self.plainly(|| self.condition()))
            }
            _ => {
                let (item, columns) = self.item(false);
                if let Some(scope) = self.scopes.borrow_mut().last_mut() {
                    scope.extend(columns);
                }
                show();
                let when = self.maybe(2, || format!(" AND {}", self.plainly(|| self.condition())));
                format!(
                    "MERGE INTO scratch USING {item} ON {} WHEN MATCHED{when} THEN {} WHEN NOT MATCHED \
                     THEN INSERT VALUES ({}, {})",
                    self.plainly(|| self.condition()),
                    self.word(&["DELETE", "DO NOTHING", "UPDATE SET v = 'm'"]),
                    int(),
                    text()
                )
            }
        };
        let outputs = match returning {
            None if self.one_in(2) => String::new(),
            None => format!(" RETURNING {}", self.plainly(|| self.value(self.any_type()))),
            Some(types) => {
                let list: Vec<String> =
                    types.iter().map(|ty| self.plainly(|| self.value(*ty))).collect();
                format!(" RETURNING {}", list.join(", "))
            }
        };
        self.scopes.borrow_mut().pop();
        format!("{made}{outputs}")
    }

    fn definition(&self) -> String {
        let number = self.below(6);
        let ty = self.any_type();
        let plain = |ty: Type| self.plainly(|| self.value(ty));
        self.scopes
            .borrow_mut()
            .push(vec![("n".to_owned(), Type::INT4), ("v".to_owned(), Type::TEXT)]);
        let made = match self.below(9) {
            0 => format!(
                "CREATE TABLE made{number} (n int DEFAULT {}, v text CHECK ({}), g {} GENERATED ALWAYS \
                 AS ({}) STORED)",
                plain(Type::INT4),
                self.condition(),
                self.type_name(ty),
                plain(ty)
            ),
            1 => format!("CREATE INDEX ON scratch (({})) WHERE {}", plain(ty), self.condition()),
            2 => format!(
                "ALTER TABLE scratch ADD COLUMN g{number} {} DEFAULT {}",
                self.type_name(ty),
                plain(ty)
            ),
            3 => format!("CREATE OR REPLACE VIEW seen{number} AS {}", self.query(&[ty])),
            4 => format!("CREATE TABLE made{number} AS {}", self.query(&[ty])),
            5 => format!("DROP TABLE IF EXISTS made{number} CASCADE"),
            6 => format!(
                "ALTER TABLE scratch ALTER COLUMN v TYPE {} USING ({})",
                self.type_name(ty),
                plain(ty)
            ),
            7 => format!(
                "CREATE DOMAIN dom{number} AS {} CHECK ({})",
                self.type_name(ty),
                self.condition()
            ),
            _ => format!("EXPLAIN (VERBOSE) {}", self.query(&[ty])),
        };
        self.scopes.borrow_mut().pop();
        made
    }

    pub(super) fn statement(&self) -> String {
        let types: Vec<Type> = (0..1 + self.below(3)).map(|_| self.any_type()).collect();
        match self.below(20) {
            0..=11 => self.query(&types),
            12 | 13 => self.change(None),
            14 => {
                let with = self.with_clause(true);
                format!(
                    "{with}{}",
                    if self.one_in(2) { self.query(&types) } else { self.change(None) }
                )
            }
            15 | 16 => {
                self.params.set(Some(0));
                let query = if self.one_in(2) { self.query(&types) } else { self.change(None) };
                let count = self.params.take().unwrap_or(0);
                let values: Vec<String> =
                    (0..count).map(|_| self.plainly(|| self.literal(self.any_type()))).collect();
                let given = match values.is_empty() {
                    true => String::new(),
                    false => format!("({})", values.join(", ")),
                };
                format!("DEALLOCATE ALL; PREPARE p AS {query}; EXECUTE p{given}")
            }
            17 => format!(
                "BEGIN; DECLARE k CURSOR FOR {}; FETCH 2 FROM k; MOVE 1 IN k; ROLLBACK",
                self.query(&types)
            ),
            _ => self.definition(),
        }
    }
}
