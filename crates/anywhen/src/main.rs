//! The command `anywhen`: all that the embeddable database does, from a shell.
//!
//! Nothing is decided here. [`cli`] reads the command line, calls the public
//! interface of the library, as any program could, and prints the answer.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
