//! The n-th operation of the disk fails, for every n, in every way, once and for ever.

use vfs::{CrashPolicy, FaultKind, FaultPlan, OpClasses};

use super::workload::{Run, Step, check, seed, workloads};
use crate::{CommitLog, Durability, LogError, Lsn};

/// Runs the steps on a disk with a fault, then looks at what the next process and the next power
/// loss find. Returns whether the fault ever struck.
fn run_with(plan: FaultPlan, steps: &[Step]) -> Result<bool, String> {
    let mut run = Run::new(seed());
    run.disk.fail(plan);
    let mut outcome = run.try_open()?;
    if outcome.is_ok() {
        outcome = run.steps(steps)?;
    }
    let struck = run.disk.faults_hit() > 0;
    if let Err(error) = outcome {
        after_an_error(&mut run, error)?;
    }
    run.kill();
    run.disk.heal();

    // The power fails now: nothing acknowledged may depend on what the failed process knew.
    for policy in CrashPolicy::ALL {
        let image = run.disk.image(run.disk.op_count(), &policy, seed());
        check(&run.truth, run.disk.op_count(), image, seed())
            .map_err(|e| format!("{e} after {policy:?}"))?;
    }
    // Or only the process ends, and the next one opens what the page cache holds, although a failed
    // sync has marked it clean. The frames that this process sees must then survive the power loss.
    run.open()?;
    let at = run.disk.op_count();
    let image = run.disk.image(at, &CrashPolicy::SyncedOnly, seed());
    check(&run.truth, at, image, seed()).map_err(|e| format!("{e} after reopening"))?;
    run.steps(&[Step::Append(40), Step::Sync, Step::Close])?
        .map_err(|e| format!("cannot go on: {e}"))?;
    Ok(struck)
}

/// An error of a write or a sync poisons: nothing is acknowledged after it. One of an append or a release
/// costs no more than that call: once the disk is sound all goes on.
fn after_an_error(run: &mut Run, error: LogError) -> Result<(), String> {
    let LogError::Io { .. } = error else { return Err(format!("not an I/O error: {error}")) };
    if run.log().is_none() {
        return Ok(()); // It did not open, or it failed in closing.
    }
    match run.steps(&[Step::Append(40)])? {
        Err(LogError::Poisoned { .. }) => {}
        Ok(()) | Err(LogError::Io { .. }) => {
            run.disk.heal();
            let gone_on = run.steps(&[Step::Append(40), Step::Sync])?;
            return gone_on.map_err(|e| format!("does not go on after {error}: {e}"));
        }
        Err(other) => return Err(format!("append after a failure: {other}")),
    }
    let log = run.log().expect("it was open above");
    let undurable = Lsn(log.durable().0 + 8);
    for how in [Durability::Sync, Durability::Group { wait_us: 1 }] {
        match log.sync(undurable, how) {
            Err(LogError::Poisoned { .. }) => {}
            other => return Err(format!("a poisoned log answers {other:?}")),
        }
    }
    Ok(())
}

/// For every workload, kind of fault and n: no panic, no broken promise, a clean reopening.
#[test]
fn every_nth_operation_fails() {
    let mut cases = 0;
    for (name, steps) in workloads() {
        for kind in [FaultKind::Eio, FaultKind::Enospc, FaultKind::ShortWrite] {
            for once in [true, false] {
                // Short writes differ from a full disk in writes only.
                let on =
                    if kind == FaultKind::ShortWrite { OpClasses::WRITE } else { OpClasses::ALL };
                for nth in 0.. {
                    let plan = FaultPlan { nth, kind, once, on };
                    let struck = run_with(plan, &steps).unwrap_or_else(|e| {
                        panic!("{name}: {e}, {plan:?}, ANYWHEN_SEED={}", seed())
                    });
                    if !struck {
                        break;
                    }
                    cases += 1;
                }
            }
        }
    }
    println!("{cases} faults");
    assert!(cases > 2_000, "only {cases} faults");
}

/// A recovery that fails at its n-th operation is repeated by the next opening as if it had not been.
#[test]
fn every_nth_operation_of_recovery_fails() {
    let mut cases = 0;
    for (name, steps) in workloads() {
        let run = super::workload::run(&steps, seed());
        for at in (3..=run.disk.op_count()).step_by(17) {
            for nth in 0.. {
                let image = run.disk.image(at, &CrashPolicy::Torn512, seed());
                let mut again = Run::on(image, run.truth.frozen(at), seed());
                again.disk.fail(FaultPlan {
                    nth,
                    kind: FaultKind::Eio,
                    once: true,
                    on: OpClasses::ALL,
                });
                let context =
                    |e| format!("{name}: {e}, fault {nth} at {at}, ANYWHEN_SEED={}", seed());
                let _ = again.try_open().unwrap_or_else(|e| panic!("{}", context(e)));
                let struck = again.disk.faults_hit() > 0;
                again.kill();
                again.disk.heal();
                let failed = again.disk.op_count();
                for policy in [CrashPolicy::SyncedOnly, CrashPolicy::Torn4096] {
                    let image = again.disk.image(failed, &policy, seed());
                    check(&again.truth, failed, image, seed())
                        .unwrap_or_else(|e| panic!("{}", context(e)));
                }
                again.open().unwrap_or_else(|e| panic!("{}", context(e)));
                cases += 1;
                if !struck {
                    break;
                }
            }
        }
    }
    println!("{cases} faults in recovery");
    assert!(cases > 300, "only {cases} faults");
}
