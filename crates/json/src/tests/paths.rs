//! Paths and pointers: what they name, how they are written, and why others are refused.

use expect_test::expect;

use crate::{JsonPath, Tape};

const DOCUMENT: &str = r#"{"a":{"b":[10,{"odd name":"x"}],"0":"zero"},"":1,"it's":2,"q\"":3,"m~n/o":4,"é":5,"$ref":6,"a.b":7,"a-b":8}"#;

fn found(path: &str) -> String {
    let tape = Tape::parse(DOCUMENT).unwrap();
    match JsonPath::parse(path) {
        Err(error) => format!("{path:24} {error}"),
        Ok(parsed) => {
            let value = parsed.find(&tape).map_or("nothing".into(), |node| node.to_json());
            format!("{path:24} {:20} {value}", parsed.to_string())
        }
    }
}

/// Path, canonical form, and the value it names in one document.
#[test]
fn paths_name_values() {
    let paths = [
        "$.a.b[0]",
        "$.a.b[1].\"odd name\"",
        "$['a']['b'][1]['odd name']",
        "$[\"a\"].b[2]",
        "$.a.x",
        "$.a.0",
        "$.a.b.c",
        "$['']",
        "$.\"\"",
        "$['it\\'s']",
        "$.\"it's\"",
        "$['q\"']",
        "$.\"q\\\"\"",
        "$.é",
        "$.\"\\u00e9\"",
        "$.$ref",
        "$.a-b",
        "$['a.b']",
        "/a/b/0",
        "/a/b/1/odd name",
        "/a/0",
        "/m~0n~1o",
        "/",
        "/a/b/00",
        "/a/b/-",
        "/q\"",
    ];
    let table: Vec<_> = paths.into_iter().map(found).collect();
    expect![[r#"
        $.a.b[0]                 $.a.b[0]             10
        $.a.b[1]."odd name"      $.a.b[1]."odd name"  "x"
        $['a']['b'][1]['odd name'] $.a.b[1]."odd name"  "x"
        $["a"].b[2]              $.a.b[2]             nothing
        $.a.x                    $.a.x                nothing
        $.a.0                    $.a."0"              "zero"
        $.a.b.c                  $.a.b.c              nothing
        $['']                    $.""                 1
        $.""                     $.""                 1
        $['it\'s']               $."it's"             2
        $."it's"                 $."it's"             2
        $['q"']                  $."q\""              3
        $."q\""                  $."q\""              3
        $.é                      $.é                  5
        $."\u00e9"               $.é                  5
        $.$ref                   $.$ref               6
        $.a-b                    $."a-b"              8
        $['a.b']                 $."a.b"              7
        /a/b/0                   /a/b/0               10
        /a/b/1/odd name          /a/b/1/odd name      "x"
        /a/0                     /a/0                 "zero"
        /m~0n~1o                 /m~0n~1o             4
        /                        /                    1
        /a/b/00                  /a/b/00              nothing
        /a/b/-                   /a/b/-               nothing
        /q"                      /q"                  3"#]]
    .assert_eq(&table.join("\n"));
    let tape = Tape::parse(DOCUMENT).unwrap();
    for root in [JsonPath::parse("$").unwrap(), JsonPath::pointer("").unwrap(), JsonPath::root()] {
        assert_eq!(root.find(&tape).unwrap().index(), 0);
        assert_eq!((root.to_string(), root.to_pointer()), ("$".into(), "".into()));
    }
}

/// Errors name the byte and what was expected there.
#[test]
fn errors_are_clear() {
    let paths = [
        "",
        "a",
        " $",
        "$a",
        "$.",
        "$..a",
        "$.a.",
        "$[",
        "$[]",
        "$[1",
        "$[-1]",
        "$[01]",
        "$[x]",
        "$[*]",
        "$.*",
        "$['a",
        "$['a'",
        "$.\"a",
        "$.\"a\\\"",
        "$.\"\\x\"",
        "$.\"\\ud800\"",
        "$ .a",
        "$.a b",
        "$.a]",
        "/~",
        "/a~2",
        "$[99999999999999999999]",
    ];
    let table: Vec<_> =
        paths.into_iter().map(|path| JsonPath::parse(path).unwrap_err().to_string()).collect();
    expect![[r#"
        not a path: ``: expected `$` or `/` at byte 0
        not a path: `a`: expected `$` or `/` at byte 0
        not a path: ` $`: expected `$` or `/` at byte 0
        not a path: `$a`: expected `.`, `[` or the end at byte 1
        not a path: `$.`: expected a field name at byte 2
        not a path: `$..a`: expected a field name at byte 2
        not a path: `$.a.`: expected a field name at byte 4
        not a path: `$[`: expected a position from 0 or a quoted field name at byte 2
        not a path: `$[]`: expected a position from 0 or a quoted field name at byte 2
        not a path: `$[1`: expected `]` at byte 3
        not a path: `$[-1]`: expected a position from 0 or a quoted field name at byte 2
        not a path: `$[01]`: expected a position from 0 or a quoted field name at byte 2
        not a path: `$[x]`: expected a position from 0 or a quoted field name at byte 2
        not a path: `$[*]`: expected a position from 0 or a quoted field name at byte 2
        not a path: `$.*`: expected a field name at byte 2
        not a path: `$['a`: expected the closing quote of a field name at byte 4
        not a path: `$['a'`: expected `]` at byte 5
        not a path: `$."a`: expected the closing quote of a field name at byte 4
        not a path: `$."a\"`: expected the closing quote of a field name at byte 6
        not a path: `$."\x"`: expected a field name with JSON's escapes at byte 3
        not a path: `$."\ud800"`: expected a field name with JSON's escapes at byte 3
        not a path: `$ .a`: expected `.`, `[` or the end at byte 1
        not a path: `$.a b`: expected `.`, `[` or the end at byte 3
        not a path: `$.a]`: expected `.`, `[` or the end at byte 3
        not a path: `/~`: expected `0` or `1` after `~` at byte 2
        not a path: `/a~2`: expected `0` or `1` after `~` at byte 3
        not a path: `$[99999999999999999999]`: expected a position from 0 or a quoted field name at byte 2"#]].assert_eq(&table.join("\n"));
}

/// Paths are built from names and positions as they are, without escapes.
#[test]
fn paths_are_built() {
    let path = JsonPath::root().field("items").index(3).field("odd \"name\"");
    assert_eq!(path.to_string(), r#"$.items[3]."odd \"name\"""#);
    assert_eq!(path.to_pointer(), r#"/items/3/odd "name""#);
    let (parent, last) = path.split_last().unwrap();
    assert_eq!(
        (parent.to_string().as_str(), last),
        ("$.items[3]", &crate::Step::Field("odd \"name\"".into()))
    );
    assert!(JsonPath::root().split_last().is_none());
}
