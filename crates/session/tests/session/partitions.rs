//! A partitioned table and a plain one answer alike, whatever happens to their rows: random changes and questions, as
//! the table is divided by ranges, by values or by hashes, with partitions that are divided again, whose columns stand
//! in another order, and which have other access methods. After the database is opened again they still answer alike,
//! also for the past.

use session::Session;
use vfs::{SimRandom, SimVfs, seeds};

use crate::client::{connect, instance_on};
use crate::methods::answer;

/// How the table is divided.
const DIVISIONS: [&[&str]; 3] = [
    &[
        "create table whole (id int, day int, v text, primary key (id, day)) partition by range (day)",
        "create table whole_1 partition of whole for values from (minvalue) to (10)",
        "create table whole_2 (v text, gone int, day int not null, id int not null)",
        "alter table whole_2 drop column gone",
        "alter table whole attach partition whole_2 for values from (10) to (20)",
        "create table whole_3 partition of whole for values from (20) to (30) partition by hash (id)",
        "create table whole_3a partition of whole_3 for values with (modulus 2, remainder 0)",
        "create table whole_3b partition of whole_3 for values with (modulus 2, remainder 1)",
        "create table whole_4 partition of whole default using columnar",
    ],
    &[
        "create table whole (id int, day int, v text, primary key (id, day)) partition by list (day)",
        "create table whole_1 partition of whole for values in (1, 2, 3, 5, 7, 11, 13)",
        "create table whole_2 partition of whole for values in (0, 4, 8, 16, 32) using columnar",
        "create table whole_3 partition of whole default",
    ],
    &[
        "create table whole (id int, day int, v text, primary key (id, day)) partition by hash (id, day)",
        "create table whole_1 partition of whole for values with (modulus 4, remainder 0)",
        "create table whole_2 partition of whole for values with (modulus 4, remainder 1)",
        "create table whole_3 partition of whole for values with (modulus 4, remainder 2)",
        "create table whole_4 partition of whole for values with (modulus 8, remainder 3)",
        "create table whole_5 partition of whole for values with (modulus 8, remainder 7)",
    ],
];

struct Twins {
    dice: SimRandom,
    session: Session,
    seed: u64,
}

impl Twins {
    fn below(&self, limit: u64) -> u64 {
        self.dice.below(limit)
    }

    /// Runs a statement on both tables, which answer alike. `T` stands for the table.
    fn both(&mut self, text: &str) {
        let whole = answer(&mut self.session, &text.replace('T', "whole"));
        let plain = answer(&mut self.session, &text.replace('T', "plain"));
        // Messages name the table, its partition or an index.
        let state = |shown: &str| {
            let error = shown.lines().find(|line| line.contains("ERROR"));
            error.map(|line| line.chars().take(14).collect::<String>())
        };
        match (state(&whole), state(&plain)) {
            (None, None) => assert_eq!(whole, plain, "ANYWHEN_SEED={}: {text}", self.seed),
            (one, other) => {
                assert_eq!(one, other, "ANYWHEN_SEED={}: {text}\n{whole}\n{plain}", self.seed)
            }
        }
    }

    fn change(&mut self) {
        let (id, day, other) = (self.below(30), self.below(40), self.below(40));
        let text = match self.below(9) {
            0..=2 => format!(
                "insert into T select i, (i * {other} + {day}) % 40, 'v' || i from generate_series({id}, {id} + 6) i \
                 on conflict do nothing"
            ),
            3 => format!(
                "insert into T values ({id}, {day}, 'new') on conflict (id, day) do update set \
                 v = excluded.v || T.v, day = {other} where T.v <> 'x' returning id, day, v"
            ),
            4 => {
                format!("update T set day = {other}, v = v || '!' where day = {day} and id < {id}")
            }
            5 => format!(
                "update T set v = 'u' where day between {day} and {other} returning id, day"
            ),
            6 => format!("delete from T where day = {day} returning id, v"),
            7 => format!("insert into T values ({id}, {day}, null)"),
            _ => format!(
                "merge into T using (select i as id, {day} as day from generate_series({id}, {id} + 3) i) s \
                 on T.id = s.id and T.day = s.day when matched and s.id % 2 = 0 then delete \
                 when matched then update set day = {other} when not matched then \
                 insert values (s.id, s.day, 'merged')"
            ),
        };
        // RETURNING gives rows in no order: they are sorted by a query around.
        let text = match text.contains("returning") {
            true => format!("with x as ({text}) select * from x order by 1, 2"),
            false => text,
        };
        self.both(&text);
    }

    fn ask(&mut self) {
        let (id, day, other) = (self.below(30), self.below(40), self.below(40));
        for text in [
            "select * from T order by id, day".to_owned(),
            format!("select * from T where day = {day} order by id"),
            format!("select * from T where day in ({day}, {other}, 3) order by id, day"),
            format!("select id, day from T where day > {day} and day <= {other} order by 1, 2"),
            format!("select count(*), min(day), max(day), sum(id) from T where day >= {day}"),
            format!("select * from T where id = {id} and day = {day}"),
            format!("select day, count(*) from T where id > {id} group by day order by day"),
            "select day, id from T order by day desc, id desc limit 5".to_owned(),
            format!(
                "select a.id, a.day, b.v from T a join T b on a.id = b.day and b.id < {id} order by 1, 2, 3"
            ),
            format!(
                "select d, (select count(*) from T where day = d) from generate_series({day}, {day} + 4) d order by d"
            ),
            format!(
                "select * from T where not exists (select from T b where b.day = T.id) and day < {day} order by 1, 2"
            ),
        ] {
            self.both(&text);
        }
    }
}

fn compare(seed: u64, steps: u64) {
    for division in DIVISIONS {
        let disk = SimVfs::new(seed);
        let session = connect(&instance_on(&disk));
        let mut twins = Twins { dice: SimRandom::new(seed), session, seed };
        for text in division
            .iter()
            .chain(&["create table plain (id int, day int, v text, primary key (id, day))"])
        {
            let shown = answer(&mut twins.session, text);
            assert!(!shown.contains("ERROR"), "{text}\n{shown}");
        }
        for step in 0..steps {
            if step == steps / 2 {
                twins.both("create index on T (day, v)");
            }
            twins.change();
            twins.ask();
        }
        drop(twins.session);
        twins.session = connect(&instance_on(&disk));
        twins.ask();
        // Versions of a row that has moved are those of two rows.
        twins.both(
            "select count(distinct (id, day, v)) from T for system_time all where v is not null",
        );
    }
}

#[test]
fn a_partitioned_table_answers_as_a_plain_one() {
    seeds(9_300, 2, |seed| compare(seed, 25));
}
