//! PostgreSQL's own load program against both servers, where the machine has it.
//!
//! ```text
//!  pgbench -i            tables and rows of the scale
//!  pgbench -T seconds    TPC-B-like, the same without the hot rows, reads only
//! ```

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::peer::postgres::NAME;
use crate::peer::wire::Wire;
use crate::report::{Row, Target, median};
use crate::suite::{Context, must_equal};

/// Ten branches: enough that clients seldom wait for one another.
const SCALE: &str = "10";
const CLIENTS: &str = "8";

/// A kind of transaction, and how many times PostgreSQL's rate it must have.
const SCRIPTS: [(&str, &str, &str); 3] = [
    ("tpcb-like", "TPC-B-like transactions", "tpcb"),
    ("simple-update", "the same without the hot rows", "simple-update"),
    ("select-only", "reads of one row", "select-only"),
];

/// Measures, or says that there is no pgbench here by having no rows.
pub fn rows(context: &Context, ours: SocketAddr, postgres: SocketAddr) -> Result<Vec<Row>> {
    let Some(program) = find() else {
        context.progress.suspend(|| {
            anstream::eprintln!("pgbench is not on this machine (package postgresql): left out");
        });
        return Ok(Vec::new());
    };
    for address in [ours, postgres] {
        context.step("pgbench: making the tables");
        pgbench(&program, address, &["-i", "-q", "-s", SCALE])?;
    }
    let mut rows = Vec::new();
    for (script, what, id) in SCRIPTS {
        for protocol in ["simple", "prepared"] {
            context.step(format!("pgbench: {what}, {protocol}"));
            let seconds = context.count("8", "1");
            let mut samples = [Vec::new(), Vec::new()];
            for round in 0..context.count(3, 1) {
                for turn in 0..2 {
                    let who = (round + turn) % 2;
                    let args = [
                        "-n", "-b", script, "-M", protocol, "-c", CLIENTS, "-j", "2", "-T", seconds,
                    ];
                    let text = pgbench(&program, [ours, postgres][who], &args)?;
                    samples[who].push(rate(&text).ok_or("pgbench printed no rate")?);
                }
            }
            let [ours, theirs] = samples.map(|samples| median(&samples));
            rows.push(
                Row::new(
                    format!("pgbench-{id}-{protocol}"),
                    format!("pgbench, {what}, {protocol} statements, {CLIENTS} clients"),
                    "transactions/s",
                )
                .ours(ours)
                .peer(NAME, theirs)
                .target("≥ PostgreSQL", Target::TimesPeer(1.0)),
            );
        }
    }
    let mut wire = Wire::connect(ours, "postgres")?;
    let mut sum = |sql: &str| Ok::<_, crate::Error>(wire.simple(sql)?.first);
    let accounts = sum("SELECT sum(abalance) FROM pgbench_accounts")?;
    let history = sum("SELECT coalesce(sum(delta), 0) FROM pgbench_history")?;
    must_equal("the balances of pgbench's accounts", accounts, history)?;
    Ok(rows)
}

/// The program, on the path or where Debian's packages put it.
fn find() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH")?;
    let mut folders: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    folders.into_iter().map(|folder| folder.join("pgbench")).find(|program| program.is_file())
}

fn pgbench(program: &PathBuf, address: SocketAddr, args: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(["-h", "127.0.0.1", "-U", "postgres", "-p", &address.port().to_string()])
        .args(args)
        .arg("postgres")
        .output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("pgbench {}: {stderr}", args.join(" ")).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The transactions a second that pgbench prints.
fn rate(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("tps = "))?;
    line["tps = ".len()..].split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_found_in_what_pgbench_prints() {
        let text =
            "latency average = 0.5 ms\ntps = 1234.500000 (without initial connection time)\n";
        assert_eq!(rate(text), Some(1234.5));
        assert_eq!(rate("nothing"), None);
    }
}
