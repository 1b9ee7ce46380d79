//! `CREATE MATERIALIZED VIEW` and `REFRESH MATERIALIZED VIEW`.

use types::SqlState;

use crate::error::{Error, Result};
use crate::parse::ast::{CreateTableAs, Define, RowsOf};
use crate::parse::cursor::Parser;

impl Parser<'_> {
    /// `CREATE MATERIALIZED VIEW`, of which the first word is read.
    pub(super) fn create_materialized_view(&mut self, unlogged: bool) -> Result<Define> {
        self.expect(&["materialized", "view"])?;
        let if_not_exists = self.eat(&["if", "not", "exists"]);
        let name = self.path()?;
        let columns = self.optional_column_names()?;
        let method = self.access_method()?;
        let options = self.with_options()?;
        if self.eat(&["tablespace"]) {
            self.name()?;
        }
        self.expect(&["as"])?;
        let start = self.start();
        let rows = RowsOf::Query(Box::new(self.query()?));
        let text = self.text[start..self.end()].to_owned();
        let data = self.with_data();
        if unlogged {
            let message = "materialized views cannot be unlogged";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(Define::TableAs(Box::new(CreateTableAs {
            materialized: true,
            name,
            if_not_exists,
            temporary: false,
            on_commit: None,
            columns,
            method,
            options,
            rows,
            text,
            data,
        })))
    }

    /// `REFRESH MATERIALIZED VIEW`
    pub(super) fn refresh(&mut self) -> Result<Define> {
        self.expect(&["refresh", "materialized", "view"])?;
        let concurrently = self.eat(&["concurrently"]);
        let name = self.path()?;
        Ok(Define::Refresh { name, concurrently, data: self.with_data() })
    }

    /// False for `WITH NO DATA`, true for `WITH DATA` and where neither is said.
    pub(super) fn with_data(&mut self) -> bool {
        let data = !self.eat(&["with", "no", "data"]);
        if data {
            self.eat(&["with", "data"]);
        }
        data
    }
}
