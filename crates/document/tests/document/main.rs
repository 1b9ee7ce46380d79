//! Documents seen from outside: what is written is what is read, at every revision, however it was
//! written and whatever happened to the files in between.

mod authored;
mod edges;
mod following;
mod forms;
mod imports;
mod listing;
mod model;
mod naive;
mod packed;
mod replaced;
mod scalars;
mod sirix;
mod stories;
mod values;
mod world;
