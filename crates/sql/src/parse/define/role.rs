//! Roles, privileges and memberships.

use crate::error::Result;
use crate::parse::ast::{
    DefaultPrivileges, Define, GrantOn, Name, ObjectKind, Path, Privileges, RoleOption,
};
use crate::parse::cursor::Parser;

/// Options of roles that are switched on by a word, and off by the same after `no`.
const FLAGS: [&str; 7] =
    ["superuser", "createdb", "createrole", "inherit", "login", "replication", "bypassrls"];

impl Parser<'_> {
    pub(super) fn create_role(&mut self, login: bool) -> Result<Define> {
        let name = self.name()?;
        Ok(Define::Role { name, login, options: self.role_options()? })
    }

    pub(super) fn alter_role(&mut self) -> Result<Define> {
        if self.eat(&["all"]) {
            let database = self.in_database()?;
            return self.alter_settings(None, database);
        }
        let name = self.name()?;
        if self.eat(&["rename", "to"]) {
            let to = self.name()?;
            return Ok(Define::Rename { kind: ObjectKind::Role, name: Self::single(name), to });
        }
        if self.is_any(&["in", "set", "reset"]) {
            let database = self.in_database()?;
            return self.alter_settings(Some(name), database);
        }
        Ok(Define::AlterRole { name, options: self.role_options()? })
    }

    fn in_database(&mut self) -> Result<Option<Name>> {
        if self.eat(&["in", "database"]) { self.name().map(Some) } else { Ok(None) }
    }

    /// `SET name = value` or `RESET name`, of a role or a database.
    pub(super) fn alter_settings(
        &mut self,
        role: Option<Name>,
        database: Option<Name>,
    ) -> Result<Define> {
        let (name, values) = if self.eat(&["set"]) {
            let (name, values) = self.assigned_setting()?;
            (Some(name), values)
        } else {
            self.expect(&["reset"])?;
            let name = if self.eat(&["all"]) { None } else { Some(self.setting_name()?) };
            (name, Vec::new())
        };
        Ok(Define::AlterSettings { role, database, name, values })
    }

    fn role_options(&mut self) -> Result<Vec<RoleOption>> {
        self.eat(&["with"]);
        let mut options = Vec::new();
        while let Some(word) = self.word(0).map(str::to_owned) {
            let flag = FLAGS.iter().find_map(|flag| match word.strip_prefix("no") {
                Some(rest) if rest == *flag => Some(RoleOption::Flag(flag, false)),
                _ if word == *flag => Some(RoleOption::Flag(flag, true)),
                _ => None,
            });
            if let Some(flag) = flag {
                self.skip(1);
                options.push(flag);
                continue;
            }
            options.push(match () {
                () if self.eat(&["encrypted", "password"]) || self.eat(&["password"]) => {
                    let none = self.eat(&["null"]);
                    RoleOption::Password(if none { None } else { Some(self.string_value()?) })
                }
                () if self.eat(&["connection", "limit"]) => {
                    RoleOption::ConnectionLimit(self.signed()?)
                }
                () if self.eat(&["valid", "until"]) => RoleOption::ValidUntil(self.string_value()?),
                () if self.eat(&["in", "role"]) || self.eat(&["in", "group"]) => {
                    RoleOption::InRole(self.list(Self::name)?)
                }
                () if self.eat(&["role"]) || self.eat(&["user"]) => {
                    RoleOption::Members(self.list(Self::name)?)
                }
                () if self.eat(&["admin"]) => RoleOption::Admins(self.list(Self::name)?),
                () if self.eat(&["sysid"]) => {
                    self.signed()?;
                    continue;
                }
                () => return Err(self.unexpected()),
            });
        }
        Ok(options)
    }

    /// `GRANT` and `REVOKE`, of privileges or of roles.
    pub(super) fn grant(&mut self, grant: bool) -> Result<Define> {
        self.skip(1);
        let mut grant_option = !grant && self.eat(&["grant", "option", "for"]);
        let mut options = Vec::new();
        if !grant {
            for word in ["admin", "inherit", "set"] {
                if self.eat(&[word, "option", "for"]) {
                    options.push((word.to_owned(), false));
                }
            }
        }
        let mut privileges = Vec::new();
        if self.eat(&["all"]) {
            self.eat(&["privileges"]);
            if self.is_punct(0, "(") {
                privileges.push(("all".to_owned(), self.column_names()?));
            }
        } else {
            privileges = self.list(|parser| {
                let name = parser.label()?.text;
                Ok((name, parser.optional_column_names()?))
            })?;
        }
        if !self.eat(&["on"]) {
            return self.membership(grant, privileges, options);
        }
        let on = self.grant_on()?;
        let objects: Vec<Path> = self.list(Self::path)?;
        self.expect(&[if grant { "to" } else { "from" }])?;
        let roles = self.list(Self::grantee)?;
        if grant && self.eat(&["with", "grant", "option"]) {
            grant_option = true;
        }
        if self.eat(&["granted", "by"]) {
            self.name()?;
        }
        let cascade = self.drop_behaviour();
        Ok(Define::Privileges(Box::new(Privileges {
            grant,
            privileges,
            on,
            objects,
            roles,
            grant_option,
            cascade,
        })))
    }

    /// `ALTER DEFAULT PRIVILEGES`
    pub(super) fn default_privileges(&mut self) -> Result<Define> {
        let (mut roles, mut schemas) = (Vec::new(), Vec::new());
        loop {
            if self.eat(&["for", "role"]) || self.eat(&["for", "user"]) {
                roles = self.list(Self::role_name)?;
            } else if self.eat(&["in", "schema"]) {
                schemas = self.list(Self::name)?;
            } else {
                break;
            }
        }
        let grant = self.eat(&["grant"]);
        if !grant {
            self.expect(&["revoke"])?;
        }
        let mut grant_option = !grant && self.eat(&["grant", "option", "for"]);
        let mut privileges = Vec::new();
        if self.eat(&["all"]) {
            self.eat(&["privileges"]);
        } else {
            privileges = self.list(|parser| Ok((parser.label()?.text, Vec::new())))?;
        }
        self.expect(&["on"])?;
        let (kind, on) = match () {
            () if self.eat(&["tables"]) => ('r', GrantOn::Table),
            () if self.eat(&["sequences"]) => ('S', GrantOn::Sequence),
            () if self.eat(&["functions"]) || self.eat(&["routines"]) => ('f', GrantOn::Table),
            () if self.eat(&["types"]) => ('T', GrantOn::Type),
            () if self.eat(&["schemas"]) => ('n', GrantOn::Schema),
            () => return Err(self.unexpected()),
        };
        self.expect(&[if grant { "to" } else { "from" }])?;
        let grantees = self.list(Self::grantee)?;
        if grant && self.eat(&["with", "grant", "option"]) {
            grant_option = true;
        }
        let cascade = self.drop_behaviour();
        let objects = Vec::new();
        let privileges =
            Privileges { grant, privileges, on, objects, roles: grantees, grant_option, cascade };
        let said = DefaultPrivileges { roles, schemas, kind, privileges };
        Ok(Define::DefaultPrivileges(Box::new(said)))
    }

    fn grant_on(&mut self) -> Result<GrantOn> {
        Ok(match () {
            () if self.eat(&["all", "tables", "in", "schema"]) => GrantOn::AllTables,
            () if self.eat(&["all", "sequences", "in", "schema"]) => GrantOn::AllSequences,
            () if self.eat(&["table"]) => GrantOn::Table,
            () if self.eat(&["sequence"]) => GrantOn::Sequence,
            () if self.eat(&["schema"]) => GrantOn::Schema,
            () if self.eat(&["database"]) => GrantOn::Database,
            () if self.eat(&["type"]) || self.eat(&["domain"]) => GrantOn::Type,
            () if self.is_any(&[
                "function",
                "procedure",
                "routine",
                "language",
                "foreign",
                "tablespace",
                "parameter",
                "large",
                "all",
            ]) =>
            {
                let what = self.word(0).unwrap_or_default().to_uppercase();
                return Err(self.not_supported(&format!("GRANT ON {what}")));
            }
            () => GrantOn::Table,
        })
    }

    /// A role, or `None` for `PUBLIC`.
    fn grantee(&mut self) -> Result<Option<Name>> {
        self.eat(&["group"]);
        if self.eat(&["public"]) {
            return Ok(None);
        }
        self.role_name().map(Some)
    }

    /// The name of a role, `CURRENT_USER` and the like among them.
    pub(super) fn role_name(&mut self) -> Result<Name> {
        if self.is_any(&["current_user", "current_role", "session_user"]) {
            return self.label();
        }
        self.name()
    }

    fn membership(
        &mut self,
        grant: bool,
        roles: Vec<(String, Vec<Name>)>,
        mut options: Vec<(String, bool)>,
    ) -> Result<Define> {
        let at = self.at();
        let roles = roles.into_iter().map(|(text, _)| Name { text, at }).collect();
        self.expect(&[if grant { "to" } else { "from" }])?;
        let members = self.list(Self::role_name)?;
        if grant && self.eat(&["with"]) {
            let listed = self.list(|parser| {
                let name = parser.label()?.text;
                let value = match parser.label()?.text.as_str() {
                    "option" | "true" => true,
                    "false" => false,
                    _ => return Err(parser.unexpected()),
                };
                Ok((name, value))
            })?;
            options.extend(listed);
        }
        if self.eat(&["granted", "by"]) {
            self.role_name()?;
        }
        self.drop_behaviour();
        Ok(Define::Membership { grant, roles, members, options })
    }
}
