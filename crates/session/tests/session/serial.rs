//! The proof that transactions have a serial order, from what they read of lists and appended to them.
//!
//! ```text
//!   t7   append 7 to list 3      list 3:  7 9 12
//!   t9   read list 3 = 7         then  t7 ──wr─> t9     it read what t7 wrote
//!        append 9 to list 3            t7 ──ww─> t9     it wrote after t7
//!   t10  read list 3 = 7 9             t10 ──rw─> t12   it did not see what t12 wrote
//! ```
//!
//! A list tells the order of all who appended to it, so each read tells what came before it and what
//! after (Kingsbury and Alvaro, "Elle: inferring isolation anomalies from experimental observations",
//! 2020). The transactions are serializable where these edges form no circle.

use std::collections::{BTreeMap, HashMap, HashSet};

/// A transaction: what it has read and written.
#[derive(Default, Debug)]
pub(crate) struct Txn {
    pub id: u64,
    /// Lists, and what they held.
    pub reads: Vec<(u64, Vec<u64>)>,
    /// Lists that it has appended its number to.
    pub appends: Vec<u64>,
}

/// The numbers in a text.
pub(crate) fn ids(text: &str) -> Vec<u64> {
    text.split_whitespace().map(|id| id.parse().expect("it is a number")).collect()
}

/// Fails if no serial order gives what was read and what there is in the end.
pub(crate) fn prove(txns: &[Txn], lists: &BTreeMap<u64, Vec<u64>>) -> Result<(), String> {
    let known: HashSet<u64> = txns.iter().map(|txn| txn.id).collect();
    let mut edges: BTreeMap<u64, HashSet<u64>> = BTreeMap::new();
    let mut edge = |from: u64, to: u64| {
        if from != to {
            edges.entry(from).or_default().insert(to);
        }
    };
    for (list, values) in lists {
        if let Some(value) = values.iter().find(|value| !known.contains(value)) {
            return Err(format!("list {list} holds {value}, which did not commit"));
        }
        values.windows(2).for_each(|pair| edge(pair[0], pair[1]));
    }
    let none = Vec::new();
    for txn in txns {
        for list in &txn.appends {
            if !lists.get(list).unwrap_or(&none).contains(&txn.id) {
                return Err(format!("list {list} has lost {}", txn.id));
            }
        }
        for (list, read) in &txn.reads {
            let all = lists.get(list).unwrap_or(&none);
            if !all.starts_with(read) {
                return Err(format!("{} read {read:?} of list {list}, which is {all:?}", txn.id));
            }
            let others: Vec<u64> = read.iter().copied().filter(|id| *id != txn.id).collect();
            if let Some(last) = others.last() {
                edge(*last, txn.id);
            }
            if let Some(next) = all[others.len()..].iter().find(|id| **id != txn.id) {
                edge(txn.id, *next);
            }
        }
    }
    // The proof removes a transaction that no other precedes, until none is left.
    let mut before: HashMap<u64, usize> = known.iter().map(|id| (*id, 0)).collect();
    for to in edges.values().flatten() {
        *before.entry(*to).or_default() += 1;
    }
    let mut free: Vec<u64> =
        before.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    while let Some(id) = free.pop() {
        before.remove(&id);
        for to in edges.get(&id).into_iter().flatten() {
            let count = before.get_mut(to).expect("it is not out before");
            *count -= 1;
            if *count == 0 {
                free.push(*to);
            }
        }
    }
    if before.is_empty() {
        return Ok(());
    }
    let circle: Vec<_> = txns.iter().filter(|txn| before.contains_key(&txn.id)).take(12).collect();
    Err(format!("no serial order of {circle:#?}"))
}

/// The proof finds a lost update, a read of what did not commit, and write skew.
#[test]
fn the_proof_finds_what_is_wrong() {
    let txn = |id, reads: &[(u64, &[u64])], appends: &[u64]| Txn {
        id,
        reads: reads.iter().map(|(list, read)| (*list, read.to_vec())).collect(),
        appends: appends.to_vec(),
    };
    let fails = |txns: &[Txn], lists: &[(u64, &[u64])]| {
        let lists = lists.iter().map(|(list, values)| (*list, values.to_vec())).collect();
        prove(txns, &lists).is_err()
    };
    let one = || txn(1, &[(0, &[])], &[0]);
    assert!(!fails(&[one(), txn(2, &[(0, &[1])], &[0])], &[(0, &[1, 2])]));
    assert!(fails(&[one(), txn(2, &[(0, &[])], &[0])], &[(0, &[1, 2])]), "a lost update");
    assert!(fails(&[one()], &[(0, &[1, 2])]), "2 did not commit");
    assert!(fails(&[one(), txn(2, &[], &[0])], &[(0, &[2])]), "1 is lost");
    let skew = [txn(1, &[(0, &[])], &[1]), txn(2, &[(1, &[])], &[0])];
    assert!(fails(&skew, &[(0, &[2]), (1, &[1])]), "write skew");
}
