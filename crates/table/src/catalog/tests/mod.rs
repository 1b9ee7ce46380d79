//! The catalog end to end, on a simulated disk: statements and PostgreSQL's answers, transactions side
//! by side, random histories with their past, and records that were damaged.

mod drops;
mod histories;
mod power;
mod records;
mod sessions;
mod statements;
mod world;
