//! `ALTER`.

use types::SqlState;

use super::table::Attributes;
use crate::error::{Error, Result};
use crate::parse::ast::{
    Alter, ColumnConstraintKind, Define, DomainChange, EnumChange, ObjectKind, Path,
};
use crate::parse::cursor::Parser;

impl Parser<'_> {
    pub(super) fn alter(&mut self) -> Result<Define> {
        let start = self.start();
        self.skip(1);
        if self.eat(&["default", "privileges"]) {
            return self.default_privileges();
        }
        let kind = match self.object_kind() {
            Some(ObjectKind::Column | ObjectKind::Constraint) | None => {
                return if self.word(0).is_some() {
                    self.unsupported(start, 1)
                } else {
                    Err(self.unexpected())
                };
            }
            Some(kind) => kind,
        };
        if kind == ObjectKind::Role && self.word(1) == Some("mapping") {
            return self.unsupported(start, 2);
        }
        if kind == ObjectKind::Policy {
            return self.alter_policy();
        }
        self.skip(1);
        match kind {
            ObjectKind::Role => self.alter_role(),
            ObjectKind::Database => self.alter_database(),
            ObjectKind::Type => self.alter_type(),
            ObjectKind::Domain => self.alter_domain(),
            ObjectKind::Extension => self.alter_extension(start),
            ObjectKind::Collation => {
                let name = self.path()?;
                if self.eat(&["refresh", "version"]) {
                    return Ok(Define::RefreshCollation { name });
                }
                self.rename_or_owner(kind, name)
            }
            ObjectKind::Schema => {
                let name = self.path()?;
                self.rename_or_owner(kind, name)
            }
            _ => self.alter_relation(kind),
        }
    }

    fn rename_or_owner(&mut self, kind: ObjectKind, name: Path) -> Result<Define> {
        Ok(match () {
            () if self.eat(&["rename", "to"]) => Define::Rename { kind, name, to: self.name()? },
            () if self.eat(&["owner", "to"]) => Define::Owner { kind, name, to: self.role_name()? },
            () if self.eat(&["set", "schema"]) => {
                Define::SetSchema { kind, name, to: self.name()? }
            }
            () => return Err(self.unexpected()),
        })
    }

    fn alter_extension(&mut self, start: usize) -> Result<Define> {
        let name = self.name()?;
        if self.eat(&["update"]) {
            let version = match self.eat(&["to"]) {
                true => Some(self.extension_version()?),
                false => None,
            };
            return Ok(Define::UpdateExtension { name, version });
        }
        if self.is_any(&["set", "add", "drop"]) {
            return self.unsupported(start, 2);
        }
        Err(self.unexpected())
    }

    fn alter_database(&mut self) -> Result<Define> {
        let name = self.path()?;
        if self.is(&["set"]) || self.is(&["reset"]) {
            let database = Some(name.parts[0].clone());
            return self.alter_settings(None, database);
        }
        if self.is(&["rename"]) || self.is(&["owner"]) {
            return self.rename_or_owner(ObjectKind::Database, name);
        }
        let options = self.database_options()?;
        Ok(Define::AlterDatabase { name: name.parts[0].clone(), options })
    }

    fn alter_type(&mut self) -> Result<Define> {
        let name = self.path()?;
        if self.eat(&["add", "value"]) {
            let if_not_exists = self.eat(&["if", "not", "exists"]);
            let label = self.string_value()?;
            let next_to = match self.word(0) {
                Some(word @ ("before" | "after")) => {
                    let before = word == "before";
                    self.skip(1);
                    Some((self.string_value()?, before))
                }
                _ => None,
            };
            let change = EnumChange::Add { label, if_not_exists, next_to };
            return Ok(Define::AlterEnum { name, change });
        }
        if self.eat(&["rename", "value"]) {
            let old = self.string_value()?;
            self.expect(&["to"])?;
            let change = EnumChange::Rename(old, self.string_value()?);
            return Ok(Define::AlterEnum { name, change });
        }
        if self.is_any(&["add", "drop", "alter"]) || self.is(&["rename", "attribute"]) {
            return self.alter_composite(name);
        }
        self.rename_or_owner(ObjectKind::Type, name)
    }

    fn alter_domain(&mut self) -> Result<Define> {
        let name = self.path()?;
        let change = match () {
            () if self.eat(&["set", "default"]) => DomainChange::Default(Some(self.sql_expr()?)),
            () if self.eat(&["drop", "default"]) => DomainChange::Default(None),
            () if self.eat(&["set", "not", "null"]) => DomainChange::NotNull(true),
            () if self.eat(&["drop", "not", "null"]) => DomainChange::NotNull(false),
            () if self.eat(&["add"]) => {
                let mut constraints = self.column_constraints()?;
                if let [only] = &mut constraints[..]
                    && matches!(only.kind, ColumnConstraintKind::Check(_))
                {
                    only.timing.not_valid = self.eat(&["not", "valid"]);
                }
                match constraints.len() {
                    1 => DomainChange::AddConstraint(constraints.remove(0)),
                    _ => return Err(self.unexpected()),
                }
            }
            () if self.eat(&["drop", "constraint"]) => {
                let if_exists = self.eat(&["if", "exists"]);
                let name = self.name()?;
                let cascade = self.drop_behaviour();
                DomainChange::DropConstraint { name, if_exists, cascade }
            }
            () if self.eat(&["rename", "constraint"]) => {
                let old = self.name()?;
                self.expect(&["to"])?;
                DomainChange::RenameConstraint(old, self.name()?)
            }
            () if self.eat(&["validate", "constraint"]) => DomainChange::Validate(self.name()?),
            () => return self.rename_or_owner(ObjectKind::Domain, name),
        };
        Ok(Define::AlterDomain { name, change })
    }

    /// `ALTER` of a table, index, view or sequence.
    fn alter_relation(&mut self, kind: ObjectKind) -> Result<Define> {
        let if_exists = self.eat(&["if", "exists"]);
        let (name, only) = self.table_alone()?;
        let alone = match () {
            () if self.eat(&["rename", "to"]) => Some(Alter::Rename(self.name()?)),
            () if self.eat(&["rename", "constraint"]) => {
                let old = self.name()?;
                self.expect(&["to"])?;
                Some(Alter::RenameConstraint(old, self.name()?))
            }
            () if self.eat(&["rename"]) => {
                self.eat(&["column"]);
                let old = self.name()?;
                self.expect(&["to"])?;
                Some(Alter::RenameColumn(old, self.name()?))
            }
            () if self.eat(&["set", "schema"]) => Some(Alter::SetSchema(self.name()?)),
            () => None,
        };
        if let Some(action) = alone {
            let actions = vec![action];
            return Ok(Define::Alter { kind, name, only, if_exists, actions });
        }
        if kind == ObjectKind::Sequence && !self.is(&["owner"]) {
            let options = self.sequence_options()?;
            if options.is_empty() {
                return Err(self.unexpected());
            }
            return Ok(Define::AlterSequence { name, if_exists, options });
        }
        let actions = self.list(Self::alter_action)?;
        Ok(Define::Alter { kind, name, only, if_exists, actions })
    }

    fn alter_action(&mut self) -> Result<Alter> {
        let start = self.start();
        Ok(match () {
            () if self.eat(&["add"]) => {
                if self.is_table_constraint() {
                    return self.table_constraint().map(Alter::AddConstraint);
                }
                self.eat(&["column"]);
                let if_not_exists = self.eat(&["if", "not", "exists"]);
                Alter::AddColumn { column: self.column_definition()?, if_not_exists }
            }
            () if self.eat(&["drop", "constraint"]) => {
                let if_exists = self.eat(&["if", "exists"]);
                let name = self.name()?;
                Alter::DropConstraint { name, if_exists, cascade: self.drop_behaviour() }
            }
            () if self.eat(&["drop"]) => {
                self.eat(&["column"]);
                let if_exists = self.eat(&["if", "exists"]);
                let name = self.name()?;
                Alter::DropColumn { name, if_exists, cascade: self.drop_behaviour() }
            }
            () if self.eat(&["alter", "constraint"]) => {
                Alter::AlterConstraint(self.name()?, self.timing(Attributes::ALTERED)?)
            }
            () if self.eat(&["alter"]) => {
                self.eat(&["column"]);
                self.alter_column()?
            }
            () if self.eat(&["validate", "constraint"]) => Alter::Validate(self.name()?),
            () if self.eat(&["owner", "to"]) => Alter::Owner(self.role_name()?),
            () if self.is(&["set"]) && self.is_punct(1, "(") => {
                self.skip(1);
                Alter::SetOptions(self.storage_options()?)
            }
            () if self.is(&["reset"]) && self.is_punct(1, "(") => {
                self.skip(1);
                let at = self.at();
                let options = self.storage_options()?;
                if options.iter().any(|(_, value)| value.is_some()) {
                    let message = "RESET must not include values for parameters";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
                }
                Alter::ResetOptions(options.into_iter().map(|(name, _)| name).collect())
            }
            () if self.is(&["set", "logged"]) || self.is(&["set", "unlogged"]) => {
                self.skip(2);
                Alter::Ignored
            }
            () if self.eat(&["set", "tablespace"]) || self.eat(&["cluster", "on"]) => {
                self.name()?;
                Alter::Ignored
            }
            () if self.eat(&["set", "access", "method"]) => match self.eat(&["default"]) {
                true => Alter::SetMethod(None),
                false => Alter::SetMethod(Some(self.name()?)),
            },
            () if self.eat(&["set", "without", "cluster"]) => Alter::Ignored,
            () if self.eat(&["replica", "identity"]) => {
                if self.eat(&["using", "index"]) {
                    self.name()?;
                } else {
                    self.label()?;
                }
                Alter::Ignored
            }
            () if self.eat(&["enable", "row", "level", "security"]) => {
                Alter::RowSecurity { is_enabled: Some(true), is_forced: None }
            }
            () if self.eat(&["disable", "row", "level", "security"]) => {
                Alter::RowSecurity { is_enabled: Some(false), is_forced: None }
            }
            () if self.eat(&["force", "row", "level", "security"]) => {
                Alter::RowSecurity { is_enabled: None, is_forced: Some(true) }
            }
            () if self.eat(&["no", "force", "row", "level", "security"]) => {
                Alter::RowSecurity { is_enabled: None, is_forced: Some(false) }
            }
            () if self.is(&["attach"]) || self.is(&["detach"]) => self.attach_or_detach()?,
            () if self.is_any(&["enable", "disable", "force", "no", "inherit", "of", "not"]) => {
                while !self.is_end() && !self.is_punct(0, ";") && !self.is_punct(0, ",") {
                    self.skip(1);
                }
                Alter::Unsupported(self.text[start..self.end()].to_uppercase())
            }
            () => return Err(self.unexpected()),
        })
    }

    fn alter_column(&mut self) -> Result<Alter> {
        let name = self.name()?;
        Ok(match () {
            () if self.is(&["type"]) || self.is(&["set", "data", "type"]) => {
                self.eat(&["set", "data"]);
                self.skip(1);
                let ty = self.type_name()?;
                let collation = if self.eat(&["collate"]) { Some(self.path()?) } else { None };
                let using = if self.eat(&["using"]) { Some(self.sql_expr()?) } else { None };
                Alter::ColumnType { name, ty, collation, using }
            }
            () if self.eat(&["set", "default"]) => Alter::Default(name, Some(self.sql_expr()?)),
            () if self.eat(&["drop", "default"]) => Alter::Default(name, None),
            () if self.eat(&["set", "not", "null"]) => Alter::NotNull(name, true),
            () if self.eat(&["drop", "not", "null"]) => Alter::NotNull(name, false),
            () if self.eat(&["set", "expression"]) => {
                self.expect(&["as"])?;
                Alter::Expression(name, self.sql_expr_in_parens()?)
            }
            () if self.eat(&["drop", "expression"]) => {
                Alter::DropExpression(name, self.eat(&["if", "exists"]))
            }
            () if self.eat(&["drop", "identity"]) => {
                Alter::DropIdentity(name, self.eat(&["if", "exists"]))
            }
            () if self.eat(&["add"]) => match self.generated()? {
                ColumnConstraintKind::Identity { always, options } => {
                    Alter::AddIdentity(name, always, options)
                }
                _ => return Err(self.unexpected()),
            },
            () if self.is(&["set", "generated"])
                || self.is(&["restart"])
                || self.is_sequence_set() =>
            {
                let (mut always, mut options) = (None, Vec::new());
                loop {
                    if self.eat(&["set", "generated"]) {
                        let is_always = self.eat(&["always"]);
                        if !is_always {
                            self.expect(&["by", "default"])?;
                        }
                        always = Some(is_always);
                    } else if self.is_sequence_set() || self.is(&["restart"]) {
                        self.eat(&["set"]);
                        options.extend(self.sequence_options()?);
                    } else {
                        break Alter::SetIdentity(name, always, options);
                    }
                }
            }
            () if self.eat(&["set", "statistics"]) => {
                if !self.eat(&["default"]) {
                    self.signed()?;
                }
                Alter::Ignored
            }
            () if self.eat(&["set", "storage"]) || self.eat(&["set", "compression"]) => {
                self.label()?;
                Alter::Ignored
            }
            () if self.is_any(&["set", "reset"]) && self.is_punct(1, "(") => {
                self.skip(1);
                self.storage_options()?;
                Alter::Ignored
            }
            () => return Err(self.unexpected()),
        })
    }

    /// True if `SET` and an option of a sequence follow.
    fn is_sequence_set(&self) -> bool {
        self.is(&["set"])
            && matches!(
                self.word(1),
                Some("increment" | "minvalue" | "maxvalue" | "no" | "start" | "cache" | "cycle")
            )
    }
}
