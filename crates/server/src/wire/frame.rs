//! [`Inbox`]: the bytes that have come from a client, cut into messages.
//!
//! ```text
//!   bytes   ......Q....text.P...........
//!                ^start   ^            ^end     space ──> the socket reads to here
//!                 frame    not whole yet
//! ```
//!
//! A message stays in the buffer while it is worked on, so that its text and its values need not be
//! copied. The buffer doubles as bytes come. Once 1 MiB of a message has come, the buffer gets the length of the message
//! at once. A large message gives its memory back when it is done.

use session::Error;

use super::violation;

/// Bytes of an inbox that has just been made, and after a large message.
const ROOM: usize = 8 << 10;

/// An empty inbox gives its memory back if it has more bytes than this, and messages took less than a quarter of it.
const ROOM_KEPT: usize = 64 << 10;

/// An empty inbox that has more bytes than this gives its memory back, whatever messages took.
const ROOM_MAX: usize = 1 << 20;

/// Most bytes of a first packet, its length included.
pub(crate) const STARTUP_BYTES_MAX: usize = 10_000;

/// Most bytes of a message that carries names only, as PostgreSQL has it.
const SMALL_BYTES_MAX: usize = 10_000;

/// Most bytes of a message with a password or a part of an authentication.
const PASSWORD_BYTES_MAX: usize = 65_535;

/// Bytes of a kind and a length.
const HEAD: usize = 5;

/// A whole message: what it is, and where its body lies in the [`Inbox`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    /// The kind: a letter.
    pub(crate) kind: u8,
    start: usize,
    end: usize,
}

/// Bytes that have come and are not worked on yet.
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The most bytes that have waited at one time since the inbox was last empty.
    most: usize,
    message_bytes_max: usize,
}

impl Inbox {
    /// An empty one, for messages of at most so many bytes.
    pub(crate) fn new(message_bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, end: 0, most: 0, message_bytes_max }
    }

    /// True if no byte waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The bytes that wait.
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Forgets what waits.
    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Where the next bytes can be put: never empty.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.is_empty() {
            self.clear();
            let room = if self.most > self.bytes.len() / 4 { ROOM_MAX } else { ROOM_KEPT };
            if self.bytes.len() > room {
                self.bytes = Vec::new();
            }
            self.most = 0;
        }
        if self.end == self.bytes.len() {
            if self.start > self.bytes.len() / 2 {
                self.bytes.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            } else {
                match self.wanted().filter(|_| self.bytes.len() >= ROOM_MAX) {
                    // Pages that no byte has come to take no memory. Behind the message there is room for those that
                    // run its statement.
                    Some(wanted) => {
                        let mut bytes = vec![0; wanted.max(self.bytes.len()) + ROOM];
                        bytes[..self.end].copy_from_slice(&self.bytes[..self.end]);
                        self.bytes = bytes;
                    }
                    None => self.bytes.resize((self.bytes.len() * 2).max(ROOM), 0),
                }
            }
        }
        &mut self.bytes[self.end..]
    }

    /// Bytes of the buffer that a message of more than [`ROOM_MAX`] takes, once its length has come.
    fn wanted(&self) -> Option<usize> {
        let [_, length @ ..] = self.waiting().first_chunk::<HEAD>()?;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
        (ROOM_MAX..=self.message_bytes_max).contains(&length).then(|| self.start + 1 + length)
    }

    /// Gives the memory of a large message that is done back, also while others wait behind it.
    fn shrink(&mut self) {
        if self.start > ROOM_MAX && self.waiting().len() < ROOM {
            let mut bytes = vec![0; ROOM];
            bytes[..self.end - self.start].copy_from_slice(self.waiting());
            (self.start, self.end) = (0, self.end - self.start);
            self.bytes = bytes;
        }
    }

    /// Says that so many bytes were put into [`Inbox::space`].
    pub(crate) fn filled(&mut self, count: usize) {
        self.end += count;
        self.most = self.most.max(self.end - self.start);
        assert!(self.end <= self.bytes.len(), "no more was filled than there was space");
    }

    /// The first packet of a connection, without its length; none if it has not come whole.
    ///
    /// # Errors
    /// 08P01 for a length that no such packet has.
    pub(crate) fn startup(&mut self) -> Result<Option<&[u8]>, Error> {
        let waiting = self.waiting();
        let Some(length) = waiting.first_chunk() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if !(8..=STARTUP_BYTES_MAX).contains(&length) {
            return Err(violation("invalid length of startup packet"));
        }
        if waiting.len() < length {
            return Ok(None);
        }
        let start = self.start;
        self.start += length;
        Ok(Some(&self.bytes[start + 4..start + length]))
    }

    /// The next message; none if it has not come whole.
    ///
    /// # Errors
    /// 08P01 for a kind that clients do not send, and for a length that it cannot have. Nothing that
    /// follows can be understood then.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, Error> {
        self.shrink();
        let waiting = &self.bytes[self.start..self.end];
        let Some([kind, length @ ..]) = waiting.first_chunk::<HEAD>() else {
            // An unknown kind of message is refused before its length has come.
            return match waiting.first() {
                Some(kind) => self.length_max(*kind).map(|_| None),
                None => Ok(None),
            };
        };
        let length_max = self.length_max(*kind)?;
        let length = i32::from_be_bytes(*length);
        let length = usize::try_from(length)
            .ok()
            .filter(|length| (4..=length_max).contains(length))
            .ok_or_else(|| violation("invalid message length"))?;
        if waiting.len() < length + 1 {
            return Ok(None);
        }
        let frame = Frame { kind: *kind, start: self.start + HEAD, end: self.start + 1 + length };
        self.start = frame.end;
        Ok(Some(frame))
    }

    /// The body of a message, until the next one is asked for or the next bytes are read.
    pub(crate) fn body(&self, frame: Frame) -> &[u8] {
        &self.bytes[frame.start..frame.end]
    }

    /// Most that the length of a message of a kind can be.
    fn length_max(&self, kind: u8) -> Result<usize, Error> {
        match kind {
            b'Q' | b'P' | b'B' | b'F' | b'd' => Ok(self.message_bytes_max),
            b'E' | b'D' | b'C' | b'H' | b'S' | b'X' | b'c' | b'f' => Ok(SMALL_BYTES_MAX),
            b'p' => Ok(PASSWORD_BYTES_MAX),
            _ => Err(violation(format!("invalid frontend message type {kind}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(inbox: &mut Inbox, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = inbox.space();
            let count = space.len().min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            inbox.filled(count);
            bytes = &bytes[count..];
        }
    }

    /// Messages are found whatever pieces they come in.
    #[test]
    fn any_pieces() {
        let mut text = Vec::new();
        for n in 0..40_usize {
            let body = vec![n as u8; n * n * 7];
            text.push(b'd');
            text.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
            text.extend_from_slice(&body);
        }
        for piece in [1, 2, 3, 5, 8, 1_000, 100_000] {
            let mut inbox = Inbox::new(1 << 20);
            let mut found = 0;
            for piece in text.chunks(piece) {
                put(&mut inbox, piece);
                while let Some(frame) = inbox.next().unwrap() {
                    assert_eq!(frame.kind, b'd');
                    assert_eq!(inbox.body(frame), vec![found as u8; found * found * 7]);
                    found += 1;
                }
            }
            assert_eq!(found, 40);
            assert!(inbox.is_empty());
        }
    }

    /// A length is refused before anything is allocated for it.
    #[test]
    fn lengths() {
        let refused = |bytes: &[u8]| {
            let mut inbox = Inbox::new(1 << 20);
            put(&mut inbox, bytes);
            inbox.next().unwrap_err().message().to_owned()
        };
        assert_eq!(refused(b"Q\0\0\0\x03"), "invalid message length");
        assert_eq!(refused(b"Q\x7f\xff\xff\xff"), "invalid message length");
        assert_eq!(refused(b"Q\xff\xff\xff\xff"), "invalid message length");
        assert_eq!(refused(b"Q\0\x10\0\x01"), "invalid message length");
        assert_eq!(refused(b"S\0\0\x27\x11"), "invalid message length");
        assert_eq!(refused(b"z"), "invalid frontend message type 122");
        let mut inbox = Inbox::new(1 << 20);
        put(&mut inbox, b"Q\0\x10\0\0");
        assert_eq!(inbox.next().unwrap(), None);
        assert!(inbox.bytes.len() <= ROOM);
    }

    /// Room for messages that come one after the other is kept as long as they are as large.
    #[test]
    fn room_is_kept_for_a_stream_of_messages() {
        let message = |length: u32| {
            let mut message = vec![b'd'];
            message.extend_from_slice(&length.to_be_bytes());
            message.resize(1 + length as usize, 7);
            message
        };
        let mut inbox = Inbox::new(1 << 24);
        let mut rooms = Vec::new();
        for length in [300_000, 300_000, 290_000, 10, 10] {
            put(&mut inbox, &message(length));
            assert!(inbox.next().unwrap().is_some());
            rooms.push(inbox.bytes.len());
        }
        assert_eq!(rooms[..3], [512 << 10; 3]);
        assert_eq!(rooms[4], ROOM);
    }

    /// An inbox with one message of 5,000,001 bytes.
    fn with_large_message() -> Inbox {
        let mut inbox = Inbox::new(1 << 24);
        let mut message = vec![b'B'];
        message.extend_from_slice(&5_000_000_u32.to_be_bytes());
        message.resize(5_000_001, 7);
        put(&mut inbox, &message);
        inbox
    }

    /// The memory of a large message is given back.
    #[test]
    fn memory_is_given_back() {
        let mut inbox = with_large_message();
        assert!(inbox.next().unwrap().is_some());
        inbox.space();
        assert_eq!(inbox.bytes.len(), ROOM);
    }

    /// A large value stayed in the buffer while the statement ran that was bound to it, because the messages that run it
    /// had come too; and the buffer was up to twice as large as the message.
    #[test]
    fn a_large_message_takes_its_length_and_goes_before_the_next() {
        let mut inbox = with_large_message();
        put(&mut inbox, b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04");
        assert!(inbox.bytes.len() <= 5_000_001 + 2 * ROOM, "{}", inbox.bytes.len());
        let frame = inbox.next().unwrap().unwrap();
        assert!(inbox.body(frame).iter().all(|byte| *byte == 7));
        let next = inbox.next().unwrap().unwrap();
        assert_eq!((next.kind, inbox.body(next)), (b'E', &[0; 5][..]));
        assert_eq!(inbox.bytes.len(), ROOM);
        assert_eq!(inbox.next().unwrap().map(|next| next.kind), Some(b'S'));
        assert!(inbox.is_empty());
    }
}
