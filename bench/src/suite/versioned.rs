//! One JSON document and every version of it: what a commit, a version and a question cost.
//!
//! ```text
//!            2.4 KB          100 KB        1 MB          10 MB
//!  W1 write  5,000 commits   500           100           20        + 32 writers, + a random leaf
//!  W5 bytes  checkpoint      checkpoint    checkpoint    checkpoint
//!  W2 whole  random version  ..            ..
//!  W3 list   times; authors and messages
//!  W4 field  always changing, never changing, at each size
//!  W6 diff   N/2 with N/2+1, at each size
//!  W1 to W4 by SQL statement: `statements`
//! ```
//! Writers leave a [`Bed`], the same history in each database, from which the readers read.
//! Every bed is cross-checked on both sides before any figure of it is believed.

use std::time::SystemTime;

use super::{Context, micros_each, must_equal, per_second, race, statements, together, warm_race};
use crate::Result;
use crate::document::{LeafUpdate, Numbers, SIZES, Size, generate, item_count, leaf_update};
use crate::floor::Floor;
use crate::ours::Ours;
use crate::peer::postgres::{CLIENT, NAME, Postgres, Versions};
use crate::report::{Row, Target, count, median};

/// The key of the one document.
const KEY: &str = "document";
/// Writers that commit at the same time, each on a document of its own.
const WRITERS: usize = 32;

/// Runs the suite; returns its rows, W1 to W6.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    let server = Postgres::start_listening(&context.cache, &context.work)?;
    let mut floor = Floor::create(&context.work)?;
    let mut rows = Vec::new();
    for size in SIZES {
        // Both counts are multiples of the number of slices.
        let size = Size {
            updates: context.count(size.updates, (size.updates / 10).max(4) / 4 * 4),
            ..size
        };
        let mut bed = write_one(context, &server, &mut floor, size, &mut rows)?;
        check(&mut bed)?;
        footprint(context, &mut bed, &mut rows)?;
        read_whole(context, &mut bed, &mut rows)?;
        if size.id == "2k" {
            read_list(context, &mut bed, &mut rows)?;
        }
        read_field(context, &mut bed, &mut rows)?;
        read_diff(context, &mut bed, &mut rows)?;
        bed.ours.close()?;
    }
    write_leaves(context, &server, &mut floor, &mut rows)?;
    write_many(context, &server, &mut rows)?;
    rows.extend(statements::rows(context, &server)?);
    rows.sort_by_key(|row| (row.id.as_bytes()[1], row.id.ends_with("-log")));
    Ok(rows)
}

/// The same history on both sides.
struct Bed {
    size: Size,
    document: String,
    ours: Ours,
    postgres: Versions,
}

/// W1, one writer: commits a second, ours in process, PostgreSQL inside its server and by client.
fn write_one(
    context: &Context,
    server: &Postgres,
    floor: &mut Floor,
    size: Size,
    rows: &mut Vec<Row>,
) -> Result<Bed> {
    let document = generate(size.bytes);
    let small = size.id == "2k";
    let (builds, slices) =
        (context.count(if small { 5 } else { 3 }, 1), if small { 10 } else { 4 });
    let builds = if size.id == "10m" { 1 } else { builds };
    let slice = size.updates / slices;
    let mut samples: [Vec<f64>; 4] = Default::default();
    let mut bed = None;
    for build in 0..builds {
        context.step(format!("W1, one writer, {}, build {} of {builds}", size.label, build + 1));
        drop(bed.take());
        let ours = Ours::create(&context.work.join("ours"))?;
        ours.put(KEY, &document)?;
        let mut in_server = Versions::create(server, "in_server", &document, 1)?;
        let mut by_client = Versions::create(server, "by_client", &document, 1)?;
        let (mut a, mut b, mut c) = (0, 0, 0);
        let new = race(
            slices,
            [
                &mut || {
                    per_second(slice, || {
                        (0..slice).try_for_each(|_| {
                            a += 1;
                            ours.set(KEY, "$.counter", &a.to_string())
                        })
                    })
                },
                &mut || {
                    b += slice;
                    in_server.counting_log(|it| {
                        per_second(slice, || it.update_in_server(b - slice + 1, b))
                    })
                },
                &mut || {
                    per_second(slice, || {
                        (0..slice).try_for_each(|_| {
                            c += 1;
                            by_client.update(1, c)
                        })
                    })
                },
                &mut || floor.records_per_second(slice.max(200)),
            ],
        )?;
        for (all, new) in samples.iter_mut().zip(new) {
            all.extend(new);
        }
        bed = Some(Bed { size, document: document.clone(), ours, postgres: in_server });
    }
    let [ours, in_server, by_client, floor] = samples.map(|samples| median(&samples));
    let row = Row::new(
        format!("w1-{}", size.id),
        format!("W1 durable commits, one writer, {}", size.label),
        "commits/s",
    )
    .ours(ours)
    .peer(NAME, in_server)
    .peer(CLIENT, by_client)
    .floor(floor);
    rows.push(match size.id {
        "2k" => row.target("≥ 90 % of the floor", Target::OfFloor(0.9)),
        "100k" => row.target("≥ 25 × PostgreSQL", Target::TimesPeer(25.0)),
        "1m" => row.target("≥ 200 × PostgreSQL", Target::TimesPeer(200.0)),
        _ => row,
    });
    bed.ok_or_else(|| "no build".into())
}

/// Both sides hold what they should: versions, sum, last value, and the one changed field.
fn check(bed: &mut Bed) -> Result<()> {
    let n = bed.size.updates;
    let sum = i64::from(n) * i64::from(n + 1) / 2;
    let versions = i64::from(n) + 1;
    must_equal(
        "PostgreSQL: versions and counter sum",
        bed.postgres.scan_counter()?,
        (versions, sum),
    )?;
    must_equal("PostgreSQL: last counter", bed.postgres.counter()?, i64::from(n))?;
    must_equal(
        "Anywhen: versions and counter sum",
        bed.ours.scan_integers(KEY, "$.counter")?,
        (versions, sum),
    )?;
    must_equal(
        "Anywhen: versions by their times",
        bed.ours.timestamps(KEY)?.len() as i64,
        versions,
    )?;
    let mut last = Vec::new();
    bed.ours.read(KEY, n + 1, &mut last)?;
    let expected = bed.document.replacen("\"counter\":0", &format!("\"counter\":{n}"), 1);
    must_equal("Anywhen: the last version as text", last == expected.as_bytes(), true)?;

    // Revision N/2 holds the counter N/2 - 1, for the first version holds 0.
    let half = n / 2;
    let (old, new) = ((half - 1).to_string(), half.to_string());
    let expected = vec![("counter".to_owned(), Some(old.clone()), Some(new.clone()))];
    must_equal(
        "PostgreSQL: diff",
        bed.postgres.diff(i64::from(half), i64::from(half) + 1)?,
        expected,
    )?;
    let expected = vec![("$.counter".to_owned(), Some(old), Some(new))];
    must_equal("Anywhen: diff", bed.ours.diff(KEY, half, half + 1)?, expected)
}

/// W1 and W5 with a random leaf changed by each commit instead of the counter.
fn write_leaves(
    context: &Context,
    server: &Postgres,
    floor: &mut Floor,
    rows: &mut Vec<Row>,
) -> Result<()> {
    let size = Size { updates: context.count(5_000, 500), ..SIZES[0] };
    let document = generate(size.bytes);
    let items = item_count(&document);
    let mut numbers = Numbers::new(20);
    let updates: Vec<LeafUpdate> =
        (0..size.updates).map(|_| leaf_update(&mut numbers, items)).collect();
    let mut samples: [Vec<f64>; 3] = Default::default();
    let mut sizes = None;
    for build in 0..context.count(3, 1) {
        context.step(format!("W1, a random leaf, build {}", build + 1));
        let ours = Ours::create(&context.work.join("ours"))?;
        ours.put(KEY, &document)?;
        let mut postgres = Versions::create(server, "in_server", &document, 1)?;
        let slice = updates.len() / 10;
        let (mut a, mut b) = (updates.chunks(slice), updates.chunks(slice));
        let new = race(
            10,
            [
                &mut || {
                    let updates = a.next().unwrap_or_default();
                    per_second(slice as u32, || {
                        updates
                            .iter()
                            .try_for_each(|update| ours.set(KEY, &update.path, &update.value))
                    })
                },
                &mut || {
                    let updates = b.next().unwrap_or_default();
                    postgres
                        .counting_log(|it| per_second(slice as u32, || it.update_leaves(updates)))
                },
                &mut || floor.records_per_second(slice as u32),
            ],
        )?;
        for (all, new) in samples.iter_mut().zip(new) {
            all.extend(new);
        }
        sizes = Some((ours.footprint()?, postgres.footprint()?));
        ours.close()?;
    }
    let [ours, in_server, floor] = samples.map(|samples| median(&samples));
    rows.push(
        Row::new("w1-leaf", "W1 durable commits, one writer, a random leaf of 2.4 KB", "commits/s")
            .ours(ours)
            .peer(NAME, in_server)
            .floor(floor)
            .target("≥ 90 % of the floor", Target::OfFloor(0.9)),
    );
    let (ours, postgres) = sizes.ok_or("no build")?;
    let each = |bytes: u64| bytes as f64 / f64::from(size.updates + 1);
    rows.push(
        Row::new("w5-leaf", "W5 bytes a version, a random leaf of 2.4 KB", "bytes")
            .ours(each(ours.files))
            .peer(NAME, each(postgres.tables)),
    );
    rows.push(
        Row::new("w5-leaf-log", "W5 log bytes a version, a random leaf of 2.4 KB", "bytes")
            .ours(each(ours.log))
            .peer(NAME, each(postgres.log)),
    );
    Ok(())
}

/// W1, 32 writers on 32 documents.
fn write_many(context: &Context, server: &Postgres, rows: &mut Vec<Row>) -> Result<()> {
    context.step("W1, 32 writers");
    let document = generate(SIZES[0].bytes);
    let each = context.count(500, 50);
    let ours = Ours::create(&context.work.join("ours"))?;
    let keys: Vec<String> = (0..WRITERS).map(|writer| format!("document{writer}")).collect();
    keys.iter().try_for_each(|key| ours.put(key, &document))?;
    let first = Versions::create(server, "in_server", &document, WRITERS as i32)?;
    let mut clients = (0..WRITERS).map(|_| first.another(server)).collect::<Result<Vec<_>>>()?;
    let mut ours_writers: Vec<(&str, u32)> = keys.iter().map(|key| (key.as_str(), 0)).collect();
    let mut clients: Vec<(i32, &mut Versions, u32)> =
        (1..).zip(&mut clients).map(|(id, client)| (id, client, 0)).collect();
    let [ours_rate, postgres_rate] = race(
        context.count(9, 3),
        [
            &mut || {
                together(each, &mut ours_writers, |(key, counter)| {
                    *counter += 1;
                    ours.set(key, "$.counter", &counter.to_string())
                })
            },
            &mut || {
                together(each, &mut clients, |(id, client, counter)| {
                    *counter += 1;
                    client.update(*id, *counter)
                })
            },
        ],
    )?
    .map(|samples| median(&samples));
    let versions = i64::from(ours_writers[0].1) + 1;
    must_equal(
        "Anywhen: versions of one of 32 documents",
        ours.timestamps(&keys[0])?.len() as i64,
        versions,
    )?;
    ours.close()?;
    rows.push(
        Row::new("w1-32", "W1 durable commits, 32 writers on 32 documents", "commits/s")
            .ours(ours_rate)
            .peer(NAME, postgres_rate)
            .target("≥ 2 × PostgreSQL", Target::TimesPeer(2.0)),
    );
    Ok(())
}

/// W5: bytes a version after a checkpoint, and bytes of log written on the way.
fn footprint(context: &Context, bed: &mut Bed, rows: &mut Vec<Row>) -> Result<()> {
    let Size { id, label, updates, .. } = bed.size;
    context.step(format!("W5 bytes, {label}"));
    let (ours, postgres) = (bed.ours.footprint()?, bed.postgres.footprint()?);
    let each = |bytes: u64| bytes as f64 / f64::from(updates + 1);
    let files = Row::new(
        format!("w5-{id}"),
        format!("W5 bytes a version after a checkpoint, {label}"),
        "bytes",
    )
    .ours(each(ours.files))
    .peer(NAME, each(postgres.tables));
    let log = Row::new(format!("w5-{id}-log"), format!("W5 log bytes a version, {label}"), "bytes")
        .ours(each(ours.log))
        .peer(NAME, each(postgres.log));
    let limits = match id {
        "2k" => Some(("≤ 40", 40.0)),
        "100k" => Some(("≤ 700", 700.0)),
        "1m" => Some(("≤ 2,000", 2_000.0)),
        _ => None,
    };
    rows.push(match limits {
        Some((words, limit)) => files.target(words, Target::AtMost(limit)),
        None => files,
    });
    rows.push(if id == "2k" { log.target("≤ 200", Target::AtMost(200.0)) } else { log });
    Ok(())
}

/// W2: random versions of the whole document as text.
fn read_whole(context: &Context, bed: &mut Bed, rows: &mut Vec<Row>) -> Result<()> {
    let Size { id, label, updates, .. } = bed.size;
    context.step(format!("W2 whole documents, {label}"));
    let (reads, limit) = match id {
        "2k" => (1_000, Some(("≤ 3 µs", 3.0))),
        "100k" => (200, Some(("≤ 150 µs", 150.0))),
        "1m" => (20, Some(("≤ 1.5 ms", 1_500.0))),
        _ => (3, None),
    };
    let rounds = context.count(if id == "10m" { 3 } else { 9 }, 2);
    let mut numbers = Numbers::new(2);
    let revisions: Vec<u32> =
        (0..reads).map(|_| 1 + numbers.below(updates as usize + 1) as u32).collect();
    let (ours_times, their_times) = (bed.ours.timestamps(KEY)?, bed.postgres.times()?);
    let ours_moments: Vec<u64> =
        revisions.iter().map(|&revision| ours_times[revision as usize - 1]).collect();
    let moments: Vec<SystemTime> =
        revisions.iter().map(|&revision| their_times[revision as usize - 1]).collect();
    // The length of a version depends on the digits of its counter alone.
    let expected: usize = revisions
        .iter()
        .map(|revision| bed.document.len() - 1 + (revision - 1).to_string().len())
        .sum();

    let (ours, postgres) = (&bed.ours, std::cell::RefCell::new(&mut bed.postgres));
    let mut text = Vec::with_capacity(bed.document.len() + 8);
    let mut timed_text = text.clone();
    let [by_revision, by_time, batched, by_statement] = warm_race(
        rounds,
        [
            &mut || {
                let mut bytes = 0;
                let micros = micros_each(reads, || {
                    revisions.iter().try_for_each(|&revision| {
                        text.clear();
                        ours.read(KEY, revision, &mut text)?;
                        bytes += text.len();
                        Ok(())
                    })
                })?;
                must_equal("Anywhen: bytes of random versions", bytes, expected)?;
                Ok(micros)
            },
            &mut || {
                micros_each(reads, || {
                    ours_moments.iter().try_for_each(|&moment| {
                        timed_text.clear();
                        ours.read_at(KEY, moment, &mut timed_text)
                    })
                })
            },
            &mut || micros_each(reads, || postgres.borrow_mut().read_in_server(&moments).map(drop)),
            &mut || {
                micros_each(reads, || {
                    moments
                        .iter()
                        .try_for_each(|&moment| postgres.borrow_mut().read(moment).map(drop))
                })
            },
        ],
    )?
    .map(|samples| median(&samples));
    let row = |suffix: &str, how: &str, ours: f64| {
        let row = Row::new(
            format!("w2-{id}{suffix}"),
            format!("W2 a random version by {how}, whole, {label}"),
            "us",
        )
        .ours(ours)
        .peer(NAME, batched)
        .peer(CLIENT, by_statement);
        match limit {
            Some((words, limit)) => row.target(words, Target::AtMost(limit)),
            None => row,
        }
    };
    rows.push(row("", "revision", by_revision));
    rows.push(row("-time", "time", by_time));
    Ok(())
}

/// W3: every version's time; and with author and message, for which PostgreSQL has its number.
fn read_list(context: &Context, bed: &mut Bed, rows: &mut Vec<Row>) -> Result<()> {
    context.step("W3 lists of versions");
    let versions = bed.size.updates + 1;
    // A history whose commits say who and why; as durable as the operating system, for its making
    // is not timed.
    let described = Ours::create_relaxed(&context.work.join("described"))?;
    described.put(KEY, &bed.document)?;
    let mut words = 0;
    for i in 1..versions {
        let (author, message) =
            (["ada", "barbara", "grace", "hedy"][i as usize % 4], format!("counter is now {i}"));
        words += author.len() + message.len();
        described.set_with(KEY, "$.counter", &i.to_string(), author, &message)?;
    }
    described.checkpoint()?;

    let (ours, postgres) = (&bed.ours, std::cell::RefCell::new(&mut bed.postgres));
    let repeat = 20;
    let [times, described_times, counted, looped] = warm_race(
        context.count(15, 3),
        [
            &mut || {
                micros_each(repeat, || {
                    (0..repeat).try_for_each(|_| {
                        must_equal("times", ours.timestamps(KEY)?.len() as u32, versions)
                    })
                })
            },
            &mut || {
                micros_each(repeat, || {
                    (0..repeat).try_for_each(|_| {
                        must_equal("list", described.history(KEY, usize::MAX)?, (versions, words))
                    })
                })
            },
            &mut || {
                micros_each(1, || {
                    must_equal(
                        "PostgreSQL: list",
                        postgres.borrow_mut().count_list()?,
                        i64::from(versions),
                    )
                })
            },
            &mut || {
                micros_each(1, || {
                    must_equal(
                        "PostgreSQL: list",
                        postgres.borrow_mut().list_in_server()?,
                        i64::from(versions),
                    )
                })
            },
        ],
    )?
    .map(|samples| median(&samples));
    described.close()?;
    rows.push(
        Row::new("w3-times", "W3 the times of all versions", "us")
            .ours(times)
            .peer(NAME, counted)
            .target("≤ 10 µs", Target::AtMost(10.0)),
    );
    rows.push(
        Row::new("w3-list", "W3 all versions with author and message (PostgreSQL: without)", "us")
            .ours(described_times)
            .peer(NAME, looped)
            .target("≤ 100 µs", Target::AtMost(100.0)),
    );
    Ok(())
}

/// W4: one field over all versions, where it always changes and where it never does.
fn read_field(context: &Context, bed: &mut Bed, rows: &mut Vec<Row>) -> Result<()> {
    let Size { id, label, updates, .. } = bed.size;
    context.step(format!("W4 one field over all versions, {label}"));
    let versions = i64::from(updates) + 1;
    let sum = i64::from(updates) * versions / 2;
    let (ours, postgres) = (&bed.ours, std::cell::RefCell::new(&mut bed.postgres));
    let repeat = 50;
    let rounds = context.count(if id == "10m" { 3 } else { 9 }, 2);
    let [always, never, their_always, their_never] = warm_race(
        rounds,
        [
            &mut || {
                micros_each(repeat, || {
                    (0..repeat).try_for_each(|_| {
                        must_equal(
                            "counter",
                            ours.scan_integers(KEY, "$.counter")?,
                            (versions, sum),
                        )
                    })
                })
            },
            &mut || {
                micros_each(repeat, || {
                    (0..repeat).try_for_each(|_| {
                        must_equal("runs of s01", ours.value_runs(KEY, "$.s01")?, 1)
                    })
                })
            },
            &mut || {
                micros_each(1, || {
                    must_equal(
                        "PostgreSQL: counter",
                        postgres.borrow_mut().scan_counter()?,
                        (versions, sum),
                    )
                })
            },
            &mut || {
                micros_each(1, || {
                    must_equal(
                        "PostgreSQL: s01",
                        postgres.borrow_mut().scan_string("s01")?.0,
                        versions,
                    )
                })
            },
        ],
    )?
    .map(|samples| median(&samples));
    let row = |kind: &str, ours: f64, theirs: f64| {
        let all = count(versions as u64);
        let what = format!("W4 a field that {kind} changes, over all {all} versions, {label}");
        Row::new(format!("w4-{id}-{kind}"), what, "us").ours(ours).peer(NAME, theirs)
    };
    rows.push(row("always", always, their_always).target("≤ 30 µs", Target::AtMost(30.0)));
    rows.push(row("never", never, their_never).target("≤ 1 µs", Target::AtMost(1.0)));
    Ok(())
}

/// W6: what changed between two neighbours, with old and new values.
fn read_diff(context: &Context, bed: &mut Bed, rows: &mut Vec<Row>) -> Result<()> {
    let Size { id, label, updates, .. } = bed.size;
    context.step(format!("W6 diff of neighbours, {label}"));
    let half = updates / 2;
    let (ours, postgres) = (&bed.ours, &mut bed.postgres);
    let repeat = 100;
    let [node_level, top_level] = warm_race(
        context.count(if id == "10m" { 3 } else { 15 }, 2),
        [
            &mut || {
                micros_each(repeat, || {
                    (0..repeat).try_for_each(|_| {
                        must_equal("changes", ours.diff(KEY, half, half + 1)?.len(), 1)
                    })
                })
            },
            &mut || {
                micros_each(1, || {
                    must_equal(
                        "fields",
                        postgres.diff(i64::from(half), i64::from(half) + 1)?.len(),
                        1,
                    )
                })
            },
        ],
    )?
    .map(|samples| median(&samples));
    rows.push(
        Row::new(
            format!("w6-{id}"),
            format!("W6 diff of neighbours by node (PostgreSQL: top level only), {label}"),
            "us",
        )
        .ours(node_level)
        .peer(NAME, top_level)
        .target("≤ 10 µs", Target::AtMost(10.0)),
    );
    Ok(())
}
