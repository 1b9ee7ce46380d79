//! Arguments of the command `sql`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct SqlArgs {
    /// Use a server instead of a data folder: postgres://USER@HOST:PORT/DATABASE
    #[arg(long, value_name = "URL", env = "ANYWHEN_URL", hide_env_values = true)]
    pub url: Option<String>,
    /// Run these statements and exit; may be given again
    #[arg(long, short, value_name = "SQL")]
    pub command: Vec<String>,
    /// Run the statements in a file and exit; may be given again
    #[arg(long, short, value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// The format of rows [default: table]
    #[arg(long, value_enum)]
    pub format: Option<SqlFormat>,
    /// Continue after a failed statement
    #[arg(long)]
    pub keep_going: bool,
}

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlFormat {
    /// A table; one value a line where it would be wider than the terminal
    Table,
    /// Comma-separated, with the names of the columns in front
    Csv,
    /// An array of objects for each statement
    Json,
}
