//! The project's own tasks, as one command: `cargo xtask <task>`.
//!
//! ```text
//!   make test  ──>  cargo xtask ci  ──>  fmt · web · clippy · tidy · test · end to end · clients
//!                   cargo xtask tidy ──> the style guide's mechanical part
//! ```
//!
//! People call `make`, and `make` and the build server call this. So the checks are the same
//! everywhere. This crate has no dependencies: it compiles in a second or two, before anything else
//! does.

mod ci;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
The project's own tasks.

  cargo xtask tidy        check the mechanical parts of the style guide
  cargo xtask ci          everything `make test` runs: fmt, clippy, tidy, tests, end to end, clients
  cargo xtask ci STEP...  only these steps (fmt web clippy tidy test postgres e2e explorer clients hostile python)
  cargo xtask help        this text
";

/// The root of the checkout: the folder above this crate.
fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("tidy") => tidy::run(&root()),
        Some("ci") => ci::run(&root(), &arguments[1..]),
        None | Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        Some(other) => {
            eprintln!("xtask: there is no task {other:?}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}
