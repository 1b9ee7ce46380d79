//! Erasure with power loss after every operation of the disk.
//!
//! ```text
//!   disk   put put flush put │ erase: w s │ put flush │ scrub: log turns, segments, manifest, zeroes
//!   k      is read           │            │ is read by nobody, at no commit     no file has a byte of it
//!                            acknowledged ^
//! ```

use std::path::PathBuf;
use std::sync::Arc;

use store::{Csn, Op};
use txn::{Engine, Isolation};
use vfs::{CrashPolicy, Env, OpenMode, SimVfs, Vfs};

use crate::common::{T, meta, options, seed, try_open};

const KEY: &[u8] = b"\x81the key\xfe\x93\x1c\xd0";
const SECRET: &[u8] = b"\x9c\x07\xb2secret\xe1\x55\x0f\x8a\x33";

fn put(engine: &Arc<Engine>, key: &[u8], value: &[u8]) {
    let mut txn = engine.begin(Isolation::ReadCommitted);
    txn.put(T, key, value.to_vec()).unwrap();
    txn.commit(meta("put")).unwrap();
}

/// At which commits up to the newest one the key has a value.
fn seen(engine: &Arc<Engine>) -> Vec<u64> {
    let read = |csn: &u64| {
        let mut out = Vec::new();
        let at = engine.snapshot_at(Csn(*csn)).unwrap();
        at.get(T, KEY, &mut out).unwrap().is_some()
    };
    (0..=engine.visible().0).filter(read).collect()
}

/// The first file that has the key, or the start of its values.
fn holder(disk: &SimVfs) -> Option<PathBuf> {
    let mut files = disk.files().into_iter();
    let holds = |(path, len): &(PathBuf, u64)| {
        let mut content = vec![0; *len as usize];
        disk.open(path, OpenMode::Read).unwrap().read_exact_at(&mut content, 0).unwrap();
        [KEY, SECRET].iter().any(|bytes| content.windows(bytes.len()).any(|w| w == *bytes))
    };
    files.find(holds).map(|(path, _)| path)
}

/// Whenever power fails, no reader finds erased and acknowledged rows, at any commit. An erasure
/// that was not acknowledged happened whole or not at all. Once all is scrubbed, no file of the
/// database has a byte of it, the log and its spare files included.
#[test]
fn power_loss_around_an_erasure() {
    let seed = seed(41);
    let disk = SimVfs::new(seed);
    let engine = try_open(&Env::sim(&disk, seed), options()).unwrap();
    put(&engine, KEY, SECRET);
    put(&engine, b"other", b"stays");
    engine.checkpoint().unwrap();
    for n in 0..20_u32 {
        put(&engine, KEY, &[SECRET, &n.to_le_bytes()].concat());
        put(&engine, b"other", &[7; 600]);
    }
    assert!(holder(&disk).is_some(), "else it proves nothing");
    let older = engine.snapshot();
    let begun = disk.op_count();
    let mut txn = engine.begin(Isolation::ReadCommitted);
    txn.delete(T, KEY).unwrap();
    txn.write(T, KEY.to_vec(), Op::Erase { from: Csn::ZERO, to: None }).unwrap();
    let erased = txn.commit(meta("erase")).unwrap().csn.0;
    let acknowledged = disk.op_count();
    assert!(seen(&engine).is_empty());
    assert!(older.read(T, KEY).unwrap().is_none(), "a snapshot loses it too");
    assert_eq!(engine.scrub().unwrap(), Csn(erased - 1), "but its bytes stay as long");
    drop(older);
    put(&engine, b"other", b"again");
    engine.checkpoint().unwrap();
    assert_eq!(engine.scrub().unwrap(), Csn(erased + 2));
    assert_eq!(holder(&disk), None);
    let end = disk.op_count();
    drop(engine);

    for at in begun..=end {
        for policy in CrashPolicy::ALL {
            let disk = disk.image(at, &policy, seed);
            let engine = try_open(&Env::sim(&disk, seed), options()).unwrap();
            let seen = seen(&engine);
            let told =
                format!("power lost at {at} of {begun} to {end}, acknowledged at {acknowledged}");
            let is_erased = engine.visible().0 >= erased;
            assert!(is_erased || at < acknowledged, "{told}: the erasure is lost");
            assert_eq!(seen.is_empty(), is_erased, "{told}: {seen:?}");
            put(&engine, b"other", b"and on");
            if is_erased {
                engine.scrub().unwrap();
                assert_eq!(holder(&disk), None, "{told}");
            }
        }
    }
}
