//! Rules that make plans cheaper without changing what they give.

use types::TypeSource;

use crate::plan::Plan;
use crate::tables::Schema;

/// Applies all rules.
pub fn rewrite(_plan: &mut Plan, _types: &dyn TypeSource, _schema: &dyn Schema) {}
