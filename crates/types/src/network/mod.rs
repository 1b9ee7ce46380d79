//! Addresses of networks: [`Inet`] is a value of `inet` or `cidr`, [`Mac`] one of `macaddr` or
//! `macaddr8`.
//!
//! ```text
//!   192.168.1.5/24     family  network       bits  address
//!                      02      c0 a8 01 00   18    c0 a8 01 05       the held form of an inet
//!   192.168.1.0/24     02      c0 a8 01 00   18                      no host: the address is left out
//! ```
//!
//! The held form of an `inet` is a string of bytes whose order is the order of the values: first the
//! family, then the bits of the network, then how many they are, then the rest of the address. A
//! `cidr` is held alike. Every network lies right before the addresses within it.

mod mac;
mod text;

pub use mac::Mac;

use crate::packed::damaged;
use crate::{Datum, Error, Result, SqlState};

/// The bytes of an IPv4 address.
const V4_BYTES: usize = 4;
/// The bytes of an IPv6 address.
const V6_BYTES: usize = 16;

/// The number of the family of IPv4 addresses, in the held and the binary form.
const V4: u8 = 2;
/// The number of the family of IPv6 addresses.
const V6: u8 = 3;

/// An address, and how many of its first bits name the network that it lies in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inet {
    is_v6: bool,
    bits: u8,
    /// The address; that of IPv4 has 32 bits.
    address: u128,
}

impl Inet {
    /// An IPv4 address in a network of so many bits.
    fn v4(address: u32, bits: u8) -> Self {
        Self { is_v6: false, bits, address: address.into() }
    }

    /// An address without a network of its own, as a connection has it.
    pub fn of_host(address: std::net::IpAddr) -> Self {
        match address {
            std::net::IpAddr::V4(address) => Self::v4(address.into(), 32),
            std::net::IpAddr::V6(address) => {
                Self { is_v6: true, bits: 128, address: address.into() }
            }
        }
    }

    /// Reads the text form of an `inet` or, where `is_cidr`, of a `cidr`.
    ///
    /// # Errors
    /// 22P02 for anything else, and for a `cidr` with bits set to the right of its mask.
    pub fn parse(text: &str, is_cidr: bool) -> Result<Self> {
        text::parse(text, is_cidr)
    }

    /// Writes the text form. That of an `inet` leaves the mask out where it covers every bit.
    pub fn write(self, is_cidr: bool, out: &mut String) {
        text::write(self, out);
        if is_cidr || self.bits < self.bits_max() {
            text::write_bits(self, out);
        }
    }

    /// The address alone: `host(inet)`.
    pub fn host(self) -> String {
        let mut out = String::new();
        text::write(self, &mut out);
        out
    }

    /// The network without the bytes that its mask leaves out: `10.1/16`.
    pub fn abbreviated_network(self) -> String {
        text::abbreviated_network(self)
    }

    /// 4 or 6.
    pub fn family(self) -> i32 {
        if self.is_v6 { 6 } else { 4 }
    }

    /// The address, without its network.
    pub fn address(self) -> std::net::IpAddr {
        match self.is_v6 {
            true => std::net::Ipv6Addr::from(self.address).into(),
            false => std::net::Ipv4Addr::from(self.address as u32).into(),
        }
    }

    /// How many bits name the network.
    pub fn bits(self) -> u8 {
        self.bits
    }

    /// How many bits an address of the family has.
    pub fn bits_max(self) -> u8 {
        (self.bytes() * 8) as u8
    }

    fn bytes(self) -> usize {
        if self.is_v6 { V6_BYTES } else { V4_BYTES }
    }

    /// The largest address of the family.
    fn all(self) -> u128 {
        if self.is_v6 { u128::MAX } else { u32::MAX.into() }
    }

    /// The mask of the bits that name a host.
    fn host_mask(self) -> u128 {
        self.all().checked_shr(self.bits.into()).unwrap_or(0)
    }

    fn with_address(self, address: u128) -> Self {
        Self { address, ..self }
    }

    /// The same address in a network of so many bits.
    ///
    /// # Errors
    /// 22023 for more bits than the address has. -1 means all of them.
    pub fn with_bits(self, bits: i32) -> Result<Self> {
        let max = self.bits_max();
        let bits = match u8::try_from(bits) {
            _ if bits == -1 => max,
            Ok(bits) if bits <= max => bits,
            _ => return Err(invalid(format!("invalid mask length: {bits}"))),
        };
        Ok(Self { bits, ..self })
    }

    /// The network that the address lies in, as a `cidr`.
    pub fn network(self) -> Self {
        self.with_address(self.address & !self.host_mask())
    }

    /// True for what can be a `cidr`: no bit is set to the right of the mask.
    fn is_network(self) -> bool {
        self.address & self.host_mask() == 0
    }

    /// The last address of the network.
    pub fn broadcast(self) -> Self {
        self.with_address(self.address | self.host_mask())
    }

    /// The mask of the network, as an address.
    pub fn netmask(self) -> Self {
        Self { bits: self.bits_max(), ..self.with_address(self.all() & !self.host_mask()) }
    }

    /// The bits that the mask of the network leaves out, as an address.
    pub fn hostmask(self) -> Self {
        Self { bits: self.bits_max(), ..self.with_address(self.host_mask()) }
    }

    /// The last address of the network, as one without a network of its own. All that lies in the
    /// network is between [`Inet::network`] and this.
    pub fn last(self) -> Self {
        Self { bits: self.bits_max(), ..self.broadcast() }
    }

    /// How many of the first `most` bits two addresses of one family share.
    fn common_bits(self, other: Self, most: u8) -> u8 {
        let unused = 128 - u32::from(self.bits_max());
        let same = (self.address ^ other.address).leading_zeros() - unused;
        same.min(most.into()) as u8
    }

    /// True if the first `bits` bits of both are the same, and the families are.
    fn agrees(self, other: Self, bits: u8) -> bool {
        self.is_v6 == other.is_v6 && self.common_bits(other, bits) == bits
    }

    /// True if this lies in the network of the other, or is the same network: `<<=`.
    pub fn is_within_or_equal(self, other: Self) -> bool {
        self.bits >= other.bits && self.agrees(other, other.bits)
    }

    /// True if this is a smaller part of the network of the other: `<<`.
    pub fn is_within(self, other: Self) -> bool {
        self.bits > other.bits && self.agrees(other, other.bits)
    }

    /// True if one of the networks lies in the other: `&&`.
    pub fn overlaps(self, other: Self) -> bool {
        self.agrees(other, self.bits.min(other.bits))
    }

    /// The smallest network that both lie in.
    ///
    /// # Errors
    /// 22023 for addresses of different families.
    pub fn merge(self, other: Self) -> Result<Self> {
        if self.is_v6 != other.is_v6 {
            return Err(invalid("cannot merge addresses from different families"));
        }
        let bits = self.common_bits(other, self.bits.min(other.bits));
        Ok(Self { bits, ..self }.network())
    }

    /// Every bit of the address turned over.
    pub fn inverted(self) -> Self {
        self.with_address(!self.address & self.all())
    }

    /// The bits that both addresses have.
    ///
    /// # Errors
    /// 22023 for addresses of different families.
    pub fn and(self, other: Self) -> Result<Self> {
        let bits = self.bits_of_both(other, "cannot AND inet values of different sizes")?;
        Ok(Self { bits, ..self.with_address(self.address & other.address) })
    }

    /// The bits that either address has.
    ///
    /// # Errors
    /// 22023 for addresses of different families.
    pub fn or(self, other: Self) -> Result<Self> {
        let bits = self.bits_of_both(other, "cannot OR inet values of different sizes")?;
        Ok(Self { bits, ..self.with_address(self.address | other.address) })
    }

    fn bits_of_both(self, other: Self, message: &str) -> Result<u8> {
        if self.is_v6 != other.is_v6 {
            return Err(invalid(message));
        }
        Ok(self.bits.max(other.bits))
    }

    /// The address that lies so many after this one.
    ///
    /// # Errors
    /// 22003 where there is none.
    pub fn plus(self, count: i64) -> Result<Self> {
        let moved = if count < 0 {
            self.address.checked_sub(count.unsigned_abs().into())
        } else {
            self.address.checked_add(count.unsigned_abs().into())
        };
        let moved = moved.filter(|address| *address <= self.all());
        moved.map(|address| self.with_address(address)).ok_or_else(out_of_range)
    }

    /// How many addresses this one lies after the other.
    ///
    /// # Errors
    /// 22023 for addresses of different families, 22003 for more than 64 bits.
    pub fn minus(self, other: Self) -> Result<i64> {
        if self.is_v6 != other.is_v6 {
            return Err(invalid("cannot subtract inet values of different sizes"));
        }
        let distance = self.address.wrapping_sub(other.address) as i128;
        let is_right = (distance < 0) == (self.address < other.address);
        i64::try_from(distance).ok().filter(|_| is_right).ok_or_else(out_of_range)
    }

    /// Family, bits and address: what PostgreSQL hashes.
    pub fn hash_bytes(self) -> Vec<u8> {
        let mut out = vec![if self.is_v6 { V6 } else { V4 }, self.bits];
        self.put(self.address, &mut out);
        out
    }

    fn put(self, address: u128, out: &mut Vec<u8>) {
        out.extend_from_slice(&address.to_be_bytes()[V6_BYTES - self.bytes()..]);
    }

    /// The held form.
    pub fn to_held(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(2 + 2 * self.bytes());
        out.push(if self.is_v6 { V6 } else { V4 });
        self.put(self.network().address, &mut out);
        out.push(self.bits);
        if !self.is_network() {
            self.put(self.address, &mut out);
        }
        out
    }

    /// The address that is held so; `None` if the bytes are none.
    pub fn from_held(held: &[u8]) -> Option<Self> {
        let (family, rest) = held.split_first()?;
        let is_v6 = match *family {
            V4 => false,
            V6 => true,
            _ => return None,
        };
        let empty = Self { is_v6, bits: 0, address: 0 };
        let (network, rest) = rest.split_at_checked(empty.bytes())?;
        let (bits, host) = rest.split_first()?;
        let address = number(if host.is_empty() { network } else { host });
        let found = Self { bits: *bits, address, ..empty };
        let is_whole = host.is_empty() || host.len() == empty.bytes();
        (is_whole && *bits <= empty.bits_max() && found.network().address == number(network))
            .then_some(found)
    }

    /// As [`Inet::from_held`].
    ///
    /// # Errors
    /// XX001 where the bytes are none.
    pub fn held(held: &[u8]) -> Result<Self> {
        Self::from_held(held).ok_or_else(|| damaged("an address is none"))
    }

    /// Appends the binary form.
    pub(crate) fn to_wire(self, is_cidr: bool, out: &mut Vec<u8>) {
        let family = if self.is_v6 { V6 } else { V4 };
        out.extend_from_slice(&[family, self.bits, u8::from(is_cidr), self.bytes() as u8]);
        self.put(self.address, out);
    }

    /// Reads the binary form, without the bytes that follow it.
    ///
    /// # Errors
    /// 22P03 for anything else, 08P01 where bytes are missing.
    pub(crate) fn from_wire(bytes: &mut &[u8], is_cidr: bool) -> Result<Self> {
        let name = if is_cidr { "cidr" } else { "inet" };
        let bad = |what: &str| {
            let message = format!("invalid {what} in external \"{name}\" value");
            Err(Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message))
        };
        let mut next = |count: usize| {
            let (taken, rest) = bytes.split_at_checked(count).ok_or_else(|| {
                Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message")
            })?;
            *bytes = rest;
            Ok::<_, Error>(taken)
        };
        let is_v6 = match next(1)? {
            [V4] => false,
            [V6] => true,
            _ => return bad("address family"),
        };
        let empty = Self { is_v6, bits: 0, address: 0 };
        let bits = next(1)?[0];
        if bits > empty.bits_max() {
            return bad("bits");
        }
        let _is_cidr = next(1)?;
        if usize::from(next(1)?[0]) != empty.bytes() {
            return bad("length");
        }
        let found = Self { bits, address: number(next(empty.bytes())?), ..empty };
        if is_cidr && !found.is_network() {
            let message = "invalid external \"cidr\" value";
            let error = Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message);
            return Err(error.with_detail("Value has bits set to right of mask."));
        }
        Ok(found)
    }
}

impl From<Inet> for Datum {
    fn from(value: Inet) -> Self {
        Datum::bytea(value.to_held())
    }
}

/// Bytes as a number, the highest first.
fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range")
}
