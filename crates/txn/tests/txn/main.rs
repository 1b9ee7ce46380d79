//! Transactions end to end, on a simulated disk: what each isolation level allows, what survives a
//! power loss, what happens when the disk fails, and a random history checked by its own logic.

mod anomalies;
mod bulk;
mod changes;
mod common;
mod crash;
mod cursors;
mod erase;
mod flips;
mod following;
mod history;
mod loads;
mod lookups;
mod model;
mod ordered;
mod schedule;
