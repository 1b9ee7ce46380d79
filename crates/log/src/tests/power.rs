//! Power loss at every operation of several workloads, under every policy of what survives; then
//! again during the recovery from it, and while the next frames are written.

use vfs::{CrashPolicy, SimVfs};

use super::workload::{Run, Step, Truth, check, run, seed, workloads};

/// Images for each moment and policy, so that the random policies show several faces.
const FACES: u64 = 2;

/// Checks every image of a run; returns how many there were, or the first broken promise.
pub fn check_all(run: &Run, policies: &[CrashPolicy], faces: u64) -> Result<usize, String> {
    let mut reopened = 0;
    for at in 0..=run.disk.op_count() {
        for policy in policies {
            let deterministic = matches!(policy, CrashPolicy::SyncedOnly | CrashPolicy::Everything);
            for face in 0..if deterministic { 1 } else { faces } {
                let seed = seed() + face;
                let image = run.disk.image(at, policy, seed);
                check(&run.truth, at, image, seed).map_err(|e| {
                    format!("{e} (operation {at}, {policy:?}, ANYWHEN_SEED={seed})")
                })?;
                reopened += 2; // `check` closes and opens once more.
            }
        }
    }
    Ok(reopened)
}

/// The power fails just after every single operation of every workload. Whatever survives of the
/// unsynced writes and names: all that was acknowledged is there, nothing that was never appended,
/// in order, and the log goes on.
#[test]
fn power_loss_at_every_operation() {
    let mut reopened = 0;
    for (name, steps) in workloads() {
        let run = run(&steps, seed());
        let count =
            check_all(&run, &CrashPolicy::ALL, FACES).unwrap_or_else(|e| panic!("{name}: {e}"));
        println!("{name}: {} operations, {count} reopenings", run.disk.op_count());
        reopened += count;
    }
    assert!(reopened >= 4_000, "only {reopened} reopenings");
}

/// The power fails, and fails again at every operation of the recovery and of the writes after it.
/// The second recovery shows at least what the first one did, and nothing that the first one cut.
#[test]
fn power_loss_during_recovery_and_after_it() {
    let (mut inside, mut after) = (0, 0);
    for (i, (name, steps)) in workloads().into_iter().enumerate() {
        let run = run(&steps, seed());
        // Every moment would be too many: a stride that is no multiple of the length of a commit.
        for at in (i..=run.disk.op_count()).step_by(7) {
            for policy in [CrashPolicy::Everything, CrashPolicy::Torn512, CrashPolicy::Reordered] {
                let image = run.disk.image(at, &policy, seed());
                let (again, recovery) =
                    check(&run.truth, at, image, seed()).unwrap_or_else(|e| panic!("{name}: {e}"));
                let crashes =
                    crash_again(&again.disk, &again.truth, at as u64).unwrap_or_else(|e| {
                        panic!("{name}: {e} after power loss at {at}, {policy:?}, seed {}", seed())
                    });
                inside += crashes.min(recovery);
                after += crashes.saturating_sub(recovery);
            }
        }
    }
    println!("{inside} crashes inside recovery, {after} after it");
    assert!(
        inside >= 300 && after >= 1_000,
        "only {inside} crashes inside recovery, {after} after it"
    );
}

/// Crashes at every operation of `disk`, under a policy that changes from one to the next.
fn crash_again(disk: &SimVfs, truth: &Truth, salt: u64) -> Result<usize, String> {
    for at in 0..=disk.op_count() {
        let policy = CrashPolicy::ALL[(at as u64 + salt) as usize % CrashPolicy::ALL.len()];
        let image = disk.image(at, &policy, salt);
        check(truth, at, image, salt)
            .map_err(|e| format!("{e} (second crash at {at}, {policy:?})"))?;
    }
    Ok(disk.op_count() + 1)
}

/// A batch of three frames is torn in its first; the others are whole, but cut with it. The next
/// process appends a frame as long as the first, and loses power: the old second and third, which
/// now follow a sound frame, must not be back.
#[test]
fn what_was_cut_never_comes_back() {
    let mut run = Run::new(seed());
    run.options.first_bytes = 4096;
    run.open().expect("opens");
    let batch = [Step::Append(1000), Step::Append(40), Step::Append(90), Step::Write];
    run.steps(&batch).expect("sound").expect("sound");
    let mut cut = 0;
    for face in 0..400 {
        let image = run.disk.image(run.disk.op_count(), &CrashPolicy::Torn512, face);
        let mut next = Run::on(image, run.truth.frozen(usize::MAX), face);
        next.options = run.options.clone();
        let outcome = next.open().and_then(|()| {
            cut += usize::from(next.truth.appended() == 0);
            let again = [Step::Append(1000), Step::Sync];
            next.steps(&again)?.map_err(|e| format!("cannot go on: {e}"))?;
            check_all(&next, &[CrashPolicy::SyncedOnly, CrashPolicy::Torn512], 4)
        });
        outcome.unwrap_or_else(|e| panic!("{e}, face {face}, ANYWHEN_SEED={}", seed()));
    }
    assert!(cut > 100, "only {cut} images were cut");
}
