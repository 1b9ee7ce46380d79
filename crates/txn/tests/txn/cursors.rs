//! Cursors: whatever happens between their fills, they give what a scan gave when they were opened.

use std::ops::{Bound, ControlFlow};

use store::Op;
use txn::{Cursor, EngineOptions, Isolation, KeyRange, RowLock, Transaction, TxnError, Wait};
use vfs::{Env, SimVfs};

use crate::common::{Append, SimRandom, T, engine, large, meta, options, seed, try_open};

fn key(random: &SimRandom) -> Vec<u8> {
    vec![b'a' + random.below(20) as u8]
}

fn scanned(txn: &Transaction, range: &KeyRange, reverse: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let scan = txn.scan(T, range.lower.clone(), range.upper.clone(), reverse);
    let row = scan.map(|item| {
        let (key, row) = item.unwrap();
        let mut value = Vec::new();
        row.image_into(&Append, &key, &mut value).unwrap();
        (key, value)
    });
    row.collect()
}

/// Random writes, rollbacks to savepoints, and commits of others between fills of random sizes, over
/// random ranges and both ways: a cursor is not moved by any of it.
#[test]
fn a_cursor_sees_what_was_there_when_it_began() {
    stay(options());
}

/// The same, where the transaction's own writes go to files all the time.
#[test]
fn a_cursor_of_a_large_transaction_sees_what_was_there_when_it_began() {
    stay(large());
}

fn stay(options: EngineOptions) {
    let random = SimRandom::new(seed(3));
    let engine = try_open(&Env::sim(&SimVfs::unrecorded(), 3), options).unwrap();
    for round in 0..300 {
        let isolation = match round % 3 {
            0 => Isolation::ReadCommitted,
            1 => Isolation::RepeatableRead,
            _ => Isolation::Serializable,
        };
        let mut txn = engine.begin(isolation);
        let change = |txn: &mut Transaction, mark: u8| {
            for _ in 0..random.below(6) {
                let key = key(&random);
                match random.below(3) {
                    0 => drop(txn.delete(T, &key)),
                    1 => drop(txn.put(T, &key, vec![mark])),
                    // Upon the newest version, as a transaction does that has locked it.
                    _ => {
                        if let Ok(txn::Locked::Unchanged) =
                            txn.lock_row(T, &key, RowLock::Update, Wait::Never)
                            && txn.read(T, &key).unwrap().is_some()
                        {
                            txn.write(T, key, Op::Delta(vec![mark])).unwrap();
                        }
                    }
                }
            }
        };
        change(&mut txn, b'1');
        let (one, other) = (key(&random), key(&random));
        let range = match random.below(4) {
            0 => KeyRange::ALL,
            1 => KeyRange::prefix(one),
            2 => KeyRange { lower: Bound::Excluded(one), upper: Bound::Unbounded },
            _ => KeyRange { lower: Bound::Included(one), upper: Bound::Excluded(other) },
        };
        let reverse = random.below(2) == 0;
        let expected = scanned(&txn, &range, reverse);
        let mut cursor = Cursor::new(T, range, reverse);
        let mut found = Vec::new();
        let mut savepoint = None;
        while !cursor.is_at_end() {
            let until = found.len() + 1 + random.below(4) as usize;
            let filled = cursor.fill::<TxnError>(txn.view(), |key, row| {
                let mut value = Vec::new();
                row.image_into(&Append, key, &mut value).unwrap();
                found.push((key.to_vec(), value));
                Ok(if found.len() < until {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                })
            });
            filled.unwrap();
            if !cursor.is_at_end() && random.below(2) == 0 {
                let mut theirs = engine.begin(Isolation::ReadCommitted);
                theirs.set_lock_timeout(Some(0));
                change(&mut theirs, b'2');
                theirs.commit(meta("")).unwrap();
            }
            txn.statement();
            txn.set_lock_timeout(Some(0));
            match savepoint.take() {
                None => savepoint = Some(txn.savepoint()),
                Some(savepoint) => txn.rollback_to(savepoint),
            }
            change(&mut txn, b'3');
        }
        assert_eq!(found, expected, "round {round}");
        drop(txn.commit(meta("")));
    }
}

/// Under SERIALIZABLE the keys that a cursor has passed count as read, and nothing beyond them.
#[test]
fn a_cursor_reads_as_far_as_it_came() {
    for (written, conflicts) in [(b"b", true), (b"h", false)] {
        let engine = engine(1);
        let mut first = engine.begin(Isolation::ReadCommitted);
        [b"a", b"c", b"e", b"g"].iter().for_each(|key| first.put(T, *key, vec![0]).unwrap());
        first.commit(meta("")).unwrap();
        let mut txn = engine.begin(Isolation::Serializable);
        let mut cursor = Cursor::new(T, KeyRange::ALL, false);
        for _ in 0..2 {
            cursor.fill::<TxnError>(txn.view(), |_, _| Ok(ControlFlow::Break(()))).unwrap();
        }
        let mut theirs = engine.begin(Isolation::ReadCommitted);
        theirs.put(T, written, vec![1]).unwrap();
        theirs.commit(meta("")).unwrap();
        txn.put(T, b"z", vec![1]).unwrap();
        assert_eq!(txn.commit(meta("")).is_err(), conflicts);
    }
}
