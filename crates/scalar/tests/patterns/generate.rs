//! Patterns, flags and texts at random: small enough to match now and then, and one in five of them
//! with what is often written wrong.

/// Random numbers that a seed repeats (SplitMix64).
pub struct Random {
    state: u64,
    /// True while a pattern is made that may be wrong.
    wild: bool,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self { state: seed, wild: false }
    }

    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.number() % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of some texts, or at times of those that only a wild pattern has.
    fn of<'a>(&mut self, good: &[&'a str], wild: &[&'a str]) -> &'a str {
        if self.wild && self.one_in(6) { self.pick(wild) } else { self.pick(good) }
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// An expression, its flags, and a text to look in.
pub struct Case {
    /// True for a pattern of `SIMILAR TO`, whose escape is `#`.
    pub similar: bool,
    pub pattern: String,
    pub flags: String,
    pub text: String,
}

/// A case at random, one in ten of them for `SIMILAR TO`.
pub fn case(random: &mut Random) -> Case {
    random.wild = random.one_in(5);
    if random.one_in(10) {
        let mut pattern = String::new();
        similar(random, &mut pattern, 2);
        let (flags, text) = (String::new(), text(random));
        return Case { similar: true, pattern, flags, text };
    }
    posix(random)
}

/// A pattern of the SQL standard, at times cut in three for `substring`.
fn similar(random: &mut Random, out: &mut String, depth: usize) {
    for _ in 0..=random.below(4) {
        match random.below(9) {
            0 if depth > 0 => {
                out.push('(');
                similar(random, out, depth - 1);
                out.push(')');
            }
            1 if depth == 2 => out.push_str("#\""),
            2 => {
                out.push_str(random.pick(&["[ab]", "[^a]", "[a-c]", "[]a]", "[[:alpha:]]", "[_%]"]))
            }
            3 => out.push_str(random.of(
                &["#%", "#_", "#(", "##", "|", ".", "^", "$"],
                &["\\", "#", "\"", "[", "]", "{", ")", "#d", "[^]", "#\"#\"#\""],
            )),
            4 => out.push_str(random.pick(&["%", "%", "_", "__"])),
            _ => out.push_str(random.pick(&["a", "b", "c", "ab"])),
        }
        if random.one_in(4) {
            out.push_str(
                random.of(&["*", "+", "?", "{2}", "{1,2}", "{0,}"], &["{", "**", "{2,1}"]),
            );
        }
    }
}

fn text(random: &mut Random) -> String {
    let letters =
        random.pick(&["ab", "ab", "abc", "abcx", "aAbB", "ab1_ ", "ab\n", "aä€b", "ab-]^"]);
    let letters: Vec<char> = letters.chars().collect();
    (0..random.below(14)).map(|_| letters[random.below(letters.len())]).collect()
}

fn posix(random: &mut Random) -> Case {
    let mut pattern = String::new();
    if random.one_in(12) {
        pattern.push_str(random.of(
            &["(?i)", "(?n)", "(?x)", "(?s)", "(?w)", "(?p)", "***:", "***:(?i)", "(?ix)", "(?m)"],
            &[
                "***=", "(?e)", "(?b)", "(?q)", "(?c)", "(?z)", "***?", "***", "(?", "(?i", "(?t)",
                "(?iä)",
            ],
        ));
    }
    let mut groups = 0;
    alternatives(random, &mut pattern, 3, &mut groups);
    // A few are spoilt.
    if random.wild && random.one_in(2) {
        let chars: Vec<char> = pattern.chars().collect();
        let at = random.below(chars.len() + 1);
        let mut spoilt: String = chars[..at].iter().collect();
        match random.below(3) {
            0 => spoilt.push_str(random.pick(&[
                "(", ")", "[", "]", "{", "}", "*", "+", "?", "\\", "|", "^", "$", "-", ",", "1",
                "[:", ":]", "[.", ".]", "[=", "=]", "(?", "(?:", "{1", "{2,1}", "#", " ", "\\)",
            ])),
            1 => {}
            _ => spoilt.push(' '),
        }
        let skip = usize::from(random.one_in(2));
        spoilt.extend(chars[at..].iter().skip(skip));
        pattern = spoilt;
    }
    let mut flags = String::new();
    if random.one_in(6) {
        for _ in 0..=random.below(2) {
            flags.push_str(
                random.of(&["i", "n", "x", "s", "w", "p", "c", "t", "m"], &["q", "e", "b", "k"]),
            );
        }
    }
    Case { similar: false, pattern, flags, text: text(random) }
}

fn alternatives(random: &mut Random, out: &mut String, depth: usize, groups: &mut usize) {
    branch(random, out, depth, groups);
    while random.one_in(4) {
        out.push('|');
        branch(random, out, depth, groups);
    }
}

fn branch(random: &mut Random, out: &mut String, depth: usize, groups: &mut usize) {
    for _ in 0..random.below(3) + usize::from(!random.one_in(8)) {
        atom(random, out, depth, groups);
        if random.one_in(3) {
            out.push_str(random.of(
                &[
                    "*", "+", "?", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,1}",
                    "{2,}", "{1,2}?", "{1}", "{1,1}?", "{1,1}", "{0}", "{0,2}?", "{2}?", "{0,3}",
                    "{1,}?",
                ],
                &["{,2}", "{1,", "{256}", "{3,2}", "**", "{1", "{255}", "{1 }"],
            ));
        }
    }
}

fn atom(random: &mut Random, out: &mut String, depth: usize, groups: &mut usize) {
    match random.below(24) {
        0..=8 => out.push_str(random.pick(&["a", "b", "a", "b", "c", "ab", "x", "A", "ä", "1"])),
        9 => out.push('.'),
        10 => out.push_str(
            random
                .pick(&["^", "$", "\\A", "\\Z", "\\m", "\\M", "\\y", "\\Y", "[[:<:]]", "[[:>:]]"]),
        ),
        11 => out.push_str(random.of(
            &["\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "\\.", "\\x61", "\\u0061", "\\141", "\\n"],
            &[
                "\\e",
                "\\cA",
                "\\B",
                "\\q",
                "\\x",
                "\\U00000062",
                "\\0",
                "\\12",
                "\\u62",
                "\\a",
                "\\8",
                "€",
                "_",
                "\n",
                "\\x7fffffff",
            ],
        )),
        12..=14 => brackets(random, out),
        15 if *groups > 0 => {
            let beyond = usize::from(random.one_in(8));
            let group = 1 + random.below(*groups + beyond);
            out.push_str(&format!("\\{group}"));
        }
        16 if depth > 0 => {
            out.push_str(random.pick(&["(?=", "(?!", "(?<=", "(?<!"]));
            let mut inner = 0;
            alternatives(random, out, depth - 1, &mut inner);
            out.push(')');
        }
        17 | 18 if depth > 0 => {
            out.push_str("(?:");
            alternatives(random, out, depth - 1, groups);
            out.push(')');
        }
        19..=23 if depth > 0 => {
            *groups += 1;
            out.push('(');
            alternatives(random, out, depth - 1, groups);
            out.push(')');
        }
        _ => out.push('a'),
    }
}

fn brackets(random: &mut Random, out: &mut String) {
    out.push('[');
    if random.one_in(4) {
        out.push('^');
    }
    for _ in 0..=random.below(3) {
        out.push_str(random.of(
            &[
                "a",
                "b",
                "c",
                "a-b",
                "A-C",
                "^",
                "x",
                "ä",
                "\\d",
                "\\w",
                "\\D",
                "\\s",
                "\\W",
                "[:alpha:]",
                "[:digit:]",
                "[:space:]",
                "[:upper:]",
                "[:lower:]",
                "[:punct:]",
                "[.a.]",
                "[=b=]",
                "[.hyphen.]",
                "\\n",
                "[.a.]-c",
            ],
            &[
                "]",
                "-",
                "[.nosuch.]",
                "[:nosuch:]",
                "b-a",
                "[",
                "\\",
                "a-\\d",
                "[:graph:]",
                "a-c-e",
            ],
        ));
    }
    out.push(']');
}
