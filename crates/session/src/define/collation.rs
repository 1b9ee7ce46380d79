//! `CREATE COLLATION` and `ALTER COLLATION`.

use ::table::catalog::{Catalog, Collation, CollationProvider};
use collate::{Locale, Provider};
use sql::parse::ast::{Name, Path};
use types::{Oid, SqlState};

use super::DdlContext;
use crate::error::{Error, Result};

/// The collation with this name.
///
/// # Errors
/// `42704` where there is none.
pub fn find(maker: &DdlContext<'_, '_>, path: &Path) -> Result<Oid> {
    let (schema, name) = maker.names.split(path)?;
    if let Some(schema) = schema
        && maker.names.schema_oid(schema).is_none()
    {
        let message = format!("schema \"{schema}\" does not exist");
        return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
    }
    sql::bind::Names::collation_named(&*maker.names, schema, name).ok_or_else(|| {
        let message = format!("collation \"{path}\" for encoding \"UTF8\" does not exist");
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    })
}

/// Fails for a collation that every database has.
pub fn require_own(oid: Oid, path: &Path) -> Result<()> {
    match collate::numbered(oid.0) {
        None => Ok(()),
        Some(_) => {
            let message = format!(
                "cannot change collation {path} because it is required by the database system"
            );
            Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message))
        }
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)
}

fn redundant() -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")
}

/// `CREATE COLLATION ... FROM`
pub fn copy(
    maker: &mut DdlContext<'_, '_>,
    path: &Path,
    if_not_exists: bool,
    from: &Path,
) -> Result<()> {
    let (schema, name) = maker.new_name(path)?;
    let oid = find(maker, from)?;
    let made = match (maker.catalog().collation(oid), collate::numbered(oid.0)) {
        (Some(known), _) => (**known).clone(),
        (None, Some(known)) => {
            let (provider, version) = match known.provider {
                Provider::Icu => (CollationProvider::Icu, Some(collate::VERSION)),
                Provider::Builtin => (CollationProvider::Builtin, Some("1")),
                Provider::Libc => (CollationProvider::Libc, None),
                Provider::Default => {
                    return Err(invalid("collation \"default\" cannot be copied"));
                }
            };
            let locale = known.locale.unwrap_or_default();
            Collation {
                oid: Oid::NONE,
                schema,
                name: name.into(),
                owner: Oid::NONE,
                provider,
                is_deterministic: true,
                is_utf8: known.is_utf8,
                locale: locale.into(),
                ctype: locale.into(),
                version: version.map(Into::into),
            }
        }
        (None, None) => return Err(invalid(format!("collation \"{from}\" cannot be copied"))),
    };
    put(maker, if_not_exists, Collation { schema, name: name.into(), ..made })
}

/// The options of `CREATE COLLATION`.
#[derive(Default)]
struct Options<'o> {
    locale: Option<&'o str>,
    collate: Option<&'o str>,
    ctype: Option<&'o str>,
    provider: Option<&'o str>,
    deterministic: Option<&'o str>,
    rules: Option<&'o str>,
    version: Option<&'o str>,
}

impl<'o> Options<'o> {
    fn read(maker: &DdlContext<'_, '_>, options: &'o [(Name, String)]) -> Result<Self> {
        let mut said = Options::default();
        for (name, value) in options {
            let place = match name.text.as_str() {
                "locale" => &mut said.locale,
                "lc_collate" => &mut said.collate,
                "lc_ctype" => &mut said.ctype,
                "provider" => &mut said.provider,
                "deterministic" => &mut said.deterministic,
                "rules" => &mut said.rules,
                "version" => &mut said.version,
                other => {
                    let message = format!("collation attribute \"{other}\" not recognized");
                    let error = Error::new(SqlState::SYNTAX_ERROR, message);
                    return Err(maker.at(error, Some(name.at)));
                }
            };
            if place.replace(value).is_some() {
                return Err(maker.at(redundant(), Some(name.at)));
            }
        }
        if said.locale.is_some() && (said.collate.is_some() || said.ctype.is_some()) {
            return Err(redundant()
                .detail("LOCALE cannot be specified together with LC_COLLATE or LC_CTYPE."));
        }
        Ok(said)
    }

    fn is_deterministic(&self) -> Result<bool> {
        match self.deterministic.map(str::to_ascii_lowercase).as_deref() {
            None | Some("true" | "on" | "1") => Ok(true),
            Some("false" | "off" | "0") => Ok(false),
            Some(_) => {
                let message = "deterministic requires a Boolean value";
                Err(Error::new(SqlState::SYNTAX_ERROR, message))
            }
        }
    }
}

/// `CREATE COLLATION ... (...)`
pub fn create(
    maker: &mut DdlContext<'_, '_>,
    path: &Path,
    if_not_exists: bool,
    options: &[(Name, String)],
) -> Result<()> {
    let (schema, name) = maker.new_name(path)?;
    let said = Options::read(maker, options)?;
    let is_deterministic = said.is_deterministic()?;
    let missing = |what: &str| invalid(format!("parameter \"{what}\" must be specified"));
    let provider = match said.provider.map(str::to_ascii_lowercase).as_deref() {
        None | Some("libc") => CollationProvider::Libc,
        Some("icu") => CollationProvider::Icu,
        Some("builtin") => CollationProvider::Builtin,
        Some(other) => return Err(invalid(format!("unrecognized collation provider: {other}"))),
    };
    let is_icu = provider == CollationProvider::Icu;
    let (locale, ctype, version) = match provider {
        CollationProvider::Libc => {
            let locale = said.collate.or(said.locale).ok_or_else(|| missing("lc_collate"))?;
            let ctype = said.ctype.or(said.locale).ok_or_else(|| missing("lc_ctype"))?;
            [locale, ctype].into_iter().try_for_each(of_libc)?;
            (locale.to_owned(), ctype.to_owned(), None)
        }
        CollationProvider::Builtin => {
            let locale = said.locale.ok_or_else(|| missing("locale"))?;
            let locale = match locale {
                "C" => "C",
                "C.UTF-8" | "C.UTF8" => "C.UTF-8",
                other => {
                    let message = format!("invalid locale name \"{other}\" for builtin provider");
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
            };
            (locale.to_owned(), locale.to_owned(), Some("1"))
        }
        CollationProvider::Icu => {
            let locale = said.locale.ok_or_else(|| missing("locale"))?;
            let locale = of_icu(maker, locale)?;
            (locale.clone(), locale, Some(collate::VERSION))
        }
    };
    if !is_deterministic && !is_icu {
        let message = "nondeterministic collations not supported with this provider";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    match said.rules {
        Some(_) if !is_icu => {
            let message = "ICU rules cannot be specified unless locale provider is ICU";
            return Err(invalid(message));
        }
        Some(rules) if !rules.is_empty() => {
            return Err(Error::not_supported("a collation with rules of its own"));
        }
        _ => {}
    }
    let is_utf8 = !is_icu;
    put(
        maker,
        if_not_exists,
        Collation {
            oid: Oid::NONE,
            schema,
            name: name.into(),
            owner: Oid::NONE,
            provider,
            is_deterministic,
            is_utf8,
            locale: locale.into(),
            ctype: ctype.into(),
            version: said.version.or(version).map(Into::into),
        },
    )
}

/// Fails for a locale of the C library that has another order than that of bytes.
fn of_libc(locale: &str) -> Result<()> {
    if matches!(locale, "C" | "POSIX" | "C.utf8" | "C.UTF-8" | "C.UTF8") {
        return Ok(());
    }
    let message = format!("could not create locale \"{locale}\": No such file or directory");
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).detail(format!(
        "The operating system could not find any locale data for the locale name \"{locale}\"."
    )))
}

/// A locale of ICU in its standard form.
fn of_icu(maker: &DdlContext<'_, '_>, written: &str) -> Result<String> {
    let unfit = |unfit: collate::LocaleError| {
        let message = format!("could not open collator for locale \"{written}\": {unfit}");
        let state = match unfit {
            collate::LocaleError::NoLocale => SqlState::INVALID_PARAMETER_VALUE,
            collate::LocaleError::Keyword(..) => SqlState::FEATURE_NOT_SUPPORTED,
        };
        Error::new(state, message)
    };
    let locale = Locale::read(written).map_err(unfit)?;
    let standard = locale.to_string();
    collate::of(&standard).map_err(unfit)?;
    if standard != written {
        let message = format!("using standard form \"{standard}\" for ICU locale \"{written}\"");
        maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
    }
    if let Some(language) = locale.unknown_language() {
        maker.warn(
            format!("ICU locale \"{written}\" has unknown language \"{language}\""),
            None,
            "To disable ICU locale validation, set the parameter \"icu_validation_level\" to \
             \"disabled\".",
        );
    }
    Ok(standard)
}

/// Makes a collation, and warns where it was made with rules of another version.
fn put(maker: &mut DdlContext<'_, '_>, if_not_exists: bool, collation: Collation) -> Result<()> {
    let (schema, name) = (collation.schema, collation.name.clone());
    if if_not_exists && maker.catalog().collation_named(schema, &name).is_some() {
        let message = format!("collation \"{name}\" already exists, skipping");
        maker.notice(SqlState::DUPLICATE_OBJECT, message);
        return Ok(());
    }
    let made = maker.ddl.create_collation(collation)?;
    let own = made.version.as_deref().unwrap_or_default();
    if let Some(there) = version_of(made.provider)
        && own != there
    {
        let shown = format!("{}.{}", maker.names.schema_name(schema), name);
        maker.warn(
            format!("collation \"{name}\" has version mismatch"),
            Some(&format!(
                "The collation in the database was created using version {own}, but the operating \
                 system provides version {there}."
            )),
            &format!(
                "Rebuild all objects affected by this collation and run ALTER COLLATION {shown} \
                 REFRESH VERSION, or build PostgreSQL with the right library version."
            ),
        );
    }
    Ok(())
}

/// The version of the rules that there are now; none if they have none.
fn version_of(provider: CollationProvider) -> Option<&'static str> {
    match provider {
        CollationProvider::Icu => Some(collate::VERSION),
        CollationProvider::Builtin => Some("1"),
        CollationProvider::Libc => None,
    }
}

/// The version of the rules that a collation has now; `Some(None)` where they have none, none if there is no such
/// collation.
pub fn actual_version(catalog: &Catalog, oid: Oid) -> Option<Option<&'static str>> {
    let provider = match collate::numbered(oid.0).map(|known| known.provider) {
        Some(Provider::Icu) => CollationProvider::Icu,
        Some(Provider::Builtin) => CollationProvider::Builtin,
        Some(Provider::Libc) => CollationProvider::Libc,
        Some(Provider::Default) => return Some(None),
        None => catalog.collation(oid)?.provider,
    };
    Some(version_of(provider))
}

/// `ALTER COLLATION ... REFRESH VERSION`
pub fn refresh(maker: &mut DdlContext<'_, '_>, path: &Path) -> Result<()> {
    let oid = find(maker, path)?;
    if oid == Oid(100) {
        let message = "cannot refresh version of default collation";
        return Err(Error::new(SqlState::INTERNAL_ERROR, message)
            .hint("Use ALTER DATABASE ... REFRESH COLLATION VERSION instead."));
    }
    let known = maker.catalog().collation(oid).cloned();
    let change = known.and_then(|known| {
        let there = version_of(known.provider)?;
        (known.version.as_deref() != Some(there)).then_some((known, there))
    });
    let Some((known, there)) = change else {
        maker.notice(SqlState::SUCCESSFUL_COMPLETION, "version has not changed");
        return Ok(());
    };
    let old = known.version.as_deref().unwrap_or_default();
    let message = format!("changing version from {old} to {there}");
    maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
    Ok(maker.ddl.set_collation_version(oid, there)?)
}
