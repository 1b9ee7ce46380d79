//! `EXCLUDE`, and `WITHOUT OVERLAPS` of keys: the operators by which rows exclude each other.

use ::table::catalog::IndexMethod;
use ::table::catalog::ddl::NewIndex;
use scalar::operators::Operator;
use scalar::resolve;
use sql::bind::Relation;
use sql::parse::ast::{self, Exclusion, Name};
use types::geometry::is_geometric;
use types::{Error as SqlError, Oid, Repr, SqlState, Type, TypeSource};

use super::DdlContext;
use super::index::{index_key, index_method, index_predicate};
use super::table::{options, parameters};
use super::text::Over;
use crate::error::{Error, Result};

/// The index of an exclusion constraint.
///
/// # Errors
/// 42883 where there is no such operator, 42809 where it is none that rows can exclude each other by.
pub fn index(
    maker: &DdlContext<'_, '_>,
    exclusion: &Exclusion,
    over: Over<'_>,
    table: &Relation,
) -> Result<NewIndex> {
    let method = index_method(maker, exclusion.method.as_ref())?;
    if matches!(method, IndexMethod::Gin | IndexMethod::Columnar) {
        let message =
            format!("access method \"{}\" does not support exclusion constraints", method.name());
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let (mut keys, mut excludes) = (Vec::new(), Vec::new());
    for (element, operator) in &exclusion.keys {
        let key = match index_key(maker, element, table, over, method) {
            Err(error) if error.state() == SqlState::UNDEFINED_COLUMN && element.expr.is_none() => {
                let name = element.column.as_ref().map_or("", |name| &name.text);
                let message = format!("column \"{name}\" named in key does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
            }
            key => key?,
        };
        let ty = type_of(&key.part, key.ty, table);
        excludes.push(found(maker, operator, ty, method)?);
        keys.push(key);
    }
    let predicate = match &exclusion.filter {
        Some(filter) => Some(index_predicate(maker, filter, table, over)?),
        None => None,
    };
    let (options, _) = parameters(options(&exclusion.options))?;
    Ok(NewIndex {
        name: None,
        method,
        keys,
        include: exclusion.include.iter().map(|name| name.text.as_str().into()).collect(),
        predicate,
        is_unique: false,
        nulls_distinct: true,
        is_valid: true,
        options,
        excludes,
        partition_of: None,
    })
}

/// The operators by which rows with a key `WITHOUT OVERLAPS` exclude each other: `=`, and `&&` of the last
/// column, which must be of ranges.
///
/// # Errors
/// 42804 where it is not, 42601 where no other column is there.
pub fn overlaps(
    maker: &DdlContext<'_, '_>,
    columns: &[Name],
    table: &Relation,
) -> Result<Vec<Oid>> {
    let types: &dyn TypeSource = &*maker.names;
    let column = |name: &Name| {
        let found = table.columns.iter().find(|column| column.name == name.text);
        found.ok_or_else(|| {
            let message = format!("column \"{}\" named in key does not exist", name.text);
            Error::new(SqlState::UNDEFINED_COLUMN, message)
        })
    };
    let [equal @ .., last] = columns else { return Ok(Vec::new()) };
    if equal.is_empty() {
        let message = "constraint using WITHOUT OVERLAPS needs at least two columns";
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    }
    let last = column(last)?;
    if !matches!(types.repr_of(last.ty), Ok(Repr::Range | Repr::Multirange)) {
        let message = format!(
            "column \"{}\" in WITHOUT OVERLAPS is not a range or multirange type",
            last.name
        );
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    let mut operators = Vec::with_capacity(columns.len());
    for name in equal {
        let found = resolve::operator(types, "=", Some(column(name)?.ty), column(name)?.ty)?;
        operators.push(found.operator.oid);
    }
    let found = resolve::operator(types, "&&", Some(last.ty), last.ty)?;
    operators.push(found.operator.oid);
    Ok(operators)
}

fn type_of(part: &::table::catalog::IndexPart, ty: Type, table: &Relation) -> Type {
    match part {
        ::table::catalog::IndexPart::Column(attnum) => {
            let column = table.columns.iter().find(|column| column.attnum == *attnum);
            column.map_or(ty, |column| column.ty)
        }
        ::table::catalog::IndexPart::Expr(_) => ty,
    }
}

/// The operator that is meant between two values of a type.
fn found(
    maker: &DdlContext<'_, '_>,
    operator: &ast::Operator,
    ty: Type,
    method: IndexMethod,
) -> Result<Oid> {
    let types: &dyn TypeSource = &*maker.names;
    let schema = operator.schema.as_ref().map(|schema| schema.text.as_str());
    let origins = maker.names.origins_of(schema);
    let found = resolve::operator_of(types, origins, &operator.symbol, Some(ty), ty)?;
    let found: &Operator = found.operator;
    let shown = || {
        let name = |ty| types.name_of(ty);
        format!("operator {}({},{})", found.name, name(found.left), name(found.right))
    };
    if found.commutator().is_none_or(|other| other.oid != found.oid) {
        let error =
            SqlError::new(SqlState::WRONG_OBJECT_TYPE, format!("{} is not commutative", shown()));
        let detail = "Only commutative operators can be used in exclusion constraints.";
        return Err(error.with_detail(detail).into());
    }
    let is_area = matches!(found.left, Type::BOX | Type::POLYGON | Type::CIRCLE);
    let is_interval = matches!(found.left, Type::ANYRANGE | Type::ANYMULTIRANGE | Type::INET);
    let fits = match (method, found.name) {
        (_, "=" | "<>") if is_geometric(found.left) => false,
        (_, "=") | (IndexMethod::Gist, "<>") => true,
        (IndexMethod::Gist | IndexMethod::Spgist, "&&") if is_area => true,
        (IndexMethod::Gist, "~=") => is_area || found.left == Type::POINT,
        (IndexMethod::Gist | IndexMethod::Spgist, "&&" | "-|-") => is_interval,
        _ => false,
    };
    if found.ret != Type::BOOL || !fits {
        let class = crate::system::class_of(&*maker.names, ty, method, None);
        let family = class.map_or_else(String::new, |class| class.name().to_owned());
        let message = format!("{} is not a member of operator family \"{family}\"", shown());
        let detail = "The exclusion operator must be related to the index operator class for the constraint.";
        let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail);
        return Err(error.into());
    }
    Ok(found.oid)
}
