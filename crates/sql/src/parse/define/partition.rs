//! Partitions: `PARTITION BY`, `PARTITION OF`, `FOR VALUES`, `ATTACH PARTITION`, `DETACH PARTITION`.

use types::SqlState;

use crate::error::{Error, Result};
use crate::parse::ast::{
    Alter, PartitionBound, PartitionBy, PartitionStrategy, RangeEnd, TableElement,
};
use crate::parse::cursor::Parser;

impl Parser<'_> {
    /// `[PARTITION BY {RANGE | LIST | HASH} (keys)]`
    pub(super) fn partition_by(&mut self) -> Result<Option<PartitionBy>> {
        if !self.eat(&["partition", "by"]) {
            return Ok(None);
        }
        let at = self.at();
        let word = self.name()?;
        let strategy = match word.text.as_str() {
            "range" => PartitionStrategy::Range,
            "list" => PartitionStrategy::List,
            "hash" => PartitionStrategy::Hash,
            other => {
                let message = format!("unrecognized partitioning strategy \"{other}\"");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(at));
            }
        };
        let keys = self.parens(Self::index_element)?;
        Ok(Some(PartitionBy { strategy, keys, at }))
    }

    /// An element of a partition: a constraint, or what is said of a column that the partitioned table has.
    pub(super) fn partition_element(&mut self) -> Result<TableElement> {
        if self.is_table_constraint() {
            return self.table_constraint().map(TableElement::Constraint);
        }
        let name = self.name()?;
        self.eat(&["with", "options"]);
        Ok(TableElement::Options { name, constraints: self.column_constraints()? })
    }

    /// `FOR VALUES ...` or `DEFAULT`
    pub(super) fn partition_bound(&mut self) -> Result<PartitionBound> {
        if self.eat(&["default"]) {
            return Ok(PartitionBound::Default);
        }
        self.expect(&["for", "values"])?;
        if self.eat(&["in"]) {
            return self.parens(Self::sql_expr).map(PartitionBound::List);
        }
        if self.eat(&["from"]) {
            let low = self.parens(Self::range_end)?;
            self.expect(&["to"])?;
            return Ok(PartitionBound::Range(low, self.parens(Self::range_end)?));
        }
        let at = self.at();
        self.expect(&["with"])?;
        let (mut modulus, mut remainder) = (None::<i64>, None::<i64>);
        for (name, value) in self.parens(|parser| Ok((parser.label()?, parser.signed()?)))? {
            let place = match name.text.as_str() {
                "modulus" => &mut modulus,
                "remainder" => &mut remainder,
                other => {
                    let message =
                        format!("unrecognized hash partition bound specification \"{other}\"");
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(name.at));
                }
            };
            if place.replace(value).is_some() {
                let message = format!("{} for hash partition provided more than once", name.text);
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message).at(name.at));
            }
        }
        let missing = |what: &str| {
            let message = format!("{what} for hash partition must be specified");
            Error::new(SqlState::SYNTAX_ERROR, message).at(at)
        };
        let modulus = modulus.ok_or_else(|| missing("modulus"))?;
        let remainder = remainder.ok_or_else(|| missing("remainder"))?;
        Ok(PartitionBound::Hash { modulus, remainder })
    }

    fn range_end(&mut self) -> Result<RangeEnd> {
        Ok(match () {
            () if self.eat(&["minvalue"]) => RangeEnd::Min,
            () if self.eat(&["maxvalue"]) => RangeEnd::Max,
            () => RangeEnd::Value(self.sql_expr()?),
        })
    }

    /// `ATTACH PARTITION name [FOR VALUES ... | DEFAULT]`, `DETACH PARTITION name [CONCURRENTLY]`
    pub(super) fn attach_or_detach(&mut self) -> Result<Alter> {
        if self.eat(&["attach", "partition"]) {
            let partition = self.path()?;
            let has_bound = self.is(&["for"]) || self.is(&["default"]);
            let bound = if has_bound { Some(self.partition_bound()?) } else { None };
            return Ok(Alter::Attach { partition, bound });
        }
        self.expect(&["detach", "partition"])?;
        let partition = self.path()?;
        if self.is(&["finalize"]) {
            return Err(self.not_supported("DETACH PARTITION ... FINALIZE"));
        }
        Ok(Alter::Detach { partition, concurrently: self.eat(&["concurrently"]) })
    }
}
