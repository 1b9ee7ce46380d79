//! The machine a figure was measured on, and the conditions: written into every result, because
//! only ratios of one run on one machine mean anything.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::Result;

/// The machine of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Processor, as the kernel names it.
    pub cpu: String,
    /// Processors this process may use.
    pub cores: usize,
    /// Main memory, as text.
    pub memory: String,
    /// File system and device under the work folder.
    pub disk: String,
    /// Kernel release.
    pub kernel: String,
    /// Start of the run, UTC.
    pub date: String,
    /// Both sides ran under real-time priority.
    pub realtime: bool,
    /// Both sides were preferred to other programs, among themselves as ever.
    #[serde(default)]
    pub preferred: bool,
    /// Load average over one minute just before the run: above about 0.5, others were at work.
    pub load: f64,
}

impl Machine {
    /// Looks at the machine; `work` is the folder whose disk is measured.
    pub fn look(work: &Path, priority: Option<Priority>) -> Result<Machine> {
        let (kind, device) =
            mount_of(&fs::read_to_string("/proc/self/mountinfo")?, &work.canonicalize()?);
        Ok(Machine {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: field("/proc/meminfo", "MemTotal")
                .and_then(|text| gibibytes(&text))
                .unwrap_or_else(|| "unknown".into()),
            disk: format!("{kind} on {device}"),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| "unknown".into(), |s| s.trim().into()),
            date: utc(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs()),
            realtime: priority == Some(Priority::RealTime),
            preferred: priority == Some(Priority::Preferred),
            load: load(),
        })
    }
}

/// Refuses a work folder whose files live in memory: there is no durability to measure there.
pub fn refuse_memory_disk(work: &Path) -> Result<()> {
    let (kind, _) = mount_of(&fs::read_to_string("/proc/self/mountinfo")?, &work.canonicalize()?);
    if ["tmpfs", "ramfs", "devtmpfs"].contains(&kind.as_str()) {
        return Err(format!(
            "{} is on {kind}, which is memory; give a folder on a real disk with --dir",
            work.display()
        )
        .into());
    }
    Ok(())
}

/// How this process, and what it starts, come before other programs of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Real-time priority 5. Threads that want a core that another of them has wait for as long as that
    /// goes on, up to 100 ms: for suites that do not have more threads at work than there are cores.
    RealTime,
    /// The highest of the ordinary ones (nice -20): who of them runs is decided as it is without.
    Preferred,
}

impl Priority {
    /// Takes it from now on, if that is allowed.
    pub fn take(self) -> Option<Priority> {
        let pid = std::process::id().to_string();
        let (program, arguments) = match self {
            Priority::RealTime => ("chrt", ["--rr", "--pid", "5", &pid]),
            Priority::Preferred => ("renice", ["--priority", "-20", "--pid", &pid]),
        };
        if self == Priority::Preferred {
            autogroup("-20");
        }
        let status = Command::new(program)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success()).then_some(self)
    }

    /// Gives back what was taken for more than this process.
    pub fn give_back(self) {
        if self == Priority::Preferred {
            autogroup("0");
        }
    }
}

/// Where the kernel deals out time to sessions first, and to the processes of a session then, the session
/// must be preferred as well. It outlives this process.
fn autogroup(nice: &str) {
    // Kernels without such groups have no such file, and need none.
    let _ = fs::write("/proc/self/autogroup", nice);
}

/// The most memory that this process has held at one time, in bytes.
pub fn resident_bytes() -> Option<u64> {
    let text = field("/proc/self/status", "VmHWM")?;
    let kilobytes: u64 = text.strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes << 10)
}

fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}

/// The value of `name : value` in a file of such lines.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let (_, value) =
        text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == name)?;
    Some(value.trim().to_owned())
}

fn gibibytes(kilobytes: &str) -> Option<String> {
    let kilobytes: f64 = kilobytes.strip_suffix(" kB")?.parse().ok()?;
    Some(format!("{:.1} GiB", kilobytes / f64::from(1 << 20)))
}

/// File system type and device of the mount that holds `path`: the longest mount point above it.
fn mount_of(mountinfo: &str, path: &Path) -> (String, String) {
    let mut best = (0, "unknown".to_owned(), "unknown".to_owned());
    for line in mountinfo.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let (Some(point), mut after) = (before.split(' ').nth(4), after.split(' ')) else {
            continue;
        };
        if path.starts_with(point) && point.len() >= best.0 {
            let (kind, device) =
                (after.next().unwrap_or("unknown"), after.next().unwrap_or("unknown"));
            best = (point.len(), kind.to_owned(), device.to_owned());
        }
    }
    (best.1, best.2)
}

/// `2026-01-31 12:00 UTC` from seconds since 1970 (civil calendar, as by Howard Hinnant's derivation).
fn utc(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (seconds % 86_400 / 3_600, seconds % 3_600 / 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(utc(1_767_225_599), "2025-12-31 23:59 UTC");
    }

    #[test]
    fn the_longest_mount_point_above_a_folder_is_its_disk() {
        let mounts = "22 1 0:1 / / rw - ext4 /dev/a rw\n23 22 0:2 / /tmp rw - tmpfs tmpfs rw\n24 22 0:3 / /tmp/real rw,x master:1 - xfs /dev/b rw\n";
        let kind = |path: &str| mount_of(mounts, Path::new(path)).0;
        assert_eq!(kind("/home/x"), "ext4");
        assert_eq!(kind("/tmp/x"), "tmpfs");
        assert_eq!(kind("/tmp/real/x"), "xfs");
        assert_eq!(kind("/tmporary"), "ext4");
    }
}
