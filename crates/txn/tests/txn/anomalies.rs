//! The anomalies of Hermitage (Martin Kleppmann, 2014), at the level of keys, and a table of which
//! isolation level allows which. The full texts of all runs are in `anomalies.txt`.

use expect_test::{expect, expect_file};
use txn::Isolation;

use crate::schedule::{Run, run};

const LEVELS: [Isolation; 3] =
    [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];

struct Anomaly {
    name: &'static str,
    schedule: &'static str,
    happened: fn(&Run) -> bool,
}

const ANOMALIES: [Anomaly; 12] = [
    Anomaly {
        name: "G0 dirty write",
        schedule: "
            T1 put 1 11
            T2 put 1 12
            T1 put 2 21
            T1 commit
            T2 put 2 22
            T2 commit",
        happened: |run| run.end != "1=11 2=22" && run.end != "1=12 2=22" && run.end != "1=11 2=21",
    },
    Anomaly {
        name: "G1a aborted read",
        schedule: "
            T1 put 1 101
            T2 scan
            T1 abort
            T2 scan
            T2 commit",
        happened: |run| run.answers.iter().any(|answer| answer.contains("101")),
    },
    Anomaly {
        name: "G1b intermediate read",
        schedule: "
            T1 put 1 101
            T2 scan
            T1 put 1 11
            T1 commit
            T2 scan
            T2 commit",
        happened: |run| run.answers.iter().any(|answer| answer.contains("101")),
    },
    Anomaly {
        name: "G1c circular information flow",
        schedule: "
            T1 put 1 11
            T2 put 2 22
            T1 get 2
            T2 get 1
            T1 commit
            T2 commit",
        happened: |run| run.answers[2] == "22" || run.answers[3] == "11",
    },
    Anomaly {
        name: "OTV observed transaction vanishes",
        schedule: "
            T1 put 1 11
            T1 put 2 19
            T2 put 1 12
            T1 commit
            T3 get 1
            T2 put 2 18
            T3 get 2
            T2 commit
            T3 get 2
            T3 get 1
            T3 commit",
        happened: |run| run.answers[4] == "11" && run.answers[6] != "19",
    },
    Anomaly {
        name: "PMP predicate-many-preceders",
        schedule: "
            T1 where 30
            T2 put 3 30
            T2 commit
            T1 where 3
            T1 commit",
        happened: |run| run.answers[3].contains("3=30"),
    },
    Anomaly {
        name: "P4 lost update",
        schedule: "
            T1 get 1
            T2 get 1
            T1 put 1 11
            T2 put 1 12
            T1 commit
            T2 commit",
        happened: |run| run.answers[4] == "ok" && run.answers[5] == "ok" && run.answers[3] == "ok",
    },
    Anomaly {
        name: "P4 lost update, by lock and read",
        schedule: "
            T1 add 1 1
            T2 add 1 1
            T1 commit
            T2 commit",
        happened: |run| run.answers[1] == "11",
    },
    Anomaly {
        name: "G-single read skew",
        schedule: "
            T1 get 1
            T2 put 1 12
            T2 put 2 18
            T2 commit
            T1 get 2
            T1 commit",
        happened: |run| run.answers[4] == "18",
    },
    Anomaly {
        name: "G2-item write skew",
        schedule: "
            T1 get 1
            T1 get 2
            T2 get 1
            T2 get 2
            T1 put 1 11
            T2 put 2 21
            T1 commit
            T2 commit",
        happened: |run| run.end == "1=11 2=21",
    },
    Anomaly {
        name: "G2 anti-dependency cycle over a predicate",
        schedule: "
            T1 where 3
            T2 where 3
            T1 put 3 30
            T2 put 4 42
            T1 commit
            T2 commit",
        happened: |run| run.end.contains("3=30") && run.end.contains("4=42"),
    },
    Anomaly {
        name: "G2 with a reader between (Fekete)",
        schedule: "
            T1 scan
            T2 add 2 5
            T2 commit
            T3 scan
            T3 commit
            T1 put 1 0
            T1 commit",
        happened: |run| run.answers[3] == "1=10 2=25" && run.answers[6] == "ok",
    },
];

/// Each level allows the anomalies of this table, and no more.
#[test]
fn each_level_allows_what_it_claims() {
    let mut table = format!("{:44}{:>5}{:>5}{:>5}\n", "", "RC", "RR", "SER");
    for anomaly in &ANOMALIES {
        table += &format!("{:44}", anomaly.name);
        for level in LEVELS {
            let happened = (anomaly.happened)(&run(level, anomaly.schedule));
            table += &format!("{:>5}", if happened { "yes" } else { "-" });
        }
        table += "\n";
    }
    expect![[r#"
                                                       RC   RR  SER
        G0 dirty write                                  -    -    -
        G1a aborted read                                -    -    -
        G1b intermediate read                           -    -    -
        G1c circular information flow                   -    -    -
        OTV observed transaction vanishes               -    -    -
        PMP predicate-many-preceders                  yes    -    -
        P4 lost update                                yes    -    -
        P4 lost update, by lock and read                -    -    -
        G-single read skew                            yes    -    -
        G2-item write skew                            yes  yes    -
        G2 anti-dependency cycle over a predicate     yes  yes    -
        G2 with a reader between (Fekete)             yes  yes    -
    "#]]
    .assert_eq(&table);
}

/// Every run word for word: the transactions that wait, those that must try again, and the rows in
/// the end.
#[test]
fn the_runs_in_full() {
    let mut text = String::new();
    for anomaly in &ANOMALIES {
        for level in LEVELS {
            text += &format!(
                "# {} at {level:?}\n{}\n",
                anomaly.name,
                run(level, anomaly.schedule).text
            );
        }
    }
    expect_file!["anomalies.txt"].assert_eq(&text);
}

/// Serializable transactions that merely share a table all commit: they read and wrote apart.
#[test]
fn sharing_a_table_aborts_nobody() {
    let schedule = "
        T1 get 1
        T2 get 2
        T1 put 1 11
        T2 put 2 22
        T3 get 9
        T3 put 8 8
        T2 commit
        T1 commit
        T3 commit";
    let done = run(Isolation::Serializable, schedule);
    expect![[r#"
        T1 get 1 -> 10
        T2 get 2 -> 20
        T1 put 1 11 -> ok
        T2 put 2 22 -> ok
        T3 get 9 -> none
        T3 put 8 8 -> ok
        T2 commit -> ok
        T1 commit -> ok
        T3 commit -> ok
           end: 1=11 2=22 8=8
    "#]]
    .assert_eq(&done.text);
}

/// Two transactions that wait for one another: the one that closes the circle fails, the other goes
/// on.
#[test]
fn a_deadlock_is_broken() {
    let schedule = "
        T1 put 1 11
        T2 put 2 22
        T1 put 2 12
        T2 put 1 21
        T1 commit";
    for level in LEVELS {
        let done = run(level, schedule);
        assert_eq!(done.answers[3], "40P01", "{level:?}\n{}", done.text);
        assert_eq!(done.end, "1=11 2=12", "{level:?}\n{}", done.text);
    }
}

/// A row lock: others see it, try it, wait for it; deltas want a row that was read.
#[test]
fn locks_and_deltas_at_read_committed() {
    let schedule = "
        T1 lock 1
        T2 trylock 1
        T2 lock 1
        T1 append 1 1
        T1 get 1
        T1 commit
        T2 get 1
        T2 append 1 2
        T2 commit
        T3 append 5 1
        T4 delete 1
        T4 get 1
        T4 append 1 1";
    expect![[r#"
        T1 lock 1 -> unchanged
        T2 trylock 1 -> busy
        T2 lock 1 .. waits
        T1 append 1 1 -> ok
        T1 get 1 -> 101
        T1 commit -> ok
           T2 lock 1 -> changed
        T2 get 1 -> 101
        T2 append 1 2 -> ok
        T2 commit -> ok
        T3 append 5 1 -> 55000
        T4 delete 1 -> ok
        T4 get 1 -> none
        T4 append 1 1 -> 55000
           end: 1=1012 2=20
    "#]]
    .assert_eq(&run(Isolation::ReadCommitted, schedule).text);
}

/// Rolling back to a savepoint undoes what came after it and lets go of what was locked after it;
/// what was locked before stays locked.
#[test]
fn savepoints() {
    let schedule = "
        T1 put 1 11
        T1 savepoint
        T1 put 1 12
        T1 append 1 3
        T1 delete 2
        T1 put 3 33
        T1 scan
        T1 rollback
        T1 scan
        T2 put 2 99
        T2 put 1 99
        T1 commit
        T2 commit";
    expect![[r#"
        T1 put 1 11 -> ok
        T1 savepoint -> ok
        T1 put 1 12 -> ok
        T1 append 1 3 -> ok
        T1 delete 2 -> ok
        T1 put 3 33 -> ok
        T1 scan -> 1=123 3=33
        T1 rollback -> ok
        T1 scan -> 1=11 2=20
        T2 put 2 99 -> ok
        T2 put 1 99 .. waits
        T1 commit -> ok
           T2 put 1 99 -> ok
        T2 commit -> ok
           end: 1=99 2=99
    "#]]
    .assert_eq(&run(Isolation::ReadCommitted, schedule).text);
}

/// A row that changed after the statement began is locked as it is now, and read alone; everything
/// else is still seen as the statement found it.
#[test]
fn a_locked_row_is_read_as_it_is_now() {
    let schedule = "
        T1 get 1
        T2 put 1 11
        T2 put 2 21
        T2 commit
        T1 still for-update 1
        T1 still latest 1
        T1 still get 2
        T1 commit";
    expect![[r#"
        T1 get 1 -> 10
        T2 put 1 11 -> ok
        T2 put 2 21 -> ok
        T2 commit -> ok
        T1 still for-update 1 -> changed
        T1 still latest 1 -> 11
        T1 still get 2 -> 20
        T1 commit -> ok
           end: 1=11 2=21
    "#]]
    .assert_eq(&run(Isolation::ReadCommitted, schedule).text);
    let answers = run(Isolation::RepeatableRead, schedule).answers;
    assert_eq!(answers[4..], ["40001", "skipped", "skipped", "rolled back"]);
}

/// Strengths of row locks and modes of relation locks stand beside one another as in PostgreSQL, and
/// a circle over both is found.
#[test]
fn rows_are_shared_and_relations_locked() {
    let schedule = "
        T1 for-key-share 1
        T2 for-key-share 1
        T2 for-no-key-update 1
        T3 for-share 1
        T2 relation row-exclusive
        T1 relation row-exclusive
        T4 relation share
        T1 for-update 1
        T2 commit
        T3 commit
        T1 commit
        T4 commit";
    expect![[r#"
        T1 for-key-share 1 -> unchanged
        T2 for-key-share 1 -> unchanged
        T2 for-no-key-update 1 -> unchanged
        T3 for-share 1 .. waits
        T2 relation row-exclusive -> ok
        T1 relation row-exclusive -> ok
        T4 relation share .. waits
        T1 for-update 1 .. waits
        T2 commit -> ok
           T3 for-share 1 -> unchanged
        T3 commit -> ok
           T1 for-update 1 -> unchanged
        T1 commit -> ok
           T4 relation share -> ok
        T4 commit -> ok
           end: 1=10 2=20
    "#]]
    .assert_eq(&run(Isolation::ReadCommitted, schedule).text);
    let schedule = "
        T1 relation row-exclusive
        T2 for-update 1
        T2 relation share
        T1 for-key-share 1
        T1 abort
        T2 commit";
    expect![[r#"
        T1 relation row-exclusive -> ok
        T2 for-update 1 -> unchanged
        T2 relation share .. waits
        T1 for-key-share 1 -> 40P01
           T2 relation share -> ok
        T1 abort -> rolled back
        T2 commit -> ok
           end: 1=10 2=20
    "#]]
    .assert_eq(&run(Isolation::ReadCommitted, schedule).text);
}
