//! Large documents by SQL: a statement that reads a field, or changes one, does not make the whole value, and gives what
//! a heap with the same column gives.

use session::Session;
use vfs::{SimRandom, seeds};

use crate::client::{connect, instance};
use crate::methods::answer;

/// A document of about 60 KB, in a table of documents `stored_d` and in a heap `stored_h`.
fn world() -> Session {
    let mut session = connect(&instance());
    for text in [
        "CREATE TABLE stored_d (id int PRIMARY KEY, note text, doc jsonb CHECK (doc ->> 'kind' <> 'wrong')) USING document",
        "CREATE TABLE stored_h (id int PRIMARY KEY, note text, doc jsonb CHECK (doc ->> 'kind' <> 'wrong')) USING heap",
        "CREATE INDEX ON stored_d ((doc ->> 'n'))",
        "CREATE INDEX ON stored_h ((doc ->> 'n'))",
        "INSERT INTO stored_h SELECT i, 'note', jsonb_build_object('kind', 'large', 'n', i, 'tags', '[\"a\", \"b\"]'::jsonb, \
         'deep', '{\"er\": {\"est\": [1, 2.50, null, {\"x\": \"y\"}]}}'::jsonb, \
         'list', (SELECT jsonb_agg(jsonb_build_object('at', g, 'name', 'item ' || g)) FROM generate_series(1, 1500) g)) \
         FROM generate_series(1, 3) i",
        "INSERT INTO stored_d SELECT * FROM stored_h",
    ] {
        let said = answer(&mut session, text);
        assert!(!said.contains("ERROR"), "{text}: {said}");
    }
    session
}

/// Runs a statement for both tables, whose name in it is `T`, and returns their common answer.
fn both(session: &mut Session, statement: &str) -> String {
    let [of_documents, of_rows] = ["stored_d", "stored_h"].map(|table| {
        answer(session, "savepoint pair");
        let said = answer(session, &statement.replace('T', table));
        if said.starts_with("ERROR") {
            answer(session, "rollback to pair");
        }
        said.replace(table, "T")
    });
    assert_eq!(of_documents, of_rows, "{statement}");
    of_rows
}

const READS: &[&str] = &[
    "select id, doc -> 'n', doc ->> 'kind', doc #> '{deep,er,est,1}', doc #>> '{list,700,name}' from T order by id",
    "select id from T where doc ->> 'n' = '2'",
    "select id, doc['deep']['er']['est'][3]['x'], doc -> 'tags' -> -1, doc -> 'nothing' from T order by id",
    "select id, doc ? 'gone', doc ?| '{n,x}', doc @> '{\"kind\": \"large\", \"tags\": [\"a\"]}' from T order by id",
    "select id, jsonb_typeof(doc), jsonb_typeof(doc -> 'list'), jsonb_array_length(doc -> 'list') from T order by id",
    "select id, md5(doc::text), doc -> 'n' from T order by id",
    "select count(*), md5(string_agg(doc::text, ',' order by id)) from T",
    "select a.id, a.doc = b.doc, a.doc < b.doc from T a, T b order by a.id, b.id",
    "select jsonb_path_query(doc, '$.deep.er.est[*]') from T where id = 1",
    "select k, count(*) from T, jsonb_object_keys(doc) k group by k order by k",
];

const CHANGES: &[&str] = &[
    "update T set doc = jsonb_set(doc, '{n}', to_jsonb((doc ->> 'n')::int + 1)) where id = 1",
    "update T set doc = jsonb_set(doc, '{deep,er,est,1}', '2.5') where id = 2",
    "update T set doc = jsonb_set(doc, '{deep,er,est,1}', '2.50') where id = 2",
    "update T set doc = jsonb_set(jsonb_set(doc, '{list,10,name}', '\"other\"'), '{new}', '{\"a\": [1]}') where id < 3",
    "update T set doc = jsonb_set(doc, '{new,a,0}', '2', false), note = 'changed'",
    "update T set doc['deep']['er']['more'] = '{\"k\": \"v\"}', doc['n'] = '7' where id = 3",
    "update T set doc = doc || '{\"kind\": \"larger\", \"n\": 9, \"b\": null}' where id = 1",
    "update T set doc = doc - 'b' - 'new' where id = 1",
    "update T set doc = doc #- '{list,0}' where id = 2",
    "update T set doc = (doc #- '{list,1}') #- '{list,1}' where id = 2",
    "update T set doc = jsonb_insert(doc, '{tags,0}', '\"first\"') where id = 3",
    "update T set doc = jsonb_set(doc, '{tags}', (doc -> 'tags') || '[\"more\"]') returning id, doc -> 'tags'",
    "update T set doc = jsonb_set(doc, '{kind}', '\"wrong\"')",
    "update T set doc = jsonb_set(doc, '{kind}', '\"large\"') where doc ->> 'kind' = 'larger'",
    "update T set doc = jsonb_set(doc, '{n,x}', '1'), note = doc ->> 'n'",
    "update T set doc = jsonb_set(doc, '{list,x}', '1') where id = 1",
    "update T set doc = doc where id = 2 returning md5(doc::text)",
    "update T set doc = jsonb_set(other.doc, '{n}', '100') from T other where T.id = 1 and other.id = 2",
    "update T set doc = jsonb_set(doc, '{kind}', 'null') where id = 2 returning doc ->> 'kind', md5(doc::text)",
    "insert into T values (1, 'again', '{}') on conflict (id) do update set doc = jsonb_set(T.doc, '{n}', '4')",
    "merge into T using (values (2, 5), (3, 6)) as v (id, n) on T.id = v.id \
     when matched then update set doc = jsonb_set(doc, '{n}', to_jsonb(v.n))",
];

/// Random changes of both tables, alone and in transactions, with what may be asked in between.
#[test]
fn changes_of_large_documents_are_those_of_heaps() {
    seeds(80_000, 3, |seed| {
        println!("ANYWHEN_SEED={seed}");
        change_at_random(&SimRandom::new(seed));
    });
}

fn change_at_random(dice: &SimRandom) {
    let mut session = world();
    let pick = |of: &[&'static str]| of[dice.below(of.len() as u64) as usize];
    let mut is_open = false;
    for _ in 0..100 {
        match (is_open, dice.below(8)) {
            (false, 0) => is_open = !answer(&mut session, "begin").contains("ERROR"),
            (true, 0) => {
                answer(&mut session, if dice.below(2) == 0 { "commit" } else { "rollback" });
                is_open = false;
            }
            _ => {
                answer(&mut session, if is_open { "savepoint s" } else { "select 1" });
                let said = both(&mut session, pick(CHANGES));
                let undone = is_open && (said.contains("ERROR") || dice.below(6) == 0);
                answer(&mut session, if undone { "rollback to s" } else { "select 1" });
            }
        }
        both(&mut session, pick(READS));
    }
    answer(&mut session, "rollback");
    for read in READS {
        both(&mut session, read);
    }
    let verified = answer(
        &mut session,
        "select id, count(*) from stored_d for system_time all group by id order by id",
    );
    assert!(!verified.contains("ERROR"), "{verified}");
}

/// A cursor gives documents as they were when it was opened, also those that it has not come to yet.
#[test]
fn a_cursor_keeps_the_documents_of_its_snapshot() {
    let mut session = world();
    answer(&mut session, "begin");
    both(
        &mut session,
        "declare of_T cursor for select id, doc -> 'n', doc -> 'kind' from T order by id",
    );
    both(&mut session, "fetch 1 from of_T");
    both(&mut session, "update T set doc = jsonb_set(doc, '{n}', '50')");
    let rest = both(&mut session, "fetch all from of_T");
    assert!(rest.contains("2|2|\"large\"\n3|3|\"large\""), "{rest}");
    both(&mut session, "declare whole_T cursor for select id, doc from T order by id");
    both(&mut session, "fetch 1 from whole_T");
    both(&mut session, "update T set doc = jsonb_set(doc, '{n}', '51')");
    let rest = both(&mut session, "fetch all from whole_T");
    assert!(rest.contains("\"n\": 50") && !rest.contains("\"n\": 51"), "{rest}");
    answer(&mut session, "commit");
}
