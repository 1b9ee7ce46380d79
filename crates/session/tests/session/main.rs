//! Whole sessions as text: statements in, what `psql` would show out.
//!
//! ```text
//!   scripts/NAME.sql    statements
//!   scripts/NAME.out    psql -X -a -A -P null=NULL -v VERBOSITY=verbose -v SHOW_CONTEXT=always < NAME.sql, without LOCATION
//! ```
//!
//! `ANYWHEN_BLESS=1 cargo test -p session` writes the answers anew: look at the difference. Where a
//! script asks only for what PostgreSQL has, its answers come from PostgreSQL 17.
//!
//! Interleavings of several sessions are text as well, in `schedules/`, and are run by `schedules`. Random histories,
//! with the proof that they have a serial order, are in `histories`; the effects of a failing disk on statements are in
//! `failing_disk`. Statements that nobody would write are in `fuzz`; the memory and time of one statement in `limits`;
//! answers that must agree in `oracles`; aggregates over columns in `batches`; their plans in `batch_plans`; tables of different access methods in
//! `methods`; faults that compressed tables of others have in `compressed`; large documents in `large_documents`; damage that no checksum tells in `damage`; the past that tables have given up in `kept_past`;
//! several databases of one server in `databases`.

mod batch_limits;
mod batch_plans;
mod batches;
mod client;
mod compressed;
mod damage;
mod databases;
mod erase;
mod extensions;
mod failing_disk;
mod files;
mod fuzz;
mod generate;
mod grammar;
mod helpers;
mod histories;
mod join_orders;
mod kept_past;
mod large_documents;
mod limits;
mod loads;
#[path = "../../../table/src/rows/tests/memory.rs"]
mod memory;
mod methods;
mod oracles;
mod partitions;
mod protocol;
mod schedules;
mod serial;
mod together;

use std::path::Path;

/// Every script gives what its file of answers says.
#[test]
fn scripts_give_their_answers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/scripts");
    let mut scripts: Vec<_> = std::fs::read_dir(&folder)
        .expect("the scripts are there")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .collect();
    scripts.sort();
    assert!(!scripts.is_empty(), "there are scripts");
    let mut failed = Vec::new();
    for script in scripts {
        let text = std::fs::read_to_string(&script).expect("a script can be read");
        let given = client::run_script(&text);
        let answers = script.with_extension("out");
        if std::env::var_os("ANYWHEN_BLESS").is_some() {
            std::fs::write(&answers, &given).expect("answers can be written");
            continue;
        }
        let wanted = std::fs::read_to_string(&answers).unwrap_or_default();
        if given != wanted {
            failed.push(difference(&script, &wanted, &given));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The first lines that differ, with a few before.
fn difference(script: &Path, wanted: &str, given: &str) -> String {
    let (wanted, given): (Vec<_>, Vec<_>) = (wanted.lines().collect(), given.lines().collect());
    let same = wanted.iter().zip(&given).take_while(|(wanted, given)| wanted == given).count();
    let part = |lines: &[&str]| {
        let end = lines.len().min(same + 8);
        lines[same.min(end)..end].join("\n")
    };
    let before = given[same.saturating_sub(4)..same].join("\n");
    let name = script.file_name().unwrap_or_default().to_string_lossy();
    format!(
        "{name}, line {}:\n{before}\n--- wanted\n{}\n--- given\n{}\n",
        same + 1,
        part(&wanted),
        part(&given)
    )
}
