//! `CREATE TABLE` and `CREATE INDEX`: columns, constraints, keys.

use types::SqlState;

use crate::error::{At, Error, Result};
use crate::parse::ast::{
    ColumnConstraint, ColumnConstraintKind, ColumnDefinition, CreateIndex, CreateTable,
    CreateTableAs, Define, Exclusion, ForeignAction, IndexElement, Name, References, RowsOf,
    TableConstraint, TableConstraintKind, TableElement, Timing,
};
use crate::parse::cursor::Parser;

impl Parser<'_> {
    pub(super) fn create_table(&mut self, temporary: bool, unlogged: bool) -> Result<Define> {
        self.skip(1);
        let if_not_exists = self.eat(&["if", "not", "exists"]);
        let name = self.path()?;
        if self.is_any(&["of"]) {
            return Err(self.not_supported("CREATE TABLE OF"));
        }
        let partitioned = match self.eat(&["partition", "of"]) {
            true => Some(self.path()?),
            false => None,
        };
        if partitioned.is_none() && self.is_table_as() {
            let columns = self.optional_column_names()?;
            let method = self.access_method()?;
            let options = self.with_options()?;
            let on_commit = self.on_commit()?;
            self.expect(&["as"])?;
            let start = self.start();
            let (rows, text) = if self.eat(&["execute"]) {
                (self.rows_of_execute()?, String::new())
            } else {
                let query = Box::new(self.query()?);
                (RowsOf::Query(query), self.text[start..self.end()].to_owned())
            };
            let data = self.with_data();
            return Ok(Define::TableAs(Box::new(CreateTableAs {
                materialized: false,
                name,
                if_not_exists,
                temporary,
                on_commit,
                columns,
                method,
                options,
                rows,
                text,
                data,
            })));
        }
        let mut elements = Vec::new();
        let partition_of = match partitioned {
            Some(table) => {
                if self.is_punct(0, "(") {
                    elements = self.parens(Self::partition_element)?;
                }
                Some((table, self.partition_bound()?))
            }
            None => {
                self.expect_punct("(")?;
                if !self.is_punct(0, ")") {
                    elements = self.list(Self::table_element)?;
                }
                self.expect_punct(")")?;
                None
            }
        };
        if self.is(&["inherits"]) {
            return Err(self.not_supported("INHERITS"));
        }
        let partition_by = self.partition_by()?;
        let method = self.access_method()?;
        let options = self.with_options()?;
        let on_commit = self.on_commit()?;
        if self.eat(&["tablespace"]) {
            self.name()?;
        }
        Ok(Define::Table(Box::new(CreateTable {
            name,
            if_not_exists,
            temporary,
            unlogged,
            elements,
            partition_of,
            partition_by,
            method,
            options,
            on_commit,
        })))
    }

    /// `[USING method]`
    pub(super) fn access_method(&mut self) -> Result<Option<Name>> {
        if self.eat(&["using"]) { self.name().map(Some) } else { Ok(None) }
    }

    /// True if names of columns and `AS` follow, or `AS` alone.
    fn is_table_as(&self) -> bool {
        if !self.is_punct(0, "(") {
            return true;
        }
        let mut ahead = 1;
        loop {
            // Each name is one token; then a comma or the end of the list.
            ahead += 1;
            if self.is_punct(ahead, ",") {
                ahead += 1;
            } else {
                break;
            }
        }
        self.is_punct(ahead, ")")
            && matches!(self.word(ahead + 1), Some("as" | "with" | "on" | "using" | "tablespace"))
            && !self.is_punct(1, ")")
    }

    pub(super) fn with_options(&mut self) -> Result<Vec<(String, Option<String>)>> {
        match () {
            () if self.eat(&["without", "oids"]) => Ok(Vec::new()),
            () if self.eat(&["with"]) => self.storage_options(),
            () => Ok(Vec::new()),
        }
    }

    fn on_commit(&mut self) -> Result<Option<&'static str>> {
        if !self.eat(&["on", "commit"]) {
            return Ok(None);
        }
        Ok(Some(match () {
            () if self.eat(&["preserve", "rows"]) => "preserve rows",
            () if self.eat(&["delete", "rows"]) => "delete rows",
            () => {
                self.expect(&["drop"])?;
                "drop"
            }
        }))
    }

    fn table_element(&mut self) -> Result<TableElement> {
        if self.eat(&["like"]) {
            let table = self.path()?;
            let mut options = Vec::new();
            while self.is_any(&["including", "excluding"]) {
                let including = self.is(&["including"]);
                self.skip(1);
                options.push((self.label()?.text, including));
            }
            return Ok(TableElement::Like { table, options });
        }
        if self.is_table_constraint() {
            return self.table_constraint().map(TableElement::Constraint);
        }
        self.column_definition().map(TableElement::Column)
    }

    /// True if a constraint of the table begins.
    pub(super) fn is_table_constraint(&self) -> bool {
        self.is_any(&["constraint", "check", "unique", "primary", "foreign"])
            || (self.is(&["exclude"]) && (self.is_punct(1, "(") || self.word(1) == Some("using")))
    }

    pub(super) fn column_definition(&mut self) -> Result<ColumnDefinition> {
        let name = self.name()?;
        let ty = self.type_name()?;
        for word in ["storage", "compression"] {
            if self.eat(&[word]) {
                self.label()?;
            }
        }
        let collation = if self.eat(&["collate"]) { Some(self.path()?) } else { None };
        let constraints = self.column_constraints()?;
        Ok(ColumnDefinition { name, ty, collation, constraints })
    }

    pub(super) fn column_constraints(&mut self) -> Result<Vec<ColumnConstraint>> {
        let mut constraints = Vec::new();
        loop {
            let at = self.at();
            let name = if self.eat(&["constraint"]) { Some(self.name()?) } else { None };
            let kind = match self.word(0) {
                Some("not") if self.word(1) == Some("null") => {
                    self.skip(2);
                    ColumnConstraintKind::NotNull
                }
                Some("null") => {
                    self.skip(1);
                    ColumnConstraintKind::Null
                }
                Some("default") => {
                    self.skip(1);
                    ColumnConstraintKind::Default(self.default_expr()?)
                }
                Some("check") => {
                    self.skip(1);
                    ColumnConstraintKind::Check(self.sql_expr_in_parens()?)
                }
                Some("generated") => self.generated()?,
                Some("unique") => {
                    self.skip(1);
                    ColumnConstraintKind::Unique { nulls_distinct: self.nulls_distinct()? }
                }
                Some("primary") => {
                    self.expect(&["primary", "key"])?;
                    ColumnConstraintKind::PrimaryKey
                }
                Some("references") => ColumnConstraintKind::References(self.references()?),
                _ if name.is_some() => return Err(self.unexpected()),
                _ => return Ok(constraints),
            };
            self.index_parameters()?;
            let timing = self.column_timing(&kind)?;
            constraints.push(ColumnConstraint { name, kind, timing, at });
        }
    }

    /// The expression of `DEFAULT`, which has no `AND`, `OR`, `NOT` or comparison outside of
    /// parentheses: `NOT NULL` may follow.
    fn default_expr(&mut self) -> Result<super::SqlExpr> {
        let (at, start) = (self.at(), self.start());
        self.expr_above(crate::parse::expr::level::LIKE + 1)?;
        Ok(super::SqlExpr { text: self.text[start..self.end()].to_owned(), at })
    }

    pub(super) fn generated(&mut self) -> Result<ColumnConstraintKind> {
        self.expect(&["generated"])?;
        let always = self.eat(&["always"]);
        if !always {
            self.expect(&["by", "default"])?;
        }
        self.expect(&["as"])?;
        if self.eat(&["identity"]) {
            let mut options = Vec::new();
            if self.eat_punct("(") {
                options = self.sequence_options()?;
                self.expect_punct(")")?;
            }
            return Ok(ColumnConstraintKind::Identity { always, options });
        }
        if !always {
            return Err(self.unexpected());
        }
        let expr = self.sql_expr_in_parens()?;
        self.expect(&["stored"])?;
        Ok(ColumnConstraintKind::Generated(expr))
    }

    fn nulls_distinct(&mut self) -> Result<bool> {
        if self.eat(&["nulls", "not", "distinct"]) {
            return Ok(false);
        }
        self.eat(&["nulls", "distinct"]);
        Ok(true)
    }

    /// Storage parameters and the tablespace of the index behind a constraint: nothing that counts.
    fn index_parameters(&mut self) -> Result<()> {
        if self.is(&["with"]) && self.is_punct(1, "(") {
            self.skip(1);
            self.storage_options()?;
        }
        if self.eat(&["using", "index", "tablespace"]) {
            self.name()?;
        }
        Ok(())
    }

    /// When a constraint of a table is checked, and what else is said of it.
    pub(super) fn timing(&mut self, allowed: Attributes) -> Result<Timing> {
        let mut timing = Timing::default();
        let (mut deferrable, mut deferred) = (None, None);
        let refuse = |what: &str, at| {
            let message = format!("{} constraints cannot be marked {what}", allowed.of);
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at))
        };
        let say = |word: &mut Option<bool>, value, at| match word.replace(value) {
            Some(before) if before != value => {
                let message = "conflicting constraint properties";
                Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at))
            }
            _ => Ok(()),
        };
        let begin = self.at();
        loop {
            let at = self.at();
            match () {
                () if self.eat(&["deferrable"]) => say(&mut deferrable, true, at)?,
                () if self.eat(&["not", "deferrable"]) => say(&mut deferrable, false, at)?,
                () if self.eat(&["initially", "deferred"]) => say(&mut deferred, true, at)?,
                () if self.eat(&["initially", "immediate"]) => say(&mut deferred, false, at)?,
                () if self.eat(&["not", "valid"]) => {
                    if !allowed.not_valid {
                        return refuse("NOT VALID", at);
                    }
                    timing.not_valid = true;
                }
                () if self.eat(&["no", "inherit"]) => {
                    if !allowed.no_inherit {
                        return refuse("NO INHERIT", at);
                    }
                }
                () => break,
            }
            if deferrable == Some(false) && deferred == Some(true) {
                return Err(must_be_deferrable(at));
            }
        }
        timing.deferred = deferred == Some(true);
        timing.deferrable = deferrable == Some(true) || timing.deferred;
        if timing.deferrable && !allowed.deferrable {
            return refuse("DEFERRABLE", begin);
        }
        Ok(timing)
    }

    /// When a constraint of a column is checked. Only keys can wait.
    fn column_timing(&mut self, kind: &ColumnConstraintKind) -> Result<Timing> {
        let can_wait = matches!(
            kind,
            ColumnConstraintKind::Unique { .. }
                | ColumnConstraintKind::PrimaryKey
                | ColumnConstraintKind::References(_)
        );
        if matches!(kind, ColumnConstraintKind::Check(_)) {
            self.eat(&["no", "inherit"]);
        }
        let (mut deferrable, mut deferred) = (None, None);
        loop {
            let at = self.at();
            let (what, said, value) = match () {
                () if self.eat(&["deferrable"]) => ("DEFERRABLE", &mut deferrable, true),
                () if self.eat(&["not", "deferrable"]) => {
                    ("NOT DEFERRABLE", &mut deferrable, false)
                }
                () if self.eat(&["initially", "deferred"]) => {
                    ("INITIALLY DEFERRED", &mut deferred, true)
                }
                () if self.eat(&["initially", "immediate"]) => {
                    ("INITIALLY IMMEDIATE", &mut deferred, false)
                }
                () => break,
            };
            let wrong = |message: String| Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
            if !can_wait {
                return wrong(format!("misplaced {what} clause"));
            }
            if said.replace(value).is_some() {
                let both = match what.starts_with("INITIALLY") {
                    true => "INITIALLY IMMEDIATE/DEFERRED",
                    false => "DEFERRABLE/NOT DEFERRABLE",
                };
                return wrong(format!("multiple {both} clauses not allowed"));
            }
            if deferrable == Some(false) && deferred == Some(true) {
                return Err(must_be_deferrable(at));
            }
        }
        let deferred = deferred == Some(true);
        let deferrable = deferrable == Some(true) || deferred;
        Ok(Timing { deferrable, deferred, not_valid: false })
    }

    fn references(&mut self) -> Result<References> {
        self.expect(&["references"])?;
        let table = self.path()?;
        let (columns, is_period) = match self.is_punct(0, "(") {
            true => self.key_columns()?,
            false => (Vec::new(), false),
        };
        let mut full = false;
        if self.eat(&["match"]) {
            match () {
                () if self.eat(&["full"]) => full = true,
                () if self.is(&["partial"]) => {
                    return Err(self.not_supported("MATCH PARTIAL"));
                }
                () => self.expect(&["simple"])?,
            }
        }
        let (mut on_delete, mut on_update) = (ForeignAction::default(), ForeignAction::default());
        loop {
            match () {
                () if self.eat(&["on", "delete"]) => on_delete = self.foreign_action()?,
                () if self.eat(&["on", "update"]) => {
                    let at = self.at();
                    on_update = self.foreign_action()?;
                    let what = match &on_update {
                        ForeignAction::SetNull(columns) if !columns.is_empty() => "NULL",
                        ForeignAction::SetDefault(columns) if !columns.is_empty() => "DEFAULT",
                        _ => continue,
                    };
                    let message = format!(
                        "a column list with SET {what} is only supported for ON DELETE actions"
                    );
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at));
                }
                () => {
                    return Ok(References {
                        table,
                        columns,
                        is_period,
                        full,
                        on_delete,
                        on_update,
                    });
                }
            }
        }
    }

    fn foreign_action(&mut self) -> Result<ForeignAction> {
        Ok(match () {
            () if self.eat(&["no", "action"]) => ForeignAction::NoAction,
            () if self.eat(&["restrict"]) => ForeignAction::Restrict,
            () if self.eat(&["cascade"]) => ForeignAction::Cascade,
            () if self.eat(&["set", "null"]) => {
                ForeignAction::SetNull(self.optional_column_names()?)
            }
            () => {
                self.expect(&["set", "default"])?;
                ForeignAction::SetDefault(self.optional_column_names()?)
            }
        })
    }

    pub(super) fn table_constraint(&mut self) -> Result<TableConstraint> {
        let at = self.at();
        let name = if self.eat(&["constraint"]) { Some(self.name()?) } else { None };
        let (kind, allowed) = match self.word(0) {
            Some("check") => {
                self.skip(1);
                let expr = self.sql_expr_in_parens()?;
                (TableConstraintKind::Check(expr), Attributes::CHECK)
            }
            Some("unique") => {
                self.skip(1);
                (self.unique_constraint(false)?, Attributes::UNIQUE)
            }
            Some("primary") => {
                self.expect(&["primary", "key"])?;
                (self.unique_constraint(true)?, Attributes::PRIMARY_KEY)
            }
            Some("foreign") => {
                self.expect(&["foreign", "key"])?;
                let (columns, is_period) = self.key_columns()?;
                let references = self.references()?;
                let kind = TableConstraintKind::ForeignKey { columns, is_period, references };
                (kind, Attributes::FOREIGN_KEY)
            }
            Some("exclude") => {
                self.skip(1);
                (self.exclusion()?, Attributes::EXCLUDE)
            }
            _ => return Err(self.unexpected()),
        };
        Ok(TableConstraint { name, kind, timing: self.timing(allowed)?, at })
    }

    fn unique_constraint(&mut self, primary: bool) -> Result<TableConstraintKind> {
        let nulls_distinct = if primary { true } else { self.nulls_distinct()? };
        let (mut columns, mut include, mut using_index) = (Vec::new(), Vec::new(), None);
        let mut without_overlaps = false;
        if self.eat(&["using", "index"]) {
            using_index = Some(self.name()?);
        } else {
            self.expect_punct("(")?;
            loop {
                columns.push(self.name()?);
                without_overlaps = self.eat(&["without", "overlaps"]);
                if without_overlaps || !self.eat_punct(",") {
                    break;
                }
            }
            self.expect_punct(")")?;
            if self.eat(&["include"]) {
                include = self.column_names()?;
            }
            self.index_parameters()?;
        }
        Ok(TableConstraintKind::Unique {
            primary,
            columns,
            include,
            nulls_distinct,
            using_index,
            without_overlaps,
        })
    }

    /// Parses the clause after `EXCLUDE`.
    fn exclusion(&mut self) -> Result<TableConstraintKind> {
        let method = if self.eat(&["using"]) { Some(self.name()?) } else { None };
        let keys = self.parens(|parser| {
            let element = parser.index_element()?;
            parser.expect(&["with"])?;
            Ok((element, parser.any_operator()?))
        })?;
        let include = if self.eat(&["include"]) { self.column_names()? } else { Vec::new() };
        let options = if self.eat(&["with"]) { self.storage_options()? } else { Vec::new() };
        if self.eat(&["using", "index", "tablespace"]) {
            self.name()?;
        }
        let filter = if self.eat(&["where"]) { Some(self.sql_expr_in_parens()?) } else { None };
        let exclusion = Exclusion { method, keys, include, options, filter };
        Ok(TableConstraintKind::Exclude(Box::new(exclusion)))
    }

    /// The columns of a foreign key, and whether `PERIOD` stands in front of the last.
    fn key_columns(&mut self) -> Result<(Vec<Name>, bool)> {
        let mut columns = Vec::new();
        self.expect_punct("(")?;
        let is_period = loop {
            let is_period =
                self.is(&["period"]) && !self.is_punct(1, ",") && !self.is_punct(1, ")");
            if is_period {
                self.skip(1);
            }
            columns.push(self.name()?);
            if is_period || !self.eat_punct(",") {
                break is_period;
            }
        };
        self.expect_punct(")")?;
        Ok((columns, is_period))
    }

    pub(super) fn create_index(&mut self) -> Result<Define> {
        let unique = self.eat(&["unique"]);
        self.expect(&["index"])?;
        let concurrently = self.eat(&["concurrently"]);
        let if_not_exists = self.eat(&["if", "not", "exists"]);
        // An index that may be there already has a name.
        let nameless = self.is(&["on"]) && !if_not_exists;
        let name: Option<Name> = if nameless { None } else { Some(self.name()?) };
        self.expect(&["on"])?;
        let (table, only) = self.table_alone()?;
        let method = if self.eat(&["using"]) { Some(self.name()?) } else { None };
        let keys = self.parens(Self::index_element)?;
        let include = if self.eat(&["include"]) { self.column_names()? } else { Vec::new() };
        let nulls_distinct = self.nulls_distinct()?;
        let options = if self.eat(&["with"]) { self.storage_options()? } else { Vec::new() };
        if self.eat(&["tablespace"]) {
            self.name()?;
        }
        let filter = if self.eat(&["where"]) { Some(self.sql_expr()?) } else { None };
        Ok(Define::Index(Box::new(CreateIndex {
            name,
            if_not_exists,
            unique,
            concurrently,
            table,
            only,
            method,
            keys,
            include,
            nulls_distinct,
            options,
            filter,
        })))
    }

    pub(super) fn index_element(&mut self) -> Result<IndexElement> {
        let (mut column, mut expr) = (None, None);
        if self.is_punct(0, "(") {
            expr = Some(self.sql_expr_in_parens()?);
        } else if self.is_punct(1, "(") || self.is_punct(1, ".") {
            let (at, start) = (self.at(), self.start());
            self.expr_above(crate::parse::expr::level::COLLATE + 1)?;
            expr = Some(super::SqlExpr { text: self.text[start..self.end()].to_owned(), at });
        } else {
            column = Some(self.name()?);
        }
        let collation = if self.eat(&["collate"]) { Some(self.path()?) } else { None };
        let mut class = None;
        if self.is_name() && !self.is(&["nulls"]) {
            class = Some(self.path()?);
            if self.is_punct(0, "(") {
                self.storage_options()?;
            }
        }
        let descending = self.eat(&["desc"]);
        if !descending {
            self.eat(&["asc"]);
        }
        let nulls_first = match () {
            () if self.eat(&["nulls", "first"]) => Some(true),
            () if self.eat(&["nulls", "last"]) => Some(false),
            () => None,
        };
        Ok(IndexElement { column, expr, collation, class, descending, nulls_first })
    }
}

/// The attributes that a constraint of a table may have, by its kind.
#[derive(Clone, Copy)]
pub(super) struct Attributes {
    /// The name of the kind in messages.
    of: &'static str,
    deferrable: bool,
    not_valid: bool,
    no_inherit: bool,
}

impl Attributes {
    const CHECK: Self =
        Attributes { of: "CHECK", deferrable: false, not_valid: true, no_inherit: true };
    const UNIQUE: Self =
        Attributes { of: "UNIQUE", deferrable: true, not_valid: false, no_inherit: false };
    const EXCLUDE: Self = Attributes { of: "EXCLUDE", ..Self::UNIQUE };
    const PRIMARY_KEY: Self = Attributes { of: "PRIMARY KEY", ..Self::UNIQUE };
    const FOREIGN_KEY: Self = Attributes { of: "FOREIGN KEY", not_valid: true, ..Self::UNIQUE };
    /// `ALTER CONSTRAINT`
    pub(super) const ALTERED: Self = Attributes { not_valid: false, ..Self::FOREIGN_KEY };
}

fn must_be_deferrable(at: At) -> Error {
    let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
    Error::new(SqlState::SYNTAX_ERROR, message).at(at)
}
