//! A session on a core: its conversation, on a socket.
//!
//! ```text
//!          ┌──────────────────────────────────────────────┐
//!          v                                              │
//!   wait: bytes │ a nudge │ time is up      messages ─> steps ─> send
//!                  │          │                      │
//!                  │          └ 57P05 25P03          ├─ commit: the core's commit waiter
//!                  └ NOTIFY, the end (57P01)         └─ blocked: a row's queue, a thread that may wait
//! ```
//!
//! The connection sends answers when the client has sent `Sync` or `Flush` and no more messages are
//! buffered, when a message must be sent at once (an error, a notice, the beginning of a COPY), and when
//! the buffer is full. So a client that sends the messages of the extended protocol one at a time gets no
//! answer before `Sync` or `Flush`, as with PostgreSQL.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use charset::Charset;
use session::{Error, StartUp, WaitEvent};
use tokio::sync::Notify;
use types::SqlState;

use crate::busy_poll::BusyPoll;
use crate::channel::Channel;
use crate::commit_waiter::Block;
use crate::conversation::{Conversation, OUT_BYTES_MAX, Step};
use crate::core::Core;
use crate::listener::Arrival;
use crate::metrics::add;
use crate::wire::startup::MINOR_LONG_SECRET;
use crate::wire::{Inbox, backend};

/// The number of messages that are handled before the other sessions of the core have their turn.
const TURN: usize = 64;

/// A session that busy-polls reads its socket so many times in a row before it yields to other sessions.
const GLANCES: usize = 8;

/// How long a session waits for a row lock on its core. Most row locks are held until a commit is on the disk.
const QUEUE: Duration = Duration::from_millis(20);

/// Bytes of the secret for cancelling, with protocol 3.0 and since 3.2.
const SECRET_BYTES: usize = 4;
const LONG_SECRET_BYTES: usize = 32;

/// Answers that the client has not asked for yet are sent when there are so many bytes, the size of PostgreSQL's
/// send buffer.
const OUT_BYTES_HELD: usize = 8 << 10;

/// So many bytes of a COPY are received while another thread makes rows of those before them.
const AHEAD_BYTES: usize = 512 << 10;

/// A larger buffer for answers is freed after use.
const OUT_BYTES_KEPT: usize = 2 * OUT_BYTES_MAX;

/// After a message or an answer of so many bytes the allocator returns free memory to the system.
const HEAVY_BYTES: usize = 16 << 20;

/// A session and its socket.
struct Connection<'c> {
    core: &'c Core,
    channel: Channel,
    inbox: Inbox,
    /// `None` only while it is on another thread.
    conversation: Option<Box<Conversation>>,
    /// Answers that are sent while the conversation is on another thread.
    leaving: Vec<u8>,
    /// How receiving ended while the conversation was on another thread. The messages before are handled first.
    ended: Option<io::Result<usize>>,
    nudge: Arc<Notify>,
    /// The state of its transaction block, as the commit waiter knows it.
    block: Block<'c>,
    poll: BusyPoll,
    /// True after a message or an answer of [`HEAVY_BYTES`].
    is_heavy: bool,
}

/// The event that ended a wait.
enum Event {
    /// So many bytes came; 0 if the client has gone.
    Bytes(usize),
    /// Another task has a message for the session.
    Nudge,
    /// The time limit is over.
    Late,
}

/// True if a connection goes on.
type GoesOn = bool;

/// Serves an admitted client, to the end.
pub(crate) async fn serve(core: &Core, arrival: Arrival) {
    let Arrival { channel, inbox, out, start, peer, slots } = arrival;
    let Ok(mut channel) = channel.attach() else {
        return tracing::error!("a connection could not be taken over");
    };
    let user = start.user.clone();
    let long = start.minor >= MINOR_LONG_SECRET;
    let start = StartUp {
        user: start.user,
        database: start.database,
        settings: start.settings,
        peer,
        secret_bytes: if long { LONG_SECRET_BYTES } else { SECRET_BYTES },
        ..StartUp::default()
    };
    let database = start.database.clone();
    let mut session = match core.shared.instance.connect(start) {
        Ok(session) => session,
        Err(error) => {
            let mut out = out;
            add(&core.shared.counters.connections_refused_total, 1);
            backend::report(&mut out, Charset::UTF8, &error.fatal());
            // A client that has gone meanwhile gets no message.
            let _ = channel.send(&out).await;
            return channel.close().await;
        }
    };
    let process = session.process_id();
    let began = Instant::now();
    // They stay the same for the whole session: a client cannot change them.
    let logs_end = session.is_set("log_disconnections");
    if session.is_set("log_connections") {
        tracing::info!(process, %peer, user, database, tls = channel.is_tls(), "connected");
    }
    add(&core.counters.connections_total, 1);
    let nudge = Arc::new(Notify::new());
    let waker = Arc::clone(&nudge);
    session.set_wake(Arc::new(move || waker.notify_one()));
    let conversation = Conversation::begin(session, out, Arc::clone(&core.counters));
    let mut connection = Connection {
        core,
        channel,
        inbox,
        conversation: Some(Box::new(conversation)),
        leaving: Vec::new(),
        ended: None,
        nudge,
        block: Block::none(&core.commit_waiter),
        poll: BusyPoll::new(core.shared.busy_poll),
        is_heavy: false,
    };
    let ended = connection.run().await;
    if logs_end {
        let session_ms = began.elapsed().as_secs_f64() * 1e3;
        match ended {
            Ok(()) => tracing::info!(process, user, database, session_ms, "disconnected"),
            Err(error) => {
                tracing::info!(process, user, database, session_ms, "connection lost: {error}");
            }
        }
    }
    let Connection { channel, conversation, .. } = connection;
    // The locks of the transaction are free before the client sees the end.
    drop(conversation);
    channel.close().await;
    drop(slots);
}

impl Connection<'_> {
    fn talk(&mut self) -> &mut Conversation {
        self.conversation.as_mut().expect("it is here but while a step is on another thread")
    }

    /// Serves the client until one of the two ends the session.
    async fn run(&mut self) -> io::Result<()> {
        loop {
            if !self.answer().await? {
                return self.send().await;
            }
            match self.talk().out.len() >= OUT_BYTES_HELD {
                true => self.send().await?,
                false => self.send_due().await?,
            }
            self.trim();
            let (event, waited) = self.wait().await?;
            match event {
                Event::Bytes(0) => return Ok(()),
                Event::Bytes(count) => {
                    let is_alone = self.is_served_again();
                    self.poll.learn(waited, is_alone);
                    add(&self.core.counters.bytes_received_total, count as u64);
                }
                Event::Nudge => {
                    if let Some(end) = self.end() {
                        self.talk().hang_up(end);
                        return self.send().await;
                    }
                    if self.talk().is_idle() {
                        self.talk().tell();
                    }
                }
                Event::Late => {
                    let error = match self.talk().is_in_transaction() {
                        true => Error::new(
                            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                            "terminating connection due to idle-in-transaction timeout",
                        ),
                        false => Error::new(
                            SqlState::IDLE_SESSION_TIMEOUT,
                            "terminating connection due to idle-session timeout",
                        ),
                    };
                    self.talk().hang_up(error);
                    return self.send().await;
                }
            }
        }
    }

    /// The reason to end the session, if one was given.
    fn end(&mut self) -> Option<Error> {
        let terminated = self.talk().session().terminated();
        terminated.or_else(|| {
            let message = "terminating connection due to administrator command";
            let is_stopping = self.core.shared.is_stopping();
            is_stopping.then(|| Error::new(SqlState::ADMIN_SHUTDOWN, message))
        })
    }

    /// Handles the buffered messages.
    async fn answer(&mut self) -> io::Result<GoesOn> {
        let mut turn = 0;
        loop {
            if self.talk().out.len() >= OUT_BYTES_MAX {
                self.send().await?;
            }
            let step = match self.inbox.next() {
                Ok(None) => {
                    self.note_block();
                    return Ok(true);
                }
                Ok(Some(frame)) => {
                    let talk = self.conversation.as_mut().expect("it is here between steps");
                    let body = self.inbox.body(frame);
                    self.is_heavy |= body.len() >= HEAVY_BYTES;
                    talk.guarded(|talk| talk.take(frame.kind, body))
                }
                Err(error) => self.talk().hang_up(error),
            };
            if !self.follow(step).await? {
                return Ok(false);
            }
            turn += 1;
            if turn % TURN == 0 {
                self.send_due().await?;
                tokio::task::yield_now().await;
            }
        }
    }

    /// Performs a step and the steps after it.
    async fn follow(&mut self, mut step: Step) -> io::Result<GoesOn> {
        loop {
            step = match step {
                Step::Next => return Ok(true),
                Step::Close => return Ok(false),
                Step::Send => {
                    let talk = self.talk();
                    talk.due = talk.out.len();
                    // Before a step moves to another thread, the answers wait: they are sent while
                    // it runs there.
                    if !talk.must_block() {
                        self.send_due().await?;
                    }
                    self.talk().guarded(|talk| talk.go_on(false))
                }
                Step::Commit(ordered) => {
                    self.send_due().await?;
                    self.note_block();
                    self.talk().session().set_wait(WaitEvent::WalSync);
                    let outcome = self.core.commit_waiter.wait(*ordered).await;
                    self.talk().session().set_wait(WaitEvent::None);
                    self.talk().guarded(|talk| talk.committed(outcome))
                }
                Step::Block => match self.queue_up().await? {
                    true => self.talk().guarded(Conversation::go_on_here),
                    false => self.move_off().await?,
                },
            };
        }
    }

    /// Tells the commit waiter whether the session is in a transaction block.
    fn note_block(&mut self) {
        let is_open = self.talk().is_in_transaction();
        self.block.set(is_open);
    }

    /// Waits on this core for a row lock; true if it was released in time.
    async fn queue_up(&mut self) -> io::Result<bool> {
        let turn = Arc::new(Notify::new());
        let caller = Arc::clone(&turn);
        if !self.talk().session().queue_up(Box::new(move || caller.notify_one())) {
            return Ok(false);
        }
        add(&self.core.counters.queued_statements_total, 1);
        let sent = self.send_due().await;
        let is_over = tokio::time::timeout(QUEUE, turn.notified()).await.is_ok();
        self.talk().session().leave_queue();
        sent.map(|()| is_over)
    }

    /// Runs the next step on a thread that may wait. Meanwhile this thread sends the answers so far,
    /// and serves other sessions.
    async fn move_off(&mut self) -> io::Result<Step> {
        add(&self.core.counters.moved_statements_total, 1);
        let mut talk = self.conversation.take().expect("it is here between steps");
        let takes_data = talk.takes_data();
        let due = std::mem::take(&mut talk.due);
        std::mem::swap(&mut talk.out, &mut self.leaving);
        talk.out.extend_from_slice(&self.leaving[due..]);
        self.leaving.truncate(due);
        let mut moved = tokio::task::spawn_blocking(move || {
            let step = talk.guarded(|talk| talk.go_on(true));
            (talk, step)
        });
        let sent = self.send_leaving().await;
        let moved = poll_fn(|cx| {
            let moved = Pin::new(&mut moved).poll(cx);
            if moved.is_pending() && takes_data {
                self.receive_ahead(cx);
            }
            moved
        });
        let (talk, step) = moved.await.expect("a step gives back what it was given");
        self.conversation = Some(talk);
        sent.map(|()| step)
    }

    /// Receives the data of a COPY that have arrived, up to a limit.
    fn receive_ahead(&mut self, cx: &mut Context<'_>) {
        while self.ended.is_none() && self.inbox.waiting().len() < AHEAD_BYTES {
            match self.channel.poll_receive(cx, &mut self.inbox) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    add(&self.core.counters.bytes_received_total, count as u64);
                }
                Poll::Ready(ended) => self.ended = Some(ended),
                Poll::Pending => return,
            }
        }
    }

    /// Sends the answers that the conversation on the other thread has left here.
    async fn send_leaving(&mut self) -> io::Result<()> {
        if self.leaving.is_empty() {
            return Ok(());
        }
        self.count_sent(self.leaving.len());
        self.channel.send(&self.leaving).await?;
        self.leaving.clear();
        Ok(())
    }

    /// Frees the memory of large messages and answers.
    fn trim(&mut self) {
        self.is_heavy |= self.leaving.capacity().max(self.talk().out.capacity()) >= HEAVY_BYTES;
        if self.leaving.capacity() > OUT_BYTES_KEPT {
            self.leaving = Vec::new();
        }
        let talk = self.talk();
        if talk.out.is_empty() && talk.out.capacity() > OUT_BYTES_KEPT {
            talk.out = Vec::new();
        }
        if std::mem::take(&mut self.is_heavy) {
            (self.core.shared.options.release_memory)();
        }
    }

    fn count_sent(&self, bytes: usize) {
        add(&self.core.counters.bytes_sent_total, bytes as u64);
        add(&self.core.counters.sends_total, 1);
    }

    /// Sends all answers.
    async fn send(&mut self) -> io::Result<()> {
        let talk = self.talk();
        talk.due = talk.out.len();
        self.send_due().await
    }

    /// Sends the answers that are due.
    async fn send_due(&mut self) -> io::Result<()> {
        let due = std::mem::take(&mut self.talk().due);
        if due == 0 {
            return Ok(());
        }
        self.count_sent(due);
        let talk = self.conversation.as_mut().expect("it is here between steps");
        talk.session().set_wait(WaitEvent::ClientWrite);
        self.channel.send(&talk.out[..due]).await?;
        talk.session().set_wait(WaitEvent::None);
        talk.out.drain(..due);
        Ok(())
    }

    /// Waits for the next event; also returns how long that took.
    async fn wait(&mut self) -> io::Result<(Event, Duration)> {
        if let Some(ended) = self.ended.take() {
            return Ok((Event::Bytes(ended?), Duration::ZERO));
        }
        let patience = match self.end() {
            // The message came while the session did not wait.
            Some(_) => return Ok((Event::Nudge, Duration::ZERO)),
            None => self.patience(),
        };
        self.talk().session().set_wait(WaitEvent::ClientRead);
        let since = Instant::now();
        let event = self.wait_for_event(since, patience).await?;
        self.talk().session().set_wait(WaitEvent::None);
        Ok((event, since.elapsed()))
    }

    async fn wait_for_event(
        &mut self,
        since: Instant,
        patience: Option<Duration>,
    ) -> io::Result<Event> {
        if let Some(event) = self.wait_awake(since, patience).await? {
            return Ok(event);
        }
        let rest = patience.map(|patience| patience.saturating_sub(since.elapsed()));
        let mut late = pin!(rest.map(tokio::time::sleep));
        let mut nudged = pin!(self.nudge.notified());
        let (channel, inbox) = (&mut self.channel, &mut self.inbox);
        let come = poll_fn(|cx| {
            if let Poll::Ready(count) = channel.poll_receive(cx, inbox) {
                return Poll::Ready(count.map(Event::Bytes));
            }
            if nudged.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(Event::Nudge));
            }
            match late.as_mut().as_pin_mut() {
                Some(late) => late.poll(cx).map(|()| Ok(Event::Late)),
                None => Poll::Pending,
            }
        });
        come.await
    }

    /// Busy-polls the socket, for as long as that may pay off; `None` if nothing has come until then.
    async fn wait_awake(
        &mut self,
        since: Instant,
        patience: Option<Duration>,
    ) -> io::Result<Option<Event>> {
        let patience = self.poll.patience().min(patience.unwrap_or(Duration::MAX));
        if patience.is_zero() {
            return Ok(None);
        }
        add(&self.core.counters.busy_polls_total, 1);
        let mut nudged = pin!(self.nudge.notified());
        while since.elapsed() < patience {
            for _ in 0..GLANCES {
                if let Poll::Ready(count) = self.channel.receive_now(&mut self.inbox) {
                    return Ok(Some(Event::Bytes(count?)));
                }
            }
            // Yields to the other threads, and to the other sessions of this one.
            std::thread::yield_now();
            tokio::task::yield_now().await;
            if poll_fn(|cx| Poll::Ready(nudged.as_mut().poll(cx).is_ready())).await {
                return Ok(Some(Event::Nudge));
            }
        }
        add(&self.core.counters.busy_polls_in_vain_total, 1);
        Ok(None)
    }

    /// True if no other session of the server has been served since this one.
    fn is_served_again(&mut self) -> bool {
        let process = self.talk().session().process_id();
        let last = &self.core.shared.served_last;
        let is_again = last.load(Ordering::Relaxed) == process;
        if !is_again {
            last.store(process, Ordering::Relaxed);
        }
        is_again
    }

    /// How long the client may be silent.
    fn patience(&mut self) -> Option<Duration> {
        if !self.talk().is_idle() {
            return None;
        }
        let setting = match self.talk().is_in_transaction() {
            true => "idle_in_transaction_session_timeout",
            false => "idle_session_timeout",
        };
        match self.talk().session().setting_integer(setting) {
            0 => None,
            limit_ms => Some(Duration::from_millis(limit_ms.unsigned_abs())),
        }
    }
}
