//! The tests of the log. Each test file has one question:
//!
//! * `power`: does a power loss at any moment cost anything acknowledged, or bring back anything cut?
//! * `faults`: what if the n-th operation fails?
//! * `mutation`: would `power` notice a forgotten sync, directory sync, rename or checksum?
//! * `flips`: is rot ever taken for data?
//! * `behaviour`: the contract of each function, the format byte by byte.
//! * `interleaving`: the leader and its followers under a scheduler that tries the orders.

mod behaviour;
mod faults;
mod flips;
mod interleaving;
mod mutation;
mod power;
mod workload;
