//! The alphabet of an expression: characters that no set of it tells apart are one symbol.
//!
//! ```text
//!   [a-f]+\d   symbols   0: a-f    1: 0-9    2: all others
//! ```

use std::collections::{BTreeSet, HashMap};

use crate::chars::{CharSet, Class};
use crate::tree::Neighbour;

/// Characters below this have their symbol in a table, where there are more runs than a few.
const TABLED: usize = 0x800;
const FEW_RUNS: usize = 16;

#[derive(Debug)]
pub(crate) struct Classes {
    ascii: [u16; 0x80],
    table: Vec<u16>,
    /// Where runs of one symbol begin, and the symbol.
    runs: Vec<(u32, u16)>,
    /// The view of assertions on each symbol.
    neighbours: Vec<Neighbour>,
    /// The symbols of each set.
    members: Vec<Vec<u64>>,
    /// The only character of each symbol that has one.
    single: Vec<Option<char>>,
}

impl Classes {
    /// The alphabet for some sets; None if it is too large. It distinguishes words and breaks where
    /// assertions ask for them.
    pub fn new(sets: &[CharSet], assertions: bool) -> Option<Self> {
        let extra = if assertions {
            vec![CharSet::one('\n' as u32), Class::Word.set(false).clone()]
        } else {
            Vec::new()
        };
        // Where a set begins or ends.
        let mut events = Vec::new();
        for (number, set) in sets.iter().chain(&extra).enumerate() {
            for &(low, high) in set.ranges() {
                events.push((low, number, true));
                events.push((high.saturating_add(1), number, false));
            }
        }
        events.sort_unstable();
        let mut symbols: HashMap<Vec<usize>, u16> = HashMap::new();
        let mut classes = Self {
            ascii: [0; 0x80],
            table: Vec::new(),
            runs: Vec::new(),
            neighbours: Vec::new(),
            members: vec![Vec::new(); sets.len()],
            single: Vec::new(),
        };
        let mut open = BTreeSet::new();
        let (mut events, mut begin) = (events.into_iter().peekable(), 0);
        while begin <= char::MAX as u32 {
            while let Some((_, number, opens)) = events.next_if(|(at, ..)| *at <= begin) {
                if opens {
                    open.insert(number)
                } else {
                    open.remove(&number)
                };
            }
            let end = events.peek().map_or(u32::MAX, |(at, ..)| *at);
            let key: Vec<usize> = open.iter().copied().collect();
            let next = u16::try_from(symbols.len()).ok().filter(|next| *next < u16::MAX)?;
            let symbol = *symbols.entry(key).or_insert(next);
            if symbol == next {
                let has = |extra: usize| open.contains(&(sets.len() + extra));
                classes.neighbours.push(match assertions {
                    true if has(0) => Neighbour::Break,
                    true if has(1) => Neighbour::Word,
                    _ => Neighbour::Other,
                });
                for &set in open.iter().filter(|set| **set < sets.len()) {
                    insert(&mut classes.members[set], symbol);
                }
                classes.single.push(char::from_u32(begin).filter(|_| end == begin + 1));
            } else {
                classes.single[symbol as usize] = None;
            }
            if classes.runs.last().is_none_or(|(_, last)| *last != symbol) {
                classes.runs.push((begin, symbol));
            }
            begin = end;
        }
        let tabled = if classes.runs.len() > FEW_RUNS { TABLED } else { classes.ascii.len() };
        let mut table = vec![0; tabled];
        let ends = classes.runs.iter().skip(1).map(|(begin, _)| *begin as usize);
        for ((begin, symbol), end) in classes.runs.iter().zip(ends.chain([tabled])) {
            if *begin as usize >= tabled {
                break;
            }
            table[*begin as usize..end.min(tabled)].fill(*symbol);
        }
        classes.ascii.copy_from_slice(&table[..0x80]);
        classes.table = table;
        Some(classes)
    }

    /// How many symbols there are; this number is the symbol for the end of the text.
    pub fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// The symbols of the ASCII characters.
    #[inline]
    pub fn ascii(&self) -> &[u16; 0x80] {
        &self.ascii
    }

    #[inline]
    pub fn of(&self, c: char) -> usize {
        match self.table.get(c as usize) {
            Some(symbol) => usize::from(*symbol),
            None => {
                let at = self.runs.partition_point(|(begin, _)| *begin <= c as u32);
                usize::from(self.runs[at - 1].1)
            }
        }
    }

    /// The view of assertions on a symbol.
    pub fn neighbour(&self, symbol: usize) -> Neighbour {
        self.neighbours.get(symbol).copied().unwrap_or(Neighbour::Edge)
    }

    /// True if a set has a symbol.
    pub fn contains(&self, set: u32, symbol: usize) -> bool {
        contains(&self.members[set as usize], symbol)
    }

    /// The symbols of a set.
    pub fn symbols(&self, set: u32) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(move |symbol| self.contains(set, *symbol))
    }

    /// The only character of a set.
    pub fn only(&self, set: u32) -> Option<char> {
        let mut symbols = self.symbols(set);
        let symbol = symbols.next().filter(|_| symbols.next().is_none())?;
        self.single[symbol]
    }

    /// The first bytes of the characters of a symbol.
    pub fn first_bytes(&self, symbol: usize, bytes: &mut [bool; 256]) {
        for (at, (begin, of)) in self.runs.iter().enumerate() {
            if usize::from(*of) == symbol {
                let end = self.runs.get(at + 1).map_or(char::MAX as u32, |next| next.0 - 1);
                let (first, last) = (first_byte(*begin), first_byte(end));
                bytes[usize::from(first)..=usize::from(last)].fill(true);
            }
        }
    }
}

/// The first byte of a character in UTF-8.
fn first_byte(c: u32) -> u8 {
    match c {
        0..0x80 => c as u8,
        0x80..0x800 => 0xc0 | (c >> 6) as u8,
        0x800..0x1_0000 => 0xe0 | (c >> 12) as u8,
        _ => 0xf0 | (c >> 18) as u8,
    }
}

fn insert(bits: &mut Vec<u64>, symbol: u16) {
    let word = usize::from(symbol) / 64;
    if bits.len() <= word {
        bits.resize(word + 1, 0);
    }
    bits[word] |= 1 << (symbol % 64);
}

fn contains(bits: &[u64], symbol: usize) -> bool {
    bits.get(symbol / 64).is_some_and(|word| word >> (symbol % 64) & 1 == 1)
}
