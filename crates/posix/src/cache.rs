//! The expressions that a thread used last, so that a statement over many rows compiles one once.

use std::cell::RefCell;
use std::rc::Rc;

use crate::error::Result;
use crate::options::Options;
use crate::search::Regex;

/// How many compiled expressions a thread keeps.
const CACHED: usize = 32;

struct Cached {
    pattern: String,
    options: Options,
    groups: bool,
    regex: Rc<Regex>,
}

thread_local! {
    static CACHE: RefCell<Vec<Cached>> = const { RefCell::new(Vec::new()) };
}

impl Regex {
    /// The compiled form of an expression: one that this thread made before, or a new one.
    ///
    /// # Errors
    /// Fails if the expression is invalid or too large.
    pub fn cached(pattern: &str, options: Options, groups: bool) -> Result<Rc<Regex>> {
        CACHE.with_borrow_mut(|cache| {
            let is_it = |cached: &Cached| {
                cached.options == options && cached.groups == groups && cached.pattern == pattern
            };
            match cache.iter().position(is_it) {
                // The most recent one is the first to be looked at.
                Some(at) => cache[..=at].rotate_right(1),
                None => {
                    let regex = Rc::new(Self::new(pattern, options, groups)?);
                    cache.truncate(CACHED - 1);
                    let pattern = pattern.to_owned();
                    cache.insert(0, Cached { pattern, options, groups, regex });
                }
            }
            Ok(Rc::clone(&cache[0].regex))
        })
    }
}
