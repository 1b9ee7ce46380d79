//! The page of commits: there and back, merged in any division, small where commits are plain, and
//! never fooled by damage.

use super::*;

fn note(at: u64) -> (String, String, Option<u64>) {
    let author = ["", "ada", "grace"][(at % 3) as usize].to_owned();
    let message = if at.is_multiple_of(5) { format!("change {at}") } else { String::new() };
    (author, message, at.is_multiple_of(7).then(|| 1_000 + at.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn filled(number: u64, count: u64) -> OpenPage {
    let mut open = OpenPage::new(Page::new(number));
    for at in 0..count {
        let (author, message, authored_us) = note(at);
        open.push(50 + at * at, &Note { author: &author, message: &message, authored_us });
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
            let (author, message, authored_us) = note(at);
            let expected = (50 + at * at, Note { author: &author, message: &message, authored_us });
            assert_eq!(page.entry(Csn(1 + at)), Some(expected));
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
            let (author, message, authored_us) = note(at);
            let note = Note { author: &author, message: &message, authored_us };
            let write = page_write(Csn(3 * 1024 + at), 50 + at * at, &note);
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

/// A page whose commits are alike in author and message costs about a byte for each.
#[test]
fn plain_commits_are_small() {
    let mut open = OpenPage::new(Page::new(1));
    for at in 0..1024 {
        open.push(1_700_000_000_000_000 + at * 90, &Note { author: "ada", ..Note::default() });
    }
    let mut image = Vec::new();
    open.page.encode(&mut image);
    assert!(image.len() < 1_100, "{} bytes", image.len());
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
    encode_entry(&mut entry, 1 << 40, &Note::default());
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
