//! `anywhen completions` and `anywhen man-pages`: the completions and pages of the command, made from
//! the definition of the command line itself.

use std::fs;

use clap::CommandFactory;

use crate::args::{Arguments, CompletionsArgs, ManPagesArgs};
use crate::failure::{Failure, Outcome};
use crate::screen;

/// Writes the script of a shell to standard output.
pub(crate) fn completions(args: &CompletionsArgs) -> Outcome {
    let mut command = Arguments::command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "anywhen", &mut script);
    screen::lines(&String::from_utf8_lossy(&script))
}

/// Writes a page for the command and for each of its subcommands.
pub(crate) fn man_pages(args: &ManPagesArgs) -> Outcome {
    let failed = |error| Failure::file(&args.folder, &error);
    fs::create_dir_all(&args.folder).map_err(failed)?;
    clap_mangen::generate_to(Arguments::command(), &args.folder).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of the command line without help would be empty in the pages and the completions.
    #[test]
    fn every_word_of_the_command_line_has_help() {
        fn look(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.trim().is_empty(), "{path} has no help");
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.trim().is_empty(), "{path}: {} has no help", argument.get_id());
            }
            command.get_subcommands().for_each(|command| look(command, &path));
        }
        let mut command = Arguments::command();
        command.build();
        look(&command, "");
    }
}
