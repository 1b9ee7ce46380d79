//! The page of a document: the revision in view, the marked one, and the data of the answers.

use std::collections::{BTreeSet, HashMap};

use anywhen::{Moment, time};
use json::Tape;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Panel, PanelView, Purpose, Wish, malformed};
use crate::answers::{Change, Density, Outline, Refusal, Runs, SearchFound, Version};
use crate::asks::{Ask, OutlineAt, Queue};
use crate::layout::Size;

/// Steps in which the whole history plays.
const PLAY_STEPS: u64 = 300;
/// Steps of the larger kind that lead through the whole history.
const LARGE_STEPS: u64 = 20;
/// Revisions of a larger step, where the history is short.
const LARGE_MIN: u64 = 10;

/// The changes from the marked revision to the one in view.
pub(crate) struct Compared {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) changes: Vec<Change>,
    /// The changes of each node that is there, by their places in the list.
    pub(crate) by_node: HashMap<u64, Vec<usize>>,
    /// The deleted children of each node.
    pub(crate) deleted: HashMap<u64, Vec<usize>>,
}

impl Compared {
    fn new(from: u64, to: u64, changes: Vec<Change>) -> Compared {
        let (mut by_node, mut deleted) = (HashMap::new(), HashMap::new());
        for (at, change) in changes.iter().enumerate() {
            let places: &mut Vec<usize> = match change.parent {
                Some(parent) => deleted.entry(parent).or_default(),
                None => by_node.entry(change.node).or_default(),
            };
            places.push(at);
        }
        Compared { from, to, changes, by_node, deleted }
    }
}

/// The page of a document.
pub(crate) struct Doc {
    pub(crate) collection: String,
    pub(crate) key: String,
    pub(crate) density: Option<Density>,
    /// The revision in view; 0 until the history is known.
    pub(crate) revision: u64,
    /// The revisions that the explorer knows.
    pub(crate) versions: HashMap<u64, Version>,
    /// The rows that came last: those of the revision in view, once they are here.
    pub(crate) outline: Outline,
    /// Why the revision in view has no rows.
    pub(crate) absence: Option<String>,
    /// Containers that the reader opened or closed against their default.
    pub(crate) toggled: BTreeSet<u64>,
    /// The first row on the screen, and the chosen one.
    pub(crate) top: usize,
    pub(crate) cursor: usize,
    /// The revision to compare with.
    pub(crate) mark: Option<u64>,
    pub(crate) compared: Option<Compared>,
    pub(crate) panel: Option<Panel>,
    /// True if keys go to the panel.
    pub(crate) is_in_panel: bool,
    pub(crate) is_playing: bool,
    pub(crate) by_time: bool,
    /// The text that was searched for last.
    pub(crate) search: String,
}

impl Doc {
    pub(crate) fn new(collection: String, key: String) -> Doc {
        Doc {
            collection,
            key,
            density: None,
            revision: 0,
            versions: HashMap::new(),
            outline: Outline::default(),
            absence: None,
            toggled: BTreeSet::new(),
            top: 0,
            cursor: 0,
            mark: None,
            compared: None,
            panel: None,
            is_in_panel: false,
            is_playing: false,
            by_time: true,
            search: String::new(),
        }
    }

    pub(crate) fn newest(&self) -> u64 {
        self.density.as_ref().map_or(0, |density| density.newest.revision)
    }

    fn oldest(&self) -> u64 {
        self.density.as_ref().map_or(1, |density| density.oldest.max(1))
    }

    /// Takes in an answer.
    pub(super) fn answered(
        &mut self,
        ask: &Ask,
        answer: Result<Tape, Refusal>,
        size: Size,
        queue: &mut Queue,
    ) -> Wish {
        let tape = match answer {
            Ok(tape) => tape,
            Err(refusal) => return self.refused(ask, refusal, queue),
        };
        match self.take(ask, &tape, size, queue) {
            Some(wish) => wish,
            None => Wish::Error(malformed()),
        }
    }

    /// Takes in an answer; `None` if it is malformed.
    fn take(&mut self, ask: &Ask, tape: &Tape, size: Size, queue: &mut Queue) -> Option<Wish> {
        match ask {
            Ask::Density { .. } => self.take_density(Density::read(tape)?, size, queue),
            Ask::Version { .. } => {
                let version = Version::read(tape.root())?;
                self.versions.insert(version.revision, version);
            }
            Ask::Outline { revision, .. } if *revision == self.revision => {
                self.take_outline(Outline::read(tape)?, size, queue);
            }
            Ask::Diff { from, to } => {
                if (self.mark, self.revision) == (Some(*from), *to) {
                    self.compared = Some(Compared::new(*from, *to, Change::read_all(tape)?));
                    self.settle(size, queue);
                }
            }
            Ask::Runs { node, before, .. } => {
                let runs = Runs::read(tape)?;
                if let Some(panel) = &mut self.panel {
                    panel.take(*node, *before, runs);
                }
            }
            Ask::Search { .. } => {
                let found = SearchFound::read(tape)?;
                let Some(node) = found.node else {
                    return Some(Wish::Notice(format!("no key or value has {:?}", self.search)));
                };
                self.want_outline(OutlineAt::Node(node), size, queue);
                if found.is_wrapped {
                    return Some(Wish::Notice("the search went on at the other end".to_owned()));
                }
            }
            Ask::Revision { .. } => {
                let revision = tape.root().get("revision")?.as_u64()?;
                self.move_to(revision, size, queue);
            }
            Ask::Outline { .. } | Ask::Collections | Ask::Keys { .. } => {}
        }
        Some(Wish::None)
    }

    fn refused(&mut self, ask: &Ask, refusal: Refusal, queue: &mut Queue) -> Wish {
        self.is_playing = false;
        match ask {
            Ask::Outline { revision, at, rows, toggled } if refusal.status == 404 => {
                if *revision != self.revision {
                    return Wish::None;
                }
                match at {
                    // The node is in another revision: the rows stay where they are.
                    OutlineAt::Node(_) => queue.want(Ask::Outline {
                        revision: *revision,
                        at: OutlineAt::Row(self.top),
                        rows: *rows,
                        toggled: toggled.clone(),
                    }),
                    OutlineAt::Row(_) => {
                        self.outline = Outline::default();
                        self.absence = Some(refusal.text);
                    }
                }
                Wish::None
            }
            Ask::Density { .. } if self.density.is_none() => {
                self.absence = Some(refusal.text);
                Wish::None
            }
            // The document did not exist in one of the two.
            Ask::Diff { from, to } if refusal.status == 404 => {
                self.compared = Some(Compared::new(*from, *to, Vec::new()));
                Wish::Error(refusal.text)
            }
            _ => Wish::Error(refusal.text),
        }
    }

    fn take_density(&mut self, density: Density, size: Size, queue: &mut Queue) {
        let was_newest = self.revision == self.newest();
        self.versions.insert(density.newest.revision, density.newest.clone());
        self.density = Some(density);
        match was_newest {
            true => self.move_to(self.newest(), size, queue),
            false => self.settle(size, queue),
        }
    }

    /// Shows another revision. The chosen node stays chosen, if it is there.
    pub(crate) fn move_to(&mut self, revision: u64, size: Size, queue: &mut Queue) {
        let newest = self.newest();
        if newest == 0 {
            return;
        }
        let revision = revision.clamp(self.oldest().min(newest), newest);
        let is_other = revision != self.revision;
        self.revision = revision;
        if is_other || self.outline.rows.is_empty() {
            let at = match self.row() {
                Some(row) => OutlineAt::Node(row.key),
                None => OutlineAt::Row(self.top),
            };
            self.want_outline(at, size, queue);
        }
        if !self.versions.contains_key(&revision) {
            queue.want(Ask::Version { revision });
        }
        self.want_diff(queue);
    }

    /// Asks for the changes since the marked revision.
    fn want_diff(&mut self, queue: &mut Queue) {
        let Some(from) = self.mark else { return };
        let to = self.revision;
        if self.compared.as_ref().is_some_and(|known| (known.from, known.to) == (from, to)) {
            return;
        }
        match from == to {
            true => self.compared = Some(Compared::new(from, to, Vec::new())),
            false => queue.want(Ask::Diff { from, to }),
        }
    }

    /// Moves by some revisions.
    fn step(&mut self, by: i64, size: Size, queue: &mut Queue) {
        self.is_playing = false;
        self.move_to(self.revision.saturating_add_signed(by).max(1), size, queue);
    }

    /// Revisions of a larger step.
    fn large_step(&self) -> i64 {
        (self.newest() / LARGE_STEPS).max(LARGE_MIN).cast_signed()
    }

    /// Goes to a revision or a time. A time counts as the axis shows it.
    pub(super) fn go_to(&mut self, moment: Moment, size: Size, queue: &mut Queue) -> Wish {
        self.is_playing = false;
        let newest = self.newest();
        match moment {
            Moment::Revision(revision) if revision.0 > newest => {
                return Wish::Error(format!("the newest revision is {newest}"));
            }
            Moment::Revision(revision) => self.move_to(revision.0, size, queue),
            Moment::Time(us) | Moment::Authored(us) => {
                // The characters of such a time need no escape in an address.
                let moment = format!("authored={}", time::rfc3339(us));
                queue.want(Ask::Revision { moment });
            }
            Moment::Csn(csn) => queue.want(Ask::Revision { moment: format!("csn={}", csn.0) }),
        }
        Wish::None
    }

    /// Plays the next step, once the rows of the last one are here.
    pub(super) fn tick(&mut self, size: Size, queue: &mut Queue) {
        if !self.is_playing || queue.is_busy() {
            return;
        }
        let newest = self.newest();
        let step = newest.div_ceil(PLAY_STEPS).max(1);
        self.move_to(self.revision + step, size, queue);
        self.is_playing = self.revision < newest;
    }

    fn play(&mut self, size: Size, queue: &mut Queue) {
        self.is_playing = !self.is_playing;
        if self.is_playing && self.revision == self.newest() {
            self.move_to(self.oldest(), size, queue);
        }
    }

    /// Looks for the next node with the text.
    pub(super) fn find(&mut self, backward: bool, queue: &mut Queue) -> Wish {
        if self.search.is_empty() {
            return Wish::Prompt(Purpose::Search);
        }
        let (text, revision) = (self.search.clone(), self.revision);
        let after = self.row().map(|row| row.key);
        queue.want(Ask::Search { text, revision, after, backward });
        Wish::None
    }

    /// A key was pressed.
    pub(super) fn key(&mut self, key: KeyEvent, size: Size, queue: &mut Queue) -> Wish {
        let is_shift = key.modifiers.contains(KeyModifiers::SHIFT);
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc | KeyCode::Backspace => return self.escape(size, queue),
            KeyCode::Left if is_shift => self.step(-self.large_step(), size, queue),
            KeyCode::Right if is_shift => self.step(self.large_step(), size, queue),
            KeyCode::Char('[') => self.step(-self.large_step(), size, queue),
            KeyCode::Char(']') => self.step(self.large_step(), size, queue),
            KeyCode::Left => self.step(-1, size, queue),
            KeyCode::Right => self.step(1, size, queue),
            KeyCode::Home if !is_control => self.step(i64::MIN, size, queue),
            KeyCode::End if !is_control => self.step(i64::MAX, size, queue),
            KeyCode::Char(' ') => self.play(size, queue),
            KeyCode::Char('t') => self.by_time = !self.by_time,
            KeyCode::Char('m') => self.set_mark(size, queue),
            KeyCode::Char('g') => return Wish::Prompt(Purpose::Go),
            KeyCode::Char('/') => return Wish::Prompt(Purpose::Search),
            KeyCode::Char('n') => return self.find(false, queue),
            KeyCode::Char('N') => return self.find(true, queue),
            KeyCode::Char('h') => self.show_runs(size, queue),
            KeyCode::Char('c') => return self.show_changes(size, queue),
            KeyCode::Tab => self.is_in_panel = self.panel.is_some() && !self.is_in_panel,
            _ if self.is_in_panel => self.panel_key(key, size, queue),
            _ => self.tree_key(key, size, queue),
        }
        Wish::None
    }

    /// Closes what was opened last: the panel, the comparison, the page.
    fn escape(&mut self, size: Size, queue: &mut Queue) -> Wish {
        self.is_playing = false;
        if self.panel.take().is_some() {
            self.is_in_panel = false;
            self.settle(size, queue);
            return Wish::None;
        }
        match self.mark.take() {
            Some(_) => self.compared = None,
            None => return Wish::Back,
        }
        Wish::None
    }

    /// Marks the revision in view, or takes the mark away from it.
    fn set_mark(&mut self, size: Size, queue: &mut Queue) {
        self.compared = None;
        self.mark = match self.mark {
            Some(mark) if mark == self.revision => None,
            _ => Some(self.revision),
        };
        self.want_diff(queue);
        self.settle(size, queue);
    }

    /// Shows the history of the chosen node.
    pub(super) fn show_runs(&mut self, size: Size, queue: &mut Queue) {
        let Some(row) = self.row() else { return };
        let (node, is_container, path) = (row.key, row.children.is_some(), self.path());
        self.panel = Some(Panel::new(PanelView::Runs(Runs::default()), node, is_container, path));
        self.is_in_panel = true;
        queue.want(Ask::Runs { node, is_container, before: None });
        self.settle(size, queue);
    }

    /// Lists what changed since the marked revision, or since the one before.
    fn show_changes(&mut self, size: Size, queue: &mut Queue) -> Wish {
        if self.mark.is_none() {
            if self.revision <= self.oldest() {
                return Wish::Error("there is no revision before to compare with".to_owned());
            }
            self.mark = Some(self.revision - 1);
            self.want_diff(queue);
        }
        self.panel = Some(Panel::new(PanelView::Changes, 0, false, String::new()));
        self.is_in_panel = true;
        self.settle(size, queue);
        Wish::None
    }

    fn panel_key(&mut self, key: KeyEvent, size: Size, queue: &mut Queue) {
        let changes = self.compared.as_ref().map_or(0, |compared| compared.changes.len());
        let Some(panel) = &mut self.panel else { return };
        panel.key(key, changes, size);
        if key.code == KeyCode::Enter {
            self.enter_in_panel(size, queue);
        } else if let Some(before) = panel.wanted() {
            let Panel { node, is_container, .. } = *panel;
            queue.want(Ask::Runs { node, is_container, before: Some(before) });
        }
    }

    /// Goes to the revision of a value, or to the node of a change.
    fn enter_in_panel(&mut self, size: Size, queue: &mut Queue) {
        let Some(panel) = &self.panel else { return };
        match &panel.view {
            PanelView::Runs(runs) => {
                if let Some(run) = runs.runs.get(panel.cursor) {
                    let from = run.from;
                    self.step(0, size, queue);
                    self.move_to(from, size, queue);
                }
            }
            PanelView::Changes => {
                let changes = self.compared.as_ref().map(|compared| &compared.changes);
                let change = changes.and_then(|changes| changes.get(panel.cursor));
                if let Some(change) = change {
                    let node = change.parent.unwrap_or(change.node);
                    self.want_outline(OutlineAt::Node(node), size, queue);
                }
            }
        }
    }
}
