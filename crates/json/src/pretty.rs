//! JSON text for people: one value a line, two spaces for each level.

use std::fmt::Write as _;

use crate::tape::{Kind, Node, Tape};

impl Tape {
    /// The document as indented JSON text, without a line feed at the end.
    pub fn pretty(&self) -> String {
        self.root().pretty()
    }
}

impl Node<'_> {
    /// The value as indented JSON text, without a line feed at the end.
    pub fn pretty(self) -> String {
        let (tape, first) = (self.tape(), self.index());
        let mut out = String::new();
        // Open containers: children to come, and the closing bracket.
        let mut open: Vec<(u32, char)> = Vec::new();
        let mut at = self.text_at();
        for node in first..first + self.extent() {
            let name_len = tape.name_len(node).unwrap_or(0);
            let end = at + tape.text_lens[node] as usize;
            let text = |from: usize, to: usize| String::from_utf8_lossy(&tape.heap[from..to]);
            if node != first {
                new_line(open.len(), &mut out);
                if tape.name_len(node).is_some() {
                    let _ = write!(out, "\"{}\": ", text(at, at + name_len));
                }
            }
            let value = text(at + name_len, end);
            at = end;
            match tape.kinds[node] {
                Kind::String => drop(write!(out, "\"{value}\"")),
                Kind::Number => out.push_str(&value),
                kind @ (Kind::Array | Kind::Object) => {
                    let (opening, closing) =
                        if kind == Kind::Array { ('[', ']') } else { ('{', '}') };
                    out.push(opening);
                    if tape.counts[node] > 0 {
                        open.push((tape.counts[node], closing));
                        continue;
                    }
                    out.push(closing);
                }
                literal => out.push_str(literal.literal()),
            }
            while let Some((left, closing)) = open.last_mut() {
                *left -= 1;
                if *left > 0 {
                    out.push(',');
                    break;
                }
                let closing = *closing;
                open.pop();
                new_line(open.len(), &mut out);
                out.push(closing);
            }
        }
        out
    }
}

fn new_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}
