//! Long histories: does anything slow down as commits pile up?
//!
//! ```text
//!  build    |w1|w2|w3|w4|w5|w6|w7|w8|w9|w10|      10,000 / 100,000 / 1,000,000 commits, in ten windows,
//!            ours, PostgreSQL and the floor take turns within each window
//!  read     cold: closed and opened again before each question     warm: the median of many
//!  flat     time at 1,000,000 / time at 10,000, all sizes asked in the same rounds
//! ```
//! The document is tiny, so that what is measured is the cost of a revision and not of its content.
//! Only the last history, of two gigabytes ([`large`]), is of something else.
//! "Cold" is a cold database: the operating system's page cache stays warm.

use std::path::PathBuf;
use std::time::Instant;

use super::{Contender, Context, large, micros_each, must_equal, take_turns};
use crate::Result;
use crate::floor::Floor;
use crate::ours::Ours;
use crate::peer::postgres::{NAME, Postgres, Versions};
use crate::report::{Row, Target, count, median};

const KEY: &str = "document";
/// The first version; every commit counts up.
const DOCUMENT: &str =
    r#"{"counter":0,"label":"a tiny document","tags":["a","b","c"],"open":true}"#;
/// A build is reported in so many windows.
const WINDOWS: u32 = 10;
/// Commits before the next side has its turn.
const SLICE: u32 = 1_000;
/// Records of the floor in each turn.
const FLOOR_SLICE: u32 = 500;

/// One length of history, on both sides.
struct Bed {
    id: &'static str,
    commits: u32,
    folder: PathBuf,
    /// Empty only while it is closed and opened again.
    ours: Option<Ours>,
    postgres: Versions,
}

impl Bed {
    fn ours(&self) -> Result<&Ours> {
        self.ours.as_ref().ok_or_else(|| "the database is closed".into())
    }

    /// Closes the database and opens it again: cold.
    fn reopen(&mut self) -> Result<()> {
        self.ours.take().map_or(Ok(()), Ours::close)?;
        self.ours = Some(Ours::open(&self.folder)?);
        Ok(())
    }

    /// Microseconds of opening the closed database and reading one field of the newest version.
    fn opening(&mut self) -> Result<f64> {
        self.ours.take().map_or(Ok(()), Ours::close)?;
        let start = Instant::now();
        self.ours = Some(Ours::open(&self.folder)?);
        let counter = self.ours()?.integer_at(KEY, self.commits + 1, "$.counter")?;
        let micros = start.elapsed().as_secs_f64() * 1e6;
        must_equal("Anywhen: newest counter after reopening", counter, i64::from(self.commits))?;
        Ok(micros)
    }
}

/// A question to a history of so many commits, on our side and on PostgreSQL's.
struct Question {
    id: &'static str,
    what: &'static str,
    /// Asked so often in a sample.
    repeat: u32,
    /// Must not depend on the length of the history.
    flat: bool,
    ours: fn(&Ours, u32) -> Result<()>,
    postgres: fn(&mut Versions, i64) -> Result<()>,
}

const QUESTIONS: [Question; 9] = [
    Question {
        id: "history",
        what: "full list of revisions",
        repeat: 1,
        flat: false,
        ours: |ours, commits| {
            must_equal("revisions", ours.history(KEY, usize::MAX)?.0, commits + 1)
        },
        postgres: |postgres, commits| {
            must_equal("PostgreSQL: revisions", postgres.list_in_server()?, commits + 1)
        },
    },
    Question {
        id: "newest",
        what: "the newest 100 revisions",
        repeat: 20,
        flat: true,
        ours: |ours, _| must_equal("newest revisions", ours.history(KEY, 100)?.0, 100),
        postgres: |postgres, _| {
            must_equal("PostgreSQL: newest revisions", postgres.newest(100)?, 100)
        },
    },
    Question {
        id: "first",
        what: "open revision 1, read one field",
        repeat: 20,
        flat: true,
        ours: |ours, _| must_equal("counter", ours.integer_at(KEY, 1, "$.counter")?, 0),
        postgres: |postgres, _| must_equal("PostgreSQL: counter", postgres.counter_at(1)?, 0),
    },
    Question {
        id: "middle",
        what: "open revision N/2, read one field",
        repeat: 20,
        flat: true,
        ours: |ours, commits| {
            must_equal(
                "counter",
                ours.integer_at(KEY, commits / 2, "$.counter")?,
                i64::from(commits / 2 - 1),
            )
        },
        postgres: |postgres, commits| {
            must_equal("PostgreSQL: counter", postgres.counter_at(commits / 2)?, commits / 2 - 1)
        },
    },
    Question {
        id: "last",
        what: "open revision N, read one field",
        repeat: 20,
        flat: true,
        ours: |ours, commits| {
            must_equal(
                "counter",
                ours.integer_at(KEY, commits, "$.counter")?,
                i64::from(commits - 1),
            )
        },
        postgres: |postgres, commits| {
            must_equal("PostgreSQL: counter", postgres.counter_at(commits)?, commits - 1)
        },
    },
    Question {
        id: "diff-first",
        what: "diff of revisions 1 and 2",
        repeat: 20,
        flat: true,
        ours: |ours, _| must_equal("changes", ours.diff(KEY, 1, 2)?.len(), 1),
        postgres: |postgres, _| must_equal("PostgreSQL: fields", postgres.diff(1, 2)?.len(), 1),
    },
    Question {
        id: "diff-last",
        what: "diff of revisions N-1 and N",
        repeat: 20,
        flat: true,
        ours: |ours, commits| must_equal("changes", ours.diff(KEY, commits - 1, commits)?.len(), 1),
        postgres: |postgres, commits| {
            must_equal("PostgreSQL: fields", postgres.diff(commits - 1, commits)?.len(), 1)
        },
    },
    Question {
        id: "whole-first",
        what: "revision 1 as text",
        repeat: 20,
        flat: true,
        ours: |ours, _| must_equal("text", whole(ours, 1)? == DOCUMENT.as_bytes(), true),
        postgres: |postgres, _| postgres.read_revision(1).map(drop),
    },
    Question {
        id: "whole-last",
        what: "revision N as text",
        repeat: 20,
        flat: true,
        ours: |ours, commits| {
            must_equal(
                "length",
                whole(ours, commits)?.len(),
                DOCUMENT.len() - 1 + (commits - 1).to_string().len(),
            )
        },
        postgres: |postgres, commits| postgres.read_revision(commits).map(drop),
    },
];

fn whole(ours: &Ours, revision: u32) -> Result<Vec<u8>> {
    let mut text = Vec::with_capacity(DOCUMENT.len() + 8);
    ours.read(KEY, revision, &mut text)?;
    Ok(text)
}

/// Runs the suite; returns its rows, grouped by length of history, and the ratios between them last.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    let server = Postgres::start(&context.cache, &context.work)?;
    let mut floor = Floor::create(&context.work)?;
    let lengths = context.count([10_000, 100_000, 1_000_000], [1_000, 5_000, 20_000]);
    let mut rows: [Vec<Row>; 3] = Default::default();
    let mut beds = Vec::new();
    for ((id, commits), rows) in ["10k", "100k", "1m"].into_iter().zip(lengths).zip(&mut rows) {
        beds.push(build(context, &server, &mut floor, id, commits, rows)?);
    }
    let mut flat = Vec::new();
    open(context, &mut beds, &mut rows, &mut flat)?;
    for question in &QUESTIONS {
        ask(context, question, &mut beds, &mut rows, &mut flat)?;
    }
    for (bed, rows) in beds.iter_mut().zip(&mut rows) {
        footprint(bed, rows)?;
    }
    for bed in beds {
        bed.ours.map_or(Ok(()), Ours::close)?;
    }
    let large = if context.quick { Vec::new() } else { large::rows(context)? };
    Ok(rows.into_iter().flatten().chain(flat).chain(large).collect())
}

/// Makes one history on both sides, and says how the rate of commits held.
fn build(
    context: &Context,
    server: &Postgres,
    floor: &mut Floor,
    id: &'static str,
    commits: u32,
    rows: &mut Vec<Row>,
) -> Result<Bed> {
    let length = count(u64::from(commits));
    let folder = context.work.join(format!("ours-{id}"));
    let ours = Ours::create(&folder)?;
    ours.put(KEY, DOCUMENT)?;
    let mut postgres = Versions::create(server, &format!("history_{id}"), DOCUMENT, 1)?;
    let (mut a, mut b) = (0, 0);
    let slice = SLICE.min(commits / WINDOWS);
    // Commits a second in each window, of ours, PostgreSQL, and the floor.
    let mut windows: Vec<[f64; 3]> = Vec::new();
    for window in 1..=WINDOWS {
        context.step(format!("building {length} commits, window {window} of {WINDOWS}"));
        let seconds = take_turns(
            commits / WINDOWS / slice,
            &mut [
                &mut || {
                    seconds(|| {
                        (0..slice).try_for_each(|_| {
                            a += 1;
                            ours.set(KEY, "$.counter", &a.to_string())
                        })
                    })
                },
                &mut || {
                    b += slice;
                    postgres.counting_log(|it| seconds(|| it.update_in_server(b - slice + 1, b)))
                },
                &mut || Ok(f64::from(FLOOR_SLICE) / floor.records_per_second(FLOOR_SLICE)?),
            ],
        )?;
        let rate = |who: usize, slice: u32| f64::from(slice) / median(&seconds[who]);
        windows.push([rate(0, slice), rate(1, slice), rate(2, FLOOR_SLICE)]);
    }
    let versions = i64::from(commits) + 1;
    let sum = i64::from(commits) * versions / 2;
    must_equal("PostgreSQL: versions and counter sum", postgres.scan_counter()?, (versions, sum))?;
    must_equal(
        "Anywhen: versions and counter sum",
        ours.scan_integers(KEY, "$.counter")?,
        (versions, sum),
    )?;

    let (first, last) = (windows[0], windows[WINDOWS as usize - 1]);
    for (name, [ours, postgres, floor]) in [("first", first), ("last", last)] {
        let what = format!("durable commits in the {name} tenth, N = {length}");
        rows.push(
            Row::new(format!("{id}-rate-{name}"), what, "commits/s")
                .ours(ours)
                .peer(NAME, postgres)
                .floor(floor),
        );
    }
    // The disk's own drift between the two windows is taken out: each rate is a share of its floor.
    let held = |who: usize| last[who] / last[2] / (first[who] / first[2]);
    rows.push(
        Row::new(
            format!("{id}-rate-held"),
            format!("commits in the last tenth over the first, N = {length}"),
            "ratio",
        )
        .ours(held(0))
        .peer(NAME, held(1))
        .series(windows.iter().map(|window| window[0]))
        .target("≥ 0.9", Target::AtLeast(0.9)),
    );
    Ok(Bed { id, commits, folder, ours: Some(ours), postgres })
}

fn seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Opening database and document.
fn open(
    context: &Context,
    beds: &mut [Bed],
    rows: &mut [Vec<Row>; 3],
    flat: &mut Vec<Row>,
) -> Result<()> {
    context.step("opening database and document");
    let rounds = context.count(15, 3);
    let mut openers: Vec<_> = beds.iter_mut().map(|bed| || bed.opening()).collect();
    let mut contenders: Vec<Contender<'_>> =
        openers.iter_mut().map(|open| open as Contender<'_>).collect();
    let medians: Vec<f64> =
        take_turns(rounds, &mut contenders)?.iter().map(|samples| median(samples)).collect();
    for ((bed, rows), &micros) in beds.iter().zip(rows).zip(&medians) {
        rows.push(
            Row::new(
                format!("{}-open", bed.id),
                format!("open database and document, {}", label(bed)),
                "us",
            )
            .ours(micros),
        );
    }
    flat.push(flatness("open", "open database and document", beds, &medians));
    Ok(())
}

/// One question, cold and warm, to every length of history.
fn ask(
    context: &Context,
    question: &Question,
    beds: &mut [Bed],
    rows: &mut [Vec<Row>; 3],
    flat: &mut Vec<Row>,
) -> Result<()> {
    context.step(question.what);
    let mut cold = vec![Vec::new(); beds.len()];
    for _ in 0..context.count(7, 2) {
        for (bed, samples) in beds.iter_mut().zip(&mut cold) {
            bed.reopen()?;
            samples.push(micros_each(1, || (question.ours)(bed.ours()?, bed.commits))?);
        }
    }

    let mut sides: Vec<Box<dyn FnMut() -> Result<f64> + '_>> = Vec::new();
    for bed in beds.iter_mut() {
        let (commits, ours) = (bed.commits, bed.ours.as_ref().ok_or("the database is closed")?);
        let postgres = &mut bed.postgres;
        sides.push(Box::new(move || {
            micros_each(question.repeat, || {
                (0..question.repeat).try_for_each(|_| (question.ours)(ours, commits))
            })
        }));
        sides.push(Box::new(move || {
            micros_each(1, || (question.postgres)(postgres, i64::from(commits)))
        }));
    }
    let mut contenders: Vec<Contender<'_>> =
        sides.iter_mut().map(|side| side as Contender<'_>).collect();
    take_turns(1, &mut contenders)?;
    let medians: Vec<f64> = take_turns(context.count(15, 3), &mut contenders)?
        .iter()
        .map(|samples| median(samples))
        .collect();
    drop(contenders);
    drop(sides);

    for (i, (bed, rows)) in beds.iter().zip(rows).enumerate() {
        let what = format!("{}, {}", question.what, label(bed));
        let warm = Row::new(format!("{}-{}", bed.id, question.id), what.clone(), "us")
            .ours(medians[2 * i])
            .peer(NAME, medians[2 * i + 1]);
        rows.push(if question.id == "history" && bed.id == "10k" {
            warm.target("≤ 200 µs", Target::AtMost(200.0))
        } else {
            warm
        });
        rows.push(
            Row::new(format!("{}-{}-cold", bed.id, question.id), format!("{what}, cold"), "us")
                .ours(median(&cold[i])),
        );
    }
    if question.flat {
        let ours: Vec<f64> = medians.iter().step_by(2).copied().collect();
        flat.push(
            flatness(question.id, question.what, beds, &ours).peer(NAME, medians[5] / medians[1]),
        );
    }
    Ok(())
}

/// The longest history's time over the shortest's.
fn flatness(id: &str, what: &str, beds: &[Bed], micros: &[f64]) -> Row {
    let what = format!("{what}: time at {} over time at {}", label(&beds[2]), label(&beds[0]));
    Row::new(format!("flat-{id}"), what, "ratio")
        .ours(micros[2] / micros[0])
        .target("≤ 1.2", Target::AtMost(1.2))
}

fn label(bed: &Bed) -> String {
    format!("N = {}", count(u64::from(bed.commits)))
}

/// Bytes a commit after a checkpoint.
fn footprint(bed: &mut Bed, rows: &mut Vec<Row>) -> Result<()> {
    let (ours, postgres) = (bed.ours()?.footprint()?, bed.postgres.footprint()?);
    let each = |bytes: u64| bytes as f64 / f64::from(bed.commits);
    let row = |id: &str, what: &str, ours: u64, postgres: u64| {
        Row::new(format!("{}-{id}", bed.id), format!("{what}, {}", label(bed)), "bytes")
            .ours(each(ours))
            .peer(NAME, each(postgres))
    };
    rows.push(
        row("bytes", "bytes a commit after a checkpoint", ours.files, postgres.tables)
            .target("≤ 60", Target::AtMost(60.0)),
    );
    Ok(())
}
