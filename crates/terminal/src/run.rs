//! The terminal: takes it, reads keys, draws, and gives it back.
//!
//! ```text
//!   this thread   keys ─> model ─> draw           answers ──┐
//!   a worker      Source::get ──────────────────────────────┘
//! ```

use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use json::Tape;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::style::Print;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};

use crate::answers::Refusal;
use crate::asks::SentRequest;
use crate::draw::draw;
use crate::layout::Size;
use crate::model::{Model, MomentParser};
use crate::source::Source;

/// How long the explorer waits for a key: while an answer is missing, while the history plays, and otherwise.
const WAIT_BUSY: Duration = Duration::from_millis(10);
const WAIT_PLAYING: Duration = Duration::from_millis(80);
const WAIT: Duration = Duration::from_millis(250);
/// How long keys stay unread, at most, while the target of a jump is not on the screen.
const WAIT_JUMPING: Duration = Duration::from_millis(300);
/// How long the end waits for the last answer.
const LAST_WAIT: Duration = Duration::from_secs(2);
/// While the other screen is in view, the mouse wheel is arrow keys (DEC private mode 1007).
const WHEEL_ON: &str = "\u{1b}[?1007h";
const WHEEL_OFF: &str = "\u{1b}[?1007l";

/// How the explorer begins.
pub struct Options {
    /// The name of the source, for the reader.
    pub place: String,
    /// A collection, and a document of it, to begin at.
    pub target: Option<(String, Option<String>)>,
    /// Reads moments as the program that starts the explorer does.
    pub moments: MomentParser,
    /// The caller sets it to end the explorer.
    pub stopped: Arc<AtomicBool>,
}

/// Why the explorer did not begin, or ended early.
#[derive(Debug)]
pub enum ExploreError {
    /// Standard input and output are not both a terminal.
    NotATerminal,
    /// The terminal failed.
    Terminal(io::Error),
    /// The first request was refused, or the server does not answer.
    Refused(Refusal),
    /// The thread that asks has failed.
    Lost,
}

/// Shows documents until the reader quits.
///
/// # Errors
/// Fails before it takes the terminal if there is none or the source refuses the first question, and if the terminal
/// fails. The terminal is given back first.
pub fn explore(mut source: Source, options: Options) -> Result<(), ExploreError> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(ExploreError::NotATerminal);
    }
    let (width, height) = size().map_err(ExploreError::Terminal)?;
    let Options { place, target, moments, stopped } = options;
    let mut model = Model::new(place, target, Size { width, height }, now_us(), moments);
    // The reader sees a refusal of the first request where the command was typed, not on the other screen.
    if let Some(asked) = model.next_ask() {
        let answer = source.get(&asked.path).map_err(ExploreError::Refused)?;
        model.answered(&asked, Ok(answer));
    }
    let worker = Worker::start(source).map_err(ExploreError::Terminal)?;
    let ended = show(&mut model, &worker, &stopped);
    worker.end();
    ended
}

/// A thread that asks.
struct Worker {
    asks: Sender<SentRequest>,
    answers: Receiver<(SentRequest, Result<Tape, Refusal>)>,
    thread: JoinHandle<()>,
}

impl Worker {
    fn start(mut source: Source) -> io::Result<Worker> {
        let (asks, asked) = channel::<SentRequest>();
        let (answered, answers) = channel();
        let thread = std::thread::Builder::new().name("explore".to_owned()).spawn(move || {
            while let Ok(ask) = asked.recv() {
                let answer = source.get(&ask.path);
                if answered.send((ask, answer)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Worker { asks, answers, thread })
    }

    /// Waits for a moment, so that the source is closed before the program ends.
    fn end(self) {
        drop((self.asks, self.answers));
        let begun = Instant::now();
        while !self.thread.is_finished() && begun.elapsed() < LAST_WAIT {
            std::thread::sleep(WAIT_BUSY);
        }
    }
}

/// A function that reports panics.
type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send + 'static>;

/// The terminal in the state that the explorer needs. Dropping it gives it back.
struct Taken {
    /// The hook that reported panics before.
    hook: Option<Arc<Hook>>,
}

impl Taken {
    fn take() -> io::Result<Taken> {
        enable_raw_mode()?;
        let mut taken = Taken { hook: None };
        execute!(io::stdout(), EnterAlternateScreen, Print(WHEEL_ON))?;
        taken.hook = Some(give_back_on_panic());
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
        // A thread that panics cannot set a hook.
        if let Some(hook) = self.hook.take()
            && !std::thread::panicking()
        {
            std::panic::set_hook(Box::new(move |info| (**hook)(info)));
        }
    }
}

fn give_back() {
    // If the terminal itself fails, the error cannot be shown.
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), Print(WHEEL_OFF), LeaveAlternateScreen, Show);
    let _ = io::stdout().flush();
}

/// Restores the terminal before a panic of this thread is reported. Panics of other threads are not written: their
/// text would land in the middle of the screen. Returns the former hook.
fn give_back_on_panic() -> Arc<Hook> {
    let kept = Arc::new(std::panic::take_hook());
    let before = Arc::clone(&kept);
    let this = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == this {
            give_back();
            before(info);
        }
    }));
    kept
}

fn show(model: &mut Model, worker: &Worker, stopped: &AtomicBool) -> Result<(), ExploreError> {
    let _taken = Taken::take().map_err(ExploreError::Terminal)?;
    let backend = CrosstermBackend::new(io::stdout());
    let mut terminal = Terminal::new(backend).map_err(ExploreError::Terminal)?;
    let mut played = Instant::now();
    let mut jumped = None;
    while !model.is_ended && !stopped.load(Ordering::Relaxed) {
        if let Some(asked) = model.next_ask() {
            worker.asks.send(asked).map_err(|_| ExploreError::Lost)?;
        }
        terminal.draw(|frame| draw(model, frame.buffer_mut())).map_err(ExploreError::Terminal)?;
        // Keys that were typed ahead are meant for the target of a search or a moment. They wait for a slow server
        // for `WAIT_JUMPING` only.
        match model.queue.is_jumping() {
            true if jumped.get_or_insert_with(Instant::now).elapsed() < WAIT_JUMPING => {
                std::thread::sleep(WAIT_BUSY);
            }
            is_jumping => {
                if !is_jumping {
                    jumped = None;
                }
                keys(model).map_err(ExploreError::Terminal)?;
            }
        }
        loop {
            match worker.answers.try_recv() {
                Ok((asked, answer)) => model.answered(&asked, answer),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Err(ExploreError::Lost),
            }
        }
        if played.elapsed() >= WAIT_PLAYING || !model.is_playing() {
            played = Instant::now();
            model.tick(now_us());
        }
    }
    Ok(())
}

/// Takes in the keys that are there; waits for one where nothing else is to be done.
fn keys(model: &mut Model) -> io::Result<()> {
    let wait = match (model.queue.is_busy(), model.is_playing()) {
        (true, _) => WAIT_BUSY,
        (false, true) => WAIT_PLAYING,
        (false, false) => WAIT,
    };
    if !wait_for_input(wait)? {
        model.is_ended = true;
        return Ok(());
    }
    while event::poll(Duration::ZERO)? {
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => model.key(key),
            Event::Resize(width, height) => model.resize(Size { width, height }),
            _ => {}
        }
        if model.is_ended || model.queue.is_jumping() {
            break;
        }
    }
    Ok(())
}

/// Waits until there may be a key; false once the terminal is gone. crossterm would read from it for ever.
#[cfg(unix)]
fn wait_for_input(wait: Duration) -> io::Result<bool> {
    use nix::errno::Errno;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;

    let stdin = io::stdin();
    let mut input = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    match poll(&mut input, PollTimeout::try_from(wait).unwrap_or(PollTimeout::ZERO)) {
        // A signal: the size of the terminal may be another one.
        Err(Errno::EINTR) => Ok(true),
        Err(error) => Err(error.into()),
        Ok(_) => {
            let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
            Ok(!input[0].revents().is_some_and(|found| found.intersects(gone)))
        }
    }
}

#[cfg(not(unix))]
fn wait_for_input(wait: Duration) -> io::Result<bool> {
    event::poll(wait).map(|_| true)
}

/// Microseconds since 1970.
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_micros().try_into().unwrap_or(u64::MAX)
}
