//! `CREATE POLICY` and `ALTER POLICY`.

use types::SqlState;

use crate::error::{Error, Result};
use crate::parse::ast::{Define, Name, ObjectKind, Path, PolicyDefinition, SqlExpr};
use crate::parse::cursor::Parser;

impl Parser<'_> {
    /// `CREATE POLICY`, of which the first word is read.
    pub(super) fn create_policy(&mut self) -> Result<Define> {
        let (table, name) = self.policy_path()?;
        let mut is_permissive = true;
        if self.eat(&["as"]) {
            let at = self.at();
            let word = self.label()?.text;
            is_permissive = match word.as_str() {
                "permissive" => true,
                "restrictive" => false,
                _ => {
                    let message = format!("unrecognized row security option \"{word}\"");
                    let hint = "Only PERMISSIVE or RESTRICTIVE policies are supported currently.";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).hint(hint).at(at));
                }
            };
        }
        let mut command = None;
        if self.eat(&["for"]) && !self.eat(&["all"]) {
            if !self.is_any(&["select", "insert", "update", "delete"]) {
                return Err(self.unexpected());
            }
            command = Some(self.label()?.text);
        }
        let roles = if self.eat(&["to"]) { self.list(Self::role_name)? } else { Vec::new() };
        let (using, check) = self.policy_conditions()?;
        let refuse = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message));
        match command.as_deref() {
            Some("select" | "delete") if check.is_some() => {
                return refuse("WITH CHECK cannot be applied to SELECT or DELETE");
            }
            Some("insert") if using.is_some() => {
                return refuse("only WITH CHECK expression allowed for INSERT");
            }
            _ => {}
        }
        Ok(Define::Policy(Box::new(PolicyDefinition {
            name,
            table,
            is_permissive,
            command,
            roles: Some(roles),
            using,
            check,
        })))
    }

    /// `ALTER POLICY`, of which the first word is read.
    pub(super) fn alter_policy(&mut self) -> Result<Define> {
        let (table, name) = self.policy_path()?;
        if self.eat(&["rename", "to"]) {
            let mut path = table;
            path.parts.push(name);
            let to = self.name()?;
            return Ok(Define::Rename { kind: ObjectKind::Policy, name: path, to });
        }
        let roles = if self.eat(&["to"]) { Some(self.list(Self::role_name)?) } else { None };
        let (using, check) = self.policy_conditions()?;
        Ok(Define::AlterPolicy(Box::new(PolicyDefinition {
            name,
            table,
            is_permissive: true,
            command: None,
            roles,
            using,
            check,
        })))
    }

    /// `POLICY name ON table`: the table and the name.
    fn policy_path(&mut self) -> Result<(Path, Name)> {
        self.expect(&["policy"])?;
        let name = self.name()?;
        self.expect(&["on"])?;
        Ok((self.table_path()?, name))
    }

    /// `USING (...)` and `WITH CHECK (...)`
    fn policy_conditions(&mut self) -> Result<(Option<SqlExpr>, Option<SqlExpr>)> {
        let using = match self.eat(&["using"]) {
            true => Some(self.sql_expr_in_parens()?),
            false => None,
        };
        let check = match self.eat(&["with", "check"]) {
            true => Some(self.sql_expr_in_parens()?),
            false => None,
        };
        Ok((using, check))
    }
}
