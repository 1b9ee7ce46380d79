//! Statements from PostgreSQL's grammar, with everything inside everything.
//!
//! ```text
//!   query      WITH, set operations, SELECT with all its clauses, VALUES
//!   value      of a type: a literal, a column, a parameter, a call, an operator, a subquery ...
//!   statement  queries, changes of rows with RETURNING, definitions with expressions
//! ```
//!
//! Functions, aggregates, operators and types come from the tables of `scalar` and `types`, so that
//! what is added there is tried here. Values are of the type that is wanted most of the time: most
//! statements get past the binder, and the others are wrong in one place.

mod queries;

use std::cell::{Cell, RefCell};
use std::sync::LazyLock;

use scalar::function::Eval;
use scalar::{Function, operators, registry};
use types::{Origins, Type, builtin};
use vfs::SimRandom;

/// Functions that stop or hold up the session that calls them.
const LEFT_OUT: &[&str] = &["pg_sleep", "pg_terminate_backend", "pg_cancel_backend"];

static FUNCTIONS: LazyLock<Vec<&Function>> = LazyLock::new(|| {
    let all = registry::all()
        .filter(|function| !LEFT_OUT.contains(&function.name) && Origins::CORE.has(function.oid));
    all.collect()
});

/// The types that most values have.
const USUAL: &[Type] = &[
    Type::INT4,
    Type::INT8,
    Type::TEXT,
    Type::NUMERIC,
    Type::BOOL,
    Type::DATE,
    Type::TIMESTAMPTZ,
    Type::INTERVAL,
    Type::JSONB,
    Type::FLOAT8,
    Type::INT4_ARRAY,
    Type::TEXT_ARRAY,
];

/// The tables that statements ask, and the types of their columns.
const TABLES: &[(&str, &[(&str, Type)])] = &[
    (
        "plain",
        &[
            ("id", Type::INT4),
            ("a", Type::INT4),
            ("b", Type::INT8),
            ("c", Type::TEXT),
            ("d", Type::NUMERIC),
            ("e", Type::DATE),
            ("j", Type::JSONB),
            ("f", Type::FLOAT8),
        ],
    ),
    ("keyed", &[("id", Type::INT4), ("a", Type::INT4), ("c", Type::TEXT), ("d", Type::NUMERIC)]),
    ("scratch", &[("n", Type::INT4), ("v", Type::TEXT)]),
];

/// A visible column: its text and its type.
type VisibleColumn = (String, Type);

/// A maker of statements.
pub struct Grammar<'r> {
    random: &'r SimRandom,
    /// True if values are of the usual types and nothing is wrong on purpose.
    is_tame: bool,
    /// How many more parts the statement may have.
    room: Cell<i32>,
    /// The columns in sight, the innermost query last.
    scopes: RefCell<Vec<Vec<VisibleColumn>>>,
    /// The tables of `WITH` in sight.
    tables: RefCell<Vec<(String, Vec<Type>)>>,
    /// How many parameters there are; none if there may be none.
    params: Cell<Option<u64>>,
    /// True if aggregates, window functions and sets are tried.
    aggregates: Cell<bool>,
    windows: Cell<bool>,
    sets: Cell<bool>,
    names: Cell<u32>,
}

/// A statement of any kind.
pub fn any_statement(random: &SimRandom) -> String {
    Grammar::new(random).statement()
}

impl<'r> Grammar<'r> {
    fn new(random: &'r SimRandom) -> Self {
        Self {
            random,
            is_tame: random.below(3) > 0,
            room: Cell::new(6 + random.below(40) as i32),
            scopes: RefCell::default(),
            tables: RefCell::default(),
            params: Cell::new(None),
            aggregates: Cell::new(false),
            windows: Cell::new(false),
            sets: Cell::new(false),
            names: Cell::new(0),
        }
    }

    fn below(&self, most: usize) -> usize {
        self.random.below(most.max(1) as u64) as usize
    }

    fn one_in(&self, times: u64) -> bool {
        self.random.below(times) == 0
    }

    /// True in one case of so many, where what is written may be wrong.
    fn is_wild(&self, times: u64) -> bool {
        !self.is_tame && self.one_in(times)
    }

    fn pick<'l, T>(&self, list: &'l [T]) -> &'l T {
        &list[self.below(list.len())]
    }

    fn word(&self, list: &[&str]) -> String {
        (*self.pick(list)).to_owned()
    }

    /// Something in one case of so many, else nothing.
    fn maybe(&self, times: u64, make: impl FnOnce() -> String) -> String {
        if self.one_in(times) { make() } else { String::new() }
    }

    fn list(&self, most: usize, make: impl FnMut(usize) -> String) -> String {
        let parts: Vec<String> = (0..1 + self.below(most)).map(make).collect();
        parts.join(", ")
    }

    fn has_room(&self) -> bool {
        self.room.set(self.room.get() - 1);
        self.room.get() > 0
    }

    fn name(&self, prefix: &str) -> String {
        self.names.set(self.names.get() + 1);
        format!("{prefix}{}", self.names.get())
    }

    /// Does something with other calls allowed than before.
    fn with<T>(&self, calls: (bool, bool, bool), make: impl FnOnce() -> T) -> T {
        let now = (self.aggregates.get(), self.windows.get(), self.sets.get());
        let set = |(aggregates, windows, sets)| {
            self.aggregates.set(aggregates);
            self.windows.set(windows);
            self.sets.set(sets);
        };
        // Now and then what is not allowed is written all the same.
        set(if self.is_wild(40) { (true, true, true) } else { calls });
        let made = make();
        set(now);
        made
    }

    /// Does something where no calls of aggregates, windows and sets are allowed.
    fn plainly<T>(&self, make: impl FnOnce() -> T) -> T {
        self.with((false, false, false), make)
    }

    /// A type that values have.
    fn any_type(&self) -> Type {
        if !self.is_wild(3) {
            return *self.pick(USUAL);
        }
        let real: Vec<Type> = builtin::all()
            .iter()
            .filter(|facts| facts.repr.is_some() && !facts.is_pseudo())
            .filter(|facts| Origins::CORE.has(facts.ty.oid()))
            .map(|facts| facts.ty)
            .collect();
        *self.pick(&real)
    }

    /// The type that one in a signature stands for; `of` is what the polymorphic ones are.
    fn real(&self, ty: Type, of: Type) -> Type {
        match builtin::facts(ty) {
            Some(facts) if facts.repr.is_some() && !facts.is_pseudo() => ty,
            Some(facts) if facts.name.ends_with("array") => {
                { builtin::facts(of).map(|facts| facts.array).filter(|array| *array != Type::NONE) }
                    .unwrap_or(Type::INT4_ARRAY)
            }
            Some(facts) if facts.name == "any" => self.any_type(),
            _ => of,
        }
    }

    fn type_name(&self, ty: Type) -> String {
        let name = builtin::facts(ty).map_or("text".to_owned(), builtin::Facts::sql_name);
        let takes = builtin::facts(ty).is_some_and(builtin::Facts::takes_modifier);
        match takes && self.is_wild(6) {
            true => format!("{}({})", name.trim_end_matches("[]"), 1 + self.below(6)),
            false => name,
        }
    }

    fn literal(&self, ty: Type) -> String {
        const TEXTS: &[&str] = &["", "a", "ab", "zz", "%", "a.b", "{}", "1", "\u{e9}", "A_b"];
        let facts = builtin::facts(ty);
        let sample = match facts.map_or("", |facts| facts.name) {
            "int2" | "int4" | "int8" | "oid" => {
                self.word(&["0", "1", "-1", "2", "3", "7", "32767", "2147483647"])
            }
            "numeric" | "float4" | "float8" => {
                self.word(&["0", "1.5", "-2.50", "NaN", "1e10", "0.001", "Infinity"])
            }
            "bool" => self.word(&["true", "false"]),
            "date" => self.word(&["2024-02-29", "infinity", "0001-01-01 BC", "2000-01-01"]),
            "timestamp" | "timestamptz" => {
                self.word(&["2024-02-29 12:34:56.789", "-infinity", "1999-12-31 23:59:59+02"])
            }
            "time" | "timetz" => self.word(&["00:00", "24:00", "12:34:56.5"]),
            "interval" => self.word(&["1 day", "-1 mon 3 days", "00:00:01.5", "100 years"]),
            "json" | "jsonb" => {
                self.word(&["{\"k\": [1, {\"a\": null}]}", "[]", "1", "\"x\"", "[{\"a\": 1}]"])
            }
            "jsonpath" => self.word(&["$", "$.k[*]", "strict $.a.b", "$[*] ? (@ > 1)"]),
            "bytea" => self.word(&["\\x", "\\x00ff", "\\xdeadbeef"]),
            "uuid" => "00000000-0000-0000-0000-000000000001".to_owned(),
            name if facts.is_some_and(builtin::Facts::is_array) => {
                let text = name.contains("text") || name.contains("char");
                self.word(if text {
                    &["{a,b}", "{}", "{NULL}"]
                } else {
                    &["{1,2}", "{}", "{NULL}"]
                })
            }
            _ => self.word(TEXTS),
        };
        let quoted = format!("'{}'", sample.replace('\'', "''"));
        match self.below(12) {
            0 => "NULL".to_owned(),
            1 => quoted,
            2 => format!("NULL::{}", self.type_name(ty)),
            3 | 4 if ty == Type::INT4 || ty == Type::NUMERIC => {
                self.word(&["0", "1", "2", "-1", "3.5"])
            }
            _ => format!("{quoted}::{}", self.type_name(ty)),
        }
    }

    /// A column in sight, of this type where there is one.
    fn column(&self, ty: Type) -> Option<String> {
        let scopes = self.scopes.borrow();
        let from_outside = self.one_in(4);
        let scope =
            if from_outside { scopes.get(self.below(scopes.len())) } else { scopes.last() }?;
        let fitting: Vec<&VisibleColumn> = scope.iter().filter(|(_, of)| *of == ty).collect();
        match fitting.is_empty() {
            true if self.is_wild(3) || ty == Type::TEXT => {
                scope.get(self.below(scope.len())).map(|(name, of)| {
                    format!(
                        "{name}::{}",
                        if self.is_wild(8) { self.type_name(*of) } else { self.type_name(ty) }
                    )
                })
            }
            true => None,
            false => Some(self.pick(&fitting).0.clone()),
        }
    }

    /// A value, of this type in most cases.
    pub fn value(&self, ty: Type) -> String {
        if !self.has_room() || self.one_in(4) {
            return self.column(ty).unwrap_or_else(|| self.literal(ty));
        }
        let ty = if self.is_wild(30) { self.any_type() } else { ty };
        let next = || self.value(ty);
        match self.below(22) {
            0..=3 => self.column(ty).unwrap_or_else(|| self.literal(ty)),
            4..=6 => self.call(ty),
            7..=9 => self.operation(ty),
            10 => {
                let of = if self.is_wild(2) { self.any_type() } else { ty };
                format!("({})::{}", self.value(of), self.type_name(ty))
            }
            11 => {
                let otherwise = self.maybe(2, || format!(" ELSE {}", next()));
                format!("CASE WHEN {} THEN {}{otherwise} END", self.condition(), next())
            }
            12 => {
                let of = self.any_type();
                let (operand, arm) = (self.value(of), self.value(of));
                format!("CASE {operand} WHEN {arm} THEN {} ELSE {} END", next(), next())
            }
            13 => format!(
                "{}({}, {})",
                self.word(&["coalesce", "nullif", "greatest", "least"]),
                next(),
                next()
            ),
            14 | 15 => format!("({})", self.query(&[ty])),
            16 => match builtin::facts(ty).filter(|facts| facts.is_array()) {
                Some(facts) => {
                    let element = facts.element;
                    match self.below(3) {
                        0 => format!("ARRAY({})", self.query(&[element])),
                        _ => format!("ARRAY[{}]", self.list(3, |_| self.value(element))),
                    }
                }
                None => {
                    let array = builtin::facts(ty).map_or(Type::NONE, |facts| facts.array);
                    match array {
                        Type::NONE => next(),
                        array => format!("({})[{}]", self.value(array), self.value(Type::INT4)),
                    }
                }
            },
            17 if ty == Type::BOOL => self.condition(),
            18 if self.params.get().is_some() => {
                let most = self.params.get().unwrap_or(0);
                let number = 1 + self.random.below(most + 1);
                self.params.set(Some(most.max(number)));
                match self.one_in(3) {
                    true => format!("${number}::{}", self.type_name(ty)),
                    false => format!("${number}"),
                }
            }
            19 if ty == Type::JSONB || !self.is_tame => self.json(),
            20 => {
                let field = if self.is_wild(2) { self.below(4) } else { 1 };
                format!("({}).f{field}", self.row(&[ty, self.any_type()]))
            }
            _ => self.column(ty).unwrap_or_else(|| self.literal(ty)),
        }
    }

    fn row(&self, types: &[Type]) -> String {
        let fields: Vec<String> = types.iter().map(|ty| self.value(*ty)).collect();
        format!("ROW({})", fields.join(", "))
    }

    /// Constructs of SQL/JSON.
    fn json(&self) -> String {
        let document = self.value(Type::JSONB);
        let path = self.word(&["'$'", "'$.k'", "'$[*]'", "'strict $.a'"]);
        let returning = self.maybe(2, || format!(" RETURNING {}", self.type_name(self.any_type())));
        let on = self.word(&["", "", " NULL ON EMPTY", " ERROR ON ERROR", " DEFAULT 1 ON EMPTY"]);
        match self.below(8) {
            0 => format!("JSON_VALUE({document}, {path}{returning}{on})"),
            1 => format!("JSON_QUERY({document}, {path}{returning} WITH WRAPPER)"),
            2 => format!("JSON_EXISTS({document}, {path})"),
            3 => format!("JSON_OBJECT('k' : {document}{returning})"),
            4 => format!("JSON_ARRAY({document}, {}{returning})", self.value(Type::INT4)),
            5 => format!(
                "({} IS JSON {})",
                self.value(Type::TEXT),
                self.word(&["", "OBJECT", "SCALAR"])
            ),
            6 if self.aggregates.get() => {
                format!("JSON_ARRAYAGG({document} ORDER BY 1{returning})")
            }
            _ => format!("({document} -> 'k')"),
        }
    }

    /// A call of a function whose result is of a type.
    fn call(&self, ty: Type) -> String {
        let wanted: Vec<&&Function> = FUNCTIONS
            .iter()
            .filter(|function| {
                let fits = function.ret == ty || self.real(function.ret, ty) == ty;
                let is_usual = |arg: &Type| {
                    let is_pseudo = |facts: &builtin::Facts| facts.is_pseudo();
                    USUAL.contains(arg) || builtin::facts(*arg).is_some_and(is_pseudo)
                };
                let fits = fits && (!self.is_tame || function.args.iter().all(is_usual));
                let allowed = match function.eval {
                    Eval::Aggregate(_) => self.aggregates.get() || self.windows.get(),
                    Eval::Window => self.windows.get(),
                    _ => !function.set || self.sets.get(),
                };
                fits && allowed
            })
            .collect();
        // One of many functions that compute, or one of the few that need a query around.
        let special: Vec<&&Function> = wanted
            .iter()
            .copied()
            .filter(|function| {
                function.set || matches!(function.eval, Eval::Aggregate(_) | Eval::Window)
            })
            .collect();
        let from = if !special.is_empty() && self.one_in(2) { &special } else { &wanted };
        if from.is_empty() {
            return self.literal(ty);
        }
        let function = self.pick(&from[..]);
        self.call_of(function, ty)
    }

    fn call_of(&self, function: &Function, ty: Type) -> String {
        let of = match builtin::facts(ty) {
            Some(facts) if facts.is_array() && function.ret != ty => {
                if self.one_in(2) {
                    facts.element
                } else {
                    ty
                }
            }
            _ if function.ret == ty => self.any_type(),
            _ => ty,
        };
        let is_aggregate = matches!(function.eval, Eval::Aggregate(_));
        let as_window = matches!(function.eval, Eval::Window)
            || is_aggregate && self.windows.get() && (!self.aggregates.get() || self.one_in(3));
        let count = function.args.len();
        let least = count - function.defaults.len().min(count);
        let mut count = least + self.below(count - least + 1);
        if function.variadic {
            count += self.below(3);
        }
        let mut args = Vec::new();
        let inside = (is_aggregate && as_window && self.aggregates.get(), false, self.sets.get());
        for place in 0..count {
            let at = place.min(function.args.len().saturating_sub(1));
            let mut wanted = self.real(function.args[at], of);
            if function.variadic && at + 1 == function.args.len() {
                let element = builtin::facts(wanted).map_or(Type::NONE, |facts| facts.element);
                wanted = if element == Type::NONE { wanted } else { element };
            }
            let make = || self.value(wanted);
            args.push(if is_aggregate || as_window { self.with(inside, make) } else { make() });
        }
        let name = function.name;
        if !is_aggregate && !as_window {
            return format!("{name}({})", args.join(", "));
        }
        let Eval::Aggregate(aggregate) = function.eval else {
            return format!("{name}({}) OVER {}", args.join(", "), self.window());
        };
        if aggregate.kind != scalar::aggregate::Kind::Normal {
            let direct = args.len().min(1);
            let direct = if self.is_wild(6) { self.below(3) } else { direct };
            let sorted: Vec<String> = args.split_off(direct.min(args.len()));
            let sorted = if sorted.is_empty() { args.clone() } else { sorted };
            let keys = if sorted.is_empty() { vec![self.value(of)] } else { sorted };
            let order = self.word(&["", " DESC", " NULLS FIRST"]);
            return format!(
                "{name}({}) WITHIN GROUP (ORDER BY {}{order}){}",
                args.join(", "),
                keys.join(", "),
                self.filter()
            );
        }
        let star = function.args.is_empty();
        let distinct = self.maybe(6, || "DISTINCT ".to_owned());
        let order =
            self.maybe(5, || format!(" ORDER BY {}", self.plainly(|| self.value(self.any_type()))));
        let args =
            if star { "*".to_owned() } else { format!("{distinct}{}{order}", args.join(", ")) };
        let over = if as_window { format!(" OVER {}", self.window()) } else { String::new() };
        format!("{name}({args}){}{over}", self.filter())
    }

    fn filter(&self) -> String {
        self.maybe(5, || format!(" FILTER (WHERE {})", self.plainly(|| self.condition())))
    }

    fn window(&self) -> String {
        if self.is_wild(8) {
            return "w".to_owned();
        }
        let calls = (self.aggregates.get(), false, self.sets.get());
        self.with(calls, || {
            let partition =
                self.maybe(3, || format!("PARTITION BY {} ", self.value(self.any_type())));
            let order = self.maybe(2, || format!("ORDER BY {} ", self.order_key()));
            let frame = self.maybe(3, || {
                let offset = |of: &str| match self.is_wild(2) {
                    true => format!("{} {of}", self.value(self.any_type())),
                    false => format!("{} {of}", self.below(3)),
                };
                let start = match self.below(4) {
                    0 => "UNBOUNDED PRECEDING".to_owned(),
                    1 => "CURRENT ROW".to_owned(),
                    2 => "1 PRECEDING".to_owned(),
                    _ => offset("PRECEDING"),
                };
                let end = match self.below(4) {
                    0 => "UNBOUNDED FOLLOWING".to_owned(),
                    1 => "CURRENT ROW".to_owned(),
                    2 => "2 FOLLOWING".to_owned(),
                    _ => offset("FOLLOWING"),
                };
                let unit = self.word(&["ROWS", "RANGE", "GROUPS"]);
                let exclude = self.word(&["", " EXCLUDE TIES", " EXCLUDE GROUP"]);
                format!("{unit} BETWEEN {start} AND {end}{exclude}")
            });
            format!("({}{partition}{order}{frame})", if self.is_wild(12) { "w " } else { "" })
        })
    }

    fn operation(&self, ty: Type) -> String {
        let is_usual = |arg: Type| {
            !self.is_tame
                || USUAL.contains(&arg)
                || builtin::facts(arg).is_none_or(builtin::Facts::is_pseudo)
        };
        let fits = |operator: &operators::Operator| {
            let own = self.real(operator.ret, ty) == ty;
            own && Origins::CORE.has(operator.oid)
                && is_usual(operator.left)
                && is_usual(operator.right)
        };
        let fitting: Vec<_> = operators::all().iter().filter(|operator| fits(operator)).collect();
        if fitting.is_empty() {
            return self.literal(ty);
        }
        let operator = self.pick(&fitting);
        let of = if operator.ret == ty { self.any_type() } else { ty };
        let right = self.value(self.real(operator.right, of));
        match operator.left {
            Type::NONE => format!("({} {right})", operator.name),
            left => format!("({} {} {right})", self.value(self.real(left, of)), operator.name),
        }
    }

    fn condition(&self) -> String {
        let ty = self.any_type();
        let compare = self.word(&["=", "<>", "<", ">="]);
        let (left, right) = (self.value(ty), self.value(ty));
        if !self.has_room() {
            return format!("({left} {compare} {right})");
        }
        let not = self.word(&["", "NOT "]);
        match self.below(16) {
            0..=3 => format!("({left} {compare} {right})"),
            4 => {
                format!("({} {} {})", self.condition(), self.word(&["AND", "OR"]), self.condition())
            }
            5 => format!("({left} IS {not}DISTINCT FROM {right})"),
            6 => format!("({left} IS {not}NULL)"),
            7 => format!("({left} {not}BETWEEN {right} AND {})", self.value(ty)),
            8 => format!("({left} {not}IN ({right}, {}))", self.value(ty)),
            9 => format!("({left} {not}IN ({}))", self.query(&[ty])),
            10 => format!("({not}EXISTS ({}))", self.query(&[self.any_type()])),
            11 => {
                let some = self.word(&["ANY", "ALL"]);
                format!("({left} {compare} {some} ({}))", self.query(&[ty]))
            }
            12 => format!("({left} {compare} ANY (ARRAY[{right}, {}]))", self.value(ty)),
            13 => {
                let other = self.any_type();
                let types = [ty, other];
                match self.one_in(2) {
                    true => format!("({} {compare} {})", self.row(&types), self.row(&types)),
                    false => {
                        format!("({} {compare} ({}))", self.row(&types), self.query(&types))
                    }
                }
            }
            14 => {
                format!("({} IS {not}{})", self.value(Type::BOOL), self.word(&["TRUE", "UNKNOWN"]))
            }
            _ => format!("({not}{})", self.value(Type::BOOL)),
        }
    }

    fn order_key(&self) -> String {
        let value = match self.below(5) {
            0 => format!("{}", if self.is_wild(3) { self.below(5) } else { 1 }),
            _ => self.value(self.any_type()),
        };
        format!("{value}{}", self.word(&["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"]))
    }
}
