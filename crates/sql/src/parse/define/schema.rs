//! The objects that `CREATE SCHEMA` makes in the new schema, and the changes of `ALTER TYPE` to the
//! attributes of composite types.

use types::SqlState;

use crate::error::{Error, Result};
use crate::parse::ast::{Alter, ColumnDefinition, Define, ObjectKind, Path, Statement};
use crate::parse::cursor::Parser;

impl Parser<'_> {
    /// The definitions within `CREATE SCHEMA`, up to the end of the statement.
    pub(super) fn schema_elements(&mut self, if_not_exists: bool) -> Result<Vec<Statement>> {
        let mut elements = Vec::new();
        while self.is_any(&["create", "grant"]) {
            let at = self.at();
            let element = self.statement()?;
            let is_one = match &element {
                Statement::CreateView(_) => true,
                Statement::Define(define) => matches!(
                    **define,
                    Define::Table(_)
                        | Define::Index(_)
                        | Define::Sequence { .. }
                        | Define::Privileges(_)
                        | Define::Unsupported(_)
                ),
                _ => false,
            };
            if if_not_exists || !is_one {
                let (state, message) = match is_one {
                    true => (
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "CREATE SCHEMA IF NOT EXISTS cannot include schema elements",
                    ),
                    false => (SqlState::SYNTAX_ERROR, "this cannot be an element of CREATE SCHEMA"),
                };
                return Err(Error::new(state, message).at(at));
            }
            elements.push(element);
        }
        Ok(elements)
    }

    /// `ALTER TYPE name {ADD | DROP | ALTER | RENAME} ATTRIBUTE ...`, behind the name.
    pub(super) fn alter_composite(&mut self, name: Path) -> Result<Define> {
        let kind = ObjectKind::Type;
        let if_exists = false;
        if self.eat(&["rename", "attribute"]) {
            let old = self.name()?;
            self.expect(&["to"])?;
            let actions = vec![Alter::RenameColumn(old, self.name()?)];
            self.drop_behaviour();
            return Ok(Define::Alter { kind, name, only: false, if_exists, actions });
        }
        let actions = self.list(Self::attribute_action)?;
        Ok(Define::Alter { kind, name, only: false, if_exists, actions })
    }

    fn attribute_action(&mut self) -> Result<Alter> {
        Ok(match () {
            () if self.eat(&["add", "attribute"]) => {
                let name = self.name()?;
                let ty = self.type_name()?;
                let collation = if self.eat(&["collate"]) { Some(self.path()?) } else { None };
                self.drop_behaviour();
                let column = ColumnDefinition { name, ty, collation, constraints: Vec::new() };
                Alter::AddColumn { column, if_not_exists: false }
            }
            () if self.eat(&["drop", "attribute"]) => {
                let if_exists = self.eat(&["if", "exists"]);
                let name = self.name()?;
                Alter::DropColumn { name, if_exists, cascade: self.drop_behaviour() }
            }
            () if self.eat(&["alter", "attribute"]) => {
                let name = self.name()?;
                self.eat(&["set", "data"]);
                self.expect(&["type"])?;
                let ty = self.type_name()?;
                let collation = if self.eat(&["collate"]) { Some(self.path()?) } else { None };
                self.drop_behaviour();
                Alter::ColumnType { name, ty, collation, using: None }
            }
            () => return Err(self.unexpected()),
        })
    }
}
