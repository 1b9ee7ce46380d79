//! The explorer without a terminal: keys in, screens out. The tests walk through documents by it.

use ratatui::buffer::Buffer;
pub use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use crate::answers::Refusal;
use crate::draw::draw;
use crate::layout::Size;
use crate::model::{Model, MomentParser};
use crate::source::Source;

/// More questions than one key ever leads to.
const ASKS_MAX: usize = 100;

/// An explorer whose screen is a buffer.
pub struct Headless {
    model: Model,
    source: Source,
    /// Questions so far.
    pub asked: usize,
    /// The longest answer, in nodes of JSON.
    pub answer_nodes_max: usize,
    /// Every further question gets this answer.
    pub refusal: Option<Refusal>,
}

impl Headless {
    /// Begins at a collection and a document, or at the lists, on a screen of so many columns and rows. Ages count
    /// from `now_us`, in microseconds since 1970.
    pub fn new(
        source: Source,
        target: Option<(String, Option<String>)>,
        (width, height): (u16, u16),
        now_us: u64,
        moments: MomentParser,
    ) -> Headless {
        let model = Model::new("data".to_owned(), target, Size { width, height }, now_us, moments);
        let mut explorer = Headless { model, source, asked: 0, answer_nodes_max: 0, refusal: None };
        explorer.answer();
        explorer
    }

    /// Answers all questions.
    fn answer(&mut self) {
        let begun = self.asked;
        while let Some(asked) = self.model.next_ask() {
            let answer = match &self.refusal {
                Some(refusal) => Err(refusal.clone()),
                None => self.source.get(&asked.path),
            };
            self.asked += 1;
            assert!(self.asked - begun < ASKS_MAX, "the explorer asks for ever: {asked:?}");
            let nodes = answer.as_ref().map_or(0, |tape| tape.len());
            self.answer_nodes_max = self.answer_nodes_max.max(nodes);
            self.model.answered(&asked, answer);
        }
    }

    /// Presses a key.
    pub fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.model.key(KeyEvent::new(code, modifiers));
        self.answer();
    }

    /// Lets time pass: a history that plays goes on.
    pub fn tick(&mut self, now_us: u64) {
        self.model.tick(now_us);
        self.answer();
    }

    /// Gives the screen another size.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.model.resize(Size { width, height });
        self.answer();
    }

    /// True while the history plays.
    pub fn is_playing(&self) -> bool {
        self.model.is_playing()
    }

    /// True once the reader has quit.
    pub fn is_ended(&self) -> bool {
        self.model.is_ended
    }

    /// The screen, a line for each row, without spaces at their ends.
    pub fn screen(&self) -> String {
        let Size { width, height } = self.model.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        draw(&self.model, &mut buffer);
        let mut text = String::new();
        for line in buffer.content.chunks(usize::from(width).max(1)) {
            let row: String = line.iter().map(|cell| cell.symbol()).collect();
            text.push_str(row.trim_end());
            text.push('\n');
        }
        text
    }
}
