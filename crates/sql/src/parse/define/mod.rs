//! Definitions: `CREATE`, `ALTER`, `DROP`, `TRUNCATE`, `COMMENT`, `GRANT` and `REVOKE`.
//!
//! ```text
//!   mod     CREATE what?, sequences, types, DROP, COMMENT, TRUNCATE
//!   table   CREATE TABLE, CREATE INDEX: columns and constraints
//!   materialized   materialized views
//!   alter   ALTER
//!   schema  what CREATE SCHEMA makes in the schema, attributes of composite types
//!   role    roles, privileges, memberships
//! ```
//!
//! Statements that PostgreSQL has and this server does not are read by their first words and
//! refused later, with their name.

mod alter;
mod materialized;
mod partition;
mod policy;
mod role;
mod schema;
mod table;

use types::SqlState;

use super::ast::{
    DatabaseOption, Define, Name, ObjectKind, Path, SequenceOption, SqlExpr, Statement,
};
use super::cursor::Parser;
use super::lexer::Token;
use crate::error::{At, Error, Result};

/// The words of kinds of objects.
const KINDS: [(&str, ObjectKind); 16] = [
    ("table", ObjectKind::Table),
    ("index", ObjectKind::Index),
    ("view", ObjectKind::View),
    ("sequence", ObjectKind::Sequence),
    ("schema", ObjectKind::Schema),
    ("type", ObjectKind::Type),
    ("domain", ObjectKind::Domain),
    ("database", ObjectKind::Database),
    ("role", ObjectKind::Role),
    ("user", ObjectKind::Role),
    ("group", ObjectKind::Role),
    ("column", ObjectKind::Column),
    ("constraint", ObjectKind::Constraint),
    ("extension", ObjectKind::Extension),
    ("policy", ObjectKind::Policy),
    ("collation", ObjectKind::Collation),
];

impl From<Define> for Statement {
    fn from(define: Define) -> Self {
        Statement::Define(Box::new(define))
    }
}

impl Parser<'_> {
    /// A definition, where the first word is one of theirs.
    pub(super) fn definition(&mut self) -> Result<Option<Define>> {
        Ok(Some(match self.word(0) {
            Some("create") => self.create()?,
            Some("alter") => self.alter()?,
            Some("drop") => self.drop_objects()?,
            Some("truncate") => self.truncate()?,
            Some("comment") => self.comment()?,
            Some("grant") => self.grant(true)?,
            Some("reassign") => self.reassign_owned()?,
            Some("revoke") => self.grant(false)?,
            Some("refresh") => self.refresh()?,
            Some("reindex") => self.reindex()?,
            _ => return Ok(None),
        }))
    }

    fn create(&mut self) -> Result<Define> {
        let start = self.start();
        self.skip(1);
        if self.is(&["or", "replace"]) {
            return self.unsupported(start, 2);
        }
        let temporary =
            self.is_any(&["global", "local"]) && matches!(self.word(1), Some("temp" | "temporary"));
        if temporary {
            self.skip(1);
        }
        let temporary = self.is_any(&["temp", "temporary"]);
        if temporary {
            self.skip(1);
        }
        let unlogged = !temporary && self.eat(&["unlogged"]);
        match self.word(0) {
            Some("table") => return self.create_table(temporary, unlogged),
            Some("materialized") if !temporary => return self.create_materialized_view(unlogged),
            Some("sequence") => {
                self.skip(1);
                let if_not_exists = self.eat(&["if", "not", "exists"]);
                let name = self.path()?;
                let options = self.sequence_options()?;
                return Ok(Define::Sequence { name, if_not_exists, temporary, options });
            }
            _ if temporary || unlogged => return self.unsupported(start, 1),
            _ => {}
        }
        match self.word(0) {
            Some("unique" | "index") => self.create_index(),
            Some("schema") => self.create_schema(),
            Some("type") => self.create_type(start),
            Some("domain") => self.create_domain(),
            Some("collation") => self.create_collation(),
            Some("extension") => self.create_extension(),
            Some("policy") => self.create_policy(),
            Some("database") => self.create_database(),
            Some("role" | "user" | "group") if self.word(1) != Some("mapping") => {
                let login = self.is(&["user"]);
                self.skip(1);
                self.create_role(login)
            }
            Some(_) => self.unsupported(start, 1),
            None => Err(self.unexpected()),
        }
    }

    /// The first words of a statement that is not supported, up to here and so many more; the rest
    /// is stepped over.
    pub(super) fn unsupported(&mut self, start: usize, more: usize) -> Result<Define> {
        self.skip(more);
        let words = self.text[start..self.end()].split_whitespace().collect::<Vec<_>>().join(" ");
        while !self.is_end() && !self.is_punct(0, ";") {
            self.skip(1);
        }
        Ok(Define::Unsupported(words.to_uppercase()))
    }

    /// An expression and its text.
    pub(in crate::parse) fn sql_expr(&mut self) -> Result<SqlExpr> {
        let (at, start) = (self.at(), self.start());
        self.expr()?;
        Ok(SqlExpr { text: self.text[start..self.end()].to_owned(), at })
    }

    /// The same in parentheses, which do not belong to the text.
    fn sql_expr_in_parens(&mut self) -> Result<SqlExpr> {
        self.expect_punct("(")?;
        let expr = self.sql_expr()?;
        self.expect_punct(")")?;
        Ok(expr)
    }

    fn create_extension(&mut self) -> Result<Define> {
        self.skip(1);
        let if_not_exists = self.eat(&["if", "not", "exists"]);
        let name = self.name()?;
        self.eat(&["with"]);
        let (mut schema, mut version, mut cascade) = (None, None, false);
        loop {
            let at = self.at();
            let is_again = if self.eat(&["schema"]) {
                schema.replace(self.name()?).is_some()
            } else if self.eat(&["version"]) {
                version.replace(self.extension_version()?).is_some()
            } else if self.eat(&["cascade"]) {
                std::mem::replace(&mut cascade, true)
            } else {
                return Ok(Define::Extension { name, if_not_exists, schema, version });
            };
            if is_again {
                return Err(repeated(at));
            }
        }
    }

    /// A version of an extension: a string or a name.
    pub(super) fn extension_version(&mut self) -> Result<String> {
        match self.peek(0) {
            Token::String(_) => self.string_value(),
            _ => Ok(self.label()?.text),
        }
    }

    fn create_schema(&mut self) -> Result<Define> {
        self.skip(1);
        let if_not_exists = self.eat(&["if", "not", "exists"]);
        let name = match self.is(&["authorization"]) {
            true => None,
            false => Some(self.name()?),
        };
        let owner = if self.eat(&["authorization"]) { Some(self.role_name()?) } else { None };
        let elements = self.schema_elements(if_not_exists)?;
        Ok(Define::Schema { name, if_not_exists, owner, elements })
    }

    fn create_type(&mut self, start: usize) -> Result<Define> {
        self.skip(1);
        let name = self.path()?;
        if self.is_end() || self.is_punct(0, ";") || self.is_punct(0, "(") {
            return self.unsupported(start, 0);
        }
        self.expect(&["as"])?;
        if self.eat(&["enum"]) {
            self.expect_punct("(")?;
            let mut labels = Vec::new();
            if !self.is_punct(0, ")") {
                labels = self.list(Self::string_value)?;
            }
            self.expect_punct(")")?;
            return Ok(Define::Enum { name, labels });
        }
        if self.eat(&["range"]) {
            return self.range_type(name);
        }
        self.expect_punct("(")?;
        let mut fields = Vec::new();
        if !self.is_punct(0, ")") {
            fields = self.list(|parser| {
                let name = parser.name()?;
                let ty = parser.type_name()?;
                let collate = parser.eat(&["collate"]);
                Ok((name, ty, if collate { Some(parser.path()?) } else { None }))
            })?;
        }
        self.expect_punct(")")?;
        Ok(Define::Composite { name, fields })
    }

    fn range_type(&mut self, name: Path) -> Result<Define> {
        let (mut subtype, mut collation, mut class) = (None, None, None);
        let (mut difference, mut multirange) = (None, None);
        self.expect_punct("(")?;
        self.list(|parser| {
            let at = parser.at();
            let option = parser.label()?;
            if !parser.eat_symbol("=") {
                return Err(parser.unexpected());
            }
            let set = |place: &mut Option<Path>, parser: &mut Self| {
                let path = parser.path()?;
                place.replace(path).map_or(Ok(()), |_| Err(repeated(at)))
            };
            match option.text.as_str() {
                "subtype" => {
                    let ty = parser.type_name()?;
                    subtype.replace(ty).map_or(Ok(()), |_| Err(repeated(at)))
                }
                "collation" => set(&mut collation, parser),
                "subtype_opclass" => set(&mut class, parser),
                "subtype_diff" => set(&mut difference, parser),
                "multirange_type_name" => set(&mut multirange, parser),
                "canonical" => Err(parser.not_supported("a range type with a function CANONICAL")),
                other => {
                    let message = format!("type attribute \"{other}\" not recognized");
                    Err(Error::new(SqlState::SYNTAX_ERROR, message))
                }
            }
        })?;
        self.expect_punct(")")?;
        let Some(subtype) = subtype else {
            let message = "type attribute \"subtype\" is required";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        };
        Ok(Define::Range { name, subtype, collation, class, difference, multirange })
    }

    fn create_collation(&mut self) -> Result<Define> {
        self.skip(1);
        let if_not_exists = self.eat(&["if", "not", "exists"]);
        let name = self.path()?;
        if self.eat(&["from"]) {
            let from = Some(self.path()?);
            return Ok(Define::Collation { name, if_not_exists, from, options: Vec::new() });
        }
        let mut options = Vec::new();
        self.expect_punct("(")?;
        self.list(|parser| {
            let option = parser.label()?;
            if !parser.eat_symbol("=") {
                return Err(parser.unexpected());
            }
            let value = match parser.peek(0) {
                Token::String(_) => parser.string_value()?,
                _ => parser.label()?.text,
            };
            options.push((option, value));
            Ok(())
        })?;
        self.expect_punct(")")?;
        Ok(Define::Collation { name, if_not_exists, from: None, options })
    }

    fn create_domain(&mut self) -> Result<Define> {
        self.skip(1);
        let name = self.path()?;
        self.eat(&["as"]);
        let base = self.type_name()?;
        let collation = if self.eat(&["collate"]) { Some(self.path()?) } else { None };
        let constraints = self.column_constraints()?;
        Ok(Define::Domain { name, base, collation, constraints })
    }

    fn create_database(&mut self) -> Result<Define> {
        self.skip(1);
        Ok(Define::Database { name: self.name()?, options: self.database_options()? })
    }

    /// `[WITH] option [=] value ...`, up to the end of the statement.
    pub(super) fn database_options(&mut self) -> Result<Vec<DatabaseOption>> {
        self.eat(&["with"]);
        let mut options = Vec::new();
        while !self.is_end() && !self.is_punct(0, ";") {
            let mut name = self.label()?;
            if name.text == "connection" && self.eat(&["limit"]) {
                name.text = "connection_limit".to_owned();
            }
            self.eat_symbol("=");
            let value = match self.peek(0).clone() {
                Token::Number(_) => Some(self.signed()?.to_string()),
                _ if self.is_symbol(0, "-") => Some(self.signed()?.to_string()),
                Token::Word(text) if text == "default" => {
                    self.skip(1);
                    None
                }
                Token::Word(text) | Token::Quoted(text) | Token::String(text) => {
                    self.skip(1);
                    Some(text.into_owned())
                }
                _ => return Err(self.unexpected()),
            };
            options.push(DatabaseOption { name, value });
        }
        Ok(options)
    }

    /// The options of a sequence, up to whatever is none.
    pub(super) fn sequence_options(&mut self) -> Result<Vec<SequenceOption>> {
        let mut options = Vec::new();
        loop {
            options.push(match self.word(0) {
                Some("as") => {
                    self.skip(1);
                    SequenceOption::Type(self.type_name()?)
                }
                Some("increment") => {
                    self.skip(1);
                    self.eat(&["by"]);
                    SequenceOption::Increment(self.signed()?)
                }
                Some("minvalue") => {
                    self.skip(1);
                    SequenceOption::Min(Some(self.signed()?))
                }
                Some("maxvalue") => {
                    self.skip(1);
                    SequenceOption::Max(Some(self.signed()?))
                }
                Some("no") => {
                    self.skip(1);
                    match () {
                        () if self.eat(&["minvalue"]) => SequenceOption::Min(None),
                        () if self.eat(&["maxvalue"]) => SequenceOption::Max(None),
                        () => {
                            self.expect(&["cycle"])?;
                            SequenceOption::Cycle(false)
                        }
                    }
                }
                Some("start") => {
                    self.skip(1);
                    self.eat(&["with"]);
                    SequenceOption::Start(self.signed()?)
                }
                Some("restart") => {
                    self.skip(1);
                    let with = self.eat(&["with"]);
                    let value =
                        with || self.is_symbol(0, "-") || matches!(self.peek(0), Token::Number(_));
                    SequenceOption::Restart(if value { Some(self.signed()?) } else { None })
                }
                Some("cache") => {
                    self.skip(1);
                    SequenceOption::Cache(self.signed()?)
                }
                Some("cycle") => {
                    self.skip(1);
                    SequenceOption::Cycle(true)
                }
                Some("owned") => {
                    self.expect(&["owned", "by"])?;
                    let none = self.eat(&["none"]);
                    SequenceOption::OwnedBy(if none { None } else { Some(self.path()?) })
                }
                Some("sequence") => {
                    self.expect(&["sequence", "name"])?;
                    SequenceOption::Name(self.path()?)
                }
                _ => return Ok(options),
            });
        }
    }

    /// The kind of object that the next word names.
    fn object_kind(&mut self) -> Option<ObjectKind> {
        if self.is(&["materialized", "view"]) {
            // The caller steps over the last word.
            self.skip(1);
            return Some(ObjectKind::MaterializedView);
        }
        let word = self.word(0)?;
        KINDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
    }

    /// `REINDEX`: of an index, of the indexes of a table, or of all.
    fn reindex(&mut self) -> Result<Define> {
        self.skip(1);
        if self.is_punct(0, "(") {
            self.storage_options()?;
        }
        let is_of_one = self.is_any(&["index", "table"]);
        if !is_of_one && !self.is_any(&["schema", "database", "system"]) {
            return Err(self.unexpected());
        }
        self.skip(1);
        self.eat(&["concurrently"]);
        let name = if is_of_one || self.is_name() { Some(self.path()?) } else { None };
        Ok(Define::Reindex { name: name.filter(|_| is_of_one) })
    }

    fn reassign_owned(&mut self) -> Result<Define> {
        self.expect(&["reassign", "owned", "by"])?;
        let roles = self.list(Self::role_name)?;
        self.expect(&["to"])?;
        Ok(Define::ReassignOwned { roles, to: self.role_name()? })
    }

    fn drop_objects(&mut self) -> Result<Define> {
        let start = self.start();
        self.skip(1);
        if self.eat(&["owned"]) {
            self.expect(&["by"])?;
            let roles = self.list(Self::role_name)?;
            return Ok(Define::DropOwned { roles, cascade: self.drop_behaviour() });
        }
        let kind = match self.object_kind() {
            Some(ObjectKind::Column | ObjectKind::Constraint) | None => {
                return if self.word(0).is_some() {
                    self.unsupported(start, 1)
                } else {
                    Err(self.unexpected())
                };
            }
            Some(ObjectKind::Role) if self.word(1) == Some("mapping") => {
                return self.unsupported(start, 2);
            }
            Some(kind) => kind,
        };
        self.skip(1);
        let concurrently = kind == ObjectKind::Index && self.eat(&["concurrently"]);
        let if_exists = self.eat(&["if", "exists"]);
        if kind == ObjectKind::Database {
            let name = self.name()?;
            self.eat(&["with"]);
            let force = self.is_punct(0, "(");
            if force {
                self.parens(|parser| parser.expect(&["force"]))?;
            }
            return Ok(Define::DropDatabase { name, if_exists, force });
        }
        let names = match kind {
            ObjectKind::Policy => vec![self.path_of_part()?],
            _ => self.list(Self::path)?,
        };
        Ok(Define::Drop { kind, names, concurrently, if_exists, cascade: self.drop_behaviour() })
    }

    /// True for `CASCADE`.
    pub(super) fn drop_behaviour(&mut self) -> bool {
        let cascade = self.eat(&["cascade"]);
        if !cascade {
            self.eat(&["restrict"]);
        }
        cascade
    }

    fn truncate(&mut self) -> Result<Define> {
        self.skip(1);
        self.eat(&["table"]);
        let tables = self.list(Self::table_alone)?;
        let restart = self.eat(&["restart", "identity"]);
        if !restart {
            self.eat(&["continue", "identity"]);
        }
        Ok(Define::Truncate { tables, restart, cascade: self.drop_behaviour() })
    }

    fn comment(&mut self) -> Result<Define> {
        let start = self.start();
        self.skip(1);
        self.expect(&["on"])?;
        let Some(mut kind) = self.object_kind() else {
            return if self.word(0).is_some() {
                self.unsupported(start, 1)
            } else {
                Err(self.unexpected())
            };
        };
        self.skip(1);
        if kind == ObjectKind::Policy {
            let name = self.path_of_part()?;
            return self.comment_text(kind, name);
        }
        let mut name = self.path()?;
        if kind == ObjectKind::Constraint {
            self.expect(&["on"])?;
            if self.eat(&["domain"]) {
                kind = ObjectKind::DomainConstraint;
            }
            let constraint = name.parts.remove(0);
            name = self.path()?;
            name.parts.push(constraint);
        }
        self.comment_text(kind, name)
    }

    /// `name ON table`: the path of the table and, after it, the name.
    fn path_of_part(&mut self) -> Result<Path> {
        let name = self.name()?;
        self.expect(&["on"])?;
        let mut path = self.path()?;
        path.parts.push(name);
        Ok(path)
    }

    fn comment_text(&mut self, kind: ObjectKind, name: Path) -> Result<Define> {
        self.expect(&["is"])?;
        let text = match self.eat(&["null"]) {
            true => None,
            false => Some(self.string_value()?),
        };
        Ok(Define::Comment { kind, name, text })
    }

    /// `(name [= value], ...)`, with maybe a namespace before each name.
    pub(super) fn storage_options(&mut self) -> Result<Vec<(String, Option<String>)>> {
        self.parens(|parser| {
            let mut name = parser.label()?.text;
            if parser.eat_punct(".") {
                name = format!("{name}.{}", parser.label()?.text);
            }
            if !parser.eat_symbol("=") {
                return Ok((name, None));
            }
            let value = match parser.peek(0).clone() {
                Token::Word(text) | Token::Quoted(text) | Token::String(text) => {
                    parser.skip(1);
                    text.into_owned()
                }
                Token::Number(text) => {
                    parser.skip(1);
                    text.into_owned()
                }
                _ => parser.signed()?.to_string(),
            };
            Ok((name, Some(value)))
        })
    }

    /// The names of columns in parentheses.
    pub(super) fn column_names(&mut self) -> Result<Vec<Name>> {
        self.parens(Self::name)
    }

    /// The names of columns in parentheses, where there are any.
    pub(super) fn optional_column_names(&mut self) -> Result<Vec<Name>> {
        if self.is_punct(0, "(") { self.column_names() } else { Ok(Vec::new()) }
    }

    /// A name of one part as a path.
    pub(super) fn single(name: Name) -> Path {
        Path { parts: vec![name] }
    }
}

/// The error for an option that is said twice.
fn repeated(at: At) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options").at(at)
}
