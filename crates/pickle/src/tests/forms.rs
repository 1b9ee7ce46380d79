//! Each form of the JSON, and the values that other readers lose or confuse.

use super::{check, json, record};

/// A NaN that becomes `null`, 1e22 that becomes an integer and -0.0 that becomes 0 are values that
/// `zodb-json-codec` loses. Here each float is still a float, with a point, and the special ones
/// have a marker.
#[test]
fn floats_stay_floats() {
    let float = |value: f64| json(&record(&[b"G".as_slice(), &value.to_be_bytes()].concat()));
    assert_eq!(float(f64::NAN), r#"{"@f":"nan"}"#);
    assert_eq!(float(f64::INFINITY), r#"{"@f":"inf"}"#);
    assert_eq!(float(f64::NEG_INFINITY), r#"{"@f":"-inf"}"#);
    assert_eq!(float(-0.0), r#"{"@f":"-0.0"}"#);
    assert_eq!(float(0.0), "0.0");
    assert_eq!(float(1.0), "1.0");
    assert_eq!(float(-2.5), "-2.5");
    assert_eq!(float(1e22), "10000000000000000000000.0");
    assert_eq!(float(1e-5), "0.00001");
    assert_eq!(float(1e31), r#"{"@f":"1e31"}"#);
    assert_eq!(float(-1e300), r#"{"@f":"-1e300"}"#);
    assert_eq!(float(5e-324), r#"{"@f":"5e-324"}"#);
}

/// The text keeps the order of the keys. `jsonb` sorts them, and the pickle has the order still.
#[test]
fn keys_keep_their_order() {
    check(b"}(Vb\nI1\nVa\nI2\nu", r#"{"b":1,"a":2}"#);
    // A key that is set twice is written twice; readers of JSON take the last, as Python does.
    check(b"}(Va\nI1\nVa\nI2\nu", r#"{"a":1,"a":2}"#);
}

/// A user stores `{"@cls": ["os", "system"], "@s": 1}`. `zodb-json-codec` writes it as it is, and
/// reads an instance of `os.system` back. Here a dict with such a key is a `@d`, so that every
/// marker is one of the crate.
#[test]
fn dicts_that_look_like_markers_are_told_apart() {
    check(b"}V@t\n]I1\nas", r#"{"@d":[["@t",[1]]]}"#);
    check(b"}(V@cls\n](Vos\nVsystem\neV@s\nI1\nu", r#"{"@d":[["@cls",["os","system"]],["@s",1]]}"#);
    check(b"}(Va\nI1\nV@\nI2\nu", r#"{"@d":[["a",1],["@",2]]}"#);
}

/// Keys that are not strings, or strings that JSON's names cannot hold, make a `@d`.
#[test]
fn dicts_with_other_keys() {
    check(b"}I1\nVa\ns", r#"{"@d":[[1,"a"]]}"#);
    check(b"}NNs", r#"{"@d":[[null,null]]}"#);
    check(b"}X\x01\0\0\0\0I1\ns", r#"{"@d":[[{"@su":"AA=="},1]]}"#);
    check(b"}X\x03\0\0\0\xed\xa0\x80I1\ns", r#"{"@d":[[{"@su":"7aCA"},1]]}"#);
    check(b"}", "{}");
}

/// `zodb-json-codec` refuses a lone surrogate, and writes U+0000, which `jsonb` refuses.
#[test]
fn strings_that_jsonb_cannot_hold() {
    check(b"X\x03\0\0\0a\0b", r#"{"@su":"YQBi"}"#);
    check(b"X\x04\0\0\0\xed\xa0\x80x", r#"{"@su":"7aCAeA=="}"#);
}

/// `a = []; a.append(a)` came out of `zodb-json-codec` as `[[]]`. Here the marker says how many
/// containers up the value is.
#[test]
fn cycles_are_marked() {
    check(b"]q\x01h\x01a", r#"[{"@cycle":1}]"#);
    check(b"]q\x01]h\x01aa", r#"[[{"@cycle":2}]]"#);
    check(b"}q\x01Va\n]h\x01as", r#"{"a":[{"@cycle":2}]}"#);
    check(b"}q\x01I1\nh\x01s", r#"{"@d":[[1,{"@cycle":1}]]}"#);
    check(b"ca\nB\n)\x81q\x01}Vme\nh\x01sb", r#"{"@cls":["a","B"],"@s":{"me":{"@cycle":2}}}"#);
}

/// A shared container that is not inside itself is written in full each time.
#[test]
fn shared_containers_are_written_again() {
    check(b"(]q\x01I1\nah\x01h\x01t", r#"{"@t":[[1],[1],[1]]}"#);
}

/// `zodb-json-codec` 1.6 drops what an `OrderedDict`, a `defaultdict` and a `deque` contain, and the
/// items of subclasses of `dict` and `list`.
#[test]
fn collections_keep_their_contents() {
    check(
        b"ccollections\nOrderedDict\n)R(Vb\nI1\nVa\nI2\nu",
        r#"{"@reduce":{"callable":{"@cls":["collections","OrderedDict"]},"args":{"@t":[]},"kv":[["b",1],["a",2]]}}"#,
    );
    check(
        b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85RVa\n]s",
        r#"{"@reduce":{"callable":{"@cls":["collections","defaultdict"]},"args":{"@t":[{"@cls":["__builtin__","list"]}]},"kv":[["a",[]]]}}"#,
    );
    check(
        b"ccollections\ndeque\n)I5\n\x86R(I1\nI2\ne",
        r#"{"@reduce":{"callable":{"@cls":["collections","deque"]},"args":{"@t":[{"@t":[]},5]},"items":[1,2]}}"#,
    );
    check(
        b"ccollections\nCounter\n}Va\nI2\ns\x85R",
        r#"{"@reduce":{"callable":{"@cls":["collections","Counter"]},"args":{"@t":[{"a":2}]}}}"#,
    );
    check(
        b"ca\nD\n)\x81Va\nI1\ns}Vy\nI2\nsb",
        r#"{"@cls":["a","D"],"@s":{"y":2},"@kv":[["a",1]]}"#,
    );
    check(b"ca\nL\n)\x81I1\na", r#"{"@cls":["a","L"],"@s":null,"@items":[1]}"#);
    check(
        b"cf\ng\nI1\n\x85R}Vy\nI2\nsb",
        r#"{"@reduce":{"callable":{"@cls":["f","g"]},"args":{"@t":[1]},"state":{"y":2}}}"#,
    );
}

/// Sets of protocols 0 to 3 are calls.
#[test]
fn called_sets() {
    check(b"c__builtin__\nset\n(lI1\na\x85R", r#"{"@set":[1]}"#);
    check(b"cbuiltins\nfrozenset\n]I1\na\x85R", r#"{"@fset":[1]}"#);
    check(b"cbuiltins\nset\n)R", r#"{"@set":[]}"#);
}

/// Dates, times and spans, with the zones that Python's own classes and pytz write.
#[test]
fn dates_and_times() {
    let moment = b"cdatetime\ndatetime\nC\x0a\x07\xe9\x01\x02\x03\x04\x05\x00\x02\xa6";
    let moment_in = |zone: &[u8]| json(&record(&[moment.as_slice(), zone, b"\x86R"].concat()));
    check(&[moment.as_slice(), b"\x85R"].concat(), r#"{"@dt":"2025-01-02T03:04:05.000678"}"#);
    let hours = |hours: &str| {
        format!("cdatetime\ntimezone\n(cdatetime\ntimedelta\n(I{hours}\nI3600\nI0\ntRtR")
            .into_bytes()
    };
    assert_eq!(moment_in(&hours("0")), r#"{"@dt":"2025-01-02T03:04:05.000678+01:00"}"#);
    assert_eq!(moment_in(&hours("-1")), r#"{"@dt":"2025-01-02T03:04:05.000678-23:00"}"#);
    assert_eq!(
        moment_in(b"cdatetime\ntimezone\n(cdatetime\ntimedelta\n(I0\nI7261\nI5\ntRVodd\ntR"),
        r#"{"@dt":"2025-01-02T03:04:05.000678+02:01:01.000005","@tz":{"name":"odd"}}"#
    );
    assert_eq!(moment_in(b"cpytz\n_UTC\n)R"), r#"{"@dt":"2025-01-02T03:04:05.000678+00:00"}"#);
    assert_eq!(
        moment_in(b"cpytz\nFixedOffset\nI-90\n\x85R"),
        r#"{"@dt":"2025-01-02T03:04:05.000678-01:30"}"#
    );
    assert_eq!(
        moment_in(b"cpytz\n_p\n(VEurope/Vienna\nI3600\nI0\nVCET\ntR"),
        r#"{"@dt":"2025-01-02T03:04:05.000678","@tz":{"pytz":["Europe/Vienna",3600,0,"CET"],"name":"Europe/Vienna"}}"#
    );
    assert_eq!(
        moment_in(b"ca\nZone\n)\x81"),
        r#"{"@dt":"2025-01-02T03:04:05.000678","@tz":{"@cls":["a","Zone"],"@s":null}}"#
    );
    check(
        b"cdatetime\ndatetime\nC\x0a\x07\xe9\x81\x02\x03\x04\x05\x00\x00\x00\x85R",
        r#"{"@dt":"2025-01-02T03:04:05","@fold":1}"#,
    );
    check(b"cdatetime\ntime\nC\x06\x03\x04\x05\x00\x00\x00\x85R", r#"{"@time":"03:04:05"}"#);
    check(
        b"cdatetime\ntime\nC\x06\x83\x04\x05\x00\x00\x00\x85R",
        r#"{"@time":"03:04:05","@fold":1}"#,
    );
    check(b"cdatetime\ndate\nU\x04\x07\xe9\x01\x02\x85R", r#"{"@date":"2025-01-02"}"#);
    check(b"cdatetime\ntimedelta\n(I-1\nI68400\nI0\ntR", r#"{"@td":[-1,68400,0]}"#);
}

/// Calls whose arguments are not those of the class stay calls.
#[test]
fn odd_arguments_stay_calls() {
    check(
        b"cdatetime\ndate\nC\x04\x07\xe9\x0d\x02\x85R",
        r#"{"@reduce":{"callable":{"@cls":["datetime","date"]},"args":{"@t":[{"@b":"B+kNAg=="}]}}}"#,
    );
    check(
        b"cdecimal\nDecimal\nI5\n\x85R",
        r#"{"@reduce":{"callable":{"@cls":["decimal","Decimal"]},"args":{"@t":[5]}}}"#,
    );
    check(
        b"cbuiltins\nset\nI5\n\x85R",
        r#"{"@reduce":{"callable":{"@cls":["builtins","set"]},"args":{"@t":[5]}}}"#,
    );
    check(b"cuuid\nUUID\n)\x81}Vint\nI-1\nsb", r#"{"@cls":["uuid","UUID"],"@s":{"int":-1}}"#);
}

/// Decimals keep their digits, UUIDs their usual text.
#[test]
fn decimals_and_uuids() {
    check(b"cdecimal\nDecimal\nV1.50\n\x85R", r#"{"@dec":"1.50"}"#);
    check(
        b"cuuid\nUUID\n)\x81}Vint\nI5\nsb",
        r#"{"@uuid":"00000000-0000-0000-0000-000000000005"}"#,
    );
    check(
        b"cuuid\nUUID\n)\x81}Vint\nL340282366920938463463374607431768211455L\nsb",
        r#"{"@uuid":"ffffffff-ffff-ffff-ffff-ffffffffffff"}"#,
    );
}

/// The states of BTrees are flat; a state of another form is the tuple that it is.
#[test]
fn btrees() {
    let state_of = |class: &str, state: &[u8]| {
        let record = [b"cBTrees.", class.as_bytes(), b"\n.", state, b"."].concat();
        json(&record)
    };
    let leaf = b"(I1\nVa\nI2\nVb\nt\x85";
    assert_eq!(state_of("IOBTree\nIOBucket", leaf), r#"{"@kv":[[1,"a"],[2,"b"]]}"#);
    assert_eq!(state_of("IOBTree\nIOSet", leaf), r#"{"@ks":[1,"a",2,"b"]}"#);
    let small = [leaf.as_slice(), b"\x85\x85"].concat();
    assert_eq!(state_of("IOBTree\nIOBTree", &small), r#"{"@kv":[[1,"a"],[2,"b"]]}"#);
    assert_eq!(state_of("IOBTree\nIOTreeSet", &small), r#"{"@ks":[1,"a",2,"b"]}"#);
    assert_eq!(state_of("IOBTree\nIOBTree", b"N"), "null");
    let reference = b"C\x08\0\0\0\0\0\0\0\x05Q";
    let chained = [b"(I1\nVa\nt".as_slice(), reference, b"\x86"].concat();
    assert_eq!(
        state_of("IOBTree\nIOBucket", &chained),
        r#"{"@kv":[[1,"a"]],"@next":{"@ref":"0000000000000005"}}"#
    );
    let large = [b"(".as_slice(), reference, b"I7\n", reference, b"t", reference, b"\x86"].concat();
    assert_eq!(
        state_of("IOBTree\nIOBTree", &large),
        r#"{"@children":[{"@ref":"0000000000000005"},7,{"@ref":"0000000000000005"}],"@first":{"@ref":"0000000000000005"}}"#
    );
    assert_eq!(state_of("Length\nLength", b"I5\n"), "5");
    assert_eq!(state_of("IOBTree\nIOBucket", b"(I1\nt\x85"), r#"{"@t":[{"@t":[1]}]}"#);
    assert_eq!(state_of("IOBTree\nOther", leaf), r#"{"@t":[{"@t":[1,"a",2,"b"]}]}"#);
    check(
        &[b"cBTrees.IOBTree\nIOBucket\n)\x81".as_slice(), leaf, b"b"].concat(),
        r#"{"@cls":["BTrees.IOBTree","IOBucket"],"@s":{"@kv":[[1,"a"],[2,"b"]]}}"#,
    );
}

/// A record that has no JSON of its own can be shown in base64.
#[test]
fn raw_records() {
    let mut out = Vec::new();
    crate::to_raw_json(b"ab", &mut out);
    assert_eq!(out, br#"{"@pkl":"YWI="}"#);
}
