//! Properties of the forms of values: what is written is read back, keys order as values do, and
//! no bytes and no texts, whatever they are, cause more than an error.

use std::cmp::Ordering;
use std::sync::Arc;

use proptest::prelude::*;
use types::range::Bound;
use types::time::{Date, Interval, Time, TimeTz, Timestamp, TimestampTz};
use types::{
    Array, ArrayRef, Context, Datum, DatumRef, Dimension, EnumLabels, EnumOrder, Field, KeyOrder,
    Modifier, Multirange, MultirangeRef, Objects, Oid, Range, RangeRef, Record, RecordRef, Repr,
    Result, RowView, Shape, Style, Type, TypeSource, binary, key, row, text,
};

/// Types that a user made: an enum, a composite of it, a domain, and an array of composites.
struct Made;

const MOOD: Type = Type::from_oid(16_400);
const PERSON: Type = Type::from_oid(16_402);
const COUNT: Type = Type::from_oid(16_404);
const PEOPLE: Type = Type::from_oid(16_406);

impl TypeSource for Made {
    fn shape(&self, ty: Type) -> Option<Shape> {
        let order = |at: f64| EnumOrder::new(at).expect("a number");
        let field = |name: &str, ty| Field { name: name.into(), ty, modifier: Modifier::NONE };
        Some(match ty {
            MOOD => Shape::Enum(Arc::new(EnumLabels::new(vec![
                (order(2.0), "happy".into()),
                (order(1.0), "sad".into()),
                (order(1.5), "so, so".into()),
            ]))),
            PERSON => Shape::Composite(
                [field("name", Type::TEXT), field("mood", MOOD), field("count", COUNT)].into(),
            ),
            COUNT => Shape::Domain(Type::INT4, Modifier::NONE),
            PEOPLE => Shape::Array(PERSON),
            _ => return None,
        })
    }

    fn name(&self, ty: Type) -> Option<String> {
        let names = [(MOOD, "mood"), (PERSON, "person"), (COUNT, "count"), (PEOPLE, "person[]")];
        names.iter().find(|(known, _)| *known == ty).map(|(_, name)| (*name).to_owned())
    }

    fn array_of(&self, ty: Type) -> Option<Type> {
        (ty == PERSON).then_some(PEOPLE)
    }

    fn multirange_of(&self, _: Type) -> Option<Type> {
        None
    }
}

impl Objects for Made {
    fn oid(&self, class: Type, name: &str) -> Result<Oid> {
        types::Builtins.oid(class, name)
    }

    fn name(&self, class: Type, oid: Oid) -> Option<String> {
        Objects::name(&types::Builtins, class, oid)
    }
}

fn with_context<T>(run: impl FnOnce(&Context<'_>) -> T) -> T {
    let style = Style::default();
    run(&Context { types: &Made, objects: &Made, ..Context::new(&style) })
}

/// Any value of a representation, with a type that is held so.
fn value_of(repr: Repr) -> BoxedStrategy<Datum> {
    let date = prop_oneof![
        Just(Date::INFINITY.0),
        Just(Date::NEG_INFINITY.0),
        Date::MIN.0..=Date::MAX.0,
        -100_000..100_000
    ];
    let at = prop_oneof![
        Just(i64::MAX),
        Just(i64::MIN),
        Timestamp::MIN.0..=Timestamp::MAX.0,
        -10_000..10_000_i64
    ];
    let time = 0..=86_400_000_000_i64;
    let words = prop_oneof!["[ -~]{0,12}", "\\PC{0,6}", Just("NULL".to_owned())];
    match repr {
        Repr::Bool => any::<bool>().prop_map(Datum::Bool).boxed(),
        Repr::Int2 => any::<i16>().prop_map(Datum::Int2).boxed(),
        Repr::Int4 => any::<i32>().prop_map(Datum::Int4).boxed(),
        Repr::Int8 => any::<i64>().prop_map(Datum::Int8).boxed(),
        Repr::Float4 => any::<u32>().prop_map(|bits| Datum::Float4(f32::from_bits(bits))).boxed(),
        Repr::Float8 => any::<u64>().prop_map(|bits| Datum::Float8(f64::from_bits(bits))).boxed(),
        Repr::Numeric => prop_oneof![
            "-?[0-9]{1,40}(\\.[0-9]{1,30})?".prop_map(|text| text.parse().expect("a number")),
            Just("NaN".parse().expect("a number")),
            Just("-Infinity".parse().expect("a number")),
        ]
        .prop_map(Datum::Numeric)
        .boxed(),
        Repr::Text => words.prop_map(Datum::from).boxed(),
        Repr::Bytea => prop::collection::vec(prop_oneof![0..3_u8, any::<u8>()], 0..12)
            .prop_map(|bytes| Datum::bytea(bytes.as_slice()))
            .boxed(),
        Repr::Date => date.prop_map(|days| Date(days).into()).boxed(),
        Repr::Time => time.prop_map(|us| Time(us).into()).boxed(),
        Repr::TimeTz => (time, -57_599..57_600_i32)
            .prop_map(|(us, west_s)| TimeTz { time: Time(us), west_s }.into())
            .boxed(),
        Repr::Timestamp => at.prop_map(|us| Timestamp(us).into()).boxed(),
        // The time on local clocks must be in range too, to be written.
        Repr::TimestampTz => at.prop_map(|us| TimestampTz(us).into()).boxed(),
        Repr::Interval => (any::<i32>(), any::<i32>(), any::<i64>())
            .prop_map(|(months, days, us)| Interval { months, days, us }.into())
            .boxed(),
        Repr::Uuid => any::<[u8; 16]>().prop_map(Datum::Uuid).boxed(),
        Repr::Jsonb => prop_oneof!["[0-9]{1,5}", "\"[a-z]{0,5}\"", "\\[[0-9](,[0-9]){0,3}\\]"]
            .prop_map(|json| Datum::Jsonb(types::Jsonb::parse(&json).unwrap_or_default()))
            .boxed(),
        Repr::Oid => any::<u32>().prop_map(|oid| Oid(oid).into()).boxed(),
        Repr::Array => any_element().prop_flat_map(array_of).boxed(),
        Repr::Record => (nullable(value_of(Repr::Int4)), nullable(value_of(Repr::Text)))
            .prop_map(|(number, word)| {
                let fields = [
                    (Type::INT4, Repr::Int4, number.as_ref()),
                    (Type::TEXT, Repr::Text, word.as_ref()),
                ];
                Record::new(fields).into()
            })
            .boxed(),
        Repr::Folded => words.prop_map(|word| Datum::Folded(word.into())).boxed(),
        Repr::Enum => any::<i32>()
            .prop_map(|order| Datum::Enum(EnumOrder::new(order.into()).expect("a number")))
            .boxed(),
        Repr::Range => range().prop_map(Datum::Range).boxed(),
        Repr::Multirange => prop::collection::vec(range(), 0..6)
            .prop_map(|ranges| Multirange::of(ranges.iter().map(Range::as_ref)).into())
            .boxed(),
    }
}

/// A range of numerics that lie so close that ranges often touch and overlap, some written with more digits than others.
fn range() -> impl Strategy<Value = Range> {
    let bound = (0..40_i64, 0..3_u32).prop_map(|(number, zeros)| {
        let number = number * 10_i64.pow(zeros);
        Datum::Numeric(numeric::Numeric::new(number.into(), zeros).expect("few digits"))
    });
    let bound = nullable(bound.boxed());
    (bound.clone(), bound, any::<bool>(), any::<bool>()).prop_map(|(a, b, has_lower, has_upper)| {
        let is_turned = !a.is_null() && !b.is_null() && a > b;
        let (lower, upper) = if is_turned { (b, a) } else { (a, b) };
        let lower = Bound::lower(lower.as_ref(), has_lower);
        let upper = Bound::upper(upper.as_ref(), has_upper);
        Range::new(Type::NUMERIC, Repr::Numeric, lower, upper).expect("its bounds are in order")
    })
}

fn any_element() -> impl Strategy<Value = (Type, Repr)> {
    prop_oneof![
        Just((Type::INT4, Repr::Int4)),
        Just((Type::TEXT, Repr::Text)),
        Just((Type::FLOAT8, Repr::Float8)),
    ]
}

/// Any array of these elements, in two dimensions.
fn array_of((ty, repr): (Type, Repr)) -> BoxedStrategy<Datum> {
    let shape = (1..3_i32, 1..3_i32, -5..5_i32);
    let array = shape.prop_flat_map(move |(rows, columns, lower)| {
        let count = (rows * columns) as usize;
        let elements = prop::collection::vec(nullable(value_of(repr)), count);
        elements.prop_map(move |elements| {
            let dimensions =
                [Dimension { length: rows, lower }, Dimension { length: columns, lower: 1 }];
            let elements = elements.iter().map(Datum::as_ref);
            Array::new(ty, repr, &dimensions, elements).expect("it fits").into()
        })
    });
    array.boxed()
}

fn nullable(value: BoxedStrategy<Datum>) -> BoxedStrategy<Datum> {
    prop_oneof![1 => Just(Datum::Null), 4 => value].boxed()
}

fn any_repr() -> impl Strategy<Value = Repr> {
    prop::sample::select(Repr::ALL.to_vec())
}

/// Two values of one representation, of which either may be NULL and both may be the same.
fn pair() -> impl Strategy<Value = (Repr, Datum, Datum)> {
    (any_repr(), any_element()).prop_flat_map(|(repr, element)| {
        let value = || match repr {
            Repr::Array => array_of(element),
            repr => value_of(repr),
        };
        let pair = (nullable(value()), nullable(value()), any::<bool>());
        pair.prop_map(move |(a, b, is_same)| {
            let b = if is_same { a.clone() } else { b };
            (repr, a, b)
        })
    })
}

/// A type whose values are held so.
fn type_of(repr: Repr, value: &Datum) -> Type {
    match (repr, value) {
        (Repr::Array, Datum::Array(array)) => {
            let element = array.as_ref().element_type();
            types::builtin::facts(element).expect("built in").array
        }
        (Repr::Record, _) => Type::RECORD,
        (Repr::Enum, _) => MOOD,
        (Repr::Int8, _) => Type::INT8,
        (Repr::Text, _) => Type::TEXT,
        (Repr::Oid, _) => Type::OID,
        (Repr::Range, _) => Type::NUMRANGE,
        (Repr::Multirange, _) => Type::NUMMULTIRANGE,
        (repr, _) => {
            let is_it = |facts: &&types::Facts| facts.repr == Some(repr) && !facts.is_pseudo();
            types::builtin::all().iter().find(is_it).expect("each is held somehow").ty
        }
    }
}

fn key_of(value: &Datum, order: KeyOrder) -> Vec<u8> {
    let mut out = Vec::new();
    key::write(value.as_ref(), order, &mut out);
    out
}

fn any_order() -> impl Strategy<Value = KeyOrder> {
    let flags = (any::<bool>(), any::<bool>());
    flags.prop_map(|(is_descending, has_nulls_first)| KeyOrder { is_descending, has_nulls_first })
}

/// The order of two values in an index column.
fn in_column(a: &Datum, b: &Datum, order: KeyOrder) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if order.has_nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) => in_column(b, a, order).reverse(),
        (false, false) if order.is_descending => b.cmp(a),
        (false, false) => a.cmp(b),
    }
}

/// The bits of a value, where equality of values is not enough.
fn bits(value: &Datum) -> Vec<u8> {
    let mut out = Vec::new();
    row::write(0, [value.as_ref()], &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Keys compare as the values do, in every order of a column.
    #[test]
    fn keys_order_as_values((_, a, b) in pair(), order in any_order()) {
        prop_assert_eq!(key_of(&a, order).cmp(&key_of(&b, order)), in_column(&a, &b, order));
    }

    /// No key is the beginning of another one.
    #[test]
    fn keys_end_by_themselves((_, a, b) in pair(), order in any_order()) {
        let (a_key, b_key) = (key_of(&a, order), key_of(&b, order));
        prop_assert!(a_key == b_key || !b_key.starts_with(&a_key));
    }

    /// The parts of a key that can be given back are, and reading ends where the next column
    /// begins.
    #[test]
    fn keys_are_read_back((repr, a, b) in pair(), order in any_order()) {
        let mut keys = key_of(&a, order);
        let length = keys.len();
        keys.extend(key_of(&b, order));
        let mut rest = &keys[..];
        key::skip(&mut rest, repr, order).expect("a key");
        prop_assert_eq!(rest.len(), keys.len() - length);
        if key::is_reversible(repr) {
            let mut rest = &keys[..];
            prop_assert_eq!(bits(&key::read(&mut rest, repr, order).expect("a key")), bits(&a));
            prop_assert_eq!(bits(&key::read(&mut rest, repr, order).expect("a key")), bits(&b));
            prop_assert!(rest.is_empty());
        }
    }

    /// A row gives back its values, bit by bit, and knows nothing of columns added later.
    #[test]
    fn rows_are_read_back(
        columns in prop::collection::vec(pair(), 0..10),
        version in any::<u32>(),
    ) {
        let values: Vec<Datum> = columns.iter().map(|(_, value, _)| value.clone()).collect();
        let mut reprs: Vec<Repr> = columns.iter().map(|(repr, ..)| *repr).collect();
        let mut bytes = Vec::new();
        row::write(version, values.iter().map(Datum::as_ref), &mut bytes);
        reprs.push(Repr::Jsonb);
        prop_assert_eq!(row::version(&bytes).expect("a row"), version);
        let view = RowView::new(&bytes, &reprs).expect("a row");
        for (at, value) in values.iter().enumerate() {
            let read = view.get(at).expect("a value").expect("it is there").to_owned();
            prop_assert_eq!(bits(&read), bits(value));
        }
        let all: Vec<Datum> =
            view.iter().map(|value| value.expect("a value").to_owned()).collect();
        prop_assert_eq!(all.len(), values.len());
        prop_assert!(view.get(values.len()).expect("a row").is_none());
    }

    /// Bytes of a row that were damaged give a value or an error, never a panic.
    #[test]
    fn damaged_rows_are_refused(
        columns in prop::collection::vec(pair(), 1..6),
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
        cut in any::<prop::sample::Index>(),
    ) {
        let reprs: Vec<Repr> = columns.iter().map(|(repr, ..)| *repr).collect();
        let mut bytes = Vec::new();
        row::write(1, columns.iter().map(|(_, value, _)| value.as_ref()), &mut bytes);
        *at.get_mut(&mut bytes) ^= flip;
        for bytes in [&bytes[..], &bytes[..cut.index(bytes.len())]] {
            let Ok(view) = RowView::new(bytes, &reprs) else { continue };
            for column in 0..reprs.len() {
                if let Ok(Some(value)) = view.get(column) {
                    use_up(value);
                }
            }
        }
    }

    /// A multirange has a value exactly if one of the ranges has it that it was made of, and its ranges ascend without
    /// touching.
    #[test]
    fn multiranges_have_the_values_of_their_ranges(ranges in prop::collection::vec(range(), 0..8)) {
        let whole = Multirange::of(ranges.iter().map(Range::as_ref));
        let again = MultirangeRef::from_bytes(whole.as_ref().as_bytes()).expect("its own bytes");
        prop_assert_eq!(again, whole.as_ref());
        // Halves lie between all bounds.
        for half in -1..=80_i64 {
            let number = Datum::Numeric(numeric::Numeric::new((half * 5).into(), 1).expect("few digits"));
            let point = (Bound::lower(number.as_ref(), true), Bound::upper(number.as_ref(), true));
            let has = |range: RangeRef<'_>| {
                range.bounds().is_some_and(|(lower, upper)| lower <= point.0 && point.1 <= upper)
            };
            let is_in_one = ranges.iter().any(|range| has(range.as_ref()));
            prop_assert_eq!(whole.as_ref().iter().filter(|range| has(*range)).count(), usize::from(is_in_one));
        }
    }

    /// The names that a record brings along come back, from its bytes too, and neither order nor
    /// the values know of them.
    #[test]
    fn records_keep_the_names_of_their_fields(
        values in prop::collection::vec(nullable(value_of(Repr::Text)), 1..5),
        names in prop::collection::vec((".{0,9}", any::<i32>()), 4),
    ) {
        let plain = Record::new(values.iter().map(|value| (Type::TEXT, Repr::Text, value.as_ref())));
        let names: Vec<_> = names[..values.len().min(4)]
            .iter()
            .map(|(name, modifier)| (name.as_str(), Modifier(*modifier)))
            .collect();
        prop_assume!(names.len() == values.len());
        let named = plain.named(names.iter().copied()).named(names.iter().copied());
        let again = RecordRef::from_bytes(named.as_ref().as_bytes()).expect("its own bytes");
        prop_assert_eq!(again.names(), Some(names));
        prop_assert_eq!(again.to_vec(), values);
        prop_assert_eq!(&named, &plain);
        prop_assert_eq!(plain.as_ref().names(), None);
    }

    /// Any bytes at all as a row, an array, a record, a key and a value from the wire.
    #[test]
    fn any_bytes_are_answered(
        bytes in prop::collection::vec(prop_oneof![0..4_u8, any::<u8>()], 0..60),
        repr in any_repr(),
        order in any_order(),
    ) {
        if let Ok(array) = ArrayRef::from_bytes(&bytes) {
            use_up(DatumRef::Array(array));
        }
        if let Ok(record) = RecordRef::from_bytes(&bytes) {
            use_up(DatumRef::Record(record));
            if let Some(names) = record.names() {
                prop_assert_eq!(names.len(), record.len());
            }
        }
        if let Ok(value) = key::read(&mut &bytes[..], repr, order) {
            use_up(value.as_ref());
        }
        let _ = key::skip(&mut &bytes[..], repr, order);
        let reprs = [repr, Repr::Text, Repr::Array];
        if let Ok(view) = RowView::new(&bytes, &reprs) {
            view.iter().flatten().for_each(use_up);
        }
        with_context(|context| {
            for facts in types::builtin::all() {
                if let Ok(value) = binary::read(&bytes, facts.ty, Modifier::NONE, context) {
                    use_up(value.as_ref());
                }
            }
            for ty in [MOOD, PERSON, COUNT, PEOPLE] {
                let _ = binary::read(&bytes, ty, Modifier::NONE, context);
            }
        });
    }

    /// Any text at all as a value of every type.
    #[test]
    fn any_text_is_answered(
        input in prop_oneof![
            "\\PC{0,20}",
            "[-+0-9.:/ ]{0,20}",
            "[-+0-9.:/ TPYMDHSadjnuolb]{0,24}",
            "[{}\\[\\]:=,\"\\\\ 0-9nul]{0,20}",
            "[-(),\"\\\\ 0-9a]{0,20}",
        ],
    ) {
        with_context(|context| {
            for facts in types::builtin::all() {
                if let Ok(value) = text::parse(&input, facts.ty, Modifier::NONE, context) {
                    use_up(value.as_ref());
                    let _ = text::to_string(value.as_ref(), facts.ty, Modifier::NONE, context);
                }
            }
            for ty in [MOOD, PERSON, COUNT, PEOPLE] {
                let _ = text::parse(&input, ty, Modifier::NONE, context);
            }
        });
    }

    /// A value that is written as text is read as an equal value and written alike again.
    #[test]
    fn texts_are_read_back((repr, value, _) in pair()) {
        // An enum's label must be one of its type, and a record has no input without a type.
        if value.is_null() || matches!(repr, Repr::Enum | Repr::Record) {
            return Ok(());
        }
        with_context(|context| {
            let ty = type_of(repr, &value);
            let write = |value: &Datum| text::to_string(value.as_ref(), ty, Modifier::NONE, context);
            let written = write(&value).expect("not NULL");
            let read = text::parse(&written, ty, Modifier::NONE, context)
                .unwrap_or_else(|error| panic!("{written}: {error:?}"));
            prop_assert_eq!(&read, &value, "{}", written);
            prop_assert_eq!(write(&read).expect("not NULL"), written);
            Ok(())
        })?;
    }

    /// A value that is written as bytes for the wire is read as the same value.
    #[test]
    fn wires_are_read_back((repr, value, _) in pair()) {
        if value.is_null() || repr == Repr::Enum {
            return Ok(());
        }
        with_context(|context| {
            let ty = type_of(repr, &value);
            let mut bytes = Vec::new();
            binary::write(value.as_ref(), ty, Modifier::NONE, context, &mut bytes).expect("nothing stops it");
            let read = binary::read(&bytes, ty, Modifier::NONE, context)
                .unwrap_or_else(|error| panic!("{value:?}: {error:?}"));
            prop_assert_eq!(bits(&read), bits(&value));
            Ok(())
        })?;
    }

    /// Templates take any text, and any template.
    #[test]
    fn any_template_is_answered(
        template in prop_oneof!["\\PC{0,12}", "[YMDHISFXWQJTZ:/ ampdthy\"\\\\24,.-]{0,16}"],
        number in prop_oneof!["\\PC{0,12}", "[90.,DGSPLMIFRNTHVBE\"]{0,12}"],
        input in prop_oneof!["\\PC{0,12}", "[-+0-9 :.,a-zA-Z]{0,20}"],
        us in Timestamp::MIN.0..=Timestamp::MAX.0,
        value in any::<f64>(),
    ) {
        use types::format::{DateTemplate, NumberTemplate};
        let zone = types::time::TimeZone::utc();
        let date = DateTemplate::new(&template);
        let _ = date.timestamp(Timestamp(us));
        let _ = date.timestamptz(TimestampTz(us), &zone);
        let _ = date.interval(Interval { months: us as i32, days: (us >> 8) as i32, us });
        let _ = date.parse_timestamptz(&input, &zone);
        let _ = date.parse_date(&input);
        if let Ok(template) = NumberTemplate::new(&number) {
            let _ = template.float8(value);
            let _ = template.float4(value as f32);
            let _ = template.int8(us);
            let _ = template.int4(us as i32);
            let _ = template.numeric(&numeric::Numeric::from(us));
            let _ = template.parse(&input);
        }
    }

    /// The short way to read a moment says what the long way says, which a blank in front leads to.
    #[test]
    fn both_ways_agree(
        input in "[0-9]{4}-[01][0-9]-[0-3][0-9]([ T][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\\.[0-9]{1,7})?)?(Z|[-+][01][0-9](:[0-6][0-9])?)?)?",
        zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "America/New_York"]),
    ) {
        let mut style = Style::default();
        style.set_time_zone(zone).expect("a zone");
        let context = Context::new(&style);
        let long = format!(" {input}");
        for ty in [Type::DATE, Type::TIMESTAMP, Type::TIMESTAMPTZ] {
            let read = |text: &str| text::parse(text, ty, Modifier::NONE, &context).ok();
            prop_assert_eq!(read(&input), read(&long));
        }
    }

    /// Order is a total one: it is the same both ways, and equal values are equal to the same.
    #[test]
    fn order_is_total((_, a, b) in pair(), (_, _, c) in pair()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        if a == b {
            prop_assert_eq!(a.cmp(&c), b.cmp(&c));
        }
    }
}

/// Looks at everything of a value.
fn use_up(value: DatumRef<'_>) {
    let _ = format!("{value:?}");
    let owned = value.to_owned();
    assert_eq!(owned.cmp(&owned), Ordering::Equal);
    let _ = key_of(&owned, KeyOrder::DESCENDING);
}

/// Values of types that users made: labels by their order, domains as their base, composites with
/// the types of their columns.
#[test]
fn types_of_users() {
    with_context(|context| {
        let read = |input: &str, ty| text::parse(input, ty, Modifier::NONE, context);
        let shown = |input: &str, ty| match read(input, ty) {
            Ok(value) => text::to_string(value.as_ref(), ty, Modifier::NONE, context).unwrap(),
            Err(error) => format!("{error:?}"),
        };
        assert!(read("sad", MOOD).unwrap() < read("so, so", MOOD).unwrap());
        assert!(read("so, so", MOOD).unwrap() < read("happy", MOOD).unwrap());
        assert_eq!(shown("angry", MOOD), "22P02: invalid input value for enum mood: \"angry\"");
        assert_eq!(shown("7", COUNT), "7");
        assert_eq!(shown("x", COUNT), "22P02: invalid input syntax for type integer: \"x\"");
        assert_eq!(shown("(Ann,\"so, so\",3)", PERSON), "(Ann,\"so, so\",3)");
        assert_eq!(shown(" (\"A \"\"B\",,) ", PERSON), "(\"A \"\"B\",,)");
        let people = r#"{"(Ann,sad,1)","(\"a,b\",,2)"}"#;
        assert_eq!(shown(people, PEOPLE), people);
        for (input, detail) in [
            ("Ann,sad,3)", "Missing left parenthesis."),
            ("(Ann,sad)", "Too few columns."),
            ("(Ann,sad,3,4)", "Too many columns."),
            ("(Ann,sad,3", "Unexpected end of input."),
            ("(Ann,sad,3)x", "Junk after right parenthesis."),
        ] {
            let expected =
                format!("22P02: malformed record literal: \"{input}\" | detail: {detail}");
            assert_eq!(shown(input, PERSON), expected);
        }
        for (input, ty) in
            [("happy", MOOD), ("5", COUNT), ("(Bob,sad,3)", PERSON), (people, PEOPLE)]
        {
            let value = read(input, ty).unwrap();
            let mut bytes = Vec::new();
            binary::write(value.as_ref(), ty, Modifier::NONE, context, &mut bytes)
                .expect("nothing stops it");
            let read = binary::read(&bytes, ty, Modifier::NONE, context).unwrap();
            assert_eq!(bits(&read), bits(&value), "{input}");
        }
    });
}

/// The words that depend on the clock: it is half past nine in the evening of 2024-02-28 in UTC,
/// and half past ten in Berlin.
#[test]
fn words_for_now() {
    let mut style = Style::default();
    style.set_time_zone("Europe/Berlin").unwrap();
    let now = TimestampTz::parse("2024-02-28 21:30:15.5+00", &Context::new(&style)).unwrap();
    let context = Context { now, ..Context::new(&style) };
    let shown = |input: &str, ty| {
        let value = text::parse(input, ty, Modifier::NONE, &context).unwrap();
        text::to_string(value.as_ref(), ty, Modifier::NONE, &context).unwrap()
    };
    assert_eq!(shown("now", Type::TIMESTAMPTZ), "2024-02-28 22:30:15.5+01");
    assert_eq!(shown("now", Type::TIMESTAMP), "2024-02-28 22:30:15.5");
    assert_eq!(shown("now", Type::TIME), "22:30:15.5");
    assert_eq!(shown("now", Type::TIMETZ), "22:30:15.5+01");
    assert_eq!(shown("today", Type::DATE), "2024-02-28");
    assert_eq!(shown("tomorrow", Type::DATE), "2024-02-29");
    assert_eq!(shown("yesterday 04:05", Type::TIMESTAMPTZ), "2024-02-27 04:05:00+01");
    assert_eq!(shown("today allballs", Type::TIMESTAMPTZ), "2024-02-28 01:00:00+01");
    assert_eq!(shown("04:05", Type::TIMETZ), "04:05:00+01");
}

/// The picture of the row form in its module is what is written.
#[test]
fn a_row_byte_by_byte() {
    let mut bytes = Vec::new();
    let values = [DatumRef::Int4(7), DatumRef::Null, DatumRef::Text("ab")];
    row::write(3, values, &mut bytes);
    assert_eq!(bytes, [3, 3, 1, 2, 7, 0, 0, 0, 2, b'a', b'b']);
    let columns = [Repr::Int4, Repr::Int4, Repr::Text, Repr::Date];
    let view = RowView::new(&bytes, &columns).unwrap();
    assert_eq!(view.get(2).unwrap(), Some(DatumRef::Text("ab")));
    assert_eq!(view.get(3).unwrap(), None);
    let refused = RowView::new(&bytes, &columns[..2]).err().unwrap();
    assert_eq!(refused.message(), "stored value is damaged: a row has more columns than its table");
}

/// An array is reached by its subscripts, whatever its bounds.
#[test]
fn subscripts() {
    with_context(|context| {
        let input = "[2:3][-1:1]={{1,2,3},{4,NULL,6}}";
        let value = text::parse(input, Type::INT4_ARRAY, Modifier::NONE, context).unwrap();
        let Datum::Array(array) = value else { panic!("an array") };
        let at = |subscripts: &[i32]| array.as_ref().at(subscripts);
        assert_eq!(at(&[2, -1]), Some(DatumRef::Int4(1)));
        assert_eq!(at(&[3, 1]), Some(DatumRef::Int4(6)));
        assert_eq!(at(&[3, 0]), Some(DatumRef::Null));
        assert_eq!(at(&[1, 0]), None);
        assert_eq!(at(&[2]), None);
        assert_eq!(array.as_ref().get(5), Some(DatumRef::Int4(6)));
        assert_eq!(array.as_ref().get(6), None);
    });
}

/// Abbreviations mean an offset of their own, or what they meant in their zone at the time.
#[test]
fn abbreviations_of_zones() {
    let style = Style::default();
    let at = |text: &str| TimestampTz::parse(text, &Context::new(&style)).unwrap();
    let meaning = |name: &str, at: TimestampTz| {
        let mut all = types::time::TimeZone::abbreviations(at);
        all.find(|(known, ..)| known == name).map(|(_, east_s, is_summer)| (east_s, is_summer))
    };
    assert_eq!(meaning("PST", at("2024-07-01")), Some((-8 * 3_600, false)));
    assert_eq!(meaning("CEST", at("2024-01-01")), Some((2 * 3_600, true)));
    assert_eq!(meaning("MSK", at("2012-01-01")), Some((4 * 3_600, false)));
    assert_eq!(meaning("MSK", at("2024-01-01")), Some((3 * 3_600, false)));
    assert_eq!(meaning("XYZ", at("2024-01-01")), None);
}

/// Every zone of the database can be read, is found by its name in any letters, and leads from a
/// moment to a local time and back.
#[test]
fn every_zone() {
    use types::time::TimeZone;
    let moments = [-5_000_000_000_000_000, 0, 700_000_000_000_000, 9_000_000_000_000_000_000];
    let mut zones = 0;
    for name in TimeZone::names() {
        let zone = TimeZone::find(&name.to_lowercase()).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(zone.name(), name);
        for at in moments.map(TimestampTz) {
            let local = at.to_local(&zone).unwrap();
            assert_eq!(local.in_zone(&zone), Some(at), "{name}");
        }
        zones += 1;
    }
    assert!(zones > 500);
}
