//! Names to numbers and back, for `regclass` and its kin.
//!
//! ```text
//!   'public.t'::regclass   ──oid──>  16390        16390::regclass  ──name──>  t
//! ```

use scalar::registry;
use types::{Error, Objects, Oid, Result, SqlState, Type, TypeSource, builtin};

use crate::names::Names;
use crate::system::forms;

/// Collations that there are: OID and name.
pub const COLLATIONS: [(u32, &str); 4] =
    [(100, "default"), (950, "C"), (951, "POSIX"), (811, "pg_c_utf8")];

/// The parts of a name that may be quoted and qualified, folded as SQL folds them.
///
/// # Errors
/// `42602` where it is no name.
pub fn parts(text: &str) -> Result<Vec<String>> {
    let invalid = || Error::new(SqlState::INVALID_NAME, "invalid name syntax");
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut part = String::new();
            let mut chars = quoted.char_indices();
            let end = loop {
                match chars.next().ok_or_else(invalid)? {
                    (_, '"') if chars.as_str().starts_with('"') => {
                        chars.next();
                        part.push('"');
                    }
                    (at, '"') => break at + 1,
                    (_, c) => part.push(c),
                }
            };
            parts.push(part);
            rest = quoted[end..].trim_start();
        } else {
            let end = rest.find(['.', '"']).unwrap_or(rest.len());
            let part = rest[..end].trim();
            if part.is_empty() || part.contains(char::is_whitespace) {
                return Err(invalid());
            }
            parts.push(part.to_lowercase());
            rest = &rest[end..];
        }
        match rest.strip_prefix('.') {
            Some(more) => rest = more.trim_start(),
            None if rest.is_empty() => return Ok(parts),
            None => return Err(invalid()),
        }
    }
}

fn missing(state: SqlState, what: &str, name: &str) -> Error {
    Error::new(state, format!("{what} \"{name}\" does not exist"))
}

impl Names {
    /// The OID of a relation by a name that may be qualified.
    ///
    /// # Errors
    /// `42P01` where there is none, `3F000` where there is no such schema.
    pub fn regclass(&self, text: &str) -> Result<Oid> {
        let mut parts = parts(text)?;
        if parts.len() == 3 && sql::bind::Names::is_database(self, &parts[0]) {
            parts.remove(0);
        }
        let found = match parts.as_slice() {
            [name] => self.relation_oid(None, name),
            [schema, name] => {
                if self.schema_oid(schema).is_none() {
                    return Err(missing(SqlState::INVALID_SCHEMA_NAME, "schema", schema));
                }
                self.relation_oid(Some(schema), name)
            }
            _ => None,
        };
        found.ok_or_else(|| missing(SqlState::UNDEFINED_TABLE, "relation", &parts.join(".")))
    }

    fn regtype(&self, text: &str) -> Result<Oid> {
        let parsed = sql::parse::type_name(text).map_err(|error| {
            let message = format!("invalid type name \"{text}\"");
            match error.cause.state() {
                SqlState::SYNTAX_ERROR => Error::new(SqlState::SYNTAX_ERROR, message),
                _ => error.cause,
            }
        })?;
        let unknown = || missing(SqlState::UNDEFINED_OBJECT, "type", text);
        let (schema, name) = match parsed.name.parts.as_slice() {
            [name] => (None, name.text.as_str()),
            [schema, name] => (Some(schema.text.as_str()), name.text.as_str()),
            _ => return Err(unknown()),
        };
        let builtin = match schema {
            None | Some("pg_catalog") => builtin::by_name(name).map(|facts| facts.ty),
            Some(_) => None,
        };
        let ty = builtin
            .or_else(|| sql::bind::Names::user_type(self, schema, name))
            .ok_or_else(unknown)?;
        if parsed.dimensions == 0 {
            return Ok(ty.oid());
        }
        let array = match builtin::facts(ty) {
            Some(facts) => (facts.array != Type::NONE).then_some(facts.array),
            None => self.array_of(ty),
        };
        array.map(Type::oid).ok_or_else(unknown)
    }

    fn regproc(&self, text: &str) -> Result<Oid> {
        let parts = parts(text)?;
        let name = parts.last().map_or("", String::as_str);
        match registry::functions(name) {
            [] => forms::oid_of(name)
                .ok_or_else(|| missing(SqlState::UNDEFINED_FUNCTION, "function", text)),
            [only] => Ok(only.oid),
            _ => Err(Error::new(
                SqlState::AMBIGUOUS_FUNCTION,
                format!("more than one function named \"{text}\""),
            )),
        }
    }

    fn regprocedure(&self, text: &str) -> Result<Oid> {
        let unknown = || missing(SqlState::UNDEFINED_FUNCTION, "function", text);
        let (name, args) =
            text.strip_suffix(')').and_then(|text| text.split_once('(')).ok_or_else(|| {
                Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "expected a left parenthesis")
            })?;
        let args: Vec<Type> = match args.trim() {
            "" => Vec::new(),
            args => args
                .split(',')
                .map(|arg| self.regtype(arg.trim()).map(Type))
                .collect::<Result<_>>()?,
        };
        let parts = parts(name)?;
        let name = parts.last().map_or("", String::as_str);
        let found = registry::functions(name).iter().find(|function| *function.args == args);
        found.map(|function| function.oid).ok_or_else(unknown)
    }

    /// The name of a function with the types of its arguments.
    pub fn procedure_name(&self, oid: Oid) -> Option<String> {
        let function = registry::function(oid)?;
        let types: &dyn TypeSource = self;
        let args: Vec<String> = function.args.iter().map(|ty| types.name_of(*ty)).collect();
        Some(format!("{}({})", scalar::quote::identifier(function.name), args.join(",")))
    }
}

impl Objects for Names {
    fn oid(&self, class: Type, name: &str) -> Result<Oid> {
        let single = || -> Result<String> {
            match <[String; 1]>::try_from(parts(name)?) {
                Ok([name]) => Ok(name),
                Err(_) => Err(Error::new(SqlState::INVALID_NAME, "invalid name syntax")),
            }
        };
        match class {
            Type::REGCLASS => self.regclass(name),
            Type::REGTYPE => self.regtype(name),
            Type::REGPROC => self.regproc(name),
            Type::REGPROCEDURE => self.regprocedure(name),
            Type::REGNAMESPACE => {
                let name = single()?;
                let unknown = || missing(SqlState::INVALID_SCHEMA_NAME, "schema", &name);
                self.schema_oid(&name).ok_or_else(unknown)
            }
            Type::REGROLE => {
                let name = single()?;
                let unknown = || missing(SqlState::UNDEFINED_OBJECT, "role", &name);
                self.catalog.role_named(&name).map(|role| role.oid).ok_or_else(unknown)
            }
            Type::REGCOLLATION => {
                let parts = parts(name)?;
                let last = parts.last().map_or("", String::as_str);
                let found = COLLATIONS.iter().find(|(_, known)| known.eq_ignore_ascii_case(last));
                found.map(|(oid, _)| Oid(*oid)).ok_or_else(|| {
                    let message =
                        format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
                    Error::new(SqlState::UNDEFINED_OBJECT, message)
                })
            }
            _ => Err(missing(SqlState::UNDEFINED_OBJECT, "object", name)),
        }
    }

    fn name(&self, class: Type, oid: Oid) -> Option<String> {
        let quoted = |name: &str| scalar::quote::identifier(name);
        match class {
            Type::REGCLASS => {
                let (schema, name) = self.relation_name(oid)?;
                Some(self.written(schema, name, self.is_relation_visible(oid)))
            }
            Type::REGTYPE => {
                let types: &dyn TypeSource = self;
                let known = builtin::facts(Type(oid)).is_some() || self.shape(Type(oid)).is_some();
                known.then(|| types.name_of(Type(oid)))
            }
            Type::REGPROC => {
                let name = registry::function(oid).map(|function| function.name);
                name.or_else(|| forms::name_of(oid)).map(quoted)
            }
            Type::REGPROCEDURE => self.procedure_name(oid),
            Type::REGNAMESPACE => self.catalog.schema(oid).map(|schema| quoted(&schema.name)),
            Type::REGROLE => self.catalog.role(oid).map(|role| quoted(&role.name)),
            Type::REGCOLLATION => {
                COLLATIONS.iter().find(|(known, _)| *known == oid.0).map(|(_, name)| quoted(name))
            }
            _ => None,
        }
    }
}
