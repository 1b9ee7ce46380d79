//! `CREATE INDEX`, and the keys of indexes.

use std::sync::Arc;

use ::table::catalog::ddl::{NewIndex, NewIndexKey};
use ::table::catalog::{IndexMethod, IndexPart, SqlText};
use ::table::method::Options;
use sql::parse::ast::{CreateIndex, IndexElement, Name, Path, SqlExpr};
use types::{Oid, SqlState, Type};

use super::one_row::Purpose;
use super::table::{collation, kept, options, parameters};
use super::text::{self, Over};
use super::{DdlContext, partition};
use crate::error::{Error, Result};
use crate::system::{default_class, named_class};

/// `CREATE INDEX`
pub fn create_index(maker: &mut DdlContext<'_, '_>, create: &CreateIndex) -> Result<()> {
    let table = maker.relation(&create.table)?;
    if table.table().is_none() {
        let message = format!("cannot create index on relation \"{}\"", table.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    if create.if_not_exists
        && let Some(name) = &create.name
        && maker.catalog().relation_named(table.schema, &name.text).is_some()
    {
        let message = format!("relation \"{}\" already exists, skipping", name.text);
        maker.notice(SqlState::DUPLICATE_TABLE, message);
        return Ok(());
    }
    let method = index_method(maker, create.method.as_ref())?;
    let columns = text::columns_of(table.live_columns());
    let over = Over::of(&table, &columns);
    let schema = maker.names.schema_name(table.schema);
    let bound = sql::bind::Names::relation(&*maker.names, Some(schema), &table.name)
        .ok_or_else(|| Error::new(SqlState::UNDEFINED_TABLE, "the table is gone"))?;
    let keys = create
        .keys
        .iter()
        .map(|element| index_key(maker, element, &bound, over, method))
        .collect::<Result<Vec<_>>>()?;
    let predicate = match &create.filter {
        Some(filter) => Some(index_predicate(maker, filter, &bound, over)?),
        None => None,
    };
    let mut given = options(&create.options);
    let own = index_parameters(method, &mut given)?;
    let (mut options, _) = parameters(given)?;
    options.extend(own);
    let index = maker.ddl.create_index(
        table.oid,
        NewIndex {
            name: create.name.as_ref().map(|name| name.text.as_str().into()),
            method,
            keys,
            include: create.include.iter().map(|name| name.text.as_str().into()).collect(),
            predicate,
            is_unique: create.unique,
            nulls_distinct: create.nulls_distinct,
            is_valid: !create.only || table.partitions().is_empty(),
            options,
            excludes: Vec::new(),
            partition_of: None,
        },
    )?;
    maker.see();
    maker.fill_index(table.oid, index.oid)?;
    for partition in table.partitions().iter().filter(|_| !create.only) {
        partition::inherit_index(maker, &index, *partition)?;
    }
    Ok(())
}

/// `REINDEX`: makes the index of this name anew. Of a table, or of all, it makes only the indexes anew whose sort keys are
/// of other tables of a language: the others keep themselves in shape.
pub fn reindex(maker: &mut DdlContext<'_, '_>, name: Option<&Path>) -> Result<()> {
    let named = name.map(|name| maker.relation(name)).transpose()?;
    let of = named.as_ref().map(|relation| relation.oid);
    let mut anew: Vec<(Oid, Oid)> = maker.catalog().stale_indexes(of).collect();
    if let Some(relation) = named.filter(|relation| relation.storage().is_some())
        && let Some(index) = relation.index()
        && anew.is_empty()
    {
        anew.push((index.table, relation.oid));
    }
    for (table, index) in anew {
        maker.ddl.renew_index(index)?;
        maker.see();
        maker.fill_index(table, index)?;
    }
    Ok(())
}

/// The access method of an index with this name.
///
/// # Errors
/// 42704 for a name that none has.
pub fn index_method(maker: &DdlContext<'_, '_>, name: Option<&Name>) -> Result<IndexMethod> {
    Ok(match name.map(|name| name.text.as_str()) {
        None | Some("btree") => IndexMethod::Btree,
        Some("hash") => IndexMethod::Hash,
        Some("gin") => IndexMethod::Gin,
        Some("gist") => IndexMethod::Gist,
        Some("columnar") => IndexMethod::Columnar,
        Some("brin") => IndexMethod::Brin,
        Some("spgist") => IndexMethod::Spgist,
        Some("bloom") if maker.names.member_schema(types::extension::BLOOM).is_some() => {
            IndexMethod::Bloom
        }
        Some(other) => {
            let message = format!("access method \"{other}\" does not exist");
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        }
    })
}

/// The condition of a partial index, as it is kept.
pub fn index_predicate(
    maker: &DdlContext<'_, '_>,
    filter: &SqlExpr,
    table: &sql::bind::Relation,
    over: Over<'_>,
) -> Result<SqlText> {
    let kept = kept(maker, filter, Some(over))?;
    let mut bound = sql::bind::expression(&kept.text, Some(table), &*maker.names, maker.context())
        .map_err(|error| Error::from(error.cause))?;
    Purpose::IndexPredicate.check(&mut bound)?;
    if bound.ty != Type::BOOL {
        let types: &dyn types::TypeSource = &*maker.names;
        let message =
            format!("argument of WHERE must be type boolean, not type {}", types.name_of(bound.ty));
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    Ok(kept)
}

/// The name in an index of a key that is an expression.
pub fn key_name(part: &IndexPart) -> Arc<str> {
    let name = match part {
        IndexPart::Expr(expr) => sql::bind::name_of(&expr.text),
        IndexPart::Column(_) => None,
    };
    name.map_or_else(|| "expr".into(), Arc::from)
}

/// Takes the parameters that only indexes of a method have out of those that are given.
///
/// # Errors
/// 22023 for a value that is out of bounds.
fn index_parameters(method: IndexMethod, given: &mut Options) -> Result<Options> {
    let bounds = |name: &str| match (method, name) {
        (IndexMethod::Brin, "pages_per_range") => Some(1..=131_072),
        (IndexMethod::Bloom, "length") => Some(1..=4096),
        (IndexMethod::Bloom, name) => {
            let number = name.strip_prefix("col").and_then(|digits| digits.parse::<u32>().ok());
            number.filter(|number| (1..=32).contains(number)).map(|_| 1..=4095)
        }
        _ => None,
    };
    let mut own = Options::new();
    for (name, value) in given.iter() {
        let invalid = |kind: &str| {
            let message = format!("invalid value for {kind} option \"{name}\": {value}");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        };
        if let Some(bounds) = bounds(name) {
            let number: i32 = value.parse().map_err(|_| invalid("integer"))?;
            if !bounds.contains(&number) {
                let message = format!("value {value} out of bounds for option \"{name}\"");
                let (low, high) = bounds.into_inner();
                let detail = format!("Valid values are between \"{low}\" and \"{high}\".");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).detail(detail));
            }
        } else if method == IndexMethod::Brin && **name == *"autosummarize" {
            if crate::names::switch(value).is_none() {
                return Err(invalid("boolean"));
            }
        } else {
            continue;
        }
        own.push((name.clone(), value.clone()));
    }
    given.retain(|(name, _)| own.iter().all(|(known, _)| known != name));
    Ok(own)
}

/// A key of an index over a table that the binder sees as `table`.
pub fn index_key(
    maker: &DdlContext<'_, '_>,
    element: &IndexElement,
    table: &sql::bind::Relation,
    over: Over<'_>,
    method: IndexMethod,
) -> Result<NewIndexKey> {
    let (part, ty) = match (&element.column, &element.expr) {
        (Some(name), _) => {
            let column = table.columns.iter().find(|column| column.name == name.text);
            let Some(column) = column else {
                let message = format!("column \"{}\" does not exist", name.text);
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
            };
            (IndexPart::Column(column.attnum), column.ty)
        }
        (None, Some(expr)) => {
            let kept = kept(maker, expr, Some(over))?;
            let mut bound =
                sql::bind::expression(&kept.text, Some(table), &*maker.names, maker.context())
                    .map_err(|error| Error::from(error.cause))?;
            Purpose::IndexKey.check(&mut bound)?;
            (IndexPart::Expr(kept), bound.ty)
        }
        (None, None) => return Err(Error::not_supported("an index without a key")),
    };
    let class = match &element.class {
        Some(_) if method == IndexMethod::Columnar => {
            let message = "access method \"columnar\" does not support operator classes";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Some(path) => {
            let (schema, name) = maker.names.split(path)?;
            let origins = maker.names.origins_of(schema);
            let class = named_class(&*maker.names, ty, method, name, origins)?;
            class.kept_name()
        }
        None if matches!(
            method,
            IndexMethod::Gin | IndexMethod::Brin | IndexMethod::Bloom | IndexMethod::Spgist
        ) =>
        {
            match default_class(&maker.names, ty, method) {
                Some(class) => class.kept_name(),
                None => return Err(no_default_class(maker, ty, method)),
            }
        }
        None => None,
    };
    Ok(NewIndexKey {
        name: key_name(&part),
        part,
        ty,
        is_descending: element.descending,
        nulls_first: element.nulls_first,
        collation: collation(maker, element.collation.as_ref(), ty)?,
        class: class.map(Into::into),
    })
}

fn no_default_class(maker: &DdlContext<'_, '_>, ty: Type, method: IndexMethod) -> Error {
    let types: &dyn types::TypeSource = &*maker.names;
    let message = format!(
        "data type {} has no default operator class for access method \"{}\"",
        types.name_of(ty),
        method.name()
    );
    Error::new(SqlState::UNDEFINED_OBJECT, message).hint(
        "You must specify an operator class for the index or define a default operator class for the \
         data type.",
    )
}
