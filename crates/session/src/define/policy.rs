//! Policies of row-level security.
//!
//! A condition is kept as a part of a query, `SELECT FROM t WHERE (condition)`, since it may have subqueries: their
//! columns are not those of the table.

use ::table::catalog::ddl::{NewPolicy, PolicyChange};
use ::table::catalog::{Class, NamePlace, PolicyCommand, Relation, SqlText};
use sql::parse::ast::{Name, ObjectKind, Path, PolicyDefinition, SqlExpr};
use types::{Oid, SqlState};

use super::view::kept_query;
use super::{DdlContext, drop};
use crate::error::{Error, Result};

/// `CREATE POLICY`
pub fn create(maker: &mut DdlContext<'_, '_>, policy: &PolicyDefinition) -> Result<()> {
    let relation = maker.relation(&policy.table)?;
    let (using, check) = conditions(maker, &relation, policy)?;
    let command = match policy.command.as_deref() {
        None => PolicyCommand::All,
        Some("select") => PolicyCommand::Select,
        Some("insert") => PolicyCommand::Insert,
        Some("update") => PolicyCommand::Update,
        Some(_) => PolicyCommand::Delete,
    };
    let roles = roles(maker, policy.roles.as_deref().unwrap_or_default())?;
    let name = policy.name.text.as_str().into();
    let is_permissive = policy.is_permissive;
    let new = NewPolicy { name, is_permissive, command, roles, using, check };
    Ok(maker.ddl.create_policy(relation.oid, new)?)
}

/// `ALTER POLICY`
pub fn alter(maker: &mut DdlContext<'_, '_>, policy: &PolicyDefinition) -> Result<()> {
    let relation = maker.relation(&policy.table)?;
    let mut path = policy.table.clone();
    path.parts.push(policy.name.clone());
    let object = drop::address(maker, ObjectKind::Policy, &path)?;
    let (using, check) = conditions(maker, &relation, policy)?;
    let roles = policy.roles.as_deref().map(|names| roles(maker, names)).transpose()?;
    Ok(maker.ddl.alter_policy(object.oid, PolicyChange { roles, using, check })?)
}

/// The OID of the policy of a table.
///
/// # Errors
/// 42704 where there is none.
pub fn find(maker: &DdlContext<'_, '_>, table: &Path, name: &str) -> Result<Oid> {
    let relation = maker.relation(table)?;
    let policies = maker.catalog().table(relation.oid).map_or(&[][..], |table| &table.policies);
    match policies.iter().find(|policy| *policy.name == *name) {
        Some(policy) => Ok(policy.oid),
        None => {
            let message =
                format!("policy \"{name}\" for table \"{}\" does not exist", relation.name);
            Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
        }
    }
}

/// The roles that a policy is about; none are all.
fn roles(maker: &DdlContext<'_, '_>, names: &[Name]) -> Result<Vec<Oid>> {
    if names.is_empty() || names.iter().any(|name| name.text == "public") {
        if names.len() > 1 {
            let hint = "All roles are members of the PUBLIC role.";
            let message = "ignoring specified roles other than PUBLIC";
            let warning =
                Error::notice(crate::error::Severity::Warning, SqlState::WARNING, message);
            maker.around.client.say(warning.hint(hint));
        }
        return Ok(vec![Oid::NONE]);
    }
    names.iter().map(|name| maker.role(name)).collect()
}

type Conditions = (Option<SqlText>, Option<SqlText>);

fn conditions(
    maker: &DdlContext<'_, '_>,
    relation: &Relation,
    policy: &PolicyDefinition,
) -> Result<Conditions> {
    let kept = |expr: &Option<SqlExpr>| {
        expr.as_ref().map(|expr| condition(maker, relation, expr)).transpose()
    };
    Ok((kept(&policy.using)?, kept(&policy.check)?))
}

/// A condition over the rows of a table, as the catalog keeps it.
fn condition(maker: &DdlContext<'_, '_>, relation: &Relation, expr: &SqlExpr) -> Result<SqlText> {
    if !relation.is_plain_table() {
        let message = format!("\"{}\" is not a table", relation.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    let schema = maker.names.schema_name(relation.schema);
    let over = sql::bind::Names::relation(&*maker.names, Some(schema), &relation.name);
    let over = over.ok_or_else(|| {
        let message = format!("relation \"{}\" does not exist", relation.name);
        Error::new(SqlState::UNDEFINED_TABLE, message)
    })?;
    sql::bind::policy_condition(&expr.text, &over, &*maker.names, maker.context())
        .map_err(|error| Error::from(error.cause))?;
    let quoted = |name: &str| scalar::quote::identifier(name);
    let before = format!("SELECT FROM {}.{} WHERE (", quoted(schema), quoted(&relation.name));
    let query = kept_query(maker, &format!("{before}{})", expr.text))?;
    let text = query.text.strip_prefix(&*before).and_then(|rest| rest.strip_suffix(')'));
    let Some(text) = text else {
        let message = format!("the condition of a policy was read as {}", query.text);
        return Err(Error::new(SqlState::INTERNAL_ERROR, message));
    };
    let place = |place: &NamePlace| {
        let at = (place.at as usize).checked_sub(before.len())?;
        Some(NamePlace { at: at as u32, ..*place })
    };
    let depends = query.depends.iter().copied().filter(|object| {
        object.class != Class::Relation || object.oid != relation.oid || object.sub != 0
    });
    Ok(SqlText {
        names: query.names.iter().filter_map(place).collect(),
        depends: depends.collect(),
        text: text.into(),
    })
}
