//! Names to numbers and back, for `regclass` and the like.
//!
//! ```text
//!   'public.t'::regclass   ──oid──>  16390        16390::regclass  ──name──>  t
//! ```

use lexeme::Config;
use scalar::extension::unaccent::DICTIONARY;
use scalar::{fulltext, operators, registry};
use types::{Error, Objects, Oid, Origins, Result, SqlState, Type, TypeSource, builtin};

use crate::names::Names;
use crate::system::{PG_CATALOG, forms};

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

/// A text in two at the first such character that is not within quotes.
fn split_unquoted(text: &str, at: char) -> Option<(&str, &str)> {
    let (mut is_quoted, mut depth) = (false, 0);
    for (place, c) in text.char_indices() {
        if c == '"' {
            is_quoted = !is_quoted;
        } else if !is_quoted && depth == 0 && c == at {
            return Some((&text[..place], &text[place + c.len_utf8()..]));
        } else if !is_quoted {
            depth += i32::from(c == '(') - i32::from(c == ')');
        }
    }
    None
}

/// The schema, where one is named, and the symbol of an operator.
fn operator_parts(text: &str) -> Result<(Option<String>, String)> {
    let text = text.trim();
    let is_symbol = |c: char| "+-*/<>=~!@#%^&|`?".contains(c);
    let (schema, symbol) = match text.rsplit_once('.') {
        Some((schema, symbol)) => (Some(schema), symbol),
        None => (None, text),
    };
    let schema = match schema {
        Some(schema) => match <[String; 1]>::try_from(parts(schema)?) {
            Ok([schema]) => Some(schema),
            Err(_) => return Err(too_many_dots("qualified", text)),
        },
        None => None,
    };
    if symbol.is_empty() || !symbol.chars().all(is_symbol) {
        return Err(no_operator(text));
    }
    Ok((schema, symbol.to_owned()))
}

fn no_operator(text: &str) -> Error {
    Error::new(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {text}"))
}

fn too_many_dots(what: &str, text: &str) -> Error {
    let kind = if what == "relation" { "relation" } else { "qualified" };
    let message = format!("improper {kind} name (too many dotted names): {text}");
    Error::new(SqlState::SYNTAX_ERROR, message)
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
            [schema, name] => self.relation_oid(Some(schema), name),
            [..] if parts.len() > 3 => return Err(too_many_dots("relation", text)),
            _ => {
                let message = format!("cross-database references are not implemented: \"{text}\"");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        };
        found.ok_or_else(|| missing(SqlState::UNDEFINED_TABLE, "relation", &parts.join(".")))
    }

    /// The name of a function or an operator without its schema; none if it is said to be in a
    /// schema that has no such things.
    fn system_name<'p>(&self, parts: &'p [String], text: &str) -> Result<Option<&'p str>> {
        Ok(self
            .member_name(parts, text)?
            .filter(|(_, origins)| origins.has(Oid::NONE))
            .map(|(name, _)| name))
    }

    /// The same of what extensions have too, and where the name is to be looked for.
    fn member_name<'p>(
        &self,
        parts: &'p [String],
        text: &str,
    ) -> Result<Option<(&'p str, Origins)>> {
        Ok(match parts {
            [name] => Some((name, self.origins_of(None))),
            [schema, name] => Some((name, self.origins_of(Some(schema)))),
            [database, schema, name] if sql::bind::Names::is_database(self, database) => {
                Some((name, self.origins_of(Some(schema))))
            }
            [_, _, _] => {
                let message = format!("cross-database references are not implemented: {text}");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            _ => return Err(too_many_dots("qualified", text)),
        })
    }

    /// The name of a function or an operator and the types of its arguments: `abs(integer)`. `NONE`
    /// stands for no argument where that `may_lack`.
    fn signature<'t>(&self, text: &'t str, may_lack: bool) -> Result<(&'t str, Vec<Type>)> {
        let malformed = |message| Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message);
        let (name, rest) =
            split_unquoted(text, '(').ok_or_else(|| malformed("expected a left parenthesis"))?;
        let args = rest
            .trim_end()
            .strip_suffix(')')
            .ok_or_else(|| malformed("expected a right parenthesis"))?;
        let mut types = Vec::new();
        let mut rest = (!args.trim().is_empty()).then_some(args);
        while let Some(args) = rest {
            let (arg, more) =
                split_unquoted(args, ',').map_or((args, None), |(arg, more)| (arg, Some(more)));
            let arg = arg.trim();
            types.push(match may_lack && arg.eq_ignore_ascii_case("none") {
                true => Type::NONE,
                false => Type(self.regtype(arg)?),
            });
            rest = more;
        }
        Ok((name, types))
    }

    fn regoper(&self, text: &str) -> Result<Oid> {
        let (schema, symbol) = operator_parts(text)?;
        let origins = self.origins_of(schema.as_deref());
        let found: Vec<_> =
            operators::named(&symbol).iter().filter(|known| origins.has(known.oid)).collect();
        match found[..] {
            [] => Err(no_operator(text)),
            [only] => Ok(only.oid),
            _ => {
                let message = format!("more than one operator named {text}");
                Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message))
            }
        }
    }

    fn regoperator(&self, text: &str) -> Result<Oid> {
        let (name, types) = self.signature(text, true)?;
        let (left, right) = match types[..] {
            [left, right] => (left, right),
            [_] => {
                let hint = "Use NONE to denote the missing argument of a unary operator.";
                let error = Error::new(SqlState::UNDEFINED_PARAMETER, "missing argument");
                return Err(error.with_hint(hint));
            }
            [] => return Err(no_operator(text)),
            _ => {
                let error = Error::new(SqlState::TOO_MANY_ARGUMENTS, "too many arguments");
                return Err(error.with_hint("Provide two argument types for operator."));
            }
        };
        let (schema, symbol) = operator_parts(name)?;
        let origins = self.origins_of(schema.as_deref());
        let found = operators::find(&symbol, left, right).filter(|known| origins.has(known.oid));
        found.map(|operator| operator.oid).ok_or_else(|| no_operator(text))
    }

    /// The modifier of a type as it is written: `varchar(10)` has 14.
    ///
    /// # Errors
    /// As for `regtype`.
    pub fn regtypemod(&self, text: &str, context: types::Context<'_>) -> Result<types::Modifier> {
        self.regtype(text)?;
        let parsed = sql::parse::type_name(text).map_err(|error| error.cause)?;
        let (_, modifier) =
            sql::bind::type_name(&parsed, self, context).map_err(|error| error.cause)?;
        Ok(modifier)
    }

    /// The number of a configuration of text search.
    fn regconfig(&self, text: &str) -> Result<Oid> {
        let parts = parts(text)?;
        let found = self.system_name(&parts, text)?.and_then(Config::named);
        let unknown = || missing(SqlState::UNDEFINED_OBJECT, "text search configuration", text);
        found.map(fulltext::config_oid).ok_or_else(unknown)
    }

    /// The number of a text search dictionary, of which `unaccent` has one.
    fn regdictionary(&self, text: &str) -> Result<Oid> {
        let parts = parts(text)?;
        let dictionaries = fulltext::dictionaries();
        if let Some(name) = self.system_name(&parts, text)?
            && let Some(known) =
                dictionaries.iter().find(|known| fulltext::dictionary_name(**known) == name)
        {
            return Ok(fulltext::dictionary_oid(*known));
        }
        let found = self.member_name(&parts, text)?;
        let found =
            found.is_some_and(|(name, origins)| name == "unaccent" && origins.has(DICTIONARY));
        let unknown = || missing(SqlState::UNDEFINED_OBJECT, "text search dictionary", text);
        found.then_some(DICTIONARY).ok_or_else(unknown)
    }

    fn regtype(&self, text: &str) -> Result<Oid> {
        let invalid = || format!("invalid type name \"{text}\"");
        if text.trim().is_empty() {
            return Err(Error::new(SqlState::INVALID_NAME, invalid()));
        }
        let parsed = sql::parse::type_name(text).map_err(|error| match error.cause.state() {
            SqlState::SYNTAX_ERROR => error.cause.with_context(invalid()),
            _ => error.cause,
        })?;
        let unknown = || missing(SqlState::UNDEFINED_OBJECT, "type", text);
        let (schema, name) = match parsed.name.parts.as_slice() {
            [name] => (None, name.text.as_str()),
            [schema, name] => (Some(schema.text.as_str()), name.text.as_str()),
            [database, schema, name] if sql::bind::Names::is_database(self, &database.text) => {
                (Some(schema.text.as_str()), name.text.as_str())
            }
            parts => {
                let name = parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>();
                return Err(match parts.len() {
                    3 => Error::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        format!(
                            "cross-database references are not implemented: {}",
                            name.join(".")
                        ),
                    ),
                    _ => too_many_dots("qualified", &name.join(".")),
                });
            }
        };
        if let Some(schema) = schema.filter(|schema| self.schema_oid(schema).is_none()) {
            return Err(missing(SqlState::INVALID_SCHEMA_NAME, "schema", schema));
        }
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
        let name = self.member_name(&parts, text)?;
        match named(name)[..] {
            [] => name
                .filter(|(_, origins)| origins.has(Oid::NONE))
                .and_then(|(name, _)| forms::oid_of(name))
                .ok_or_else(|| missing(SqlState::UNDEFINED_FUNCTION, "function", text)),
            [only] => Ok(only.oid),
            _ => Err(Error::new(
                SqlState::AMBIGUOUS_FUNCTION,
                format!("more than one function named \"{text}\""),
            )),
        }
    }

    fn regprocedure(&self, text: &str) -> Result<Oid> {
        let (name, args) = self.signature(text, false)?;
        let parts = parts(name)?;
        let mut functions = named(self.member_name(&parts, name)?).into_iter();
        let found = functions.find(|function| *function.args == args);
        let unknown = || missing(SqlState::UNDEFINED_FUNCTION, "function", text);
        found.map(|function| function.oid).ok_or_else(unknown)
    }

    /// The name of a function with the types of its arguments.
    pub fn procedure_name(&self, oid: Oid) -> Option<String> {
        let function = registry::function(oid)?;
        let types: &dyn TypeSource = self;
        let args: Vec<String> = function.args.iter().map(|ty| types.name_of(*ty)).collect();
        let schema = self.member_schema(oid)?;
        let name = self.written(schema, function.name, self.path.contains(&schema));
        Some(format!("{name}({})", args.join(",")))
    }
}

/// The functions with a name, of some origins.
fn named(name: Option<(&str, Origins)>) -> Vec<&'static scalar::Function> {
    let all = name.map_or(&[][..], |(name, _)| registry::functions(name)).iter().copied();
    all.filter(|function| name.is_some_and(|(_, origins)| origins.has(function.oid))).collect()
}

impl Objects for Names {
    fn oid(&self, class: Type, name: &str) -> Result<Oid> {
        self.look_further();
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
            Type::REGOPER => self.regoper(name),
            Type::REGOPERATOR => self.regoperator(name),
            Type::REGCONFIG => self.regconfig(name),
            Type::REGDICTIONARY => self.regdictionary(name),
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
                let found = match &parts[..] {
                    [name] => sql::bind::Names::collation_named(self, None, name),
                    [schema, name] => sql::bind::Names::collation_named(self, Some(schema), name),
                    _ => None,
                };
                found.ok_or_else(|| {
                    let message =
                        format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
                    Error::new(SqlState::UNDEFINED_OBJECT, message)
                })
            }
            _ => Err(missing(SqlState::UNDEFINED_OBJECT, "object", name)),
        }
    }

    fn name(&self, class: Type, oid: Oid) -> Option<String> {
        self.look_further();
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
                let function = registry::function(oid);
                let schema = self.member_schema(oid)?;
                let is_visible = self.path.contains(&schema);
                function
                    .map(|function| self.written(schema, function.name, is_visible))
                    .or_else(|| forms::name_of(oid).map(quoted))
            }
            Type::REGPROCEDURE => self.procedure_name(oid),
            Type::REGOPER => {
                operators::by_oid(oid).map(|operator| match operators::named(operator.name).len() {
                    1 => operator.name.to_owned(),
                    _ => format!("pg_catalog.{}", operator.name),
                })
            }
            Type::REGOPERATOR => {
                let types: &dyn TypeSource = self;
                let name = |ty: Type| match ty {
                    Type::NONE => "NONE".to_owned(),
                    ty => types.name_of(ty),
                };
                let operator = operators::by_oid(oid)?;
                let (left, right) = (name(operator.left), name(operator.right));
                Some(format!("{}({left},{right})", operator.name))
            }
            Type::REGCONFIG => {
                let config = fulltext::config(oid)?;
                Some(self.written(PG_CATALOG, config.name(), self.path.contains(&PG_CATALOG)))
            }
            Type::REGDICTIONARY if fulltext::dictionary(oid).is_some() => {
                let name = fulltext::dictionary_name(fulltext::dictionary(oid)?);
                Some(self.written(PG_CATALOG, &name, self.path.contains(&PG_CATALOG)))
            }
            Type::REGDICTIONARY => {
                let schema = self.member_schema(oid).filter(|_| oid == DICTIONARY)?;
                Some(self.written(schema, "unaccent", self.path.contains(&schema)))
            }
            Type::REGNAMESPACE => self.catalog.schema(oid).map(|schema| quoted(&schema.name)),
            Type::REGROLE => self.catalog.role(oid).map(|role| quoted(&role.name)),
            Type::REGCOLLATION => match collate::numbered(oid.0) {
                Some(known) => Some(quoted(&known.name)),
                None => {
                    let known = self.catalog.collation(oid)?;
                    let is_visible =
                        sql::bind::Names::collation_named(self, None, &known.name) == Some(oid);
                    Some(self.written(known.schema, &known.name, is_visible))
                }
            },
            _ => None,
        }
    }
}
