//! The state of the explorer, and how keys and answers change it. Nothing here draws or waits.
//!
//! ```text
//!   keys ────> Model::key ──┐
//!   answers ─> answered ────┼──> state ──> draw
//!   time ────> tick ────────┘      └─────> Queue: what to ask next
//! ```

mod axis;
mod browse;
mod document;
mod panel;
mod tree;

use json::Tape;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

pub(crate) use axis::{Scale, bars};
pub(crate) use browse::List;
pub(crate) use document::{Compared, Doc};
pub(crate) use panel::{PANEL_HEAD, Panel, PanelView, RUN_ROWS};
pub(crate) use tree::TreeLine;

use crate::answers::{Names, Refusal};
use crate::asks::{Ask, Queue, SentRequest};
use crate::layout::Size;

/// Reads a moment as people say it, for example `3` or `yesterday`.
pub type MomentParser = fn(&str) -> Result<anywhen::Moment, String>;

/// The content of the explorer.
pub(crate) enum Page {
    Collections(List),
    Documents { collection: String, list: List },
    Document(Box<Doc>),
}

/// The use of a line that the reader types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A revision or a moment to go to.
    Go,
    /// A text in keys and values.
    Search,
    /// The beginning of a name in a list.
    Prefix,
}

/// A line that the reader types.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) purpose: Purpose,
    pub(crate) text: String,
}

/// A message to the reader, until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

/// Everything that the explorer knows.
pub(crate) struct Model {
    /// The data folder or the address of the server.
    pub(crate) place: String,
    pub(crate) page: Page,
    pub(crate) size: Size,
    /// Microseconds since 1970: ages are counted from here.
    pub(crate) now_us: u64,
    pub(crate) prompt: Option<Prompt>,
    pub(crate) notice: Option<Notice>,
    pub(crate) is_helping: bool,
    pub(crate) is_ended: bool,
    pub(crate) queue: Queue,
    moments: MomentParser,
    /// The lists that the reader came from, the nearest last.
    below: Vec<Page>,
}

/// An action that a page wants and cannot do itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    None,
    Back,
    Prompt(Purpose),
    Notice(String),
    Error(String),
}

impl Model {
    /// Begins at the list of collections, at one collection, or at one document.
    pub(crate) fn new(
        place: String,
        target: Option<(String, Option<String>)>,
        size: Size,
        now_us: u64,
        moments: MomentParser,
    ) -> Model {
        let mut model = Model {
            place,
            page: Page::Collections(List::new("")),
            size,
            now_us,
            prompt: None,
            notice: None,
            is_helping: false,
            is_ended: false,
            queue: Queue::default(),
            moments,
            below: Vec::new(),
        };
        match target {
            None => model.show_collections(""),
            Some((collection, None)) => model.show_documents(collection, ""),
            Some((collection, Some(key))) => model.show_document(collection, key),
        }
        model
    }

    fn show_collections(&mut self, chosen: &str) {
        self.queue.turn();
        self.page = Page::Collections(List::new(chosen));
        self.queue.want(Ask::Collections);
    }

    fn show_documents(&mut self, collection: String, chosen: &str) {
        self.queue.turn();
        self.page = Page::Documents { collection, list: List::new(chosen) };
        self.want_names(None);
    }

    /// Asks for the names of the list after one of them.
    fn want_names(&mut self, after: Option<String>) {
        let Page::Documents { collection, list } = &self.page else { return };
        let (collection, prefix) = (collection.clone(), list.prefix.clone());
        self.queue.want(Ask::Keys { collection, prefix, after });
    }

    fn show_document(&mut self, collection: String, key: String) {
        self.queue.turn();
        self.page = Page::Document(Box::new(Doc::new(collection, key)));
        self.queue.want(Ask::Density { buckets: self.buckets() });
    }

    /// One bucket for each column of the axis.
    fn buckets(&self) -> u16 {
        self.size.axis_width().clamp(1, 1_000)
    }

    /// The next question to send.
    pub(crate) fn next_ask(&mut self) -> Option<SentRequest> {
        let (collection, key) = match &self.page {
            Page::Document(doc) => (doc.collection.as_str(), doc.key.as_str()),
            _ => ("", ""),
        };
        self.queue.next(collection, key)
    }

    /// Takes in an answer.
    pub(crate) fn answered(&mut self, asked: &SentRequest, answer: Result<Tape, Refusal>) {
        if !self.queue.is_awaited(asked) {
            return;
        }
        let wish = match &mut self.page {
            Page::Document(doc) => doc.answered(&asked.ask, answer, self.size, &mut self.queue),
            Page::Collections(list) | Page::Documents { list, .. } => {
                let names = answer.map(|tape| match asked.ask {
                    Ask::Collections => Names::collections(&tape),
                    _ => Names::keys(&tape),
                });
                match names {
                    Ok(Some(names)) => {
                        let is_next = matches!(&asked.ask, Ask::Keys { after: Some(_), .. });
                        list.take(names, is_next, self.size.list_height());
                        Wish::None
                    }
                    Ok(None) => Wish::Error(malformed()),
                    Err(refusal) => {
                        list.is_loaded = true;
                        Wish::Error(refusal.text)
                    }
                }
            }
        };
        self.queue.settle();
        self.grant(wish);
    }

    fn grant(&mut self, wish: Wish) {
        match wish {
            Wish::None => {}
            Wish::Back => self.back(),
            Wish::Prompt(purpose) => {
                self.prompt = Some(Prompt { purpose, text: String::new() });
            }
            Wish::Notice(text) => self.notice = Some(Notice { text, is_error: false }),
            Wish::Error(text) => self.notice = Some(Notice { text, is_error: true }),
        }
    }

    fn back(&mut self) {
        if let Some(page) = self.below.pop() {
            self.queue.turn();
            self.page = page;
            return;
        }
        match &self.page {
            Page::Collections(_) => {}
            Page::Documents { collection, .. } => {
                let collection = collection.clone();
                self.show_collections(&collection);
            }
            Page::Document(doc) => {
                let (collection, key) = (doc.collection.clone(), doc.key.clone());
                self.show_documents(collection, &key);
            }
        }
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now_us: u64) {
        self.now_us = now_us;
        if let Page::Document(doc) = &mut self.page {
            doc.tick(self.size, &mut self.queue);
        }
    }

    /// True while time must pass for something to happen.
    pub(crate) fn is_playing(&self) -> bool {
        matches!(&self.page, Page::Document(doc) if doc.is_playing)
    }

    /// The terminal has another size.
    pub(crate) fn resize(&mut self, size: Size) {
        self.size = size;
        let buckets = self.buckets();
        match &mut self.page {
            Page::Document(doc) => {
                doc.settle(size, &mut self.queue);
                self.queue.want(Ask::Density { buckets });
            }
            Page::Collections(list) | Page::Documents { list, .. } => {
                list.move_by(0, size.list_height());
            }
        }
    }

    /// A key was pressed.
    pub(crate) fn key(&mut self, key: KeyEvent) {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            self.is_ended = true;
            return;
        }
        self.notice = None;
        if self.is_helping {
            self.is_helping = false;
            return;
        }
        if self.prompt.is_some() {
            self.prompt_key(key, is_control);
            return;
        }
        match key.code {
            KeyCode::Char('q') => self.is_ended = true,
            KeyCode::Char('?') | KeyCode::F(1) => self.is_helping = true,
            _ => self.page_key(key),
        }
    }

    fn page_key(&mut self, key: KeyEvent) {
        let buckets = self.buckets();
        let wish = match &mut self.page {
            Page::Document(doc) => {
                if key.code == KeyCode::Char('r') {
                    self.queue.want(Ask::Density { buckets });
                }
                doc.key(key, self.size, &mut self.queue)
            }
            Page::Collections(list) | Page::Documents { list, .. } => {
                match list.key(key, self.size.list_height()) {
                    Some(name) => {
                        self.open(name);
                        Wish::None
                    }
                    None => match key.code {
                        KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => Wish::Back,
                        KeyCode::Char('/') => Wish::Prompt(Purpose::Prefix),
                        KeyCode::Char('r') => {
                            self.again();
                            Wish::None
                        }
                        _ => Wish::None,
                    },
                }
            }
        };
        self.grant(wish);
        self.want_more_names();
    }

    /// Reads a list again.
    fn again(&mut self) {
        match &self.page {
            Page::Collections(_) => self.queue.want(Ask::Collections),
            _ => self.want_names(None),
        }
    }

    /// Asks for the next page of a list whose end is near.
    fn want_more_names(&mut self) {
        let Page::Documents { list, .. } = &self.page else { return };
        let is_near = list.cursor + 2 * self.size.list_height() >= list.names.len();
        if let Some(next) = list.next.clone().filter(|_| is_near && !self.queue.is_busy()) {
            self.want_names(Some(next));
        }
    }

    /// Opens a name of a list.
    fn open(&mut self, name: String) {
        let page = std::mem::replace(&mut self.page, Page::Collections(List::new("")));
        match &page {
            Page::Collections(_) => self.show_documents(name, ""),
            Page::Documents { collection, .. } => self.show_document(collection.clone(), name),
            Page::Document(_) => {}
        }
        self.below.push(page);
    }

    fn prompt_key(&mut self, key: KeyEvent, is_control: bool) {
        let Some(prompt) = &mut self.prompt else { return };
        match key.code {
            KeyCode::Esc => self.prompt = None,
            KeyCode::Backspace if prompt.text.is_empty() => self.prompt = None,
            KeyCode::Backspace => drop(prompt.text.pop()),
            KeyCode::Char('u') if is_control => prompt.text.clear(),
            KeyCode::Char(c) if !is_control => prompt.text.push(c),
            KeyCode::Enter => {
                if let Some(Prompt { purpose, text }) = self.prompt.take() {
                    self.entered(purpose, text.trim());
                }
            }
            _ => {}
        }
    }

    /// The reader has typed a line.
    fn entered(&mut self, purpose: Purpose, text: &str) {
        let wish = match (&mut self.page, purpose) {
            (Page::Document(doc), Purpose::Go) if !text.is_empty() => match (self.moments)(text) {
                Ok(moment) => doc.go_to(moment, self.size, &mut self.queue),
                Err(why) => Wish::Error(why),
            },
            (Page::Document(doc), Purpose::Search) => {
                if !text.is_empty() {
                    text.clone_into(&mut doc.search);
                }
                doc.find(false, &mut self.queue)
            }
            (Page::Documents { list, .. }, Purpose::Prefix) => {
                *list = List::new("");
                text.clone_into(&mut list.prefix);
                self.want_names(None);
                Wish::None
            }
            (Page::Collections(list), Purpose::Prefix) => {
                list.choose(text, self.size.list_height());
                Wish::None
            }
            _ => Wish::None,
        };
        self.grant(wish);
    }
}

/// The notice for an answer that is not as it should be.
pub(crate) fn malformed() -> String {
    "the answer is not that of an Anywhen server".to_owned()
}
