//! Storages of ZODB's objects: records by transaction, conflicts, packs, blobs, and what SQL sees of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::objects::{Finished, Meta, ObjectRecord, Storage, Tid, Write, Writing};
use crate::{Create, Database, Options};

use super::tables::rows;

mod power;

/// A record: the class `app.Page`, and a state that is a list of references and a text.
fn record(refs: &[u64], text: &str) -> Vec<u8> {
    let mut bytes = b"\x80\x03capp\nPage\nq\x01.\x80\x03(".to_vec();
    for oid in refs {
        bytes.extend_from_slice(b"C\x08");
        bytes.extend_from_slice(&oid.to_be_bytes());
        bytes.push(b'Q');
    }
    bytes.extend_from_slice(b"X");
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.extend_from_slice(b"t.");
    bytes
}

fn storage(database: &Database) -> Arc<Storage> {
    database.create_objects("site", true).unwrap();
    database.objects("site").unwrap().unwrap()
}

fn said(user: &str) -> Meta {
    Meta { user: user.into(), description: b"why".to_vec(), ..Meta::default() }
}

/// Commits records that must not conflict.
fn commit(storage: &Arc<Storage>, user: &str, objects: &[(u64, Option<&[u8]>)]) -> Tid {
    let mut writing = storage.begin(said(user)).unwrap();
    let writes = objects.iter().map(|(oid, data)| Write {
        oid: *oid,
        serial: None,
        data: *data,
        data_tid: None,
    });
    assert_eq!(writing.write(writes).unwrap(), []);
    writing.finish().unwrap().tid
}

fn text(storage: &Storage, oid: u64) -> Option<Vec<u8>> {
    storage.load(oid, <[u8]>::to_vec).unwrap().map(|(data, _)| data)
}

/// Each transaction sees what was before it, whatever came later; and so after the database was opened again.
#[test]
fn records_are_found_by_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { create: Create::IfMissing, ..Options::default() };
    let database = Database::open_with(folder.path(), options()).unwrap();
    let site = storage(&database);
    assert_eq!(site.last_tid().unwrap(), Tid::ZERO);
    let (one, two, root) = (record(&[], "one"), record(&[7], "two"), record(&[7], "root"));
    let first = commit(&site, "ada", &[(0, Some(&root)), (7, Some(&one))]);
    database.sql("CREATE TABLE other AS SELECT 1", &[]).unwrap();
    let second = commit(&site, "grace", &[(7, Some(&two))]);
    let third = commit(&site, "ada", &[(7, None)]);
    assert!(first < second && second < third);
    drop(site);
    let check = |site: &Arc<Storage>| {
        assert_eq!(site.last_tid().unwrap(), third);
        let before = |tid: Tid| {
            let found = site.load_before(7, tid, <[u8]>::to_vec).unwrap();
            found.map(|found| (found.data, found.tid, found.next))
        };
        assert_eq!(before(first), None);
        assert_eq!(before(second), Some((Some(one.clone()), first, Some(second))));
        assert_eq!(before(third), Some((Some(two.clone()), second, Some(third))));
        assert_eq!(before(Tid(u64::MAX)), Some((None, third, None)));
        assert_eq!((text(site, 7), text(site, 0)), (None, Some(root.clone())));
        let serial = site.load_serial(7, second, <[u8]>::to_vec).unwrap().unwrap();
        assert_eq!(serial.data, Some(two.clone()));
        assert_eq!(site.load_serial(0, second, <[u8]>::to_vec).unwrap(), None);
        let all = site.transactions(Tid::ZERO, Tid(u64::MAX), false, 9).unwrap();
        let users: Vec<_> = all.iter().map(|of| (of.tid, &of.user[..])).collect();
        assert_eq!(users, [(first, &b"ada"[..]), (second, b"grace"), (third, b"ada")]);
        let newest = site.transactions(Tid::ZERO, second, true, 1).unwrap();
        assert_eq!(newest[0].tid, second);
        let changes = site.changes(first, third).unwrap().unwrap();
        assert_eq!(changes, [(second, vec![7]), (third, vec![7])]);
        let record = |oid, data: Option<&[u8]>| {
            let data = data.map(<[u8]>::to_vec);
            ObjectRecord { oid, data, data_tid: None }
        };
        assert_eq!(site.records(first).unwrap(), [record(0, Some(&root)), record(7, Some(&one))]);
        assert_eq!(site.records(third).unwrap(), [record(7, None)]);
        let history: Vec<Tid> = site.history(7, 9).unwrap().iter().map(|of| of.tid).collect();
        assert_eq!(history, [second, first]);
        assert!(site.new_oids(1).unwrap() > 7);
    };
    check(&database.objects("site").unwrap().unwrap());
    database.close().unwrap();
    let database = Database::open_with(folder.path(), options()).unwrap();
    check(&database.objects("site").unwrap().unwrap());
}

/// A client that stores a record that is not based on the newest one learns the newest one, and may
/// store again.
#[test]
fn records_that_are_based_on_old_ones_conflict() {
    let database = Database::open_in_memory().unwrap();
    let site = storage(&database);
    let data = record(&[], "x");
    let first = commit(&site, "", &[(1, Some(&data)), (2, Some(&data))]);
    let second = commit(&site, "", &[(1, Some(&data))]);
    let write = |serial| Write { oid: 1, serial, data: Some(&data), data_tid: None };
    let mut writing = site.begin(said("")).unwrap();
    let conflicts = writing.write([write(Some(first)), write(Some(Tid::ZERO))]).unwrap();
    let newest: Vec<_> = conflicts.iter().map(|of| (of.at, of.newest)).collect();
    assert_eq!(newest, [(0, second), (1, second)]);
    assert_eq!(writing.check_current(1, first).unwrap(), Some(second));
    assert_eq!(writing.check_current(1, second).unwrap(), None);
    assert_eq!(writing.write([write(Some(second))]).unwrap(), []);
    let Finished { tid: third, before } = writing.finish().unwrap();
    assert_eq!(before, Some(second));
    // A commit in between, here by SQL, may have changed the storage.
    database.sql("DELETE FROM site.objects WHERE zoid = 2", &[]).unwrap();
    let mut writing = site.begin(said("")).unwrap();
    assert_eq!(writing.write([write(Some(third))]).unwrap(), []);
    let Finished { tid: third, before } = writing.finish().unwrap();
    assert_eq!(before, None);
    assert!(third > second);
    // A transaction that does not finish leaves nothing.
    drop(site.begin(said("")).unwrap().write([write(Some(third))]).unwrap());
    assert_eq!(site.last_tid().unwrap(), third);
}

/// Transactions that are copied keep their ids, which must ascend; those that are made here come after them, even if
/// the ids are of the future.
#[test]
fn ids_of_copied_transactions_are_kept() {
    let database = Database::open_in_memory().unwrap();
    let site = storage(&database);
    let data = record(&[], "x");
    let copy = |tid: u64| {
        let mut writing = site.begin(Meta { tid: Some(Tid(tid)), ..said("") })?;
        writing.write([Write { oid: tid, serial: None, data: Some(&data), data_tid: None }])?;
        writing.finish().map(|finished| finished.tid)
    };
    assert_eq!(copy(5).unwrap(), Tid(5));
    assert_eq!(copy(9).unwrap(), Tid(9));
    assert_eq!(copy(9).unwrap_err().sqlstate().code(), "22023");
    let found = site.load_before(5, Tid(9), |_| ()).unwrap().unwrap();
    assert_eq!((found.tid, found.next), (Tid(5), None));
    assert_eq!(site.load_before(9, Tid(9), |_| ()).unwrap(), None);
    let own = commit(&site, "", &[(5, Some(&data))]);
    assert!(own > Tid(9));
    assert_eq!(site.load_before(5, own, |_| ()).unwrap().unwrap().next, Some(own));
    let future = own.0 + (1 << 40);
    assert_eq!(copy(future).unwrap(), Tid(future));
    assert_eq!(commit(&site, "", &[(5, Some(&data))]), Tid(future + 1));
    let all = site.transactions(Tid(6), Tid(future), false, 99).unwrap();
    let tids: Vec<u64> = all.iter().map(|of| of.tid.0).collect();
    assert_eq!(tids, [9, own.0, future]);
    assert_eq!(site.load_before(future, Tid(future), |_| ()).unwrap(), None);
    assert_eq!(rows(&database, "SELECT tid FROM site.objects WHERE zoid = 9"), ["9"]);
}

/// A pack removes the objects that nothing reaches, and their past. It keeps objects that are younger than its moment. A
/// writer that refers to a removed object gets an error: the peers accept such a reference, and it leads nowhere.
#[test]
fn a_pack_removes_what_nothing_reaches() {
    let database = Database::open_in_memory().unwrap();
    let site = storage(&database);
    let data = |refs: &[u64]| record(refs, "x");
    let first = commit(
        &site,
        "",
        &[
            (0, Some(&data(&[1]))),
            (1, Some(&data(&[2]))),
            (2, Some(&data(&[]))),
            (3, Some(&data(&[4]))),
            (4, Some(&data(&[3]))),
        ],
    );
    let second = commit(&site, "", &[(1, Some(&data(&[])))]);
    let packed = site.pack(second, true).unwrap();
    assert_eq!((packed.objects, packed.left), (3, 2));
    assert_eq!(site.last_tid().unwrap(), second, "a pack is no transaction");
    for gone in [2, 3, 4] {
        assert_eq!(text(&site, gone), None);
        assert_eq!(site.load_serial(gone, first, |_| ()).unwrap(), None);
        assert_eq!(site.load_before(gone, second, |_| ()).unwrap(), None);
        assert!(!site.is_known(gone).unwrap() && site.history(gone, 9).unwrap().is_empty());
    }
    assert_eq!(site.load_serial(1, first, |_| ()).unwrap(), None, "it was not the newest");
    let all = site.transactions(Tid::ZERO, Tid(u64::MAX), false, 9).unwrap();
    let told: Vec<_> = all.iter().map(|of| (of.tid, of.is_packed)).collect();
    assert_eq!(told, [(first, true), (second, true)]);
    let oids = |tid| site.records(tid).unwrap().iter().map(|of| of.oid).collect::<Vec<_>>();
    assert_eq!((oids(first), oids(second)), (vec![0], vec![1]));

    let mut writing = site.begin(said("")).unwrap();
    let to_nothing = data(&[3]);
    let write = Write { oid: 1, serial: Some(second), data: Some(&to_nothing), data_tid: None };
    let refused = writing.write([write]).unwrap_err();
    assert_eq!(refused.sqlstate().code(), "40001");
    drop(writing);
    // An object of that id that is stored again is one.
    let third = commit(&site, "", &[(3, Some(&data(&[]))), (1, Some(&to_nothing))]);
    assert_eq!(site.pack(third, true).unwrap().objects, 0);
    assert!(text(&site, 3).is_some());
    let fourth = commit(&site, "", &[(9, Some(&data(&[])))]);
    assert_eq!(site.pack(third, true).unwrap().objects, 0, "9 is younger than that");
    assert_eq!(site.pack(fourth, false).unwrap().objects, 0);
    assert_eq!(site.pack(fourth, true).unwrap().objects, 1);
}

/// A pack in several commits: object 4 is to be removed after object 5, to which it refers. A writer that refers to 4 in
/// between would bring an object back whose own reference leads nowhere. It gets an error. A writer that stores 4 anew
/// keeps it.
#[test]
fn a_pack_in_steps_leaves_no_reference_that_leads_nowhere() {
    let database = Database::open_in_memory().unwrap();
    let site = storage(&database);
    let data = |refs: &[u64]| record(refs, "x");
    let (root, to_5, plain) = (data(&[]), data(&[5]), data(&[]));
    let made = commit(
        &site,
        "",
        &[(0, Some(&root)), (5, Some(&plain)), (6, Some(&to_5)), (7, Some(&plain))],
    );
    let write = |oid, data: &[u8]| {
        let mut writing = site.begin(said(""))?;
        writing.write([Write { oid, serial: None, data: Some(data), data_tid: None }])?;
        writing.finish().map(|finished| finished.tid)
    };
    let mut steps = Vec::new();
    let packed = site.pack_in_steps(made, true, 1, &mut |step| {
        if step.removed == 1 {
            let refused = write(0, &data(&[6])).unwrap_err();
            assert_eq!(refused.sqlstate().code(), "40001", "6 refers to 5, which is gone");
            write(7, &data(&[0])).unwrap();
            assert_eq!(write(0, &data(&[7])).unwrap_err().sqlstate().code(), "40001");
        }
        steps.push((step.removed, step.of));
    });
    assert_eq!((packed.unwrap().objects, steps), (2, vec![(1, 3), (2, 3), (2, 3)]));
    assert!(text(&site, 5).is_none() && text(&site, 6).is_none());
    assert_eq!(text(&site, 7).unwrap(), data(&[0]));
    write(0, &data(&[7])).unwrap();
}

/// A transaction of so many objects that the table of changes does not name them is read, and packed, like any other.
#[test]
fn a_transaction_of_many_objects() {
    const OBJECTS: u64 = 9_000;
    let database = Database::open_in_memory().unwrap();
    let site = storage(&database);
    let (root, page) = (record(&[1, OBJECTS], "root"), record(&[0], "page"));
    let objects: Vec<(u64, Option<&[u8]>)> = (0..=OBJECTS)
        .map(|oid| (oid, Some(if oid == 0 { &root } else { &page }.as_slice())))
        .collect();
    let first = commit(&site, "", &[(0, Some(&root))]);
    let many = commit(&site, "", &objects);
    assert_eq!(site.changes(first, many).unwrap(), None, "a client forgets all that it knows");
    let records = site.records(many).unwrap();
    assert_eq!((records.len() as u64, records[1].oid), (OBJECTS + 1, 1));
    let mut is_first = true;
    let packed = site.pack_in_steps(many, true, 5_000, &mut |_| {
        if std::mem::take(&mut is_first) {
            commit(&site, "", &objects[OBJECTS as usize..]);
        }
    });
    assert_eq!(packed.unwrap().left, 3);
    assert_eq!(
        site.last_tid().unwrap(),
        site.transactions(Tid::ZERO, Tid(u64::MAX), true, 1).unwrap()[0].tid
    );
}

/// A pickle that cannot be read is stored and loaded like any other. A pack does not guess what it refers to.
#[test]
fn pickles_that_cannot_be_read_are_kept() {
    let database = Database::open_in_memory().unwrap();
    let site = storage(&database);
    let last = commit(&site, "", &[(0, Some(b"no pickle")), (1, Some(b""))]);
    assert_eq!(text(&site, 0).unwrap(), b"no pickle");
    assert_eq!(site.pack(last, true).unwrap_err().sqlstate().code(), "22023");
    assert_eq!(site.pack(last, false).unwrap().objects, 0);
    let state = "SELECT state ? '@error', class_name IS NULL FROM site.objects ORDER BY zoid";
    assert_eq!(rows(&database, state), ["t|t", "t|t"]);
}

/// A pack of many objects, which several threads read, removes what is not reached across their parts and nothing else.
#[test]
fn many_objects_are_packed() {
    let database = Database::open_in_memory().unwrap();
    let site = storage(&database);
    // A chain from the first object to the last over every third one: the root refers to the last.
    let last = 15_000;
    let refs = |oid: u64| match oid {
        0 => vec![last],
        oid if oid % 3 == 0 => vec![oid - 3],
        oid => vec![oid - 1, oid + 1],
    };
    let pickles: Vec<Vec<u8>> = (0..=last).map(|oid| record(&refs(oid), "x")).collect();
    let objects: Vec<(u64, Option<&[u8]>)> =
        (0..).zip(pickles.iter().map(|p| Some(&p[..]))).collect();
    let tid = commit(&site, "", &objects);
    assert_eq!(site.reachable(4).unwrap().len() as u64, last / 3 + 3);
    let packed = site.pack(tid, true).unwrap();
    assert_eq!((packed.objects, packed.left), (last / 3 * 2, last / 3 + 1));
    assert!((0..=last).all(|oid| site.load(oid, |_| ()).unwrap().is_some() == (oid % 3 == 0)));
}

/// A blob of several parts belongs to a record, and the blob before to the record before.
#[test]
fn blobs_belong_to_records() {
    let database = Database::open_in_memory().unwrap();
    let site = storage(&database);
    let data = record(&[], "blob");
    let contents: [Vec<u8>; 5] =
        [vec![7; (5 << 19) + 3], vec![8; 100], Vec::new(), vec![9; 1 << 20], vec![10; 2 << 20]];
    let mut tids = Vec::new();
    for content in &contents {
        let mut writing = site.begin(said("")).unwrap();
        writing.write([Write { oid: 0, serial: None, data: Some(&data), data_tid: None }]).unwrap();
        writing.put_blob(0, &mut &content[..]).unwrap();
        tids.push(writing.finish().unwrap().tid);
    }
    for (content, tid) in contents.iter().zip(&tids) {
        let mut out = Vec::new();
        assert!(site.load_blob(0, *tid, &mut out).unwrap());
        assert!(out == *content);
    }
    assert!(!site.load_blob(1, tids[0], &mut Vec::new()).unwrap());
    // A new object, so that a file of the store takes the parts.
    for parts in [1, 2] {
        let mut writing = site.begin(said("")).unwrap();
        writing
            .write([Write { oid: parts, serial: None, data: Some(&data), data_tid: None }])
            .unwrap();
        writing.put_blob(parts, &mut &vec![9; (parts as usize) << 20][..]).unwrap();
        let tid = writing.finish().unwrap().tid;
        let mut out = Vec::new();
        assert!(
            site.load_blob(parts, tid, &mut out).unwrap() && out == vec![9; (parts as usize) << 20]
        );
    }
    site.pack(tids[1], true).unwrap();
    assert!(!site.load_blob(0, tids[0], &mut Vec::new()).unwrap());
    assert!(site.load_blob(0, tids[1], &mut Vec::new()).unwrap());
}

/// A blob of more than a part goes to a file of the store. It is there after the database was opened again, in place of
/// it comes another one, and what did not come as a whole leaves nothing.
#[test]
fn large_blobs_are_files_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path()).unwrap();
    let site = storage(&database);
    let data = record(&[], "blob");
    let content: Vec<u8> =
        (0..(3 << 20) + 5u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let begin = |oid| {
        let mut writing = site.begin(said("")).unwrap();
        writing.write([Write { oid, serial: None, data: Some(&data), data_tid: None }]).unwrap();
        writing
    };
    let parts = || "SELECT count(*), sum(length(data)) FROM site.blobs".to_owned();
    let part = |number: usize| {
        let part = content.chunks(1 << 20).nth(number).unwrap();
        (number as u32, part, number == 3)
    };
    let put = |writing: &mut Writing, oid, number| {
        let (number, bytes, is_last) = part(number);
        writing.put_blob_part(oid, number, bytes, is_last)
    };

    // Two blobs in one commit, the second of which comes after a first try that is taken back.
    let log = database.stats().log_appended_bytes;
    let mut writing = begin(0);
    writing.put_blob(0, &mut &content[..]).unwrap();
    writing.write([Write { oid: 7, serial: None, data: Some(&data), data_tid: None }]).unwrap();
    let failed = writing.attempt(|writing| {
        put(writing, 7, 0)?;
        put(writing, 7, 2)
    });
    assert_eq!(
        failed.unwrap_err().to_string(),
        "part 1 of the blob of object 0x0000000000000007 is missing"
    );
    (0..4).for_each(|number| put(&mut writing, 7, number).unwrap());
    let first = writing.finish().unwrap().tid;
    assert!(database.stats().log_appended_bytes - log < 64 << 10, "not through the log");
    assert_eq!(rows(&database, &parts()), [format!("8|{}", 2 * content.len())]);

    // A transaction with half of a blob cannot be committed, and one that is given up leaves nothing.
    let mut writing = begin(8);
    put(&mut writing, 8, 0).unwrap();
    writing.attempt(|writing| put(writing, 9, 0)).unwrap_err();
    assert!(writing.finish().unwrap_err().to_string().starts_with("part 1 of the blob"));
    let mut writing = begin(9);
    writing.put_blob(9, &mut &content[..]).unwrap();
    drop(writing);
    assert_eq!(rows(&database, &parts()), [format!("8|{}", 2 * content.len())]);

    // The next blob of the object has fewer parts. Nothing of the one before is left but its past.
    let mut writing = begin(0);
    writing.put_blob(0, &mut &content[..(1 << 20) + 1]).unwrap();
    let second = writing.finish().unwrap().tid;
    drop(site);
    database.close().unwrap();
    let database = Database::open(folder.path()).unwrap();
    let site = database.objects("site").unwrap().unwrap();
    for (oid, tid, length) in
        [(0, first, content.len()), (7, first, content.len()), (0, second, (1 << 20) + 1)]
    {
        let mut out = Vec::new();
        assert!(site.load_blob(oid, tid, &mut out).unwrap(), "blob {oid} of {tid:?}");
        assert!(out == content[..length], "blob {oid} of {tid:?}");
    }
    database.sql("CREATE INDEX ON site.blobs (part)", &[]).unwrap();
    let mut writing = site.begin(said("")).unwrap();
    writing.put_blob(10, &mut &content[..]).unwrap();
    writing.finish().unwrap();
    assert_eq!(
        rows(&database, "SELECT zoid FROM site.blobs WHERE part = 3 ORDER BY 1"),
        ["7", "10"]
    );
}

/// Indexes of expressions over the state, and partial ones, are kept by commits, undone changes, deletions and packs,
/// also where no SQL has been asked since the database was opened.
#[test]
fn indexes_of_expressions_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path()).unwrap();
    let site = storage(&database);
    commit(&site, "", &[(0, Some(&record(&[1], "root"))), (1, Some(&record(&[], "before")))]);
    let indexes = "CREATE INDEX words ON site.objects ((state -> '@t' ->> -1));
                   CREATE UNIQUE INDEX leaves ON site.objects (zoid) WHERE refs = '{}'";
    for index in indexes.split(';') {
        database.sql(index, &[]).unwrap();
    }
    drop(site);
    database.close().unwrap();

    let database = Database::open(folder.path()).unwrap();
    let site = database.objects("site").unwrap().unwrap();
    assert_eq!(site.count().unwrap(), 2);
    let last = commit(
        &site,
        "",
        &[(1, Some(&record(&[], "after"))), (2, Some(&record(&[1], "garbage"))), (3, None)],
    );
    let found = |word: &str| {
        let sql = format!("SELECT zoid FROM site.objects WHERE state -> '@t' ->> -1 = '{word}'");
        let plan = rows(&database, &format!("EXPLAIN {sql}")).join("");
        assert!(plan.contains("words"), "{plan}");
        rows(&database, &sql)
    };
    assert_eq!(["before", "after", "garbage"].map(|word| found(word).join(" ")), ["", "1", "2"]);
    let leaves = "SELECT count(*) FROM site.objects WHERE refs = '{}'";
    assert_eq!(rows(&database, leaves), ["1"]);
    assert_eq!(site.pack(last, true).unwrap().objects, 1);
    assert_eq!(found("garbage"), [""; 0]);
    assert_eq!(rows(&database, leaves), ["1"]);
    database.verify(|_| ()).unwrap();
}

/// SQL sees objects as rows: class, references, state, at any commit; indexes of the state find them.
#[test]
fn sql_sees_objects() {
    let database = Database::open_in_memory().unwrap();
    let site = storage(&database);
    database.sql("CREATE INDEX ON site.objects USING gin (state)", &[]).unwrap();
    let first =
        commit(&site, "ada", &[(0, Some(&record(&[1, 2], "root"))), (1, Some(&record(&[], "a")))]);
    let second = commit(&site, "ada", &[(1, Some(&record(&[0], "b")))]);
    let all = "SELECT zoid, class_mod, class_name, refs, state FROM site.objects ORDER BY zoid";
    assert_eq!(
        rows(&database, all),
        [
            r#"0|app|Page|{1,2}|{"@t": [{"@ref": "0000000000000001"}, {"@ref": "0000000000000002"}, "root"]}"#,
            r#"1|app|Page|{0}|{"@t": [{"@ref": "0000000000000000"}, "b"]}"#,
        ]
    );
    let found = r#"SELECT zoid, tid FROM site.objects WHERE state @> '{"@t": ["b"]}'"#;
    assert_eq!(rows(&database, found), [format!("1|{}", second.to_i64())]);
    let history = "SELECT tid FROM site.objects FOR SYSTEM_TIME ALL WHERE zoid = 1 ORDER BY tid";
    let tids = [first, second].map(|tid| tid.to_i64().to_string());
    assert_eq!(rows(&database, history), tids);
    assert_eq!(
        rows(&database, "SELECT count(*), sum(octet_length(pickle)) > 50 FROM site.objects"),
        ["2|t"]
    );
    let all = "SELECT zoid, tid FROM site.object_history WHERE zoid = 1 ORDER BY tid";
    assert_eq!(rows(&database, all), [format!("1|{}", tids[0]), format!("1|{}", tids[1])]);
    let told = "SELECT tid, user_name, description, committed_at = zodb_time(tid), \
                zodb_tid(committed_at) = tid, committed_at > now() - interval '1 hour' FROM site.transactions";
    let line = |tid: &String| format!("{tid}|ada|why|t|t|t");
    assert_eq!(rows(&database, told), [line(&tids[1]), line(&tids[0])]);
    let refs = "SELECT zoid, target FROM site.object_refs ORDER BY 1, 2";
    assert_eq!(rows(&database, refs), ["0|1", "0|2", "1|0"]);
    for (statement, code) in [
        ("INSERT INTO site.objects (zoid, pickle) VALUES (9, '')", "0A000"),
        ("UPDATE site.objects SET pickle = ''", "0A000"),
        ("ALTER TABLE site.objects ADD COLUMN more int", "0A000"),
        ("CREATE INDEX ON site.objects (tid)", "0A000"),
        ("CREATE INDEX ON site.objects ((tid + 1))", "0A000"),
        ("CREATE INDEX ON site.objects (zoid) WHERE tid > 5", "0A000"),
        ("CREATE INDEX ON site.objects ((objects IS NULL))", "0A000"),
        ("CREATE INDEX ON site.objects ((site.objects IS NULL))", "0A000"),
        ("CREATE TABLE no (zoid bigint PRIMARY KEY) USING object", "42P16"),
    ] {
        assert_eq!(database.sql(statement, &[]).unwrap_err().state().code(), code);
    }
    database.sql("DELETE FROM site.objects WHERE zoid = 1", &[]).unwrap();
    assert!(text(&site, 1).is_none() && site.last_tid().unwrap() > second);
    assert_eq!(site.changes(second, Tid(u64::MAX)).unwrap().unwrap()[0].1, [1]);
    database.sql("DROP SCHEMA site CASCADE", &[]).unwrap();
    assert!(database.objects("site").unwrap().is_none());
}

/// Random transactions, packs and reopenings: the storage says what a map of all records says.
#[test]
fn a_storage_is_what_its_model_is() {
    let seed = std::env::var("ANYWHEN_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut state: u64 = seed.unwrap_or(0x5eed_0b1e_c75a_0001);
    println!("ANYWHEN_SEED={state}");
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let folder = tempfile::tempdir().unwrap();
    let mut database = Database::create(folder.path()).unwrap();
    let mut site = storage(&database);
    // By object, by transaction: the record, or that it was deleted.
    let mut model: BTreeMap<u64, BTreeMap<Tid, Option<Vec<u8>>>> = BTreeMap::new();
    let mut tids = vec![Tid::ZERO];
    let root = record(&(1..12).collect::<Vec<_>>(), "root");
    for step in 0..400 {
        match random(40) {
            0 => {
                drop(site);
                database.close().unwrap();
                database = Database::open(folder.path()).unwrap();
                site = database.objects("site").unwrap().unwrap();
            }
            1 => database.compact().unwrap(),
            2 => {
                let upto = tids[random(tids.len() as u64) as usize];
                site.pack(upto, false).unwrap();
                for records in model.values_mut() {
                    let newest = records.range(..=upto).next_back().map(|(tid, _)| *tid);
                    records
                        .retain(|tid, data| *tid > upto || Some(*tid) == newest && data.is_some());
                }
            }
            _ => {
                let mut objects: BTreeMap<u64, Option<Vec<u8>>> = BTreeMap::new();
                for _ in 0..=random(4) {
                    let oid = random(12);
                    let data = record(&[], &format!("{step} {oid}"));
                    objects.insert(oid, (random(8) > 0).then_some(data));
                }
                if objects.contains_key(&0) {
                    objects.insert(0, Some(root.clone()));
                }
                let list: Vec<_> =
                    objects.iter().map(|(oid, data)| (*oid, data.as_deref())).collect();
                let tid = commit(&site, "", &list);
                tids.push(tid);
                for (oid, data) in objects {
                    model.entry(oid).or_default().insert(tid, data);
                }
            }
        }
        let oid = random(12);
        let records = model.entry(oid).or_default();
        let tid = Tid(tids[random(tids.len() as u64) as usize].0 + random(2));
        let expected = records.range(..tid).next_back().map(|(tid, data)| {
            let next = records.range(Tid(tid.0 + 1)..).next().map(|(next, _)| *next);
            (data.clone(), *tid, next)
        });
        let found = site.load_before(oid, tid, <[u8]>::to_vec).unwrap();
        let found = found.map(|found| (found.data, found.tid, found.next));
        assert_eq!(found, expected, "step {step}, object {oid} before {tid}");
        let newest = records.values().next_back().cloned().flatten();
        assert_eq!(text(&site, oid), newest, "step {step}, object {oid}");
        let of_transaction = tids[random(tids.len() as u64) as usize];
        let told: Vec<(u64, Option<Vec<u8>>)> =
            site.records(of_transaction).unwrap().into_iter().map(|of| (of.oid, of.data)).collect();
        let expected: Vec<(u64, Option<Vec<u8>>)> = model
            .iter()
            .filter_map(|(oid, records)| Some((*oid, records.get(&of_transaction)?.clone())))
            .collect();
        assert_eq!(told, expected, "step {step}, transaction {of_transaction}");
    }
    let all = site.transactions(Tid::ZERO, Tid(u64::MAX), false, usize::MAX).unwrap();
    let all: Vec<Tid> = all.iter().map(|of| of.tid).collect();
    let mut expected: Vec<Tid> =
        model.values().flat_map(|records| records.keys().copied()).collect();
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(all, expected);
}

/// A server's clients do by SQL what a program does by the library, with the rights of their role.
#[test]
fn sql_writes_transactions_of_zodb() {
    let database = Database::open_in_memory().unwrap();
    let made = database.sql("SELECT zodb_definition('site', true)", &[]).unwrap();
    let definition: String = made.get(0).unwrap().get("zodb_definition").unwrap();
    let mut sql = database.connect().unwrap();
    sql.batch(&definition).unwrap();
    let mut values = |query: &str| {
        let found = sql.query(query, &[]).map_err(|error| error.state().code().to_owned())?;
        let columns = found.columns.clone();
        let line = |row: crate::sql::Row<'_>| {
            let values = row.values().iter().zip(&columns);
            let texts = values.map(|(value, column)| sql.text(value, column).unwrap_or("-".into()));
            texts.collect::<Vec<_>>().join("|")
        };
        Ok::<_, String>(found.iter().map(line).collect::<Vec<_>>())
    };
    let hex = |record: &[u8]| record.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let begin = r"SELECT zodb_begin('site.objects', 'ada', '\xff', '', NULL, false, 0)";
    assert_eq!(values("SELECT zodb_finish()").unwrap_err(), "25P01");
    values(begin).unwrap();
    assert_eq!(values(begin).unwrap_err(), "25001");
    let (root, page) = (hex(&record(&[1], "root")), hex(&record(&[], "page")));
    let write = format!(
        r"SELECT * FROM zodb_write('{{0,1,2}}', '{{0,0,NULL}}', ARRAY['\x{root}', '\x{page}', '\x{page}']::bytea[], '{{NULL,NULL,NULL}}')"
    );
    assert!(values(&write).unwrap().is_empty());
    values(r"SELECT zodb_put_blob(1, 0, '\x0102', true)").unwrap();
    let tid = values("SELECT zodb_finish()").unwrap().remove(0);
    assert_eq!(values("SELECT zodb_last_tid('site.objects')").unwrap(), std::slice::from_ref(&tid));
    let load = "SELECT data = (SELECT pickle FROM site.objects WHERE zoid = 1), tid FROM zodb_load('site.objects', 1)";
    assert_eq!(values(load).unwrap(), [format!("t|{tid}")]);
    let before = format!("SELECT * FROM zodb_load_before('site.objects', 1, {tid})");
    assert!(values(&before).unwrap().is_empty());
    assert_eq!(
        values("SELECT * FROM zodb_path('site.objects', 1)").unwrap(),
        ["0|0|app.Page", "1|1|app.Page"]
    );
    assert_eq!(values("SELECT * FROM zodb_referrers('site.objects', 1)").unwrap(), ["0"]);
    assert_eq!(values("SELECT * FROM zodb_reachable('site.objects', 0)").unwrap(), ["0", "1"]);
    let told = r"SELECT user_name = 'ada', description = '\xff' FROM zodb_transactions('site.objects', 0, 9223372036854775807, true, 5)";
    assert_eq!(values(told).unwrap(), ["t|t"]);
    assert_eq!(
        values("SELECT zoids FROM zodb_changes('site.objects', 0, 9223372036854775807)").unwrap(),
        ["{0,1,2}"]
    );
    assert_eq!(
        values(&format!("SELECT zodb_blob('site.objects', 1, {tid}, 0)")).unwrap(),
        [r"\x0102"]
    );

    values(begin).unwrap();
    let old = format!(
        r"SELECT * FROM zodb_write('{{1}}', '{{5}}', ARRAY['\x{page}']::bytea[], '{{NULL}}')"
    );
    assert_eq!(values(&old).unwrap(), [format!("0|{tid}")]);
    assert_eq!(values(&format!("SELECT zodb_check_current(0, {tid})")).unwrap(), ["-"]);
    values("SELECT zodb_abort()").unwrap();
    values(begin).unwrap();
    values("DISCARD ALL").unwrap();
    assert_eq!(values("SELECT zodb_finish()").unwrap_err(), "25P01");
    assert_eq!(values(&format!("SELECT zodb_pack('site.objects', {tid}, true)")).unwrap(), ["1"]);
    assert_eq!(values("SELECT zodb_last_tid('pg_class')").unwrap_err(), "42809");

    values("CREATE ROLE reader").unwrap();
    values("GRANT USAGE ON SCHEMA site TO reader").unwrap();
    values("GRANT SELECT ON site.objects TO reader").unwrap();
    values("SET ROLE reader").unwrap();
    assert_eq!(values("SELECT tid FROM zodb_load('site.objects', 0)").unwrap(), [tid]);
    assert_eq!(values(begin).unwrap_err(), "42501");
    assert_eq!(values("SELECT zodb_new_oids('site.objects', 1)").unwrap_err(), "42501");
}
