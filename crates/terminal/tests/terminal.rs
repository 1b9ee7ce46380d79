//! Keys in, screens out: the explorer over a database of this process, drawn into a buffer.

use anywhen::{Database, Meta, Moment, Revision};
use expect_test::{Expect, expect};
use terminal::headless::{Headless, KeyCode, KeyModifiers};
use terminal::visible::is_obeyed;
use terminal::{Refusal, Source};

/// 2026-03-01T00:00:00Z, and a day, in microseconds.
const NOW_US: u64 = 1_772_323_200_000_000;
const DAY_US: u64 = 86_400_000_000;

/// Somebody who explores.
struct Person {
    explorer: Headless,
    _folder: tempfile::TempDir,
}

fn moments(text: &str) -> Result<Moment, String> {
    if let Ok(number) = text.parse() {
        return Ok(Moment::Revision(Revision(number)));
    }
    let time = anywhen::time::parse_at(text, NOW_US);
    time.map(Moment::Time).ok_or_else(|| format!("{text:?} cannot be a moment"))
}

/// The document `c/d`, a version a day, the last one a day ago.
fn history(versions: &[&str]) -> impl FnOnce(&Database) {
    move |database| {
        let collection = database.collection("c").expect("a collection");
        for (at, version) in versions.iter().enumerate() {
            let days = (versions.len() - at) as u64;
            let meta = Meta {
                author: ["ada", "grace"][at % 2].to_owned(),
                message: format!("change {}", at + 1),
                authored_us: Some(NOW_US - days * DAY_US),
                ..Meta::default()
            };
            collection.put_with("d", version, &meta).expect("it is JSON");
        }
    }
}

impl Person {
    fn new(make: impl FnOnce(&Database), target: &str, width: u16, height: u16) -> Person {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open_or_create(folder.path()).expect("a database");
        make(&database);
        let source = Source::local(database).expect("threads");
        let target = match target.split_once('/') {
            Some((collection, key)) => Some((collection.to_owned(), Some(key.to_owned()))),
            None if target.is_empty() => None,
            None => Some((target.to_owned(), None)),
        };
        let explorer = Headless::new(source, target, (width, height), NOW_US, moments);
        Person { explorer, _folder: folder }
    }

    /// Presses keys: words name keys, and what stands between quotes is typed.
    fn press(&mut self, words: &str) -> &mut Person {
        for (at, part) in words.split('\'').enumerate() {
            if at % 2 == 1 {
                for c in part.chars() {
                    self.key(KeyCode::Char(c), KeyModifiers::NONE);
                }
                continue;
            }
            for word in part.split_whitespace() {
                let (modifiers, name) = match word.split_once('-') {
                    Some(("shift", name)) => (KeyModifiers::SHIFT, name),
                    Some(("ctrl", name)) => (KeyModifiers::CONTROL, name),
                    _ => (KeyModifiers::NONE, word),
                };
                self.key(code(name), modifiers);
            }
        }
        self
    }

    fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.explorer.key(code, modifiers);
    }

    fn screen(&self) -> String {
        self.explorer.screen()
    }

    #[track_caller]
    fn sees(&self, expected: &Expect) {
        expected.assert_eq(&self.screen());
    }
}

fn code(name: &str) -> KeyCode {
    match name {
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pageup" => KeyCode::PageUp,
        "pagedown" => KeyCode::PageDown,
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "backspace" => KeyCode::Backspace,
        "tab" => KeyCode::Tab,
        "space" => KeyCode::Char(' '),
        _ => KeyCode::Char(name.chars().next().expect("a key")),
    }
}

const MENU: &[&str] = &[
    r#"{"title":"Menu","prices":{"tea":300,"cake":450},"tags":["hot","cold"]}"#,
    r#"{"title":"Menu","prices":{"tea":320,"cake":450},"tags":["hot","cold"]}"#,
    r#"{"title":"The menu","prices":{"tea":320,"cake":450,"pie":500},"tags":["cold","hot"]}"#,
    r#"{"title":"The menu","prices":{"tea":350,"pie":500},"tags":["cold","hot"]}"#,
];

/// A document comes up at its newest version, with its blame and its axis; the arrow keys walk through its history.
#[test]
fn a_document_and_its_history() {
    let mut person = Person::new(history(MENU), "c/d", 80, 18);
    person.sees(&expect![[r#"
        c/d  revision 4 of 4  2026-02-28 00:00:00  grace  change 4
        $
          1 ada          4d  │ ▾ {3}
          3 ada          2d  │     title: "The menu"
          4 grace        1d  │   ▾ prices: {2}
          4 grace        1d  │       tea: 350
          3 ada          2d  │       pie: 500
          1 ada          4d  │   ▾ tags: [2]
          3 ada          2d  │       [0] "cold"
          1 ada          4d  │       [1] "hot"




         █                        █                         █                         █
                                                                                      ▲
         2026-02-25 00:00:00              by time (t)               2026-02-28 00:00:00
        ←→ version  ⏎ open  h history  m mark  c changes  g go to  / search  ? help  q …
    "#]]);
    person.press("home").sees(&expect![[r#"
        c/d  revision 1 of 4  2026-02-25 00:00:00  ada  change 1
        $
          1 ada          4d  │ ▾ {3}
          1 ada          4d  │     title: "Menu"
          1 ada          4d  │   ▾ prices: {2}
          1 ada          4d  │       tea: 300
          1 ada          4d  │       cake: 450
          1 ada          4d  │   ▾ tags: [2]
          1 ada          4d  │       [0] "hot"
          1 ada          4d  │       [1] "cold"




         █                        █                         █                         █
         ▲
         2026-02-25 00:00:00              by time (t)               2026-02-28 00:00:00
        ←→ version  ⏎ open  h history  m mark  c changes  g go to  / search  ? help  q …
    "#]]);
    person.press("right");
    assert!(person.screen().contains("revision 2 of 4"));
    person.press("shift-left");
    assert!(person.screen().contains("revision 1 of 4"));
    person.press("]");
    assert!(person.screen().contains("revision 4 of 4"));
    // By revision the versions stand side by side.
    person.press("t");
    assert!(person.screen().contains("by revision"));
}

/// The mark of the version in view never goes back on the axis while the reader goes on, begins and ends with it, and
/// stands below a bar; by time and by revision, on narrow and wide screens.
#[test]
fn the_axis_follows_the_history() {
    let versions: Vec<String> = (0..30).map(|n| n.to_string()).collect();
    let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
    for width in [24, 33, 80, 140] {
        let mut person = Person::new(history(&versions), "c/d", width, 14);
        for how in ["by time", "by revision"] {
            person.press("home");
            let mut columns = Vec::new();
            for _ in 0..versions.len() {
                let screen = person.screen();
                let mark = screen.lines().rev().nth(2).expect("a row with marks");
                let column = mark.chars().position(|c| c == '▲').expect("a mark");
                let bars: Vec<char> = screen.lines().rev().nth(3).expect("bars").chars().collect();
                assert!(('▁'..='█').contains(&bars[column]), "{width} {how}: {screen}");
                columns.push(column);
                person.press("right");
            }
            let ends = (columns[0], columns[versions.len() - 1]);
            assert_eq!(ends, (1, usize::from(width) - 2), "{width} {how}");
            assert!(columns.is_sorted(), "{width} {how}: {columns:?}");
            person.press("t");
        }
    }
}

/// The tree shows what changed since the mark: values, what was added and moved, and what is gone.
#[test]
fn two_versions_are_compared() {
    let mut person = Person::new(history(MENU), "c/d", 80, 18);
    person.press("home m end").sees(&expect![[r#"
        c/d  revision 4 of 4  2026-02-28 00:00:00  grace  change 4
        since revision 1: 1 added, 1 removed, 2 changed, 1 moved  $
          1 ada          4d  │ ▾ {3}
          3 ada          2d ~│     title: "Menu" → "The menu"
          4 grace        1d  │   ▾ prices: {2}
                            -│       cake: 450
          4 grace        1d ~│       tea: 300 → 350
          3 ada          2d +│       pie: 500
          1 ada          4d  │   ▾ tags: [2]
          3 ada          2d >│       [0] "cold"  moved from $.tags[1]
          1 ada          4d  │       [1] "hot"



         █                        █                         █                         █
         ◆                                                                            ▲
         2026-02-25 00:00:00              by time (t)               2026-02-28 00:00:00
        ←→ version  ⏎ open  h history  m mark  c changes  g go to  / search  ? help  q …
    "#]]);
    person.press("c").sees(&expect![[r#"
        c/d  revision 4 of 4  2026-02-28 00:00:00  grace  change 4
        since revision 1: 1 added, 1 removed, 2 changed, 1 moved  $
          1 ada          4d  │ ▾ {3}
          3 ada          2d ~│     title: "Menu" → "The menu"
          4 grace        1d  │   ▾ prices: {2}
                            -│       cake: 450
          4 grace        1d ~│       tea: 300 → 350
          3 ada          2d +│       pie: 500
        changes from revision 1 to 4


        ~ $.title  "Menu" → "The menu"
        ~ $.prices.tea  300 → 350
        - $.prices.cake  450
         █                        █                         █                         █
         ◆                                                                            ▲
         2026-02-25 00:00:00              by time (t)               2026-02-28 00:00:00
        ↑↓ choose  ⏎ go there  tab tree  esc close  ? help  q quit
    "#]]);
    // A change leads to its node.
    person.press("down enter tab");
    assert!(person.screen().contains("$.prices"), "{}", person.screen());
    person.press("esc esc");
    assert!(!person.screen().contains("since revision"), "{}", person.screen());
}

/// The values that a node had, who gave them, and which it had most often; a value leads to its revision.
#[test]
fn the_history_of_a_node() {
    let mut person = Person::new(history(MENU), "c/d", 110, 18);
    person.press("/ 'tea' enter h").sees(&expect![[r#"
        c/d  revision 4 of 4  2026-02-28 00:00:00  grace  change 4
        $.prices.tea
          1 ada          4d  │ ▾ {3}                                      │ history of $.prices.tea
          3 ada          2d  │     title: "The menu"                      │ 3 values; most often 320, in 2 revisions
          4 grace        1d  │   ▾ prices: {2}                            │ ▁▄█ 300 to 350
          4 grace        1d  │       tea: 350                             │ ● 350
          3 ada          2d  │       pie: 500                             │   4-  grace  2026-02-28 00:00:00 (1d)  ch…
          1 ada          4d  │   ▾ tags: [2]                              │   320
          3 ada          2d  │       [0] "cold"                           │   2-3  grace  2026-02-26 00:00:00 (3d)  c…
          1 ada          4d  │       [1] "hot"                            │   300
                                                                          │   1  ada  2026-02-25 00:00:00 (4d)  chang…
                                                                          │
                                                                          │
                                                                          │
         █                                  █                                   █                                   █
                                                                                                                    ▲
         2026-02-25 00:00:00                             by time (t)                              2026-02-28 00:00:00
        ↑↓ choose  ⏎ go there  tab tree  esc close  ? help  q quit
    "#]]);
    person.press("down down enter");
    assert!(person.screen().contains("revision 1 of 4"), "{}", person.screen());
    // Of a container: what each version changed inside of it.
    person.press("tab u h").sees(&expect![[r#"
        c/d  revision 1 of 4  2026-02-25 00:00:00  ada  change 1
        $.prices
          1 ada          4d  │ ▾ {3}                                      │ history of $.prices
          1 ada          4d  │     title: "Menu"                          │
          1 ada          4d  │   ▾ prices: {2}                            │
          1 ada          4d  │       tea: 300                             │   ~ $.prices.tea, - $.prices.cake
          1 ada          4d  │       cake: 450                            │   4-  grace  2026-02-28 00:00:00 (1d)  ch…
          1 ada          4d  │   ▾ tags: [2]                              │   + $.prices.pie
          1 ada          4d  │       [0] "hot"                            │   3  ada  2026-02-27 00:00:00 (2d)  chang…
          1 ada          4d  │       [1] "cold"                           │   ~ $.prices.tea
                                                                          │   2  grace  2026-02-26 00:00:00 (3d)  cha…
                                                                          │ ● made
                                                                          │   1  ada  2026-02-25 00:00:00 (4d)  chang…
                                                                          │
         █                                  █                                   █                                   █
         ▲
         2026-02-25 00:00:00                             by time (t)                              2026-02-28 00:00:00
        ↑↓ choose  ⏎ go there  tab tree  esc close  ? help  q quit
    "#]]);
}

/// A search finds keys and values in any case, goes on at the other end, and says where there is nothing.
#[test]
fn search() {
    let mut person = Person::new(history(MENU), "c/d", 80, 16);
    for (keys, path, notice) in [
        ("/ 'CAKE' enter", "$", "no key or value has \"CAKE\""),
        ("left n", "$.prices.cake", ""),
        ("/ 'o' enter", "$.tags[0]", ""),
        ("n", "$.tags[1]", ""),
        ("n", "$.tags[0]", "the search went on at the other end"),
        ("N", "$.tags[1]", "the search went on at the other end"),
    ] {
        person.press(keys);
        let screen = person.screen();
        assert!(screen.lines().nth(1).is_some_and(|line| line == path), "{keys}: {screen}");
        let notice = if notice.is_empty() { "←→" } else { notice };
        assert!(
            screen.lines().last().is_some_and(|line| line.contains(notice)),
            "{keys}: {screen}"
        );
    }
}

/// Moments are revisions or times, as people say them; a time counts as the axis shows it.
#[test]
fn moments_lead_to_revisions() {
    let mut person = Person::new(history(MENU), "c/d", 80, 16);
    for (typed, found) in [
        ("2", "revision 2 of 4"),
        ("2026-02-27", "revision 3 of 4"),
        ("36 hours ago", "revision 3 of 4"),
        ("now", "revision 4 of 4"),
        ("9", "the newest revision is 4"),
        ("soon", "\"soon\" cannot be a moment"),
        ("2020-01-01", "there was no document"),
    ] {
        person.press(&format!("g '{typed}' enter"));
        assert!(person.screen().contains(found), "{typed}: {}", person.screen());
    }
}

/// The history plays to its end, and a key stops it.
#[test]
fn play() {
    let mut person = Person::new(history(MENU), "c/d", 80, 16);
    person.press("space");
    let mut seen = Vec::new();
    while person.explorer.is_playing() {
        let screen = person.screen();
        seen.extend(screen.split("revision ").nth(1).and_then(|rest| rest.chars().next()));
        person.explorer.tick(NOW_US);
    }
    assert_eq!(seen, ['1', '2', '3']);
    person.press("space right");
    assert!(!person.explorer.is_playing());
}

/// Collections and documents are chosen from lists; the way back leads to where one was.
#[test]
fn lists() {
    let make = |database: &Database| {
        for name in ["animals", "plants"] {
            let collection = database.collection(name).expect("a collection");
            for key in 0..1_200 {
                collection.put(&format!("k{key:04}"), "1").expect("JSON");
            }
        }
    };
    let mut person = Person::new(make, "", 60, 10);
    person.sees(&expect![[r#"
        data  collections

        > animals
          plants





        ↑↓ choose  ⏎ open  / names  esc back  ? help  q quit
    "#]]);
    person.press("down enter");
    assert!(person.screen().contains("> k0000"), "{}", person.screen());
    // The next names are there before the reader is.
    person.press("end end end");
    assert!(person.screen().contains("> k1199"), "{}", person.screen());
    person.press("/ 'k07' enter").sees(&expect![[r#"
        data  plants  names that begin with k07

        > k0700
          k0701
          k0702
          k0703
          k0704
          k0705
          k0706
        ↑↓ choose  ⏎ open  / names  esc back  ? help  q quit
    "#]]);
    person.press("enter");
    assert!(person.screen().contains("plants/k0700"), "{}", person.screen());
    person.press("esc");
    assert!(person.screen().contains("> k0700"), "{}", person.screen());
    person.press("esc");
    assert!(person.screen().contains("> plants"), "{}", person.screen());
    person.press("q");
    assert!(person.explorer.is_ended());
}

/// Keys, values, authors and messages that a terminal would obey are shown as escapes, on every page.
#[test]
fn a_screen_has_no_control_characters() {
    const EVIL: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}1m\u{202e}y\u{2066}\u{7f}";
    let make = |database: &Database| {
        let collection = database.collection(EVIL).expect("a collection");
        for number in 0..3 {
            let meta = Meta { author: EVIL.into(), message: EVIL.into(), ..Meta::default() };
            let (name, value) = (json::text::quote(EVIL), json::text::quote(EVIL));
            let text = format!("{{{name}:{value},\"n\":{number},\"{number}\":{value}}}");
            collection.put_with(EVIL, &text, &meta).expect("JSON");
        }
    };
    let mut person = Person::new(make, "", 100, 20);
    for keys in ["enter", "enter", "down h", "tab", "m left", "c", "/ '\u{202e}' enter"] {
        person.press(keys);
        let screen = person.screen().replace('\n', "");
        assert!(!screen.contains(is_obeyed), "{keys}: {screen:?}");
        assert!(screen.contains(r"\u001b"), "{keys}: {screen:?}");
    }
}

/// A document of 300,000 nodes is shown at once: no answer has more rows than some screens, wherever the reader goes.
#[test]
fn a_large_document() {
    let make = |database: &Database| {
        let items: Vec<String> = (0..100_000).map(|n| format!("{{\"n\":{n}}}")).collect();
        let text = format!("{{\"items\":[{}],\"last\":true}}", items.join(","));
        history(&[&text])(database);
    };
    let mut person = Person::new(make, "c/d", 80, 20);
    person.press(">");
    assert!(person.screen().contains("last: true"), "{}", person.screen());
    person.press("up enter pageup / '99998' enter").sees(&expect![[r#"
        c/d  revision 1 of 1  2026-02-28 00:00:00  ada  change 1
        $.items[99998].n
          1 ada          1d  │     ▸ [99989] {1}
          1 ada          1d  │     ▸ [99990] {1}
          1 ada          1d  │     ▸ [99991] {1}
          1 ada          1d  │     ▸ [99992] {1}
          1 ada          1d  │     ▸ [99993] {1}
          1 ada          1d  │     ▸ [99994] {1}
          1 ada          1d  │     ▸ [99995] {1}
          1 ada          1d  │     ▸ [99996] {1}
          1 ada          1d  │     ▸ [99997] {1}
          1 ada          1d  │     ▾ [99998] {1}
          1 ada          1d  │         n: 99998
          1 ada          1d  │     ▾ [99999] {1}
          1 ada          1d  │         n: 99999
          1 ada          1d  │     last: true
         █
         ▲
         2026-02-28 00:00:00              by time (t)               2026-02-28 00:00:00
        ←→ version  ⏎ open  h history  m mark  c changes  g go to  / search  ? help  q …
    "#]]);
    let (asked, nodes) = (person.explorer.asked, person.explorer.answer_nodes_max);
    assert!(nodes < 2_000, "{nodes}");
    assert!(asked < 40, "{asked}");
}

/// No size of the terminal, and no change of it, breaks a page.
#[test]
fn every_size() {
    let mut person = Person::new(history(MENU), "c/d", 80, 24);
    person.press("home m end h");
    for keys in ["tab", "c", "esc", "esc", "?", "/", "esc", "esc"] {
        for (width, height) in (0..40).map(|n| (n * 5, 40 - n)).chain([(1, 1), (300, 100)]) {
            person.explorer.resize(width, height);
            person.screen();
        }
        person.press(keys);
    }
    person.explorer.resize(60, 20);
    person.press("enter h").sees(&expect![[r#"
        data  c

        > d
















        ↑↓ choose  ⏎ open  / names  esc back  ? help  q quit
    "#]]);
}

/// A missing document is reported, and a server that goes away while the reader walks as well.
#[test]
fn refusals_are_told() {
    let person = Person::new(history(MENU), "c/none", 80, 14);
    assert!(person.screen().contains("no document \"none\""), "{}", person.screen());
    let mut person = Person::new(history(MENU), "c/d", 80, 14);
    let text = "the server does not answer".to_owned();
    person.explorer.refusal = Some(Refusal { status: 0, text });
    person.press("left");
    assert!(person.screen().contains("the server does not answer"), "{}", person.screen());
    // It is there again.
    person.explorer.refusal = None;
    person.press("left");
    assert!(person.screen().contains("tea: 320"), "{}", person.screen());
}

/// Revisions in which the document was removed have no rows, and the walk goes on behind them.
#[test]
fn a_removed_document() {
    let make = |database: &Database| {
        history(&MENU[..2])(database);
        let collection = database.collection("c").expect("a collection");
        collection.remove("d").expect("it is there");
        collection.put("d", MENU[2]).expect("JSON");
    };
    let mut person = Person::new(make, "c/d", 80, 14);
    person.press("left");
    assert!(person.screen().contains("removed"), "{}", person.screen());
    assert!(!person.screen().contains("prices"), "{}", person.screen());
    person.press("left");
    assert!(person.screen().contains("prices"), "{}", person.screen());
}
