//! The simulated disk keeps the promises of a disk and not one more; the real one works at all.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::*;

fn p(path: &str) -> &Path {
    Path::new(path)
}

fn disk() -> SimVfs {
    let disk = SimVfs::new(1);
    disk.create_dir_all(p("/d")).unwrap();
    disk
}

fn create(disk: &SimVfs, path: &str, bytes: &[u8]) -> Arc<dyn File> {
    let file = disk.open(p(path), OpenMode::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file
}

/// All the different contents that `path` may have after a power loss now ("-": no such file).
fn outcomes(disk: &SimVfs, policy: CrashPolicy, path: &str) -> Vec<String> {
    let mut seen: Vec<String> = (0..200)
        .map(|seed| match disk.image(disk.op_count(), &policy, seed).content(path) {
            Some(bytes) => String::from_utf8(bytes).unwrap().replace('\0', "."),
            None => String::from("-"),
        })
        .collect();
    seen.sort();
    seen.dedup();
    seen
}

#[test]
fn a_name_lives_only_after_sync_dir_and_bytes_only_after_sync() {
    let disk = disk();
    let file = create(&disk, "/d/a", b"one");
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), ["-"]);
    file.sync_data().unwrap();
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), ["-"]);
    disk.sync_dir(p("/d")).unwrap();
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), ["one"]);
    file.write_all_at(b"two", 0).unwrap();
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), ["one"]);
    assert_eq!(outcomes(&disk, CrashPolicy::Everything, "/d/a"), ["two"]);
    assert_eq!(outcomes(&disk, CrashPolicy::Subset, "/d/a"), ["one", "two"]);
    file.sync_all().unwrap();
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), ["two"]);
}

#[test]
fn a_synced_directory_can_name_a_file_whose_bytes_are_lost() {
    let disk = disk();
    create(&disk, "/d/a", b"one");
    disk.sync_dir(p("/d")).unwrap();
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), [""]);
    // Lost, lost with the length kept, or there.
    assert_eq!(outcomes(&disk, CrashPolicy::Subset, "/d/a"), ["", "...", "one"]);
}

#[test]
fn unsynced_writes_survive_in_any_combination_but_in_their_order() {
    let disk = disk();
    let file = create(&disk, "/d/a", b"0000");
    file.sync_data().unwrap();
    disk.sync_dir(p("/d")).unwrap();
    file.write_all_at(b"11", 0).unwrap();
    file.write_all_at(b"22", 1).unwrap();
    assert_eq!(outcomes(&disk, CrashPolicy::Subset, "/d/a"), ["0000", "0220", "1100", "1220"]);
}

#[test]
fn a_torn_write_breaks_at_sectors_only() {
    let disk = disk();
    let file = create(&disk, "/d/a", &[b'a'; 2000]);
    file.sync_data().unwrap();
    disk.sync_dir(p("/d")).unwrap();
    file.write_all_at(&[b'b'; 1500], 100).unwrap();
    let (mut torn, mut shapes) = (0, std::collections::BTreeSet::new());
    for seed in 0..200 {
        let bytes =
            disk.image(disk.op_count(), &CrashPolicy::Torn512, seed).content("/d/a").unwrap();
        assert_eq!(bytes.len(), 2000);
        assert!(bytes[..100].iter().chain(&bytes[1600..]).all(|&b| b == b'a'));
        for (from, to) in [(100, 512), (512, 1024), (1024, 1536), (1536, 1600)] {
            assert!(
                bytes[from..to].iter().all(|&b| b == bytes[from]),
                "seed {seed}: torn inside a sector"
            );
        }
        torn += usize::from(bytes[100..1600].contains(&b'a') && bytes.contains(&b'b'));
        shapes.insert(bytes);
    }
    assert!(torn > 50 && shapes.len() > 8, "{torn} torn, {} shapes", shapes.len());
}

#[test]
fn a_rename_is_atomic_and_durable_after_sync_dir() {
    let disk = disk();
    create(&disk, "/d/m", b"old").sync_data().unwrap();
    disk.sync_dir(p("/d")).unwrap();
    create(&disk, "/d/t", b"new").sync_data().unwrap();
    disk.rename(p("/d/t"), p("/d/m")).unwrap();
    for policy in CrashPolicy::ALL {
        for outcome in outcomes(&disk, policy, "/d/m") {
            assert!(outcome == "old" || outcome == "new", "{policy:?} found {outcome}");
        }
    }
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/m"), ["old"]);
    assert_eq!(outcomes(&disk, CrashPolicy::Subset, "/d/m"), ["new", "old"]);
    disk.sync_dir(p("/d")).unwrap();
    for policy in CrashPolicy::ALL {
        assert_eq!(outcomes(&disk, policy, "/d/m"), ["new"]);
        assert_eq!(outcomes(&disk, policy, "/d/t"), ["-"]);
    }
}

#[test]
fn names_can_survive_out_of_order_only_where_told_so() {
    let disk = disk();
    create(&disk, "/d/a", b"");
    create(&disk, "/d/b", b"");
    let only_b = |policy| {
        (0..100).any(|seed| {
            let found = disk.image(disk.op_count(), &policy, seed);
            found.content("/d/a").is_none() && found.content("/d/b").is_some()
        })
    };
    assert!(!only_b(CrashPolicy::Subset));
    assert!(only_b(CrashPolicy::Reordered));
}

#[test]
fn a_removal_is_undone_by_power_loss_before_sync_dir() {
    let disk = disk();
    create(&disk, "/d/a", b"one").sync_data().unwrap();
    disk.sync_dir(p("/d")).unwrap();
    disk.remove(p("/d/a")).unwrap();
    assert!(!disk.exists(p("/d/a")).unwrap());
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), ["one"]);
    disk.sync_dir(p("/d")).unwrap();
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), ["-"]);
}

#[test]
fn images_of_earlier_moments_and_images_of_images_can_be_had() {
    let disk = disk();
    let file = create(&disk, "/d/a", b"one");
    disk.sync_dir(p("/d")).unwrap();
    file.sync_data().unwrap();
    let then = disk.op_count();
    file.write_all_at(b"two", 0).unwrap();
    file.sync_data().unwrap();
    assert_eq!(
        disk.image(disk.op_count(), &CrashPolicy::SyncedOnly, 0).content("/d/a").unwrap(),
        b"two"
    );
    let image = disk.image(then, &CrashPolicy::SyncedOnly, 0);
    assert_eq!(image.content("/d/a").unwrap(), b"one");
    let again = image.open(p("/d/a"), OpenMode::ReadWrite).unwrap();
    again.write_all_at(b"three", 0).unwrap();
    assert_eq!(image.image(1, &CrashPolicy::SyncedOnly, 0).content("/d/a").unwrap(), b"one");
    assert_eq!(image.image(1, &CrashPolicy::Everything, 0).content("/d/a").unwrap(), b"three");
    assert_eq!(disk.content("/d/a").unwrap(), b"two", "an image shares nothing with its disk");
}

#[test]
fn the_same_seed_gives_the_same_image() {
    let disk = disk();
    let file = create(&disk, "/d/a", &[1; 5000]);
    disk.sync_dir(p("/d")).unwrap();
    file.write_all_at(&[2; 3000], 700).unwrap();
    for policy in CrashPolicy::ALL {
        for seed in 0..20 {
            let image = || disk.image(disk.op_count(), &policy, seed).content("/d/a");
            assert_eq!(image(), image());
        }
    }
}

#[test]
fn the_nth_operation_fails_once_or_for_ever() {
    let disk = disk();
    let file = create(&disk, "/d/a", b"");
    let plan = FaultPlan { nth: 1, kind: FaultKind::Eio, once: true, on: OpClasses::WRITE };
    disk.fail(plan);
    let errno = |r: io::Result<()>| r.err().and_then(|e| e.raw_os_error());
    assert_eq!(errno(file.write_all_at(b"a", 0)), None);
    assert_eq!(errno(file.write_all_at(b"b", 0)), Some(5));
    assert_eq!(errno(file.write_all_at(b"c", 0)), None);
    disk.fail(FaultPlan {
        nth: 0,
        kind: FaultKind::Enospc,
        once: false,
        on: OpClasses::WRITE | OpClasses::CREATE,
    });
    assert_eq!(errno(file.write_all_at(b"d", 0)), Some(28));
    assert_eq!(errno(disk.open(p("/d/b"), OpenMode::CreateNew).map(drop)), Some(28));
    assert_eq!(errno(file.sync_data()), None);
    assert_eq!(disk.content("/d/a").unwrap(), b"c");
    assert_eq!(disk.faults_hit(), 3);
    disk.heal();
    disk.fail(FaultPlan { kind: FaultKind::ShortWrite, nth: 0, ..plan });
    assert_eq!(errno(file.write_all_at(b"12345678", 0)), Some(28));
    assert_eq!(disk.content("/d/a").unwrap(), b"1234");
}

/// Linux reports a failed write-back once and then calls the pages clean: a later sync that
/// succeeds says nothing of them.
#[test]
fn after_a_failed_sync_a_second_one_does_not_help() {
    let mut lost = 0;
    for seed in 0..40 {
        let disk = SimVfs::new(seed);
        disk.create_dir_all(p("/d")).unwrap();
        let file = create(&disk, "/d/a", b"one");
        disk.sync_dir(p("/d")).unwrap();
        disk.fail(FaultPlan { nth: 0, kind: FaultKind::Eio, once: true, on: OpClasses::SYNC });
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
        assert_eq!(
            disk.content("/d/a").unwrap(),
            b"one",
            "the running process still sees its bytes"
        );
        lost += usize::from(outcomes(&disk, CrashPolicy::Everything, "/d/a") == [""]);
    }
    assert!(lost > 5 && lost < 35, "{lost} of 40");
}

#[test]
fn syncs_can_lie_all_or_one() {
    for (which, expected) in
        [(Which::All, ""), (Which::Nth(1), "one"), (Which::Nth(0), "two"), (Which::Nth(2), "two")]
    {
        let disk = disk();
        disk.disable(Mutation::SyncData, which);
        let file = create(&disk, "/d/a", b"one");
        disk.sync_dir(p("/d")).unwrap();
        file.sync_data().unwrap();
        file.write_all_at(b"two", 0).unwrap();
        file.sync_data().unwrap();
        assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), [expected], "{which:?}");
    }
    let disk = disk();
    disk.disable(Mutation::Rename, Which::All);
    create(&disk, "/d/a", b"one").sync_all().unwrap();
    disk.rename(p("/d/a"), p("/d/b")).unwrap();
    disk.sync_dir(p("/d")).unwrap();
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/b"), ["-"]);
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), ["one"]);
    let disk = self::disk();
    disk.disable(Mutation::SyncDir, Which::All);
    create(&disk, "/d/a", b"one").sync_all().unwrap();
    disk.sync_dir(p("/d")).unwrap();
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), ["-"]);
}

#[test]
fn a_flipped_bit_is_on_the_disk_at_once() {
    let disk = disk();
    create(&disk, "/d/a", b"a").sync_data().unwrap();
    disk.sync_dir(p("/d")).unwrap();
    assert!(disk.flip_bit("/d/a", 1));
    assert!(!disk.flip_bit("/d/a", 8) && !disk.flip_bit("/d/b", 0));
    assert_eq!(disk.content("/d/a").unwrap(), b"c");
    assert_eq!(outcomes(&disk, CrashPolicy::SyncedOnly, "/d/a"), ["c"]);
}

/// The same calls on a real directory and on a simulated one must give the same answers, byte for
/// byte and error for error.
#[test]
fn the_simulated_file_system_answers_as_the_real_one() {
    let real_root = std::env::temp_dir().join(format!(
        "vfs-{}-{:x}",
        std::process::id(),
        OsRandom::new().next_u64()
    ));
    let sim_root = Path::new("/root");
    let sim = SimVfs::new(3);
    let real = script(&OsVfs, &real_root);
    std::fs::remove_dir_all(&real_root).unwrap();
    assert_eq!(real, script(&sim, sim_root));
    let plain = SimVfs::unrecorded();
    assert_eq!(real, script(&plain, sim_root));
    assert_eq!(plain.op_count(), 0);

    // An overlay gives the same answers and writes nothing below. Its locks are those of readers.
    let below = SimVfs::new(4);
    below.create_dir_all(sim_root).unwrap();
    let before = below.op_count();
    let over = Overlay::new(Arc::new(below.clone()));
    let unlocked = |log: Vec<String>| -> Vec<String> {
        log.into_iter().filter(|line| !line.starts_with("lock")).collect()
    };
    assert_eq!(unlocked(real), unlocked(script(&over, sim_root)));
    assert_eq!(below.op_count(), before);
}

/// A file that is there below is read through what was written over it, cut and grown.
#[test]
fn an_overlay_reads_what_is_below_and_writes_nothing_there() {
    let disk = disk();
    disk.create_dir_all(p("/d")).unwrap();
    let random = SimRandom::new(11);
    for case in 0..50 {
        let path = format!("/d/{case}");
        let mut expected: Vec<u8> =
            (0..random.below(20_000)).map(|_| random.below(256) as u8).collect();
        create(&disk, &path, &expected);
        let (before, below) = (disk.op_count(), expected.clone());
        let over = Overlay::new(Arc::new(disk.clone()));
        for _ in 0..40 {
            // Opened anew: it is one file.
            let file = over.open(p(&path), OpenMode::ReadWrite).unwrap();
            let at = random.below(22_000) as usize;
            match random.below(3) {
                0 => {
                    file.set_len(at as u64).unwrap();
                    expected.resize(at, 0);
                }
                _ => {
                    let bytes = vec![random.below(256) as u8; random.below(9_000) as usize + 1];
                    file.write_all_at(&bytes, at as u64).unwrap();
                    expected.resize(expected.len().max(at + bytes.len()), 0);
                    expected[at..at + bytes.len()].copy_from_slice(&bytes);
                }
            }
            let reader = over.open(p(&path), OpenMode::Read).unwrap();
            assert_eq!(reader.len().unwrap(), expected.len() as u64);
            let from = random.below(expected.len() as u64 + 1) as usize;
            let mut found = vec![0; expected.len() - from];
            reader.read_exact_at(&mut found, from as u64).unwrap();
            assert!(found == expected[from..], "case {case}");
            assert_eq!(reader.read_at(&mut [0; 8], expected.len() as u64).unwrap(), 0);
        }
        assert_eq!(disk.content(&path).unwrap(), below);
        assert_eq!(disk.op_count(), before);
    }
}

fn script(fs: &dyn Vfs, root: &Path) -> Vec<String> {
    let mut log = Vec::new();
    let mut say = |what: &str, answer: io::Result<String>| {
        log.push(format!("{what}: {}", answer.unwrap_or_else(|e| format!("{:?}", e.kind()))));
    };
    let names = |dir: &Path| {
        let strip = |p: &std::path::PathBuf| p.strip_prefix(root).unwrap().display().to_string();
        fs.list(dir).map(|l| l.iter().map(strip).collect::<Vec<_>>().join(" "))
    };
    let (dir, a, b) = (root.join("x/y"), root.join("x/y/a"), root.join("x/y/b"));
    say("open in no directory", fs.open(&a, OpenMode::CreateNew).map(|_| String::new()));
    say("make", fs.create_dir_all(&dir).map(|()| String::new()));
    say("make again", fs.create_dir_all(&dir).map(|()| String::new()));
    say("open missing", fs.open(&a, OpenMode::ReadWrite).map(|_| String::new()));
    let file = fs.open(&a, OpenMode::CreateNew).unwrap();
    say("create twice", fs.open(&a, OpenMode::CreateNew).map(|_| String::new()));
    let bytes = |file: &dyn File| {
        let mut buf = vec![7; file.len()? as usize + 10];
        let n = file.read_at(&mut buf, 0)?;
        Ok(format!("{:x?}", &buf[..n]))
    };
    file.write_all_at(b"hello", 4090).unwrap();
    file.write_all_at(b"hello", 2).unwrap();
    file.set_len(9000).unwrap();
    file.write_all_at(&[0; 4096], 100).unwrap();
    say("content", bytes(&*file));
    file.set_len(4).unwrap();
    file.set_len(10).unwrap();
    say("cut and grown", bytes(&*file));
    say("read past the end", file.read_exact_at(&mut [0; 4], 8).map(|()| String::new()));
    say(
        "sync",
        file.sync_data()
            .and_then(|()| file.sync_all())
            .and_then(|()| fs.sync_dir(&dir))
            .map(|()| String::new()),
    );
    say("list", names(&dir));
    say("list x", names(&root.join("x")));
    let reader = fs.open(&a, OpenMode::Read).unwrap();
    say("rename", fs.rename(&a, &b).map(|()| String::new()));
    say("the handle follows", bytes(&*reader));
    say("rename missing", fs.rename(&a, &b).map(|()| String::new()));
    say("exists", Ok(format!("{:?} {:?}", fs.exists(&a).unwrap(), fs.exists(&b).unwrap())));
    say("remove", fs.remove(&b).map(|()| String::new()));
    say("a handle outlives the name", bytes(&*reader));
    say("remove again", fs.remove(&b).map(|()| String::new()));
    let lock = fs.lock(&root.join("LOCK")).unwrap();
    let second = fs.lock(&root.join("LOCK")).map(|_| String::new());
    if let Err(refusal) = &second {
        assert!(refusal.to_string().contains(&std::process::id().to_string()));
    }
    say("lock twice", second);
    drop(lock);
    say("lock after", fs.lock(&root.join("LOCK")).map(|_| String::new()));
    say("sync missing", fs.sync_dir(&root.join("none")).map(|()| String::new()));
    log
}

#[test]
fn the_simulated_clock_and_randomness_depend_on_the_seed_alone() {
    let run = |seed| {
        let env = Env::sim(&SimVfs::new(0), seed);
        let times: Vec<u64> = (0..100).map(|_| env.clock.now_us()).collect();
        assert!(times.windows(2).all(|w| w[0] < w[1] && w[1] - w[0] <= 4));
        (times, env.random.next_u64())
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
    let os = Env::os();
    assert_ne!(os.random.next_u64(), os.random.next_u64());
    assert!(os.clock.now_us() > 1_700_000_000_000_000);
    assert!(os.clock.monotonic_us() <= os.clock.monotonic_us());
}
