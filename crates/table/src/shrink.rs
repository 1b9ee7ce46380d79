//! Hash maps that give room back: a map keeps the room of the most entries that it ever had, so a map whose
//! entries come and go is asked to shrink when they go.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// A map with room for so few entries stays as it is.
const ROOM_MIN: usize = 256;

/// Gives back the room of a map that is mostly empty. Each entry pays for the next one's copy at most: a map shrinks
/// once three quarters of its room are empty.
pub(crate) fn shrink<K: Eq + Hash, V, S: BuildHasher>(map: &mut HashMap<K, V, S>) {
    if map.capacity() > ROOM_MIN && map.capacity() / 4 > map.len() {
        map.shrink_to(map.len() * 2);
    }
}
