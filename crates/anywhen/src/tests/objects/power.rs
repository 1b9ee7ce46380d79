//! Power loss, as a site on ZODB meets it: what `finish` has returned for is there, whatever packs and blobs were under way.
//!
//! ```text
//!   operations of the disk   0 ──────────────────────────────────────────────> n
//!   steps                    │ commit 1 │ commit 2 │ pack │ commit 3 │ ...
//!   the power fails                         x     commit 1 is there as a whole, commit 2 as a whole or not at all
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use vfs::{CrashPolicy, Env, SimRandom, SimVfs, seed};

use super::{record, said};
use crate::objects::{Storage, Tid, Write};
use crate::{Create, Database, Options};

const STEPS: usize = 60;
/// More than a part of a blob, so that it goes to a file.
const LARGE_BLOB: usize = (1 << 20) + 77;
const SMALL_BLOB: usize = 900;

fn open(disk: &SimVfs, seed: u64) -> Database {
    let options = Options {
        cache_bytes: 1 << 20,
        memtable_bytes: 16 << 10,
        create: Create::IfMissing,
        ..Options::default()
    };
    Database::open_env(&Env::sim(disk, seed), Path::new("/data"), options).unwrap()
}

/// The expected state of a site after a transaction.
#[derive(Clone, Default)]
struct Site {
    /// By oid: the text of the record, and what it refers to.
    objects: BTreeMap<u64, (String, Vec<u64>)>,
    /// By oid: the transaction that made it, the byte that it consists of, and its length.
    blobs: BTreeMap<u64, (Tid, u8, usize)>,
}

impl Site {
    /// The objects that the root leads to: it refers to all of them itself, and some refer to others.
    fn reached(&self) -> Vec<u64> {
        let (mut reached, mut to_do) = (Vec::new(), vec![0]);
        while let Some(oid) = to_do.pop() {
            if !reached.contains(&oid)
                && let Some((_, refs)) = self.objects.get(&oid)
            {
                reached.push(oid);
                to_do.extend(refs);
            }
        }
        reached
    }
}

/// A transaction that was acknowledged.
struct Told {
    tid: Tid,
    /// The operations of the disk before it was begun, and when it had returned.
    begun: usize,
    returned: usize,
    site: Site,
}

/// Makes a transaction of a few objects: some are new, some change, some are no longer referred to.
fn commit(site: &Arc<Storage>, state: &mut Site, step: usize, random: &SimRandom) -> Tid {
    let (mut root, mut next) = (Vec::new(), 1);
    if let Some((_, refs)) = state.objects.get(&0) {
        root.clone_from(refs);
        next = state.objects.keys().max().unwrap_or(&0) + 1;
    }
    let mut written: BTreeMap<u64, (String, Vec<u64>)> = BTreeMap::new();
    if root.len() > 3 && random.chance(2, 3) {
        root.remove(random.below(root.len() as u64) as usize);
    }
    for _ in 0..1 + random.below(3) {
        let reached = state.reached();
        let mut refs: Vec<u64> = reached.iter().copied().filter(|oid| root.contains(oid)).collect();
        refs.truncate(random.below(3) as usize);
        written.insert(next, (format!("object {next} of step {step}"), refs));
        root.push(next);
        next += 1;
    }
    if let Some(oid) = root.first() {
        let refs = state.objects.get(oid).map(|(_, refs)| refs.clone());
        written
            .entry(*oid)
            .or_insert((format!("changed in step {step}"), refs.unwrap_or_default()));
    }
    written.insert(0, (format!("root of step {step}"), root));

    let mut writing = site.begin(said("site")).unwrap();
    let pickles: Vec<(u64, Vec<u8>)> =
        written.iter().map(|(oid, (text, refs))| (*oid, record(refs, text))).collect();
    let writes = pickles.iter().map(|(oid, pickle)| Write {
        oid: *oid,
        serial: None,
        data: Some(pickle),
        data_tid: None,
    });
    assert_eq!(writing.write(writes).unwrap(), []);
    let blob = match step % 10 {
        3 => Some(LARGE_BLOB),
        6 => Some(SMALL_BLOB),
        _ => None,
    };
    let newest = *written.keys().max().unwrap();
    if let Some(length) = blob {
        writing.put_blob(newest, &mut &vec![step as u8; length][..]).unwrap();
    }
    let tid = writing.finish().unwrap().tid;
    state.objects.append(&mut written);
    state.blobs.extend(blob.map(|length| (newest, (tid, step as u8, length))));
    tid
}

/// Checks that a power loss left the site as it was after one of the commits: each object and blob that the root leads
/// to is there, byte for byte. Returns after how many commits that was.
fn check(site: &Storage, told: &[Told], what: &str) -> usize {
    let last = site.last_tid().unwrap();
    let Some(number) = told.iter().position(|told| told.tid == last) else {
        assert_eq!(last, Tid::ZERO, "{what}: a transaction that never was");
        return 0;
    };
    let state = &told[number].site;
    for oid in state.reached() {
        let (text, refs) = &state.objects[&oid];
        let found = site.load(oid, <[u8]>::to_vec).unwrap().map(|(data, _)| data);
        assert!(found == Some(record(refs, text)), "{what}: object {oid} after {number} commits");
        if let Some((tid, byte, length)) = state.blobs.get(&oid) {
            let mut blob = Vec::new();
            assert!(site.load_blob(oid, *tid, &mut blob).unwrap(), "{what}: the blob of {oid}");
            assert!(blob.len() == *length && blob.iter().all(|found| found == byte), "{what}");
        }
    }
    number + 1
}

#[test]
fn power_loss_beside_commits_blobs_and_packs() {
    let seed = seed(61);
    let disk = SimVfs::new(seed);
    let random = SimRandom::new(seed);
    let database = open(&disk, seed);
    database.create_objects("site", true).unwrap();
    let site = database.objects("site").unwrap().unwrap();
    let made = disk.op_count();
    let (mut told, mut state, mut removed) = (Vec::new(), Site::default(), 0);
    for step in 0..STEPS {
        let begun = disk.op_count();
        let tid = commit(&site, &mut state, step, &random);
        told.push(Told { tid, begun, returned: disk.op_count(), site: state.clone() });
        match random.below(8) {
            0 => removed += site.pack_in_steps(tid, true, 2, &mut |_| ()).unwrap().objects,
            1 => database.checkpoint().unwrap(),
            _ => {}
        }
    }
    assert!(removed > 10, "the packs have removed {removed} objects");

    let (mut reopenings, mut unfinished) = (0, 0);
    for at in (made..=disk.op_count()).step_by(2) {
        let policy = CrashPolicy::ALL[at / 2 % CrashPolicy::ALL.len()];
        let what = format!("seed {seed}, {policy:?} after operation {at}");
        let image = disk.image(at, &policy, seed);
        let reopened = open(&image, seed + 1);
        let site =
            reopened.objects("site").unwrap().unwrap_or_else(|| panic!("{what}: no storage"));
        let found = check(&site, &told, &what);
        let least = told.iter().filter(|told| told.returned <= at).count();
        let most = told.iter().filter(|told| told.begun < at).count();
        assert!((least..=most).contains(&found), "{what}: {found} of {least} to {most} commits");
        unfinished += usize::from(least < most);
        reopenings += 1;
        if at % 10 == 0 {
            // A pack that was cut off is made again, and the site goes on.
            site.pack(site.last_tid().unwrap(), true).unwrap();
            assert_eq!(check(&site, &told, &what), found, "{what}: after another pack");
            let mut state = told[..found].last().map(|told| told.site.clone()).unwrap_or_default();
            let tid = commit(&site, &mut state, STEPS, &random);
            assert_eq!(site.last_tid().unwrap(), tid);
        }
    }
    println!("{reopenings} reopenings, {unfinished} of them in the middle of a commit");
    // About fifty: how many operations a commit takes depends on which thread comes first.
    assert!(unfinished > 30, "{unfinished} in the middle of a commit");
}
