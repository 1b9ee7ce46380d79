//! [`Budget`]: the default shares of a server's memory.
//!
//! ```text
//!   memory of the machine, or what the cgroup allows
//!     1/4  blocks in memory    64 MiB .. 16 GiB     --cache-mib           shared_buffers
//!     1/4  statements          256 MiB ..           --statements-mib      all together
//!     1/8  a statement         64 MiB .. 512 MiB    --statement-mib
//!     32 MiB memtables         less below 1 GiB     --memtable-mib
//!   the rest: documents in memory, sessions, the files' cache of the system
//! ```

use std::fs;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;

/// Memory of a machine of which nothing is known: a small one.
const UNKNOWN_BYTES: u64 = 2 << 30;

/// The memory that a server takes, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Budget {
    pub cache: u64,
    pub memtable: u64,
    pub statement: u64,
    pub statements: u64,
}

impl Budget {
    /// The shares of so much memory.
    pub(crate) fn of(memory: u64) -> Budget {
        let statements = (memory / 4).max(256 * MIB);
        Budget {
            cache: (memory / 4).clamp(64 * MIB, 16 << 30),
            memtable: (memory / 32).clamp(8 * MIB, 32 * MIB),
            statement: (memory / 8).clamp(64 * MIB, 512 * MIB).min(statements),
            statements,
        }
    }

    /// The shares of this machine's memory, or of what the cgroup of this process allows.
    pub(crate) fn of_machine() -> Budget {
        Budget::of(memory_bytes(Path::new("/")).unwrap_or(UNKNOWN_BYTES))
    }
}

/// The memory of the machine, or what a cgroup allows where that is less; `None` if nothing tells.
fn memory_bytes(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    let all = kib * 1_024;
    Some(limits(root).into_iter().fold(all, u64::min))
}

/// The limits of the cgroup of this process and of those above it.
fn limits(root: &Path) -> Vec<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mut files: Vec<PathBuf> = Vec::new();
    for line in groups.lines() {
        // Number, controllers, path: `0::/a/b` in version 2, `4:memory:/a/b` in version 1.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let (folder, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            of if of.split(',').any(|one| one == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = Path::new(group.trim_start_matches('/'));
        // In a container the path is often the one on the host, but the mounted folder is the container's own group.
        files.extend(group.ancestors().map(|above| root.join(folder).join(above).join(file)));
    }
    let limit = |file: PathBuf| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    files.into_iter().filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest limit of the machine, the cgroup and those above it counts, in both versions of cgroups.
    #[test]
    fn limits_of_cgroups_count() {
        let root = tempfile::tempdir().expect("a folder is made");
        let put = |file: &str, text: &str| {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().expect("it has a folder")).expect("it is made");
            fs::write(file, text).expect("it is written");
        };
        assert_eq!(memory_bytes(root.path()), None);
        put("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
        assert_eq!(memory_bytes(root.path()), Some(16 * MIB));
        put("proc/self/cgroup", "0::/a/b\n");
        put("sys/fs/cgroup/a/b/memory.max", "max\n");
        put("sys/fs/cgroup/a/memory.max", "8388608\n");
        assert_eq!(memory_bytes(root.path()), Some(8 * MIB));
        put("proc/self/cgroup", "4:cpu,memory:/docker/x\n");
        put("sys/fs/cgroup/memory/memory.limit_in_bytes", "4194304\n");
        assert_eq!(memory_bytes(root.path()), Some(4 * MIB));
    }

    /// Shares grow with the memory, and have a least and a greatest size.
    #[test]
    fn shares_of_memory() {
        for (memory, cache, memtable, statement, statements) in [
            (256 * MIB, 64, 8, 64, 256),
            (2 << 30, 512, 32, 256, 512),
            (64 << 30, 16 << 10, 32, 512, 16 << 10),
            (1 << 40, 16 << 10, 32, 512, 256 << 10),
        ] {
            let budget = Budget::of(memory);
            let found = [budget.cache, budget.memtable, budget.statement, budget.statements];
            assert_eq!(found.map(|bytes| bytes / MIB), [cache, memtable, statement, statements]);
        }
    }
}
