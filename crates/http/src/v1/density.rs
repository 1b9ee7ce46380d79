//! The density of a history: the number of revisions over time, in as many buckets as a picture has room for.
//!
//! ```text
//!   revisions     1 2 3  4              5 6 7 8 9                10
//!   buckets       [3   ][1   ][0   ][0   ][4   ][1  ][0   ][0   ][1   ]
//! ```
//!
//! A revision counts by the time that it was authored at, where it says one, else by its commit. Authored times can
//! go backwards, revisions cannot: a revision is never drawn before the one that came before it.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::{Problem, Result};

use super::versions::{known, span};

/// The most buckets of one answer.
const BUCKETS_MAX: u64 = 1_000;
/// The buckets of an answer where the request does not say.
const BUCKETS: u64 = 200;

/// Revisions of about the same time.
struct Bucket {
    from: u64,
    to: u64,
    from_us: u64,
    to_us: u64,
    authors: Vec<(String, u64)>,
}

/// `GET .../versions/density`
pub(super) fn density(call: &mut Call) -> Result<Answer> {
    let buckets = call.parsed("buckets")?.unwrap_or(BUCKETS);
    if buckets == 0 || buckets > BUCKETS_MAX {
        let text = format!("the parameter buckets must be 1 to {BUCKETS_MAX}");
        return Err(Problem::bad(text).into());
    }
    let collection = call.collection("collection")?;
    let key = call.part("key");
    let (from, to) = span(call, &collection, key)?;
    let history = collection.history_range(key, from, to)?;
    let mut rows: Vec<_> = history.iter().collect();
    rows.sort_unstable_by_key(|row| row.revision);
    let mut latest = 0;
    let times: Vec<u64> = rows
        .iter()
        .map(|row| {
            latest = row.authored_us.unwrap_or(row.time_us).max(latest);
            latest
        })
        .collect();
    let (first, last) =
        (times.first().copied().unwrap_or_default(), times.last().copied().unwrap_or_default());
    let width = ((last - first) / buckets + 1).max(1);
    let mut found: Vec<Bucket> = Vec::new();
    let mut number = None;
    for (row, time) in rows.iter().zip(&times) {
        let here = (time - first) / width;
        if number != Some(here) {
            number = Some(here);
            let from = row.revision.0;
            found.push(Bucket {
                from,
                to: from,
                from_us: *time,
                to_us: *time,
                authors: Vec::new(),
            });
        }
        let Some(bucket) = found.last_mut() else { continue };
        (bucket.to, bucket.to_us) = (row.revision.0, *time);
        match bucket.authors.iter_mut().find(|(author, _)| author == row.author) {
            Some((_, count)) => *count += 1,
            None => bucket.authors.push((row.author.to_owned(), 1)),
        }
    }
    let newest = rows.last().map(known);
    let buckets: Vec<Value> = found.into_iter().map(told).collect();
    Ok(Answer::value(&json!({
        "from": from.0,
        "to": to.0,
        "oldest": collection.oldest(key)?.0,
        "newest": newest,
        "buckets": buckets,
    })))
}

/// A bucket as JSON; of its authors the most frequent ones.
fn told(mut bucket: Bucket) -> Value {
    const AUTHORS: usize = 4;
    bucket.authors.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    bucket.authors.truncate(AUTHORS);
    json!({
        "from": bucket.from,
        "to": bucket.to,
        "from_time": anywhen::time::rfc3339(bucket.from_us),
        "to_time": anywhen::time::rfc3339(bucket.to_us),
        "authors": bucket.authors.into_iter()
            .map(|(author, count)| json!({"author": author, "count": count}))
            .collect::<Vec<_>>(),
    })
}
