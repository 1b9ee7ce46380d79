//! The text forms of `inet` and `cidr`.
//!
//! ```text
//!   inet    192.168.1.5    192.168.1.5/24    2001:db8::1    ::ffff:1.2.3.4
//!   cidr    192.168/16     10                0x0a01         2001:db8::/32
//! ```
//!
//! The rules are those of the BIND resolver, from which PostgreSQL has them: a `cidr` may leave out
//! its last octets, and its mask, which then follows from the class of the address.

use std::fmt::Write;

use super::{Inet, V6_BYTES};
use crate::text::invalid_syntax;
use crate::{Error, Result, SqlState};

pub(super) fn parse(text: &str, is_cidr: bool) -> Result<Inet> {
    let bytes = text.as_bytes();
    let found = match (text.contains(':'), is_cidr) {
        (true, _) => parse_v6(bytes),
        (false, true) => parse_v4_network(bytes),
        (false, false) => parse_v4(bytes),
    };
    let name = if is_cidr { "cidr" } else { "inet" };
    let found = found.ok_or_else(|| invalid_syntax(name, text))?;
    if is_cidr && !found.is_network() {
        let message = format!("invalid cidr value: \"{text}\"");
        return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
            .with_detail("Value has bits set to right of mask."));
    }
    Ok(found)
}

/// Takes decimal digits off the front; `None` if there are none or they are more than `max`.
fn decimal(bytes: &mut &[u8], max: u32) -> Option<u8> {
    let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at(count);
    let mut number = 0_u32;
    for digit in digits {
        number = number * 10 + u32::from(digit - b'0');
        if number > max {
            return None;
        }
    }
    *bytes = rest;
    (count > 0).then_some(number as u8)
}

/// Octets and the bits of the mask as an address; the octets that are missing are 0.
fn v4_of(octets: &[u8], bits: u8) -> Inet {
    let mut address = [0; 4];
    address[..octets.len()].copy_from_slice(octets);
    Inet::v4(u32::from_be_bytes(address), bits)
}

/// `/24` at the end, or nothing.
fn v4_mask(mut rest: &[u8]) -> Option<Option<u8>> {
    if rest.is_empty() {
        return Some(None);
    }
    rest = rest.strip_prefix(b"/")?;
    let bits = decimal(&mut rest, 32)?;
    rest.is_empty().then_some(Some(bits))
}

/// An address of four octets; fewer where the mask does not reach those that are missing.
fn parse_v4(mut rest: &[u8]) -> Option<Inet> {
    let mut octets = Vec::with_capacity(4);
    while rest.first().is_some_and(u8::is_ascii_digit) {
        let octet = decimal(&mut rest, 255)?;
        if octets.len() == 4 {
            return None;
        }
        octets.push(octet);
        match rest.first() {
            Some(b'.') => rest = &rest[1..],
            _ => break,
        }
    }
    if octets.is_empty() {
        return None;
    }
    let bits = match v4_mask(rest)? {
        Some(bits) => bits,
        None if octets.len() == 4 => 32,
        None => return None,
    };
    (usize::from(bits / 8) <= octets.len()).then(|| v4_of(&octets, bits))
}

/// A network: octets, or hexadecimal digits, as many as there are.
fn parse_v4_network(mut rest: &[u8]) -> Option<Inet> {
    let mut octets = Vec::with_capacity(4);
    let hex = rest.strip_prefix(b"0x").or_else(|| rest.strip_prefix(b"0X"));
    if let Some(digits) = hex.filter(|hex| hex.first().is_some_and(u8::is_ascii_hexdigit)) {
        let count = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        rest = &digits[count..];
        for pair in digits[..count].chunks(2) {
            let digit = |at: usize| pair.get(at).map_or(0, |digit| hex_digit(*digit));
            octets.push(digit(0) << 4 | digit(1));
        }
    } else {
        loop {
            octets.push(decimal(&mut rest, 255)?);
            match rest.first() {
                Some(b'.') if octets.len() < 4 => rest = &rest[1..],
                _ => break,
            }
        }
    }
    if octets.len() > 4 {
        return None;
    }
    let given = (octets.len() * 8) as u8;
    let bits = v4_mask(rest)?.unwrap_or_else(|| {
        let class = match octets[0] {
            240.. => 32,
            224.. => 8,
            192.. => 24,
            128.. => 16,
            _ => 8,
        };
        let bits = given.max(class);
        if bits == 8 && octets[0] == 224 { 4 } else { bits }
    });
    Some(v4_of(&octets, bits))
}

fn hex_digit(digit: u8) -> u8 {
    char::from(digit).to_digit(16).unwrap_or(0) as u8
}

/// The digits of a mask after the slash: no zero in front, and nothing behind.
fn v6_mask(rest: &[u8]) -> Option<u8> {
    number_without_zeros(rest, 128)
}

fn number_without_zeros(digits: &[u8], max: u32) -> Option<u8> {
    if digits.len() > 1 && digits[0] == b'0' {
        return None;
    }
    let mut rest = digits;
    decimal(&mut rest, max).filter(|_| rest.is_empty())
}

/// The octets of an IPv4 address at the end of one of IPv6, and the mask behind them.
fn v4_at_end(text: &[u8]) -> Option<([u8; 4], Option<u8>)> {
    let (octets, bits) = match text.iter().position(|byte| *byte == b'/') {
        Some(at) => (&text[..at], Some(v6_mask(&text[at + 1..])?)),
        None => (text, None),
    };
    let mut address = [0; 4];
    let mut parts = octets.split(|byte| *byte == b'.').enumerate().peekable();
    while let Some((at, octet)) = parts.next() {
        // An empty octet counts as 0, but not at the very end.
        let is_zero = octet.is_empty() && (parts.peek().is_some() || bits.is_some());
        *address.get_mut(at)? = if is_zero { 0 } else { number_without_zeros(octet, 255)? };
    }
    Some((address, bits))
}

fn parse_v6(text: &[u8]) -> Option<Inet> {
    let mut address = Vec::with_capacity(V6_BYTES);
    let mut gap = None;
    let mut bits = None;
    let mut at = 0;
    if text.first() == Some(&b':') {
        at = 1;
        if text.get(1) != Some(&b':') {
            return None;
        }
    }
    let mut token = at;
    let mut word = 0_u16;
    let mut digits = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            byte if byte.is_ascii_hexdigit() => {
                digits += 1;
                if digits > 4 {
                    return None;
                }
                word = word << 4 | u16::from(hex_digit(*byte));
            }
            b':' => {
                token = at;
                if digits == 0 {
                    if gap.replace(address.len()).is_some() {
                        return None;
                    }
                    continue;
                }
                if at == text.len() || address.len() + 2 > V6_BYTES {
                    return None;
                }
                address.extend_from_slice(&word.to_be_bytes());
                (word, digits) = (0, 0);
            }
            b'.' if address.len() + 4 <= V6_BYTES => {
                let (octets, mask) = v4_at_end(&text[token..])?;
                address.extend_from_slice(&octets);
                bits = mask;
                digits = 0;
                break;
            }
            b'/' => {
                bits = Some(v6_mask(&text[at..])?);
                break;
            }
            _ => return None,
        }
    }
    if digits > 0 {
        if address.len() + 2 > V6_BYTES {
            return None;
        }
        address.extend_from_slice(&word.to_be_bytes());
    }
    if let Some(gap) = gap {
        if address.len() == V6_BYTES {
            return None;
        }
        let zeros = V6_BYTES - address.len();
        address.splice(gap..gap, std::iter::repeat_n(0, zeros));
    }
    let address: [u8; V6_BYTES] = address.try_into().ok()?;
    Some(Inet { is_v6: true, bits: bits.unwrap_or(128), address: u128::from_be_bytes(address) })
}

/// Writes the address without its mask.
pub(super) fn write(value: Inet, out: &mut String) {
    if value.is_v6 {
        write_v6(value.address, out);
    } else {
        let [a, b, c, d] = (value.address as u32).to_be_bytes();
        put(out, format_args!("{a}.{b}.{c}.{d}"));
    }
}

/// Writes the mask: `/24`.
pub(super) fn write_bits(value: Inet, out: &mut String) {
    put(out, format_args!("/{}", value.bits));
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("strings take everything");
}

fn words(address: u128) -> [u16; 8] {
    let mut words = [0; 8];
    for (at, word) in words.iter_mut().enumerate() {
        *word = (address >> (112 - 16 * at)) as u16;
    }
    words
}

/// The longest run of zeros has two colons in its place, the first of those that are as long.
fn write_v6(address: u128, out: &mut String) {
    let words = words(address);
    let mut best = 0..0;
    let mut at = 0;
    while at < words.len() {
        let run = words[at..].iter().take_while(|word| **word == 0).count();
        if run > best.len() {
            best = at..at + run;
        }
        at += run.max(1);
    }
    if best.len() < 2 {
        best = 8..8;
    }
    let is_v4 = best.start == 0
        && match best.len() {
            6 => true,
            7 => words[7] != 1,
            5 => words[5] == 0xffff,
            _ => false,
        };
    for (at, word) in words.iter().enumerate() {
        if best.contains(&at) {
            if at == best.start {
                out.push(':');
            }
            continue;
        }
        if at > 0 {
            out.push(':');
        }
        if at == 6 && is_v4 {
            let [a, b, c, d] = (address as u32).to_be_bytes();
            put(out, format_args!("{a}.{b}.{c}.{d}"));
            return;
        }
        put(out, format_args!("{word:x}"));
    }
    if !best.is_empty() && best.end == 8 {
        out.push(':');
    }
}

/// A network as `abbrev(cidr)` shows it: `10.1/16`, `2001:db8/32`.
pub(super) fn abbreviated_network(value: Inet) -> String {
    let mut out = String::new();
    if value.is_v6 {
        abbreviate_v6(value, &mut out);
    } else {
        let octets = (value.network().address as u32).to_be_bytes();
        let count = usize::from(value.bits.div_ceil(8)).max(1);
        for (at, octet) in octets[..count].iter().enumerate() {
            put(&mut out, format_args!("{}{octet}", if at > 0 { "." } else { "" }));
        }
    }
    write_bits(value, &mut out);
    out
}

fn abbreviate_v6(value: Inet, out: &mut String) {
    if value.bits == 0 {
        out.push_str("::");
        return;
    }
    let network = value.network().address;
    let words = words(network);
    let count = usize::from(value.bits.div_ceil(16)).max(2);
    // The longest run of zeros. A run that is not longer goes on with the next one: PostgreSQL
    // counts so, and people compare these texts.
    let (mut start, mut length, mut run_start, mut run) = (0, 0, 0, 0);
    for (at, word) in words[..count].iter().enumerate() {
        if *word == 0 {
            if run == 0 {
                run_start = at;
            }
            run += 1;
        } else if run > length {
            (start, length, run) = (run_start, run, 0);
        }
    }
    if run > length {
        (start, length) = (run_start, run);
    }
    let [.., high, low] = network.to_be_bytes();
    let is_v4 = length != count
        && start == 0
        && match length {
            6 => true,
            5 => words[5] == 0xffff,
            7 => high != 0 && low != 1,
            _ => false,
        };
    for (at, word) in words.iter().enumerate().take(count) {
        if length > 0 && (start..start + length).contains(&at) {
            if at == start {
                out.push(':');
            }
            if at == count - 1 {
                out.push(':');
            }
            continue;
        }
        let [high, low] = word.to_be_bytes();
        if is_v4 && at > 5 {
            out.push(if at == 6 { ':' } else { '.' });
            put(out, format_args!("{high}"));
            if at != 7 || value.bits > 120 {
                put(out, format_args!(".{low}"));
            }
        } else {
            if !out.is_empty() {
                out.push(':');
            }
            put(out, format_args!("{word:x}"));
        }
    }
}
