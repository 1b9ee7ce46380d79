//! Scans of tables and their paths, ready to be run.

use super::Builder;
use crate::op::append::{Append, Pruning};
use crate::op::path::Path;
use crate::op::scan::{Columns, ConditionalPath, Sample, Scan, When};
use plan::{self, Equal, Kind};
use sql::plan::{self as bound};
use types::{Error, Result, Type};

impl Builder<'_> {
    pub(super) fn scan(&mut self, scan: &plan::Scan, types: &[Type]) -> Result<Scan> {
        let when = match &scan.moment {
            bound::Moment::Now => When::Now,
            bound::Moment::All => When::All,
            bound::Moment::Ever => When::Ever,
            bound::Moment::AsOf(at) => When::AsOf(self.program(at)?),
            bound::Moment::AtVersion(version) => When::AtVersion(self.program(version)?),
            bound::Moment::FromTo(from, to) => When::FromTo(self.program(from)?, self.program(to)?),
            bound::Moment::Between(from, to) => {
                When::Between(self.program(from)?, self.program(to)?)
            }
            bound::Moment::ContainedIn(from, to) => {
                When::ContainedIn(self.program(from)?, self.program(to)?)
            }
        };
        let path = self.path(&scan.path)?;
        let conditional = match &scan.conditional {
            Some(conditional) => Some(ConditionalPath {
                start_conditions: self.programs(&conditional.start_conditions)?,
                path: self.path(&conditional.path)?,
            }),
            None => None,
        };
        let sample = match &scan.sample {
            None => None,
            Some(sample) => Some(Sample {
                percent: self.program(&sample.percent)?,
                seed: self.maybe(sample.seed.as_ref())?,
            }),
        };
        let columns = match &scan.columns {
            None => None,
            Some(columns) => Some(Columns {
                index: columns.index,
                numbers: columns.numbers.clone(),
                values: self.programs(&columns.values)?,
            }),
        };
        let width = columns.as_ref().map_or(scan.attnums.len(), |columns| columns.numbers.len());
        debug_assert_eq!(width, types.len());
        let condition = self.maybe(scan.condition.as_ref())?;
        let attnums = scan.attnums.clone();
        let paths = (path, conditional);
        let scan = Scan::new(scan.relation, scan.computed, attnums, when, paths, sample, condition);
        Ok(scan.with_columns(columns))
    }

    /// The scans of partitions, which leave their condition to the operator above where it evaluates that.
    pub(super) fn append(
        &mut self,
        append: &plan::Append,
        leaves_condition: bool,
    ) -> Result<Append> {
        let pruning = |level: &plan::Level| {
            Ok(match level.path.is_full() {
                true => None,
                false => Some(Pruning { level: level.clone(), path: self.path(&level.path)? }),
            })
        };
        let prunings = append.levels.iter().map(pruning).collect::<Result<_>>()?;
        let mut parts = Vec::with_capacity(append.parts.len());
        for part in &append.parts {
            let input = match &part.node.kind {
                Kind::Scan(scan) if leaves_condition => {
                    let scan = self.scan(scan, &part.node.types)?.leaving_condition();
                    self.looked_at(&part.node, Box::new(scan))
                }
                _ => self.node(&part.node)?,
            };
            parts.push((input, part.within.clone()));
        }
        Ok(Append::new(prunings, parts))
    }

    pub(super) fn path(&self, path: &plan::Path) -> Result<Path> {
        let end = |end: &Option<plan::End>| match end {
            Some(end) => Ok::<_, Error>(Some((self.program(&end.value)?, end.inclusive))),
            None => Ok(None),
        };
        let equal = path.equal.iter().map(|equal| {
            Ok(match equal {
                Equal::One(expr) => Equal::One(self.program(expr)?),
                Equal::AnyOf(expr) => Equal::AnyOf(self.program(expr)?),
                Equal::Null => Equal::Null,
            })
        });
        let scan_keys = path.scan_keys.iter();
        let scan_keys =
            scan_keys.map(|one| Ok((one.part, one.strategy, self.program(&one.value)?)));
        Ok(Path {
            index: path.index,
            is_backward: path.backward,
            is_single: path.is_single,
            may_read_all: path.may_read_all,
            columns: path.columns.clone(),
            equal: equal.collect::<Result<_>>()?,
            low: end(&path.low)?,
            high: end(&path.high)?,
            scan_keys: scan_keys.collect::<Result<_>>()?,
        })
    }
}
