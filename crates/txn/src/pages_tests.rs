//! The page of commits: there and back, merged in any division, small where commits are plain, and
//! never fooled by damage.

use super::*;

/// The texts of a commit, and when it was authored: each role is none, the author's, another, or one that is an
/// author elsewhere.
struct Texts(String, String, &'static str, Option<u64>);

impl Texts {
    fn note(&self) -> Note<'_> {
        let Texts(author, message, role, authored_us) = self;
        let tables: &[u8] = [&[][..], &[16, 2], &[16, 0, 17, 1]][message.len() % 3];
        let extension: &[u8] = if authored_us.is_some() { message.as_bytes() } else { &[] };
        Note { author, message, role, authored_us: *authored_us, tables, extension }
    }
}

fn texts(at: u64) -> Texts {
    let author = ["", "ada", "grace"][(at % 3) as usize].to_owned();
    let message = if at.is_multiple_of(5) { format!("change {at}") } else { String::new() };
    let role = if at < 50 { "" } else { ["", "ada", "grace", "app"][(at % 4) as usize] };
    let authored = at.is_multiple_of(7).then(|| 1_000 + at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    Texts(author, message, role, authored)
}

fn filled(number: u64, count: u64) -> OpenPage {
    let mut open = OpenPage::new(Page::new(number));
    for at in 0..count {
        open.push(50 + at * at, &texts(at).note());
    }
    open
}

/// A page of any length comes back column by column as it went in.
#[test]
fn a_page_comes_back_as_it_went_in() {
    for count in [1, 2, 3, 100, 1023] {
        let open = filled(0, count);
        let mut image = Vec::new();
        open.page.encode(&mut image);
        let page = Page::decode(0, &image).unwrap();
        assert_eq!(page, *open.page);
        assert_eq!(page.end(), Csn(1 + count));
        for at in 0..count {
            assert_eq!(page.entry(Csn(1 + at)), Some((50 + at * at, texts(at).note())));
        }
        assert_eq!((page.entry(Csn(0)), page.entry(page.end())), (None, None));
    }
}

/// Image and deltas, merged in any division, give the bytes of the page written at once.
#[test]
fn merging_in_any_division_gives_one_image() {
    let whole = |count| {
        let mut image = Vec::new();
        filled(3, count).page.encode(&mut image);
        image
    };
    let entries: Vec<(Csn, Vec<u8>)> = (0..1024)
        .map(|at| {
            let write = page_write(Csn(3 * 1024 + at), 50 + at * at, &texts(at).note());
            let (Op::Put(bytes) | Op::Delta(bytes)) = write.op else {
                panic!("a page is never deleted")
            };
            (Csn(3 * 1024 + at), bytes)
        })
        .collect();
    for (base, upto) in [(1, 2), (1, 1024), (512, 1024), (1023, 1024)] {
        let mut image = Vec::new();
        let mut deltas = entries[base..upto].iter().map(|(csn, bytes)| (*csn, bytes.as_slice()));
        let base_image = whole(base as u64);
        Commits
            .merge(&page_key(3), entries[base - 1].0, &base_image, &mut deltas, &mut image)
            .unwrap();
        assert_eq!(image, whole(upto as u64), "{base} and then up to {upto}");
    }
    assert_eq!(entries[0].1, whole(1), "the first entry of a page is its image");
}

/// A page whose commits are alike in author and message costs about a byte for each. If the authors
/// are authenticated, that costs one byte for all commits together, whatever the authors are.
#[test]
fn plain_commits_are_small() {
    let bytes = |authors: &[&'static str], is_proved: bool| {
        let mut open = OpenPage::new(Page::new(1));
        for at in 0..1024 {
            let author = authors[at as usize % authors.len()];
            let role = if is_proved { author } else { "" };
            let note = Note { author, role, ..Note::default() };
            open.push(1_700_000_000_000_000 + at * 90, &note);
        }
        let mut image = Vec::new();
        open.page.encode(&mut image);
        image.len()
    };
    assert!(bytes(&["ada"], false) < 1_100, "{} bytes", bytes(&["ada"], false));
    for authors in [&["ada"][..], &["ada", "grace", "carol"]] {
        assert_eq!(bytes(authors, true), bytes(authors, false) + 1);
    }
}

/// Pages and entries of releases that knew no roles are read, byte for byte as those releases wrote them.
#[test]
fn pages_from_before_roles_are_read() {
    let mut image = vec![1, 2 | 4, 2, 0];
    image.extend_from_slice(&1_000_u64.to_le_bytes());
    image.extend_from_slice(&[7, 1, 0, 2]); // 7 us later; by "ada", by nobody; one message
    image.extend_from_slice(&[1, 1, 9]); // the second was authored 5 us before
    image.extend_from_slice(b"\x02\x03ada\x03why");
    let mut entry = vec![1];
    entry.extend_from_slice(&1_010_u64.to_le_bytes());
    entry.extend_from_slice(&5_u64.to_le_bytes());
    entry.extend_from_slice(b"\x05grace\x03now");
    let open = assemble(1, &image, [(Csn(1026), &entry[..])].into_iter()).expect("it is read");
    let note =
        |author, message, authored_us| Note { author, message, authored_us, ..Note::default() };
    for (csn, expected) in [
        (1024, (1_000, note("ada", "why", None))),
        (1025, (1_007, note("", "why", Some(1_002)))),
        (1026, (1_010, note("grace", "now", Some(5)))),
    ] {
        assert_eq!(open.page.entry(Csn(csn)), Some(expected));
    }
    // Without roles nothing is written that those releases do not know.
    let mut again = Vec::new();
    assemble(1, &image, std::iter::empty()).expect("it is read").page.encode(&mut again);
    assert_eq!(again, image);
    let mut written = Vec::new();
    encode_entry(&mut written, 1_010, &note("grace", "now", Some(5)));
    assert_eq!(written, entry);
}

/// Entries out of order, a damaged image and a foreign key are errors, never panics.
#[test]
fn damage_is_refused() {
    let mut image = Vec::new();
    filled(0, 40).page.encode(&mut image);
    for len in 0..image.len() {
        assert!(Page::decode(0, &image[..len]).is_err(), "cut to {len} bytes");
    }
    for bit in 0..image.len() * 8 {
        let mut image = image.clone();
        image[bit / 8] ^= 1 << (bit % 8);
        if let Ok(page) = Page::decode(0, &image) {
            assert!((0..60).filter_map(|csn| page.entry(Csn(csn))).count() <= 40);
        }
    }
    let mut entry = Vec::new();
    encode_entry(&mut entry, 1 << 40, &Note { role: "ada", ..Note::default() });
    let merge = |key: &[u8], csn| {
        let deltas: &mut dyn Iterator<Item = (Csn, &[u8])> =
            &mut [(Csn(csn), entry.as_slice())].into_iter();
        Commits
            .merge(key, Csn(40), &image, deltas, &mut Vec::new())
            .map_err(|error| error.to_string())
    };
    assert_eq!(merge(&page_key(0), 41), Ok(()));
    assert!(merge(&page_key(0), 42).is_err(), "a gap");
    assert!(merge(b"x", 41).is_err(), "a key of another shape");
}

/// A page with authored times comes back from its packed form, whatever the times are multiples of, and takes less
/// where they are whole seconds. Without authored times it is not packed. Damage never panics.
#[test]
fn a_page_comes_back_from_its_packed_form() {
    use store::{Kind, Packed, Unpacking};
    for (unit, every) in [(1_000_000, 1), (1_000_000, 3), (1_000, 2), (1, 1)] {
        let mut open = OpenPage::new(Page::new(3));
        let mut time_us = 1_800_000_000_000_000;
        for at in 0..700 {
            // Neither the time between two commits nor that between two changes is even.
            time_us += 300 + at * 7_919 % 1_013;
            let authored_us = (1_700_000_000_000_000 / unit + at * at * 7_919 % 10_007) * unit;
            let authored_us = (at % every == 0).then_some(authored_us);
            open.push(time_us, &Note { authored_us, author: "ada", ..Note::default() });
        }
        let (key, mut image) = (page_key(3), Vec::new());
        open.page.encode(&mut image);
        let mut packed = Packed::default();
        assert!(PagePacker.pack(&key, Kind::Put, &image, &mut packed));
        assert!(unit < 1_000_000 || packed.numbers.len() < image.len() * 4 / 5);
        let unpack = |numbers: &[u8]| {
            let (mut input, mut out) = (Unpacking { texts: &[], numbers }, Vec::new());
            let unpacked = PagePacker.unpack(&key, Kind::Put, &mut input, &mut out);
            unpacked.map(|()| (out, input.numbers.len()))
        };
        assert_eq!(unpack(&packed.numbers).unwrap(), (image, 0));
        for at in 0..packed.numbers.len() {
            let _ = unpack(&packed.numbers[..at]);
            let mut bad = packed.numbers.clone();
            bad[at] ^= 1 << (at % 8);
            let _ = unpack(&bad);
        }
    }
    let (mut image, mut packed) = (Vec::new(), Packed::default());
    let mut open = OpenPage::new(Page::new(3));
    open.push(5, &Note::default());
    open.page.encode(&mut image);
    assert!(!PagePacker.pack(&page_key(3), Kind::Put, &image, &mut packed));
}
