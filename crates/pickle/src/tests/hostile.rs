//! Records that are made to do harm: limits hold, and no bytes cause a panic.

use proptest::prelude::*;

use super::records::samples;
use super::{json, json_within, record};
use crate::Limits;
use crate::head::read_both_ways;

/// Lists that each have the one before them eight times: some 260 bytes stand for 8^11 values. From
/// a record of 264 bytes, `zodb-json-codec` made 71 MB of JSON.
fn bomb() -> Vec<u8> {
    let mut state = b"]q\x01".to_vec();
    for level in 1..=11 {
        state.extend([b'0', b']', b'q', level + 1, b'(']);
        state.extend([b'h', level].repeat(8));
        state.push(b'e');
    }
    record(&state)
}

/// A bomb ends with the limit that it crosses, and its output is taken back.
#[test]
fn a_bomb_ends_with_a_limit() {
    assert!(bomb().len() <= 264);
    assert_eq!(
        json(&bomb()),
        format!("error: the state has more than {} values as JSON", 500_000 + bomb().len())
    );
    let narrow = Limits { bytes_out: 1000, ..Limits::default() };
    assert_eq!(json_within(&bomb(), &narrow), "error: the state has more than 1000 bytes as JSON");
    let bomb = bomb();
    let (fast, thorough) = read_both_ways(&bomb);
    assert_eq!(fast.expect("the head needs no values"), thorough.expect("it is well-formed"));
}

/// A large string that is shared many times ends with the limit of bytes.
#[test]
fn a_shared_string_ends_with_a_limit() {
    let mut state = b"](X\x00\x00\x01\x00".to_vec();
    state.extend([1; 65536]);
    state.extend(b"q\x01");
    state.extend(b"h\x01".repeat(10_000));
    state.push(b'e');
    assert_eq!(json(&record(&state)), "error: the state has more than 16777216 bytes as JSON");
}

/// Bytes, names and keys that are made of one long string many times: neither memory nor time grows
/// with the product.
#[test]
fn a_long_string_is_looked_at_once() {
    const TIMES: usize = 100_000;
    let long = [b"X\0\0\x10\0".to_vec(), vec![b'a'; 1 << 20], b"q\x010".to_vec()].concat();
    let repeated = |before: &[u8], each: &[u8], after: &[u8]| {
        record(&[&long, before, &each.repeat(TIMES), after].concat())
    };
    // _codecs.encode(long, 'latin1')
    let encode = b"c_codecs\nencode\nq\x020h\x01X\x06\0\0\0latin1\x86q\x030](";
    let over = "error: the state has more than 16777216 bytes as JSON";
    assert_eq!(json(&repeated(encode, b"h\x02h\x03R", b"e")), over);
    assert_eq!(json(&repeated(b"](", b"h\x01h\x01\x93", b"e")), over);
    assert_eq!(json(&repeated(b"}(", b"h\x01N", b"u")), over);
    let dates = json(&repeated(b"cdatetime\ndate\nq\x020h\x01\x85q\x030(", b"h\x02h\x03R0", b"0N"));
    assert_eq!(dates, "null");
}

/// Depth has a limit, and the largest depth that a caller may ask for fits the stack of a thread.
#[test]
fn deep_values_end_with_a_limit() {
    let deep = |depth: usize| record(&[b"]".repeat(depth), b"a".repeat(depth - 1)].concat());
    assert!(json(&deep(512)).starts_with("[[["));
    assert_eq!(json(&deep(513)), "error: the state has more than 512 levels as JSON");
    let unlimited = Limits { depth: usize::MAX, ..Limits::default() };
    assert!(json_within(&deep(1000), &unlimited).starts_with("[[["));
    assert_eq!(
        json_within(&deep(100_000), &unlimited),
        "error: the state has more than 1000 levels as JSON"
    );
    let marks = record(&b"(".repeat(5000));
    assert_eq!(
        json(&marks),
        "error: byte 4106: more than 4096 marks are open: the value is too deep"
    );
}

/// The deepest form for each level of the pickle: calls inside calls.
#[test]
fn deep_calls_end_with_a_limit() {
    let state = [b"ca\nB\n".repeat(1000), b")".to_vec(), b"R\x85".repeat(1000)].concat();
    let unlimited = Limits { depth: usize::MAX, ..Limits::default() };
    assert_eq!(
        json_within(&record(&state), &unlimited),
        "error: the state has more than 1000 levels as JSON"
    );
}

/// A record of a call for each few bytes is read in memory that is proportional to it.
#[test]
fn many_small_objects_are_read() {
    let mut state = b"](".to_vec();
    state.extend(b"h\x00)\x81".repeat(50_000));
    state.push(b'e');
    assert!(json(&record(&state)).ends_with(r#",{"@cls":["m","C"],"@s":null}]"#));
}

/// Reads a record in each way. The readers may refuse it; they must agree where the fast one does not.
fn read_all(record: &[u8]) {
    let (fast, thorough) = read_both_ways(record);
    if let (Some(fast), Ok(thorough)) = (fast, thorough) {
        assert_eq!(fast, thorough);
    }
    let limits = Limits { bytes_out: 1 << 16, depth: 200, nodes: 10_000 };
    let shown = json_within(record, &limits);
    assert!(shown.len() <= (1 << 16) + 6 * record.len() + 100);
}

/// Bytes that are opcodes more often than chance makes them.
fn opcodes() -> impl Strategy<Value = Vec<u8>> {
    let codes =
        b".(012FIJKLMNPQRSTUVXabcdeghijlopqrstu})]GBC\x80\x81\x85\x86\x87\x88\x89\x8a\x8b\x8c\
                  \x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\n\x00\x01\x02\x08";
    proptest::collection::vec(proptest::sample::select(codes.to_vec()), 0..200)
}

proptest! {
    // PROPTEST_CASES runs another number of cases; PROPTEST_RNG_SEED runs the same ones again.
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// No bytes cause a panic.
    #[test]
    fn random_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
        read_all(&record(&bytes));
    }

    /// No sequence of opcodes causes a panic.
    #[test]
    fn random_opcodes_are_safe(bytes in opcodes()) {
        read_all(&bytes);
        read_all(&record(&bytes));
    }

    /// No change of a few bytes of a real record causes a panic.
    #[test]
    fn changed_records_are_safe(
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        thread_local! {
            static SAMPLES: Vec<Vec<u8>> = samples().into_iter().map(|it| it.record).collect();
        }
        let mut record = SAMPLES.with(|samples| which.get(samples).clone());
        for (place, byte) in changes {
            let place = place.index(record.len());
            record[place] = byte;
        }
        if let Some(cut) = cut {
            record.truncate(cut.index(record.len()));
        }
        read_all(&record);
    }
}
