//! `COPY ... FROM STDIN`: a statement that goes on while the client sends its data.
//!
//! ```text
//!   CopyInResponse   <── d d d d ...   gathered, and given to the session piece by piece,
//!                                      while the core receives what follows
//!                    <── c             the rest, then the statement is done
//!                    <── f             the statement fails
//! ```
//!
//! The rows are made on a thread that may wait: they may meet locks, and there are many. So are those
//! that `COPY ... TO STDOUT` sends, which cannot be taken back.

use charset::{Charset, Decoder};
use session::{Error, Tag};

use super::extended::Execute;
use super::simple::Query;
use super::{Conversation, Doing, Flow, Step};
use crate::wire::{Message, encoding, violation};

/// So many bytes are given to the session at a time. The core receives the next ones meanwhile.
const PIECE: usize = 512 << 10;

/// The state of a running `COPY ... FROM STDIN`.
pub(super) struct CopyIn {
    source: Source,
    data: Vec<u8>,
    /// Makes text of the data; none if it is text.
    decoder: Option<Decoder>,
    /// True once all has been sent.
    is_whole: bool,
}

/// The message that it came with.
pub(super) enum Source {
    Query(Box<Query>),
    Execute(Execute),
}

impl CopyIn {
    pub(super) fn new(source: Source, charset: Charset) -> Self {
        let decoder = (!charset.is_same()).then(|| charset.decoder());
        Self { source, data: Vec::new(), decoder, is_whole: false }
    }
}

impl Conversation {
    /// Deals with a message while data is expected.
    pub(super) fn take_copy(&mut self, kind: u8, body: &[u8]) -> Step {
        let body = match encoding::decoded(kind, body, self.session.charset()) {
            Ok(body) => body,
            Err(error) => return self.fail_copy(error),
        };
        let Doing::Copy(copy) = &mut self.doing else { unreachable!("a COPY is under way") };
        match Message::read(kind, &body) {
            Ok(Message::CopyData(data)) => {
                match &mut copy.decoder {
                    None => copy.data.extend_from_slice(data),
                    Some(decoder) => {
                        if let Err(error) = decoder.decode(data, &mut copy.data) {
                            return self.fail_copy(error.into());
                        }
                    }
                }
                if copy.data.len() < PIECE {
                    return Step::Next;
                }
                self.must_block = true;
                Step::Block
            }
            Ok(Message::CopyDone) => {
                if let Some(decoder) = copy.decoder.take()
                    && let Err(error) = decoder.finish(&mut copy.data)
                {
                    return self.fail_copy(error.into());
                }
                copy.is_whole = true;
                self.must_block = true;
                Step::Block
            }
            // The client may have sent them before it saw that it was to send data.
            Ok(Message::Flush | Message::Sync) => Step::Next,
            Ok(Message::CopyFail(reason)) => {
                let failed = self.session.copy_fail(reason);
                let error = failed.expect_err("what the client gives up has failed");
                self.fail_copy(error)
            }
            Ok(Message::Terminate) => Step::Close,
            Ok(_) => {
                self.report(&violation(format!(
                    "unexpected message type 0x{kind:02X} during COPY from stdin"
                )));
                let message = "terminating connection because protocol synchronization was lost";
                self.hang_up(violation(message))
            }
            Err(error) => self.fail_copy(error),
        }
    }

    /// Gives the session what has been gathered.
    pub(super) fn go_on_copy(&mut self, mut copy: CopyIn) -> Step {
        let outcome = self.give(&mut copy);
        self.listen();
        match (outcome, copy) {
            (Err(error), copy) => {
                self.doing = Doing::Copy(copy);
                self.fail_copy(error)
            }
            (Ok(None), copy) => {
                self.must_block = false;
                self.doing = Doing::Copy(copy);
                Step::Next
            }
            (Ok(Some(tag)), CopyIn { source: Source::Query(mut query), .. }) => {
                match self.finish_statement(&mut query, tag) {
                    Ok(Flow::Wait(step)) => {
                        self.doing = Doing::Query(*query);
                        step
                    }
                    Ok(_) => self.go_on_query(*query),
                    Err(error) => self.fail_query(error),
                }
            }
            (Ok(Some(tag)), CopyIn { source: Source::Execute(mut execute), .. }) => {
                match self.finish_execute(&mut execute, tag) {
                    Flow::Wait(step) => {
                        self.doing = Doing::Execute(execute);
                        step
                    }
                    _ => Step::Next,
                }
            }
        }
    }

    /// Gives the session what has been gathered; its tag where that was all.
    fn give(&mut self, copy: &mut CopyIn) -> Result<Option<Tag>, Error> {
        if !copy.data.is_empty() {
            self.session.copy_in(&copy.data)?;
            copy.data.clear();
        }
        if copy.is_whole { self.session.copy_end().map(Some) } else { Ok(None) }
    }

    /// The statement fails, and with it the message that it came with.
    fn fail_copy(&mut self, error: Error) -> Step {
        match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Copy(CopyIn { source: Source::Execute(_), .. }) => self.fail(error, true),
            _ => self.fail_query(error),
        }
    }
}
