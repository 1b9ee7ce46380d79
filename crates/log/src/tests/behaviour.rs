//! The contract, function by function; the format, byte by byte; many writers at once.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use vfs::{CrashPolicy, Env, OpKind, OpenMode, SimRandom, SimVfs, Vfs};

use super::workload::{DIR, Entry, Run, Step, open, options, run, seed};
use crate::{CommitLog, Durability, LogError, LogOptions, Lsn, PAYLOAD_MAX, SegmentedLog, Visitor};

fn fresh() -> (SimVfs, Env, SegmentedLog) {
    let disk = SimVfs::new(1);
    let env = Env::sim(&disk, 1);
    let log = open(&env, &options(), Lsn(0)).unwrap().0;
    (disk, env, log)
}

fn put(log: &SegmentedLog, payload: &[u8]) -> Lsn {
    let lsn = log.append(payload).unwrap();
    log.sync(lsn, Durability::Sync).unwrap();
    lsn
}

fn texts(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|e| format!("{} {}", e.lsn.0, String::from_utf8_lossy(&e.payload))).collect()
}

#[test]
fn what_is_appended_and_synced_is_replayed_with_the_positions_past_each_frame() {
    let (_, env, log) = fresh();
    assert_eq!(log.append(b"one").unwrap(), Lsn(32));
    assert_eq!(log.append(b"").unwrap(), Lsn(56));
    assert_eq!(log.durable(), Lsn(0));
    log.sync(Lsn(32), Durability::Sync).unwrap();
    assert_eq!(log.durable(), Lsn(56), "whoever syncs does it for all");
    put(&log, b"three");
    log.close().unwrap();
    let (log, shown) = open(&env, &options(), Lsn(0)).unwrap();
    assert_eq!(texts(&shown), ["32 one", "56 ", "88 three"]);
    assert_eq!(log.durable(), Lsn(112), "the mark of the close lies between");
    log.close().unwrap();
    let (log, shown) = open(&env, &options(), Lsn(56)).unwrap();
    assert_eq!(texts(&shown), ["88 three"]);
    assert_eq!(log.durable(), Lsn(112), "a second close adds nothing");
}

/// The bytes of a small log: if this fails, files written by earlier versions no longer open.
#[test]
fn the_format_is_what_it_was() {
    let disk = SimVfs::new(1);
    let env = Env::sim(&disk, 1);
    let log = open(&env, &options(), Lsn(0)).unwrap().0;
    put(&log, b"first");
    put(&log, b"a second one");
    log.close().unwrap();
    let bytes = disk.content(format!("{DIR}/00000001.log")).unwrap();
    let hex = |range: std::ops::Range<usize>| {
        bytes[range]
            .chunks(4)
            .map(|c| c.iter().map(|b| format!("{b:02x}")).collect::<String>())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(bytes.len(), 1024);
    // magic, version, -, number, epoch, first lsn, size, crc
    assert_eq!(
        hex(0..56),
        "616e7977 68656e4c 01000000 00000000 01000000 00000000 c15c0289 ec2d0a91 \
         00000000 00000000 00040000 00000000 f5ab9f6d 00000000"
    );
    // crc, length and kind, lsn, durable, payload
    assert_eq!(
        hex(512..544),
        "33b3c5a0 05000010 00000000 00000000 00000000 00000000 66697273 74000000"
    );
    assert_eq!(
        hex(544..584),
        "aa12a30b 0c000010 20000000 00000000 20000000 00000000 61207365 636f6e64 206f6e65 00000000"
    );
    assert_eq!(hex(584..608), "8727e9c6 00000050 48000000 00000000 48000000 00000000");
    assert!(bytes[608..].iter().all(|&b| b == 0));
}

#[test]
fn a_frame_of_any_size_comes_back_whole() {
    let (_, env, log) = fresh();
    let sizes: Vec<usize> = (0..200).chain([480, 487, 488, 489, 500, 1_500, 40_000]).collect();
    let payload = |n: usize| (0..n).map(|i| (i * 7 + n) as u8).collect::<Vec<u8>>();
    for &n in &sizes {
        log.append(&payload(n)).unwrap();
    }
    log.close().unwrap();
    let (log, shown) = open(&env, &options(), Lsn(0)).unwrap();
    assert_eq!(shown.len(), sizes.len());
    let tail = log.tail(Lsn(0)).unwrap().map(Result::unwrap);
    for ((entry, n), (lsn, tailed)) in shown.iter().zip(sizes).zip(tail) {
        assert!(
            entry.payload == payload(n) && tailed == entry.payload && lsn == entry.lsn,
            "{n} bytes"
        );
    }
    let too_large = vec![0; PAYLOAD_MAX + 1];
    assert!(matches!(log.append(&too_large), Err(LogError::TooLarge { .. })));
}

#[test]
fn a_tail_ends_at_what_is_durable_and_knows_what_is_gone() {
    let (_, _, log) = fresh();
    let lsns: Vec<Lsn> = (0..40u8).map(|i| put(&log, &[i; 100])).collect();
    log.append(b"not durable").unwrap();
    let from = |lsn| log.tail(lsn).map(|t| t.map(|f| f.unwrap().1[0]).collect::<Vec<u8>>());
    assert_eq!(from(Lsn(0)).unwrap(), (0..40).collect::<Vec<u8>>());
    assert_eq!(from(lsns[36]).unwrap(), [37, 38, 39]);
    assert_eq!(from(lsns[39]).unwrap(), []);
    assert!(matches!(from(Lsn(lsns[39].0 + 8)), Err(LogError::Beyond { .. })));

    let mut reader = log.tail(Lsn(0)).unwrap();
    reader.next().unwrap().unwrap();
    log.release(lsns[30]).unwrap();
    assert!(matches!(from(Lsn(0)), Err(LogError::Released { .. })));
    assert_eq!(from(lsns[30]).unwrap().len(), 9);
    // The file under the first reader is filled anew.
    for i in 0..60u8 {
        put(&log, &[i; 100]);
    }
    let end = reader.find(|f| f.is_err()).expect("an error").unwrap_err();
    assert!(matches!(end, LogError::Released { .. }), "{end}");
    assert!(reader.next().is_none());
}

/// The oldest segment that is kept may begin within a payload. A reader of all that there is learns where that one ends,
/// and gets all payloads after it whole.
#[test]
fn a_tail_of_all_begins_with_what_is_whole() {
    let (_, _, log) = fresh();
    let lsns: Vec<Lsn> = (0..40u8).map(|i| put(&log, &[i; 300])).collect();
    let mut cut = 0;
    for upto in &lsns {
        log.release(*upto).unwrap();
        let all: Vec<_> = log.tail_of_all().map(|frame| frame.unwrap()).collect();
        let first = lsns.len() - all.len();
        for (at, (end, payload)) in all.iter().enumerate() {
            assert_eq!(*end, lsns[first + at]);
            let is_cut = at == 0 && payload.is_empty();
            cut += usize::from(is_cut);
            assert!(is_cut || *payload == [(first + at) as u8; 300], "{at}: {payload:?}");
        }
        assert_eq!(log.tail(all[0].0).unwrap().count(), all.len() - 1);
    }
    assert!(cut > 5, "{cut} began within a payload");
}

#[test]
fn released_segments_are_used_again_and_the_log_stays_small() {
    let (disk, env, log) = fresh();
    let mut last = Lsn(0);
    for i in 0..500u32 {
        last = put(&log, &[i as u8; 200]);
        log.release(last).unwrap();
    }
    let stats = log.stats();
    assert!(stats.segments <= 2 && disk.files().len() <= 3, "{stats:?}, {:?}", disk.files());
    assert!(stats.frames == 500 && (500..600).contains(&stats.syncs), "{stats:?}");
    assert!(matches!(open(&env, &options(), Lsn(0)), Err(LogError::Released { .. })));
    drop(log);
    assert_eq!(open(&env, &options(), last).unwrap().1, []);
}

/// Checkpoints that release two segments at a time leave enough for the two that come: the log goes
/// round over the same files, and neither makes nor removes one.
#[test]
fn a_log_that_is_released_regularly_needs_no_new_files() {
    let (disk, _, log) = fresh();
    let mut lsns = Vec::new();
    let mut steady = 0;
    for i in 0..600usize {
        lsns.push(put(&log, &[i as u8; 200]));
        if i % 12 == 11 {
            log.release(lsns[i - 8]).unwrap();
        }
        if i == 100 {
            steady = disk.op_count();
        }
    }
    let moved = |kind| disk.ops()[steady..].iter().filter(|op| op.kind == kind).count();
    assert_eq!((moved(OpKind::Create), moved(OpKind::Remove)), (0, 0));
    assert!(moved(OpKind::Rename) > 40, "{}", moved(OpKind::Rename));
}

/// A log that turns releases everything that was appended before, however full its segment was.
/// Once it is wiped, no file has a byte of that, not even a file that waits for its next use.
/// Frames that are appended afterwards are replayed.
#[test]
fn a_log_that_turns_and_is_wiped_has_nothing_of_what_was_before() {
    let (disk, env, log) = fresh();
    let secret = |bytes: &[u8]| bytes.windows(6).any(|w| w == b"secret");
    let is_anywhere = || {
        disk.files().iter().any(|(path, len)| {
            let mut bytes = vec![0; *len as usize];
            disk.open(path, OpenMode::Read).unwrap().read_exact_at(&mut bytes, 0).unwrap();
            secret(&bytes)
        })
    };
    for round in 0..40u32 {
        let last = put(&log, format!("secret {round} {}", "x".repeat(150)).as_bytes());
        if round == 20 {
            log.release(last).unwrap();
        }
    }
    let first = log.turn().unwrap();
    let last = put(&log, b"after");
    assert!(is_anywhere(), "else it proves nothing");
    log.release(first).unwrap();
    log.wipe().unwrap();
    assert!(!is_anywhere());
    assert_eq!(log.oldest(), first);
    assert_eq!(log.turn().unwrap().0 % 8, 0, "a segment can be turned away from at any place");
    put(&log, b"and on");
    drop(log);
    let shown = open(&env, &options(), first).unwrap().1;
    assert_eq!(
        shown.iter().map(|e| &e.payload[..]).collect::<Vec<_>>(),
        [&b"after"[..], b"and on"]
    );
    assert_eq!(shown[0].lsn, last);
}

#[test]
fn a_fenced_log_refuses_appends_and_keeps_what_it_has() {
    let (_, env, log) = fresh();
    let lsn = log.append(b"last words").unwrap();
    assert_eq!(log.fence().unwrap(), lsn);
    assert_eq!(log.durable(), lsn);
    assert!(matches!(log.append(b"too late"), Err(LogError::Fenced)));
    log.close().unwrap();
    assert_eq!(texts(&open(&env, &options(), Lsn(0)).unwrap().1), ["40 last words"]);
}

#[test]
fn written_is_not_durable_and_a_wait_for_company_is() {
    let (disk, _, log) = fresh();
    let lsn = log.append(b"os").unwrap();
    log.sync(lsn, Durability::Os).unwrap();
    assert_eq!(log.durable(), Lsn(0));
    let shown = |policy| {
        open(&Env::sim(&disk.image(disk.op_count(), &policy, 0), 0), &options(), Lsn(0))
            .unwrap()
            .1
            .len()
    };
    assert_eq!((shown(CrashPolicy::SyncedOnly), shown(CrashPolicy::Everything)), (0, 1));
    log.sync(lsn, Durability::Group { wait_us: 50 }).unwrap();
    assert_eq!((log.durable(), shown(CrashPolicy::SyncedOnly)), (lsn, 1));
    for how in [Durability::Sync, Durability::Os] {
        assert!(matches!(log.sync(Lsn(lsn.0 + 8), how), Err(LogError::Beyond { .. })));
    }
}

#[test]
fn the_error_of_a_visitor_ends_the_replay() {
    let (_, env, log) = fresh();
    for _ in 0..3 {
        put(&log, b"x");
    }
    drop(log);
    let mut seen = 0;
    let error = SegmentedLog::open(&env, Path::new(DIR), options(), Lsn(0), &mut |_, _| {
        seen += 1;
        if seen == 2 { Err(LogError::Replay("enough".into())) } else { Ok(()) }
    })
    .unwrap_err();
    assert_eq!((seen, error.to_string()), (2, String::from("replaying the log failed: enough")));
}

/// A position inside a payload of several pieces is no position that the log ever returned.
#[test]
fn a_replay_from_the_middle_of_a_payload_shows_no_part_of_it() {
    let (_, env, log) = fresh();
    put(&log, &[7; 5000]);
    put(&log, b"after");
    let middle = Lsn(512); // The second segment starts here, and in it the second piece.
    drop(log);
    assert!(matches!(open(&env, &options(), middle), Err(LogError::Corrupt { .. })));
    assert!(matches!(open(&env, &options(), Lsn(516)), Err(LogError::Corrupt { .. })));
}

#[test]
fn a_lost_shortened_or_foreign_segment_is_found_and_nothing_is_changed() {
    let steps: Vec<Step> = [Step::Append(100), Step::Sync].repeat(40);
    let mut run: Run = run(&steps, seed());
    run.steps(&[Step::Close]).unwrap().unwrap();
    let broken = |number: usize, harm: &dyn Fn(&SimVfs, &Path)| {
        let image = run.disk.image(run.disk.op_count(), &CrashPolicy::Everything, 0);
        harm(&image, Path::new(&format!("{DIR}/{number:08}.log")));
        let before = image.files();
        let error = open(&Env::sim(&image, 0), &options(), Lsn(0)).unwrap_err();
        assert_eq!(image.files(), before);
        error
    };
    for number in [1, 2, 3] {
        let lost = broken(number, &|disk, path| disk.remove(path).unwrap());
        assert!(matches!(lost, LogError::Corrupt { .. } | LogError::Released { .. }), "{lost}");
        for len in [0, 100, 512, 700] {
            let cut = |disk: &SimVfs, path: &Path| {
                disk.open(path, OpenMode::ReadWrite).unwrap().set_len(len).unwrap()
            };
            let short = broken(number, &cut);
            assert!(
                matches!(short, LogError::Corrupt { .. }),
                "segment {number} cut to {len}: {short}"
            );
        }
    }
    let newer = broken(2, &|disk, path| {
        let file = disk.open(path, OpenMode::ReadWrite).unwrap();
        let mut sector = [0; 512];
        file.read_exact_at(&mut sector, 0).unwrap();
        sector[8] = 9;
        let crc = crc32c::crc32c(&sector[..48]);
        sector[48..52].copy_from_slice(&crc.to_le_bytes());
        file.write_all_at(&sector, 0).unwrap();
    });
    assert!(matches!(newer, LogError::Version { found: 9, known: 1, .. }), "{newer}");
}

/// Whatever lies in the directory, opening neither panics nor takes it for frames.
#[test]
fn garbage_is_survived() {
    let random = SimRandom::new(seed());
    let mut run: Run = run(&[Step::Append(100), Step::Append(700), Step::Sync].repeat(6), seed());
    run.steps(&[Step::Close]).unwrap().unwrap();
    let truth = open(&Env::sim(&run.disk, 0), &options(), Lsn(0)).unwrap().1;
    for case in 0..2_000 {
        let disk = run.disk.image(run.disk.op_count(), &CrashPolicy::Everything, 0);
        let files = disk.files();
        for _ in 0..1 + random.below(3) {
            let (path, len) = &files[random.below(files.len() as u64) as usize];
            let file = disk.open(path, OpenMode::ReadWrite).unwrap();
            let n = random.below(600) as usize;
            let bytes: Vec<u8> = match random.below(3) {
                0 => vec![0; n],
                1 => vec![0xff; n],
                _ => (0..n).map(|_| random.next() as u8).collect(),
            };
            file.write_all_at(&bytes, random.below(*len) / 8 * 8).unwrap();
        }
        if let Ok((_, shown)) = open(&Env::sim(&disk, 0), &options(), Lsn(random.below(2) * 128)) {
            assert!(
                shown.iter().all(|e| truth.contains(e)),
                "case {case}, ANYWHEN_SEED={}",
                seed()
            );
        }
    }
}

/// Many threads commit at once: everyone returns durable, each thread's frames are in its order,
/// and there are fewer syncs than commits.
fn many_writers(
    env: &Env,
    dir: &Path,
    options: &LogOptions,
    threads: usize,
    commits: usize,
) -> SegmentedLog {
    let open =
        |f: &mut Visitor<'_>| SegmentedLog::open(env, dir, options.clone(), Lsn(0), f).unwrap();
    let log = open(&mut |_, _| Ok(()));
    let acknowledged = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (log, acknowledged) = (&log, &acknowledged);
            scope.spawn(move || {
                for i in 0..commits {
                    let payload = format!("{thread} {i} {}", "x".repeat(i % 300));
                    let lsn = log.append(payload.as_bytes()).unwrap();
                    let how = if i % 7 == 0 {
                        Durability::Group { wait_us: 20 }
                    } else {
                        Durability::Sync
                    };
                    log.sync(lsn, how).unwrap();
                    assert!(log.durable() >= lsn);
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(acknowledged.into_inner(), threads * commits);
    let stats = log.stats();
    assert_eq!(stats.frames as usize, threads * commits);
    assert!(stats.syncs < stats.frames + stats.segments, "{stats:?}");
    drop(log);
    let mut next = vec![0; threads];
    let log = open(&mut |_, payload| {
        let text = String::from_utf8_lossy(payload);
        let mut words = text.split(' ').map(|w| w.parse::<usize>());
        let (thread, i) = (words.next().unwrap().unwrap(), words.next().unwrap().unwrap());
        assert_eq!(i, next[thread], "thread {thread}");
        next[thread] += 1;
        Ok(())
    });
    assert_eq!(next, vec![commits; threads]);
    log
}

#[test]
fn many_writers_on_a_real_disk() {
    let dir = tempfile::tempdir().unwrap();
    let small =
        LogOptions { segment_bytes: 256 << 10, first_bytes: 64 << 10, ..LogOptions::default() };
    many_writers(&Env::os(), &dir.path().join("log"), &small, 16, 100).close().unwrap();
    many_writers(&Env::os(), &dir.path().join("default"), &LogOptions::default(), 32, 40)
        .close()
        .unwrap();
}

/// As above on the simulated disk, with the background thread preparing and recycling files beside
/// the writers; then the power fails at a thousand of the moments.
#[test]
fn many_writers_and_the_background_thread_lose_power() {
    let disk = SimVfs::new(seed());
    let env = Env::sim(&disk, seed());
    let options =
        LogOptions { background: true, segment_bytes: 8192, first_bytes: 2048, first_count: 2 };
    many_writers(&env, Path::new(DIR), &options, 8, 40).close().unwrap();

    let mut run = Run::new(seed());
    run.options = options;
    run.open().unwrap();
    let steps = [
        Step::Append(300),
        Step::Append(2000),
        Step::Sync,
        Step::Release(2),
        Step::Append(90),
        Step::Sync,
    ];
    run.steps(&steps.repeat(30)).unwrap().unwrap();
    run.kill();
    let reopened = super::power::check_all(&run, &CrashPolicy::ALL, 1).unwrap();
    assert!(reopened >= 1_000, "{reopened}");
}
