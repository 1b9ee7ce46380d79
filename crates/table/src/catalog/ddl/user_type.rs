//! Enums, domains and range types.

use std::sync::Arc;

use ::types::{EnumOrder, Error as SqlError, Modifier, Oid, SqlState, Type};
use txn::RowLock;

use super::name::{NAME_BYTES_MAX, choose};
use super::{Address, Class, Ddl, Entry};
use crate::catalog::{
    Constraint, ConstraintKind, ConstraintOn, Domain, Enum, Key, Privileges, RangeType, SqlText,
    UserType, UserTypeKind,
};
use crate::{Error, Result};

/// Where a label of an enum is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelPlace {
    /// Behind all others.
    Last,
    /// Before this one.
    Before(Arc<str>),
    /// After this one.
    After(Arc<str>),
}

/// A change of a domain.
#[derive(Clone, Debug)]
pub enum DomainChange {
    /// `SET DEFAULT` or `DROP DEFAULT`.
    Default(Option<SqlText>),
    /// `SET NOT NULL`, where no column has NULL, or `DROP NOT NULL`.
    NotNull(bool),
}

impl Ddl<'_> {
    /// Makes an enum with these labels.
    ///
    /// # Errors
    /// 42710 where the name is taken, 42602 for labels that are too long.
    pub fn create_enum(
        &mut self,
        schema: Oid,
        name: &str,
        labels: &[Arc<str>],
    ) -> Result<Arc<UserType>> {
        self.whole(|ddl| {
            ddl.schema_to_create_in(schema, name)?;
            ddl.take_type_name(schema, name)?;
            let mut made: Vec<(Oid, EnumOrder, Arc<str>)> = Vec::with_capacity(labels.len());
            for label in labels {
                check_label(label)?;
                if made.iter().any(|(_, _, known)| known == label) {
                    return Err(Error::new(
                        SqlState::UNIQUE_VIOLATION,
                        "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"",
                    ));
                }
                let order = order_of(made.len() as f64 + 1.0)?;
                made.push((ddl.new_oid()?, order, label.clone()));
            }
            ddl.make_type(schema, name, UserTypeKind::Enum(Enum::new(made)))
        })
    }

    /// Adds a label to an enum.
    ///
    /// # Errors
    /// 42710 where there is one like it, 22023 where its neighbour is none.
    pub fn add_label(&mut self, ty: Type, label: &Arc<str>, place: &LabelPlace) -> Result<()> {
        self.change_enum(ty, |ddl, labels| {
            check_label(label)?;
            if labels.iter().any(|(_, _, known)| known == label) {
                let message = format!("enum label \"{label}\" already exists");
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
            let at = match place {
                LabelPlace::Last => labels.len(),
                LabelPlace::Before(other) => place_of(labels, other)?,
                LabelPlace::After(other) => place_of(labels, other)? + 1,
            };
            let order = |at: usize| labels.get(at).map(|(_, order, _)| order.get());
            let before = at.checked_sub(1).and_then(order);
            let number = match (before, order(at)) {
                (None, None) => 1.0,
                (Some(before), None) => before + 1.0,
                (None, Some(after)) => after - 1.0,
                (Some(before), Some(after)) => {
                    let between = before + (after - before) / 2.0;
                    if between <= before || between >= after {
                        return Err(super::not_supported(
                            "no more labels can be added between two others that are there",
                        ));
                    }
                    between
                }
            };
            let made = (ddl.new_oid()?, order_of(number)?, label.clone());
            labels.insert(at, made);
            Ok(())
        })
    }

    /// Renames a label of an enum.
    ///
    /// # Errors
    /// 22023 where there is none, 42710 where there is one of the new name.
    pub fn rename_label(&mut self, ty: Type, label: &str, name: &Arc<str>) -> Result<()> {
        self.change_enum(ty, |_, labels| {
            check_label(name)?;
            let at = place_of(labels, label)?;
            if labels.iter().any(|(_, _, known)| known == name) {
                let message = format!("enum label \"{name}\" already exists");
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
            labels[at].2 = name.clone();
            Ok(())
        })
    }

    fn change_enum(
        &mut self,
        ty: Type,
        change: impl FnOnce(&mut Self, &mut Vec<(Oid, EnumOrder, Arc<str>)>) -> Result<()>,
    ) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::of(Class::Type, ty.oid()))?;
            let user = ddl.user_type_to_change(ty)?;
            let UserTypeKind::Enum(of) = &user.kind else {
                let name = ddl.scope().type_name(ty, Modifier::NONE);
                let message = format!("{name} is not an enum");
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            };
            let mut labels = of.labels.clone();
            change(ddl, &mut labels)?;
            let kind = UserTypeKind::Enum(Enum::new(labels));
            ddl.put(Entry::Type(Arc::new(UserType { kind, ..(*user).clone() })))
        })
    }

    /// Makes a domain; its checks are added by [`Ddl::add_domain_check`].
    ///
    /// # Errors
    /// 42710 where the name is taken, 42804 for a base that values cannot be of.
    pub fn create_domain(
        &mut self,
        schema: Oid,
        name: &str,
        (base, modifier, collation): (Type, Modifier, Option<Oid>),
        not_null: bool,
        default: Option<SqlText>,
    ) -> Result<Arc<UserType>> {
        self.whole(|ddl| {
            ddl.schema_to_create_in(schema, name)?;
            ddl.take_type_name(schema, name)?;
            ddl.rely_on_type(base)?;
            if ::types::builtin::facts(base).is_some_and(|facts| facts.is_pseudo()) {
                let base = ddl.scope().type_name(base, Modifier::NONE);
                let message = format!("\"{base}\" is not a valid base type for a domain");
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
            if let Some(default) = &default {
                ddl.rely_on_text(default)?;
            }
            let repr = ddl.repr_of(base)?;
            let collation = collation.unwrap_or_else(|| ddl.catalog().collation_of(base));
            ddl.rely_on_collation(collation)?;
            let domain = Domain { base, modifier, repr, collation, not_null, default };
            ddl.make_type(schema, name, UserTypeKind::Domain(domain))
        })
    }

    /// Changes a domain.
    ///
    /// # Errors
    /// 42809 where it is none.
    pub fn change_domain(&mut self, ty: Type, change: DomainChange) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::of(Class::Type, ty.oid()))?;
            let user = ddl.user_type_to_change(ty)?;
            let mut domain = ddl.domain(&user)?.clone();
            match change {
                DomainChange::Default(default) => {
                    if let Some(default) = &default {
                        ddl.rely_on_text(default)?;
                    }
                    domain.default = default;
                }
                DomainChange::NotNull(not_null) => domain.not_null = not_null,
            }
            let kind = UserTypeKind::Domain(domain);
            ddl.put(Entry::Type(Arc::new(UserType { kind, ..(*user).clone() })))
        })
    }

    /// Adds a check to a domain. Whether the values that are there meet it is for the caller to see to.
    ///
    /// # Errors
    /// 42710 where the name is taken.
    pub fn add_domain_check(
        &mut self,
        ty: Type,
        name: Option<Arc<str>>,
        expr: SqlText,
        is_validated: bool,
    ) -> Result<Arc<Constraint>> {
        self.whole(|ddl| {
            ddl.check_owner(Address::of(Class::Type, ty.oid()))?;
            let user = ddl.user_type_to_change(ty)?;
            ddl.domain(&user)?;
            ddl.rely_on_text(&expr)?;
            let on = ConstraintOn::Domain(ty);
            let known = ddl.catalog().constraints_of(on);
            let is_free = |name: &str| known.iter().all(|known| *known.name != *name);
            let name = match name {
                Some(name) if !is_free(&name) => {
                    let message = format!(
                        "constraint \"{name}\" for domain \"{}\" already exists",
                        user.name
                    );
                    return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
                }
                Some(name) => name,
                None => choose(&user.name, None, "check", is_free).into(),
            };
            let constraint = Arc::new(Constraint {
                oid: ddl.new_oid()?,
                name,
                on,
                is_deferrable: false,
                is_deferred: false,
                is_validated,
                kind: ConstraintKind::Check { expr, columns: Vec::new() },
                partition_of: None,
            });
            ddl.put(Entry::Constraint(constraint.clone()))?;
            Ok(constraint)
        })
    }

    /// Makes a range type and its multirange type. Without a name, the multirange type gets that of the range type, with
    /// `multirange` for `range`.
    ///
    /// # Errors
    /// 42710 if a name is taken, 42804 if the bounds would have a pseudo-type.
    pub fn create_range(
        &mut self,
        schema: Oid,
        name: &str,
        (element, collation, difference): (Type, Option<Oid>, Oid),
        multirange: Option<(Oid, &str)>,
    ) -> Result<Arc<UserType>> {
        self.whole(|ddl| {
            ddl.schema_to_create_in(schema, name)?;
            ddl.take_type_name(schema, name)?;
            ddl.rely_on_type(element)?;
            if ::types::builtin::facts(element).is_some_and(|facts| facts.is_pseudo()) {
                let element = ddl.scope().type_name(element, Modifier::NONE);
                let message = format!("range subtype cannot be {element}");
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
            let derived = match name.contains("range") {
                true => name.replacen("range", "multirange", 1),
                false => format!("{name}_multirange"),
            };
            let (in_schema, other) = multirange.unwrap_or((schema, &derived));
            let is_own = other == name && in_schema == schema;
            if is_own || ddl.catalog().type_named(in_schema, other).is_some() {
                return Err(multirange_taken(name, other, multirange.is_none()).into());
            }
            ddl.schema_to_create_in(in_schema, other)?;
            ddl.take_type_name(in_schema, other)?;
            let collation = collation.unwrap_or_else(|| ddl.catalog().collation_of(element));
            let (ty, multirange) = (Type(ddl.new_oid()?), Type(ddl.new_oid()?));
            let range = RangeType { element, collation, multirange, difference };
            let made = ddl.make_type_of(ty, schema, name, UserTypeKind::Range(range))?;
            ddl.make_type_of(multirange, in_schema, other, UserTypeKind::Multirange(ty))?;
            Ok(made)
        })
    }

    fn make_type(&mut self, schema: Oid, name: &str, kind: UserTypeKind) -> Result<Arc<UserType>> {
        let ty = Type(self.new_oid()?);
        self.make_type_of(ty, schema, name, kind)
    }

    fn make_type_of(
        &mut self,
        ty: Type,
        schema: Oid,
        name: &str,
        kind: UserTypeKind,
    ) -> Result<Arc<UserType>> {
        let array_name = self.choose_array_name(schema, name)?;
        let user = Arc::new(UserType {
            ty,
            schema,
            name: name.into(),
            owner: self.acting.role,
            acl: self.initial_acl(schema, 'T', Class::Type, Privileges::USAGE),
            array: Type(self.new_oid()?),
            array_name,
            kind,
        });
        self.put(Entry::Type(user.clone()))?;
        Ok(user)
    }

    pub(super) fn user_type_to_change(&mut self, ty: Type) -> Result<Arc<UserType>> {
        self.draft.lock(self.txn, Key::Type(ty.oid()), RowLock::NoKeyUpdate)?;
        self.catalog().user_type(ty).cloned().ok_or_else(|| {
            let name = self.scope().type_name(ty, Modifier::NONE);
            Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
        })
    }

    fn domain<'u>(&self, user: &'u UserType) -> Result<&'u Domain> {
        match &user.kind {
            UserTypeKind::Domain(domain) => Ok(domain),
            _ => {
                let name = self.scope().type_name(user.ty, Modifier::NONE);
                let message = format!("{name} is not a domain");
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
        }
    }
}

/// The error for the name of a multirange type that is taken.
fn multirange_taken(range: &str, name: &str, is_derived: bool) -> SqlError {
    let message = format!("type \"{name}\" already exists");
    let error = SqlError::new(SqlState::DUPLICATE_OBJECT, message);
    if !is_derived {
        return error;
    }
    let hint = "You can manually specify a multirange type name using the \"multirange_type_name\" \
                attribute.";
    let detail = format!("Failed while creating a multirange type for type \"{range}\".");
    error.with_detail(detail).with_hint(hint)
}

fn order_of(number: f64) -> Result<EnumOrder> {
    EnumOrder::new(number).ok_or_else(|| super::not_supported("too many labels in an enum"))
}

fn place_of(labels: &[(Oid, EnumOrder, Arc<str>)], label: &str) -> Result<usize> {
    labels.iter().position(|(_, _, known)| **known == *label).ok_or_else(|| {
        let message = format!("\"{label}\" is not an existing enum label");
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
    })
}

fn check_label(label: &str) -> Result<()> {
    if label.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    let message = format!("invalid enum label \"{label}\"");
    let detail = format!("Labels must be {NAME_BYTES_MAX} bytes or less.");
    Err(SqlError::new(SqlState::INVALID_NAME, message).with_detail(detail).into())
}
