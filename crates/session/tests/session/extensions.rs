//! Values, keys and indexes of the types of extensions, and of ranges, addresses, strings of bits, text search and
//! amounts, stored: they are there when the database is opened again, and the past has them, also after an extension is
//! gone.

use std::sync::Arc;

use session::{Instance, Session};
use vfs::SimVfs;

use crate::client::{connect, connect_to, instance_on};
use crate::methods::answer;

/// The lines of an answer, without the names of its columns and the count of its rows.
fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let shown = answer(session, text);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.len() >= 2 && !shown.contains("ERROR"), "{text}\n{shown}");
    lines[1..lines.len() - 1].iter().map(|line| (*line).to_owned()).collect()
}

fn run(session: &mut Session, texts: &[&str]) {
    for text in texts {
        let shown = answer(session, text);
        assert!(!shown.contains("ERROR"), "{text}\n{shown}");
    }
}

fn open(disk: &SimVfs) -> (Arc<Instance>, Session) {
    let instance = instance_on(disk);
    let session = connect(&instance);
    (instance, session)
}

/// Tables of each method give the same rows by key, by index and by scan, before and after they are opened again.
#[test]
fn values_are_stored_and_found_by_their_indexes() {
    let disk = SimVfs::new(7);
    let (mut instance, mut session) = open(&disk);
    run(
        &mut session,
        &["create extension citext", "create extension hstore", "create extension pg_trgm"],
    );
    let methods = ["heap", "columnar", "rowcompress", "document"];
    for method in methods {
        let document = if method == "document" { ", doc jsonb" } else { "" };
        run(
            &mut session,
            &[
                &format!(
                    "create table {method}_t (id int primary key, name citext unique, h hstore, t text, \
                     tags citext[]{document}) using {method}"
                ),
                &format!(
                    "insert into {method}_t select i, 'Name' || i, hstore('k' || i % 10, i::text), \
                     'the word number ' || i, array['A' || i % 3]::citext[] from generate_series(1, 300) i"
                ),
                &format!("create index on {method}_t using gin (h)"),
                &format!("create index on {method}_t using gin (t gin_trgm_ops)"),
                &format!("create index on {method}_t using gin (tags)"),
                &format!("update {method}_t set name = 'OTHER', h = h || 'new=>NULL' where id = 7"),
            ],
        );
    }
    for _ in 0..2 {
        for method in methods {
            let found = |session: &mut Session, condition: &str| {
                rows(session, &format!("select id from {method}_t where {condition} order by id"))
            };
            assert_eq!(found(&mut session, "name = 'nAME12'"), ["12"], "{method}");
            assert_eq!(found(&mut session, "name = 'other'"), ["7"], "{method}");
            assert_eq!(found(&mut session, "h @> 'k5=>25'"), ["25"], "{method}");
            assert_eq!(found(&mut session, "h ? 'new'"), ["7"], "{method}");
            assert_eq!(found(&mut session, "t like '%number 29_'").len(), 10, "{method}");
            assert_eq!(found(&mut session, "tags @> '{a1}'").len(), 100, "{method}");
            let groups = format!(
                "select count(*) from (select lower(name)::citext n from {method}_t \
                 union select name from {method}_t) all_names"
            );
            assert_eq!(rows(&mut session, &groups), ["300"], "{method}");
            let grouped =
                format!("select count(distinct tags), count(distinct h -> 'k1') from {method}_t");
            assert_eq!(rows(&mut session, &grouped), ["3|30"], "{method}");
            let shown =
                answer(&mut session, &format!("insert into {method}_t values (999, 'NAME1')"));
            assert!(shown.contains("23505"), "{shown}");
            let plan = answer(
                &mut session,
                &format!("explain select 1 from {method}_t where t ilike '%WORD number 12%'"),
            );
            assert!(plan.contains("Index"), "{plan}");
        }
        drop((session, instance));
        (instance, session) = open(&disk);
    }
}

/// Ranges, addresses and strings of bits come back from rows, keys and indexes of each method as they were written: from
/// memory, from files, after the database is opened again, and as of a time before they were changed.
#[test]
fn ranges_addresses_and_bits_are_stored() {
    let disk = SimVfs::new(10);
    let (mut instance, mut session) = open(&disk);
    run(&mut session, &["create type span as range (subtype = numeric)"]);
    let methods = ["heap", "columnar", "rowcompress", "document"];
    let shown = "select r, m, s, all_r, ip, net, mac, flags, some_bits from";
    for method in methods {
        let document = if method == "document" { ", doc jsonb" } else { "" };
        run(
            &mut session,
            &[
                &format!(
                    "create table {method}_t (id int primary key, r int4range unique, m datemultirange, s span, all_r tsrange[], \
                     ip inet, net cidr, mac macaddr8, flags bit(10), some_bits varbit{document}) using {method}"
                ),
                &format!(
                    "insert into {method}_t select i, int4range(i, i * 2), datemultirange(daterange('2024-01-01', \
                     date '2024-01-02' + i), daterange(date '2026-01-01' + i, null)), span(i * 1.10, null, '()'), \
                     array[tsrange(null, '2024-01-01 10:00', '(]'), 'empty'], inet '10.0.0.0/8' + i * 1000, \
                     network(inet '10.0.0.0/16' + i * 70000), '08:00:2b:01:02:03:04:05', i::bit(10), \
                     repeat('10', i % 7)::varbit from generate_series(1, 300) i"
                ),
                &format!("create index on {method}_t (s)"),
                &format!("create index on {method}_t (ip)"),
                &format!("create index on {method}_t (flags)"),
            ],
        );
    }
    let then = rows(&mut session, "select clock_timestamp()::text").remove(0);
    for method in methods {
        let change = "set s = 'empty', ip = '::1', flags = B'1111111111' where r = '[7,14)'";
        run(&mut session, &[&format!("update {method}_t {change}")]);
    }
    let row = "[9,18)|{[2024-01-01,2024-01-11),[2026-01-10,)}|(9.90,)|{\"(,\\\"2024-01-01 10:00:00\\\"]\",empty}\
               |10.0.35.40/8|10.9.0.0/16|08:00:2b:01:02:03:04:05|0000001001|1010";
    for round in 0..3 {
        for method in methods {
            let of = |condition: &str| format!("{shown} {method}_t where {condition} order by r");
            for condition in [
                "r = '[9,17]'",
                "s = span(9.9, null, '()')",
                "ip = '10.0.35.40/8'",
                "flags = 9::bit(10)",
            ] {
                assert_eq!(
                    rows(&mut session, &of(condition)),
                    [row],
                    "{method}, round {round}: {condition}"
                );
            }
            let count = |session: &mut Session, what: &str| {
                rows(session, &format!("select count(*) from {method}_t {what}")).remove(0)
            };
            assert_eq!(count(&mut session, "where s = 'empty' and ip = '::1'"), "1", "{method}");
            assert_eq!(count(&mut session, "where ip << '10.0.0.0/17'"), "0", "{method}");
            assert_eq!(count(&mut session, "where ip <<= '10.0.0.0/8'"), "299", "{method}");
            assert_eq!(count(&mut session, "where r @> 100"), "50", "{method}");
            let past =
                format!("for system_time as of '{then}' where s = 'empty' or flags = 7::bit(10)");
            assert_eq!(count(&mut session, &past), "1", "{method}");
            let least = format!("select r from {method}_t order by s, r limit 2");
            assert_eq!(rows(&mut session, &least), ["[7,14)", "[1,2)"], "{method}");
        }
        if round == 0 {
            run(&mut session, &["checkpoint"]);
        } else {
            drop((session, instance));
            (instance, session) = open(&disk);
        }
    }
}

/// The past has the values of an extension that was dropped, and its names.
#[test]
fn the_past_has_dropped_extensions() {
    let disk = SimVfs::new(8);
    let (_instance, mut session) = open(&disk);
    run(
        &mut session,
        &[
            "create extension citext",
            "create table t (name citext)",
            "insert into t values ('Ada')",
        ],
    );
    let then = rows(&mut session, "select clock_timestamp()::text").remove(0);
    run(&mut session, &["drop extension citext cascade", "insert into t default values"]);
    assert!(answer(&mut session, "select 'a'::citext").contains("42704"));
    run(&mut session, &[&format!("set system_time_as_of = '{then}'")]);
    assert_eq!(rows(&mut session, "select name, name = 'ADA' from t"), ["Ada|t"]);
}

/// Each database has extensions of its own, and what depends on them in one keeps none of another.
#[test]
fn databases_have_their_own() {
    let disk = SimVfs::new(9);
    let (instance, mut session) = open(&disk);
    run(
        &mut session,
        &["create extension citext", "create table t (name citext)", "create database other"],
    );
    let mut other = connect_to(&instance, "other", "postgres").expect("it is there");
    assert!(answer(&mut other, "select 'a'::citext").contains("42704"));
    run(&mut other, &["create extension citext", "create table t (name citext)"]);
    run(&mut session, &["drop table t", "drop extension citext"]);
    assert!(answer(&mut session, "select 'a'::citext").contains("42704"));
    assert_eq!(rows(&mut other, "select 'A'::citext = 'a'"), ["t"]);
    drop(other);
    run(&mut session, &["drop database other"]);
}

/// Documents, queries and amounts are stored, found by their indexes and part of the past, in tables of each method.
#[test]
fn documents_of_text_search_and_amounts_are_stored() {
    let disk = SimVfs::new(11);
    let (mut instance, mut session) = open(&disk);
    let methods = ["heap", "columnar", "rowcompress", "document"];
    for method in methods {
        let document = if method == "document" { ", doc jsonb" } else { "" };
        run(
            &mut session,
            &[
                &format!(
                    "create table {method}_t (id int primary key, words tsvector, q tsquery, price money, \
                     all_q tsquery[], h tsvector unique{document}) using {method}"
                ),
                &format!(
                    "insert into {method}_t select i, to_tsvector('english', 'The rats of number n' || i || ' ran'), \
                     ('n' || i || ' & rat')::tsquery, i * '1.10'::money, array['a <-> b:*'::tsquery, '!c'], \
                     ('h' || i || ':1A')::tsvector from generate_series(1, 300) i"
                ),
                &format!("create index on {method}_t using gin (words)"),
                &format!(
                    "create index on {method}_t using gin (to_tsvector('simple', 'w' || id::text))"
                ),
                &format!("create index on {method}_t (price)"),
            ],
        );
    }
    let then = rows(&mut session, "select clock_timestamp()::text").remove(0);
    for method in methods {
        let change = "set words = words || 'cat:1', price = 1000000, q = 'cat' where h = 'h7:1A'";
        run(&mut session, &[&format!("update {method}_t {change}")]);
    }
    let row =
        "'n9':5 'number':4 'ran':6 'rat':2|'n9' & 'rat'|$9.90|{\"'a' <-> 'b':*\",!'c'}|'h9':1A";
    for round in 0..3 {
        for method in methods {
            for condition in [
                "words @@ 'n9'",
                "'n9 <-> ran'::tsquery @@ words",
                "words @@ 'n9:* & !(n90 | n91 | n92 | n93 | n94 | n95 | n96 | n97 | n98 | n99)'",
                "to_tsvector('simple', 'w' || id::text) @@ 'w9'",
                "price = '$9.90'",
                "h = 'h9:1A'",
                "q = 'n9 & rat'",
            ] {
                let text =
                    format!("select words, q, price, all_q, h from {method}_t where {condition}");
                assert_eq!(
                    rows(&mut session, &text),
                    [row],
                    "{method}, round {round}: {condition}"
                );
            }
            let count = |session: &mut Session, what: &str| {
                rows(session, &format!("select count(*) from {method}_t {what}")).remove(0)
            };
            assert_eq!(count(&mut session, "where words @@ 'cat | n8'"), "2", "{method}");
            assert_eq!(count(&mut session, "where words @@ 'rat & n1:*'"), "111", "{method}");
            assert_eq!(count(&mut session, "where words @@ '!cat'"), "299", "{method}");
            assert_eq!(count(&mut session, "where words @@ ''"), "0", "{method}");
            let past =
                format!("for system_time as of '{then}' where words @@ 'cat' or price > '400'");
            assert_eq!(count(&mut session, &past), "0", "{method}");
            let plan = answer(
                &mut session,
                &format!("explain select 1 from {method}_t where words @@ 'n9'"),
            );
            assert!(plan.contains("words"), "{plan}");
        }
        if round == 0 {
            run(&mut session, &["checkpoint"]);
        } else {
            drop((session, instance));
            (instance, session) = open(&disk);
        }
    }
}

/// Values in the plane, paths through a tree and snapshots are stored, found by their indexes and part of the past,
/// in tables of each method.
#[test]
fn values_in_the_plane_and_paths_are_stored() {
    let disk = SimVfs::new(12);
    let (mut instance, mut session) = open(&disk);
    run(&mut session, &["create extension ltree"]);
    let methods = ["heap", "columnar", "rowcompress", "document"];
    for method in methods {
        let document = if method == "document" { ", doc jsonb" } else { "" };
        run(
            &mut session,
            &[
                &format!(
                    "create table {method}_p (id int primary key, at point, area circle, border polygon, around box, \
                     way path, s lseg, l line, points point[], boxes box[], tree ltree unique, q lquery, \
                     words ltxtquery, seen pg_snapshot{document}) using {method}"
                ),
                &format!(
                    "insert into {method}_p select i, point(i, -i), circle(point(i, 0), 0.25), \
                     box(point(i, 0), point(i + 0.5, 1))::polygon, box(point(i, 0), point(i + 0.5, 1)), \
                     path(polygon(box(point(i, 0), point(0, 1)))), lseg(point(0, 0), point(i, 1)), \
                     line(point(0, 0), point(1, i)), array[point(i, i), null], array[box(point(i, 0))], \
                     ('top.n' || i % 10 || '.leaf' || i)::ltree, ('*.leaf' || i)::lquery, 'top & !x', \
                     (i || ':' || i + 9 || ':' || i + 1)::pg_snapshot from generate_series(1, 300) i"
                ),
                &format!("create index on {method}_p using gist (at)"),
                &format!("create index on {method}_p using gist (area)"),
                &format!("create index on {method}_p using gist (border)"),
                &format!("create index on {method}_p using gist (around)"),
                &format!("create index on {method}_p using gist (tree)"),
            ],
        );
    }
    let then = rows(&mut session, "select clock_timestamp()::text").remove(0);
    for method in methods {
        run(
            &mut session,
            &[&format!("update {method}_p set at[0] = 7.5, area = '<(-5,-5),1>' where id = 7")],
        );
    }
    let row = "9|(9,-9)|<(9,0),0.25>|((9,0),(9,1),(9.5,1),(9.5,0))|(9.5,1),(9,0)|((0,0),(0,1),(9,1),(9,0))|\
               [(0,0),(9,1)]|{9,-1,0}|{\"(9,9)\",NULL}|{(9,0),(9,0)}|top.n9.leaf9|*.leaf9|top & !x|9:18:10";
    for round in 0..3 {
        for method in methods {
            for condition in [
                "at ~= '(9,-9)'",
                "at <@ circle '<(9,-9),0.5>'",
                "box '(9.5,0),(8.5,-9)' @> at",
                "area @> point '(9,0)'",
                "area && circle '<(9.4,0),0.2>'",
                "border && polygon '((9.2,0.2),(9.3,0.2),(9.3,0.3))'",
                "around @> box '(9.3,0.3),(9.2,0.2)'",
                "tree = 'top.n9.leaf9'",
                "tree <@ 'top.n9.leaf9'",
                "tree <@ 'top.n9' and id < 10",
                "tree @> 'top.n9.leaf9.below'",
                "tree ~ '*.leaf9'",
            ] {
                let text = format!(
                    "select id, at, area, border, around, way, s, l, points, boxes, tree, q, words, seen \
                     from {method}_p where {condition}"
                );
                assert_eq!(
                    rows(&mut session, &text),
                    [row],
                    "{method}, round {round}: {condition}"
                );
            }
            let count = |session: &mut Session, what: &str| {
                rows(session, &format!("select count(*) from {method}_p {what}")).remove(0)
            };
            assert_eq!(count(&mut session, "where tree <@ 'top'"), "300", "{method}");
            assert_eq!(count(&mut session, "where tree <@ 'top.n3'"), "30", "{method}");
            assert_eq!(
                count(&mut session, "where at <@ box '(7.5,0),(7.5,-300)'"),
                "1",
                "{method}"
            );
            assert_eq!(count(&mut session, "where area @> point '(7,0)'"), "0", "{method}");
            let past =
                |condition: &str| format!("for system_time as of '{then}' where {condition}");
            assert_eq!(count(&mut session, &past("area @> point '(7,0)'")), "1", "{method}");
            assert_eq!(
                count(&mut session, &past("at <@ box '(7.5,0),(7.5,-300)'")),
                "0",
                "{method}"
            );
            for condition in ["at <@ box '(1,1),(0,0)'", "tree <@ 'top.n9.leaf9'"] {
                let plan = answer(
                    &mut session,
                    &format!("explain select 1 from {method}_p where {condition}"),
                );
                assert!(plan.contains("Index"), "{plan}");
            }
        }
        if round == 0 {
            run(&mut session, &["checkpoint"]);
        } else {
            drop((session, instance));
            (instance, session) = open(&disk);
        }
    }
}
