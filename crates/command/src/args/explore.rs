//! The arguments of `explore`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct ExploreArgs {
    /// A data folder, or http://HOST:PORT or https://HOST:PORT of a server [default: the folder of --data]
    #[arg(value_name = "DATA|URL")]
    pub place: Option<String>,
    /// The collection or document to begin with [default: the list of collections]
    #[arg(value_name = "COLLECTION[/DOC]")]
    pub target: Option<String>,
    /// The file with the token for the server [default: the variable ANYWHEN_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A file with the certificate authorities that are trusted for the server [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub authorities: Option<PathBuf>,
}
