//! Arguments of the commands on collections.

use anywhen::Retention;
use clap::Args;

use super::At;

#[derive(Args, Debug)]
pub(crate) struct LsArgs {
    /// A collection, or COLLECTION/PREFIX
    pub collection: Option<String>,
    /// An instant or csn:N
    #[arg(long, value_name = "MOMENT")]
    pub at: Option<At>,
    /// Only the first N names
    #[arg(short = 'n', long, value_name = "N", conflicts_with_all = ["long", "dropped"])]
    pub limit: Option<usize>,
    /// Only names after this one: with --limit, page by page
    #[arg(long, value_name = "NAME", conflicts_with_all = ["long", "dropped"])]
    pub after: Option<String>,
    /// Show the retention of each collection
    #[arg(long, short, conflicts_with_all = ["collection", "at"])]
    pub long: bool,
    /// The collections that were dropped, and when
    #[arg(long, conflicts_with_all = ["collection", "at", "long"])]
    pub dropped: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CreateArgs {
    /// Its name
    #[arg(value_name = "COLLECTION")]
    pub name: String,
    /// How much of the past is kept: forever, none, or a time such as 90d
    #[arg(long, value_name = "TIME", default_value = "forever")]
    pub history: Retention,
    /// Keep a rolling hash of every document, which `verify` checks
    #[arg(long)]
    pub hashes: bool,
    /// Keep the path summary of every document, so that `paths` need not compute it
    #[arg(long)]
    pub path_summary: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AlterArgs {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    pub name: String,
    /// How much of the past is kept: forever, none, or a time such as 90d
    #[arg(long, value_name = "TIME")]
    pub history: Retention,
}

#[derive(Args, Debug)]
pub(crate) struct DropArgs {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    pub name: String,
    /// Remove its past, and that of all dropped collections of this name
    #[arg(long)]
    pub purge: bool,
}
