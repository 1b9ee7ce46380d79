//! From tokens to the tree: the parts that need a node of their own, and the preference of each.
//!
//! ```text
//!   branch     plain plain (group) plain plain (group) plain
//!              └─ prefix ─┘ atom   └─ prefix ─┘ atom    rest
//!   nodes      Concat(prefix, Concat(atom, Concat(prefix, Concat(atom, rest))))
//! ```
//!
//! How a branch is cut decides which of several divisions of a match is found, so it is done as
//! PostgreSQL does it: parts are gathered in one plain node until one comes that has a group or a
//! back reference in it, or prefers another length than what was gathered.

use std::collections::HashMap;
use std::rc::Rc;

use crate::chars::{self, CharSet, Class};
use crate::error::{Error, Result};
use crate::lex::{Lexer, Token};
use crate::options::{Options, Syntax};
use crate::tree::{Assertion, Expr, Node, NodeId, Preference, Shape, Traits};

/// How deep parentheses may be nested.
const NESTING_MAX: usize = 300;

/// How deep the tree may be: as many parts with groups may stand one behind the other.
const DEPTH_MAX: usize = 1000;

/// The largest number in a bound.
const COUNT_MAX: u32 = 255;

/// A lookaround constraint: what has to match before or behind a place.
#[derive(Debug)]
pub(crate) struct Look {
    pub behind: bool,
    pub expr: Rc<Expr>,
}

/// The result of parsing.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub nodes: Vec<Node>,
    pub root: NodeId,
    pub sets: Vec<CharSet>,
    /// Constraints; those inside others come first.
    pub looks: Vec<Look>,
    pub groups: u32,
    /// True if words or line breaks have to be told from other characters.
    pub asserts: bool,
    pub any_case: bool,
}

/// Parses an expression. Where groups are not asked for, only those that back references name are
/// kept.
pub(crate) fn parse(pattern: &str, options: Options, groups_wanted: bool) -> Result<Parsed> {
    if options.contradict() {
        return Err(Error::Argument);
    }
    let mut parser = Parser {
        lexer: Lexer::new(pattern, options)?,
        nodes: Vec::new(),
        sets: Vec::new(),
        set_numbers: HashMap::new(),
        looks: Vec::new(),
        groups: HashMap::new(),
        unconstrained: HashMap::new(),
        asserts: false,
    };
    let root = parser.alternatives(Token::End, Nesting { look: false, depth: 0 })?;
    if !groups_wanted {
        parser.forget_groups(root);
    }
    let Parser { lexer, nodes, sets, looks, asserts, .. } = parser;
    let (groups, any_case) = (lexer.groups, lexer.options.any_case);
    Ok(Parsed { nodes, root, sets, looks, groups, asserts, any_case })
}

/// The groups and lookaround constraints around a part of the expression.
#[derive(Clone, Copy)]
struct Nesting {
    /// In a lookaround constraint, where no group captures.
    look: bool,
    depth: usize,
}

struct Parser {
    lexer: Lexer,
    nodes: Vec<Node>,
    sets: Vec<CharSet>,
    set_numbers: HashMap<CharSet, u32>,
    looks: Vec<Look>,
    /// The nodes of the groups that are closed.
    groups: HashMap<u32, NodeId>,
    /// The results of [`Expr::unconstrained`] so far.
    unconstrained: HashMap<*const Expr, Rc<Expr>>,
    asserts: bool,
}

/// A quantifier: bounds, and the length that it prefers if it says so.
#[derive(Clone, Copy, PartialEq)]
struct Quantifier {
    least: u32,
    most: Option<u32>,
    preference: Option<Preference>,
}

/// The parts of a branch that were gathered for one plain node.
#[derive(Default)]
struct Gathered {
    parts: Vec<Rc<Expr>>,
    traits: Traits,
    /// True if there is any part, even one that matches only the empty text.
    begun: bool,
}

/// A part that needs a node, with what was gathered before it.
struct Cut {
    before: Gathered,
    /// The part with its quantifier.
    part: NodeId,
    /// The common traits of part and rest, as far as the part has them.
    traits: Traits,
}

/// An atom, before its quantifier.
enum Atom {
    Expr(Rc<Expr>),
    /// The node in parentheses, and whether they capture.
    Group(NodeId, bool),
    Reference(u32),
}

impl Parser {
    fn add(&mut self, shape: Shape, traits: Traits, expr: Rc<Expr>) -> Result<NodeId> {
        let depths = shape.children().iter().map(|child| self.node(*child).depth);
        let depth = 1 + depths.max().unwrap_or(0);
        if depth > DEPTH_MAX {
            return Err(Error::TooComplex);
        }
        let length = expr.length(&mut 200);
        self.nodes.push(Node { shape, traits, group: 0, referenced: false, depth, length, expr });
        Ok(NodeId(self.nodes.len() as u32 - 1))
    }

    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    fn expr(&self, id: NodeId) -> Rc<Expr> {
        Rc::clone(&self.node(id).expr)
    }

    fn set(&mut self, set: CharSet) -> Rc<Expr> {
        let next = self.sets.len() as u32;
        let number = *self.set_numbers.entry(set).or_insert_with_key(|set| {
            self.sets.push(set.clone());
            next
        });
        Rc::new(Expr::Set(number))
    }

    /// Branches up to `end`, which stays the token.
    fn alternatives(&mut self, end: Token, nesting: Nesting) -> Result<NodeId> {
        if nesting.depth > NESTING_MAX {
            return Err(Error::TooComplex);
        }
        let mut branches = Vec::new();
        let mut traits = Traits::preferring(Some(Preference::Longest));
        loop {
            let branch = self.branch(end, nesting)?;
            traits = traits.with(self.node(branch).traits);
            branches.push(branch);
            if !self.lexer.sees(Token::Or) {
                break;
            }
            self.lexer.next()?;
        }
        if !self.lexer.sees(end) {
            return Err(Error::Parentheses);
        }
        if let [only] = branches[..] {
            return Ok(only);
        }
        let exprs = branches.iter().map(|branch| self.expr(*branch)).collect();
        let shape = if traits.divides() { Shape::Alternatives(branches) } else { Shape::Plain };
        self.add(shape, traits, Rc::new(Expr::Alternatives(exprs)))
    }

    fn branch(&mut self, end: Token, nesting: Nesting) -> Result<NodeId> {
        let mut cuts: Vec<Cut> = Vec::new();
        let mut gathered = Gathered::default();
        while !matches!(self.lexer.token, Token::Or | Token::End) && !self.lexer.sees(end) {
            if let Some(constraint) = self.constraint(nesting)? {
                gathered.parts.push(constraint);
                gathered.begun = true;
                continue;
            }
            let atom = self.atom(nesting)?;
            let quantifier = self.quantifier()?;
            cuts.extend(self.piece(&mut gathered, atom, quantifier)?);
        }
        let mut rest = None;
        if gathered.begun || cuts.is_empty() {
            rest = Some(self.plain(gathered)?);
        }
        for cut in cuts.into_iter().rev() {
            rest = Some(self.join(cut, rest)?);
        }
        rest.ok_or(Error::TooComplex)
    }

    fn plain(&mut self, gathered: Gathered) -> Result<NodeId> {
        self.add(Shape::Plain, gathered.traits, Expr::sequence(gathered.parts))
    }

    /// Adds a quantified atom to what was gathered, or cuts there.
    fn piece(
        &mut self,
        gathered: &mut Gathered,
        atom: Atom,
        quantifier: Quantifier,
    ) -> Result<Option<Cut>> {
        if quantifier.most == Some(0) {
            // It matches nothing; a group in it can still be named.
            gathered.begun = true;
            return Ok(None);
        }
        let (traits, captures) = match &atom {
            Atom::Expr(_) => (Traits::default(), false),
            Atom::Group(node, captures) => (self.node(*node).traits, *captures),
            Atom::Reference(_) => (Traits { references: true, ..Traits::default() }, false),
        };
        let preference = Traits::preferring(quantifier.preference);
        let together = gathered.traits.with(preference).with(traits);
        if !captures && !together.divides() {
            let expr = match atom {
                Atom::Expr(expr) => expr,
                Atom::Group(node, _) => self.expr(node),
                Atom::Reference(_) => return Err(Error::Backreference),
            };
            gathered.parts.push(Expr::repeat(&expr, quantifier.least, quantifier.most));
            gathered.traits = together;
            gathered.begun = true;
            return Ok(None);
        }
        let traits = preference.with(traits);
        let part = match atom {
            Atom::Expr(expr) => {
                let node = self.add(Shape::Plain, Traits::default(), expr)?;
                self.repeated(node, quantifier)?
            }
            Atom::Group(node, _) => self.repeated(node, quantifier)?,
            Atom::Reference(group) => self.reference(group, quantifier, traits)?,
        };
        Ok(Some(Cut { before: std::mem::take(gathered), part, traits }))
    }

    /// A back reference: it repeats by itself.
    fn reference(&mut self, group: u32, q: Quantifier, traits: Traits) -> Result<NodeId> {
        let Some(&node) = self.groups.get(&group) else { return Err(Error::Backreference) };
        let expr = Expr::unconstrained(&self.expr(node), &mut self.unconstrained);
        let expr = Expr::repeat(&expr, q.least, q.most);
        let shape = Shape::Reference { group, least: q.least, most: q.most };
        self.add(shape, traits, expr)
    }

    /// A node with its quantifier.
    fn repeated(&mut self, node: NodeId, q: Quantifier) -> Result<NodeId> {
        let inner = self.node(node).traits;
        let indifferent = inner.preference.is_none() && !inner.mixed;
        let agrees = q.preference == inner.preference && !inner.mixed;
        if q.least == 1 && q.most == Some(1) && (q.preference.is_none() || indifferent || agrees) {
            return Ok(node);
        }
        let traits = Traits::preferring(q.preference).with(inner);
        let body = self.expr(node);
        let expr = Expr::repeat(&body, q.least, q.most);
        if !inner.captures && !inner.references {
            // The places of the repetitions are not visible.
            return self.add(Shape::Plain, traits, expr);
        }
        if q.least > 0 && !inner.references {
            // Only the last repetition is seen: x{m,n} is x{m-1,n-1} and then x.
            let first = Expr::repeat(&body, q.least - 1, q.most.map(|most| most - 1));
            let expr = Expr::sequence(vec![Rc::clone(&first), body]);
            let first = self.add(Shape::Plain, Traits::preferring(traits.preference), first)?;
            return self.add(Shape::Concat([first, node]), traits, expr);
        }
        let shape = Shape::Repeat { body: node, least: q.least, most: q.most };
        self.add(shape, traits, expr)
    }

    /// Joins the gathered parts, the part behind them, and the rest of the branch.
    fn join(&mut self, cut: Cut, rest: Option<NodeId>) -> Result<NodeId> {
        let Cut { before, part, traits } = cut;
        let (before_traits, begun) = (before.traits, before.begun);
        let (part_traits, part_expr) = (self.node(part).traits, self.expr(part));
        let Some(rest) = rest else {
            if !begun {
                return Ok(part);
            }
            let first = self.plain(before)?;
            let expr = Expr::sequence(vec![self.expr(first), part_expr]);
            let traits = before_traits.with(part_traits);
            return self.add(Shape::Concat([first, part]), traits, expr);
        };
        let rest_traits = self.node(rest).traits;
        let traits = traits.with(rest_traits);
        let expr = Expr::sequence(vec![part_expr, self.expr(rest)]);
        if !begun {
            return self.add(Shape::Concat([part, rest]), traits, expr);
        }
        let first = self.plain(before)?;
        // Two plain parts that want the same are one.
        let plain = |id| matches!(self.node(id).shape, Shape::Plain);
        let one = plain(part) && plain(rest) && !part_traits.above(rest_traits).divides();
        let second = match one {
            true => self.add(Shape::Plain, part_traits.with(rest_traits), Rc::clone(&expr))?,
            false => self.add(Shape::Concat([part, rest]), traits, Rc::clone(&expr))?,
        };
        let second_traits = self.node(second).traits;
        let expr = Expr::sequence(vec![self.expr(first), expr]);
        self.add(Shape::Concat([first, second]), before_traits.with(second_traits), expr)
    }

    /// A part that matches no character, if one follows. It takes no quantifier.
    fn constraint(&mut self, nesting: Nesting) -> Result<Option<Rc<Expr>>> {
        let lines = self.lexer.options.breaks_anchor;
        let assertion = match self.lexer.token {
            Token::LineStart if lines => Assertion::LineStart,
            Token::LineStart | Token::TextStart => Assertion::TextStart,
            Token::LineEnd if lines => Assertion::LineEnd,
            Token::LineEnd | Token::TextEnd => Assertion::TextEnd,
            Token::WordStart => Assertion::WordStart,
            Token::WordEnd => Assertion::WordEnd,
            Token::WordBoundary => Assertion::WordBoundary,
            Token::NotWordBoundary => Assertion::NotWordBoundary,
            Token::Look { behind, negative } => {
                self.lexer.next()?;
                let inner = Nesting { look: true, depth: nesting.depth + 1 };
                let node = self.alternatives(Token::Close, inner)?;
                self.lexer.next()?;
                let number = self.looks.len() as u32;
                self.looks.push(Look { behind, expr: self.expr(node) });
                return Ok(Some(Rc::new(Expr::Look { number, negative })));
            }
            _ => return Ok(None),
        };
        self.asserts |= !matches!(assertion, Assertion::TextStart | Assertion::TextEnd);
        self.lexer.next()?;
        Ok(Some(Rc::new(Expr::Assert(assertion))))
    }

    fn atom(&mut self, nesting: Nesting) -> Result<Atom> {
        let options = self.lexer.options;
        let set = match self.lexer.token {
            Token::Open { captures } => return self.group(captures, nesting),
            Token::Backreference(group) => {
                if nesting.look || !self.groups.contains_key(&group) {
                    return Err(Error::Backreference);
                }
                let node = self.groups[&group];
                self.node_mut(node).referenced = true;
                self.lexer.next()?;
                return Ok(Atom::Reference(group));
            }
            Token::Plain(c) => self.character(c),
            Token::Close if options.syntax == Syntax::Extended => self.character(')' as u32),
            Token::Close => return Err(Error::Parentheses),
            Token::OpenBracket { negative } => self.brackets(negative)?,
            Token::Class { class, negative: false } => class.set(options.any_case).clone(),
            Token::Class { class, negative: true } => class.set(options.any_case).complement(),
            Token::AnyChar if options.breaks_stop => CharSet::one('\n' as u32).complement(),
            Token::AnyChar => CharSet::any(),
            _ => return Err(Error::Quantifier),
        };
        let expr = self.set(set);
        self.lexer.next()?;
        Ok(Atom::Expr(expr))
    }

    fn character(&self, c: u32) -> CharSet {
        if self.lexer.options.any_case { chars::both_cases(c) } else { CharSet::one(c) }
    }

    fn group(&mut self, captures: bool, nesting: Nesting) -> Result<Atom> {
        let captures = captures && !nesting.look;
        if captures {
            self.lexer.groups += 1;
        }
        let number = self.lexer.groups;
        self.lexer.next()?;
        let inner = Nesting { depth: nesting.depth + 1, ..nesting };
        let mut node = self.alternatives(Token::Close, inner)?;
        self.lexer.next()?;
        if captures {
            if self.node(node).group > 0 {
                // ((x)): the outer one is a node of its own.
                let (traits, expr) = (self.node(node).traits, self.expr(node));
                node = self.add(Shape::Group(node), traits, expr)?;
            }
            let group = self.node_mut(node);
            group.traits.captures = true;
            group.group = number;
            self.groups.insert(number, node);
        }
        Ok(Atom::Group(node, captures))
    }

    fn quantifier(&mut self) -> Result<Quantifier> {
        let preference = |greedy| match greedy {
            true => Some(Preference::Longest),
            false => Some(Preference::Shortest),
        };
        let (least, most, greedy) = match self.lexer.token {
            Token::Star { greedy } => (0, None, greedy),
            Token::Plus { greedy } => (1, None, greedy),
            Token::Optional { greedy } => (0, Some(1), greedy),
            Token::OpenBound => return self.bound(),
            _ => return Ok(Quantifier { least: 1, most: Some(1), preference: None }),
        };
        self.lexer.next()?;
        Ok(Quantifier { least, most, preference: preference(greedy) })
    }

    /// `{m}`, `{m,}` or `{m,n}`.
    fn bound(&mut self) -> Result<Quantifier> {
        self.lexer.next()?;
        let least = self.number()?;
        let comma = self.lexer.sees(Token::Comma);
        let mut most = Some(least);
        if comma {
            self.lexer.next()?;
            most = match self.lexer.token {
                Token::Digit(_) => Some(self.number()?),
                _ => None,
            };
        }
        if most.is_some_and(|most| least > most) {
            return Err(Error::Count);
        }
        let Token::CloseBound { greedy } = self.lexer.token else { return Err(Error::Count) };
        self.lexer.next()?;
        // {m} passes on what its operand prefers.
        let preference = match (comma, greedy) {
            (false, _) => None,
            (true, true) => Some(Preference::Longest),
            (true, false) => Some(Preference::Shortest),
        };
        Ok(Quantifier { least, most, preference })
    }

    fn number(&mut self) -> Result<u32> {
        let mut number = 0;
        while let Token::Digit(digit) = self.lexer.token
            && number < COUNT_MAX
        {
            number = number * 10 + digit;
            self.lexer.next()?;
        }
        let over = number > COUNT_MAX || matches!(self.lexer.token, Token::Digit(_));
        if over { Err(Error::Count) } else { Ok(number) }
    }

    /// A bracket expression up to its end, which stays the token.
    fn brackets(&mut self, negative: bool) -> Result<CharSet> {
        let mut set = Vec::new();
        self.lexer.next()?;
        while !self.lexer.sees(Token::CloseBracket) {
            self.bracket_part(&mut set)?;
        }
        if negative && self.lexer.options.breaks_stop {
            set.push(('\n' as u32, '\n' as u32));
        }
        let set = CharSet::of(set);
        Ok(if negative { set.complement() } else { set })
    }

    /// A character, a range or a class within brackets.
    fn bracket_part(&mut self, set: &mut Vec<(u32, u32)>) -> Result<()> {
        let any_case = self.lexer.options.any_case;
        let low = match self.lexer.token {
            Token::Plain(c) => {
                self.lexer.next()?;
                c
            }
            Token::OpenElement => self.lexer.element()?,
            Token::OpenEquivalence => {
                let c = self.lexer.element()?;
                set.extend(self.character(c).ranges());
                return Ok(());
            }
            Token::OpenClass => {
                let class = Class::named(&self.lexer.name()?).ok_or(Error::Class)?;
                set.extend(class.set(any_case).ranges());
                return Ok(());
            }
            Token::Class { class, negative } => {
                self.lexer.next()?;
                match negative {
                    false => set.extend(class.set(any_case).ranges()),
                    true => set.extend(class.set(any_case).complement().ranges()),
                }
                return Ok(());
            }
            _ => return Err(Error::Range),
        };
        if !self.lexer.sees(Token::Dash) {
            set.extend(self.character(low).ranges());
            return Ok(());
        }
        self.lexer.next()?;
        let high = match self.lexer.token {
            Token::Plain(c) => {
                self.lexer.next()?;
                c
            }
            Token::Dash => {
                self.lexer.next()?;
                '-' as u32
            }
            Token::OpenElement => self.lexer.element()?,
            _ => return Err(Error::Range),
        };
        if low > high {
            return Err(Error::Range);
        }
        match any_case {
            true => set.extend(chars::range_in_both_cases(low, high).ranges()),
            false => set.push((low, high)),
        }
        Ok(())
    }

    /// Takes out the groups that no back reference names, and the nodes that were there for them.
    fn forget_groups(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        if !node.referenced {
            node.group = 0;
            node.traits.captures = false;
        }
        for child in self.node(id).shape.children().to_vec() {
            self.forget_groups(child);
            let captures = self.node(child).traits.captures;
            self.node_mut(id).traits.captures |= captures;
        }
        let node = self.node_mut(id);
        if !node.traits.captures && !node.traits.references {
            node.shape = Shape::Plain;
            node.traits.mixed = false;
        }
    }
}
