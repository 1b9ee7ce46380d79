//! Running a path: from an item, step by step, to the items it leads to.
//!
//! ```text
//!   $.a[*].b        {"a": [{"b": 1}, {"b": [2, 3]}]}
//!
//!   $      {"a": …}
//!   .a     [{"b": 1}, {"b": [2, 3]}]
//!   [*]    {"b": 1}     {"b": [2, 3]}              one after the other, depth first
//!   .b     1            [2, 3]                     found
//! ```
//!
//! As long as a step gives one item the loop in [`Run::steps`] goes on with it; where it gives
//! several, each goes its own way with the steps that are left. A run asks either for all items or
//! only whether there is one, and in that case it ends with the first.

use numeric::Numeric;

use super::Options;
use super::error::PathError;
use super::item::{Container, Item};
use super::method::wrong_kind;
use super::predicate::Truth;
use super::syntax::{Expr, Head, LEVEL_LAST, Method, Operator, Predicate, Range, Sign, Step};
use crate::jsonb::{Builder, JsonbRef, Object};

/// How deep a run goes into path and value together.
const DEPTH_MAX: usize = 1100;

/// Where found items go: into a list, or nowhere where it only matters whether there are any.
pub(super) struct Found<'f, 'a>(pub Option<&'f mut Vec<Item<'a>>>);

impl<'a> Found<'_, 'a> {
    /// The same place, for a part of the run.
    fn again(&mut self) -> Found<'_, 'a> {
        Found(self.0.as_deref_mut())
    }

    /// True if the first item ends the run.
    fn is_asking(&self) -> bool {
        self.0.is_none()
    }

    fn add(&mut self, item: Item<'a>) {
        if let Some(items) = &mut self.0 {
            items.push(item);
        }
    }
}

/// Whether something was found, or what went wrong.
pub(super) type Outcome = Result<bool, PathError>;

/// Which values in a container are wanted, by how deep they are; its own are at depth 1.
#[derive(Clone, Copy)]
struct Depths {
    at: u32,
    first: u32,
    last: u32,
    /// From `.**`: what is not there is no error.
    is_wildcard: bool,
}

impl Depths {
    const ONE: Depths = Depths { at: 1, first: 1, last: 1, is_wildcard: false };

    /// True if values at this depth are wanted; from the last level to the last one means those
    /// that contain nothing.
    fn are_reached(self, is_container: bool) -> bool {
        let only_leaves = (self.first, self.last) == (LEVEL_LAST, LEVEL_LAST);
        self.at >= self.first || (only_leaves && !is_container)
    }

    fn below(self) -> Option<Depths> {
        (self.at < self.last).then_some(Depths { at: self.at + 1, ..self })
    }
}

/// Ids of fields count from the number of their base, times this.
const IDS_OF_A_BASE: i64 = 10_000_000_000;

/// The state of one run.
pub(super) struct Run<'a> {
    pub lax: bool,
    root: JsonbRef<'a>,
    vars: Option<Object<'a>>,
    pub options: Options<'a>,
    /// The value of `@`.
    current: Item<'a>,
    /// The length of the array whose subscripts are being computed.
    array_len: Option<usize>,
    /// A missing member is not found, but no error.
    forgiving: bool,
    /// Soft errors come to nothing, here or at the end.
    pub quiet: bool,
    depth: usize,
    /// The object that ids of fields count from: its own number, and where its bytes begin.
    base: (i64, usize),
    /// How many such objects there are.
    bases: i64,
}

impl<'a> Run<'a> {
    /// A run over `value` that has not begun.
    pub fn new(lax: bool, value: JsonbRef<'a>, options: Options<'a>) -> Result<Run<'a>, PathError> {
        let vars = match options.vars {
            Some(vars) => Some(vars.as_object().ok_or(PathError::VarsNotObject)?),
            None => None,
        };
        let root = Item::Stored(value);
        let base = (0, root.address());
        Ok(Run {
            lax,
            root: value,
            vars,
            options,
            current: root,
            array_len: None,
            forgiving: lax,
            quiet: options.silent,
            depth: 0,
            base,
            // 0 is the document, 1 the variables.
            bases: 2,
        })
    }

    /// Runs one level deeper.
    fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, PathError>,
    ) -> Result<T, PathError> {
        if self.depth == DEPTH_MAX {
            return Err(PathError::TooDeep);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Runs with another base for ids.
    fn based<T>(&mut self, base: (i64, usize), inner: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.base, base);
        let result = inner(self);
        self.base = outer;
        result
    }

    /// Runs where what is not there is no error.
    fn forgiving<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.forgiving, true);
        let result = inner(self);
        self.forgiving = outer;
        result
    }

    /// The outcome of a structural error.
    fn structural(&self, error: impl FnOnce() -> PathError) -> Outcome {
        if self.forgiving { Ok(false) } else { Err(error()) }
    }

    /// Finds the items of an expression.
    pub fn expr(&mut self, expr: &'a Expr, found: Found<'_, 'a>) -> Outcome {
        let steps = &expr.steps[..];
        match &expr.head {
            Head::Literal(value) => self.go_on(steps, Item::Stored(value.root()), found),
            Head::Root => {
                let root = Item::Stored(self.root);
                self.based((0, root.address()), |run| run.go_on(steps, root, found))
            }
            Head::Current => self.go_on(steps, self.current.clone(), found),
            Head::Last => {
                let last = self.array_len.map_or(-1, |len| len as i64 - 1);
                self.go_on(steps, Item::Number(Numeric::from(last)), found)
            }
            Head::Variable(name) => {
                let value = self.vars.and_then(|vars| vars.get(name));
                let value = value.ok_or_else(|| PathError::UnknownVariable(name.clone()))?;
                let vars = self.options.vars.map_or(0, |vars| Item::Stored(vars).address());
                self.based((1, vars), |run| run.go_on(steps, Item::Stored(value), found))
            }
            Head::Sign(sign, operand) => self.deeper(|run| run.sign(*sign, operand, steps, found)),
            Head::Arithmetic(first, others) => {
                let number = self.deeper(|run| run.arithmetic(first, others))?;
                self.go_on(steps, Item::Number(number), found)
            }
            Head::Predicate(predicate) => {
                let item = match self.deeper(|run| run.predicate(predicate))? {
                    Truth::True => Item::Bool(true),
                    Truth::False => Item::Bool(false),
                    Truth::Unknown => Item::Null,
                };
                self.go_on(steps, item, found)
            }
        }
    }

    /// Finds the items of an expression; arrays among them give way to their elements in a lax
    /// path.
    pub fn unwrapped(&mut self, expr: &'a Expr) -> Result<Vec<Item<'a>>, PathError> {
        let mut items = Vec::new();
        self.expr(expr, Found(Some(&mut items)))?;
        if !self.lax || items.iter().all(|item| item.array().is_none()) {
            return Ok(items);
        }
        let mut flat = Vec::with_capacity(items.len());
        for item in items {
            match item.array() {
                Some(array) => flat.extend((0..array.len()).map(|position| array.child(position))),
                None => flat.push(item),
            }
        }
        Ok(flat)
    }

    /// Takes the steps from `item` on, as steps behind others are taken.
    fn go_on(&mut self, steps: &'a [Step], item: Item<'a>, found: Found<'_, 'a>) -> Outcome {
        self.steps(steps, item, self.lax, found)
    }

    /// Takes the steps from `item` on. `unwrap`: the first one, if it is not for arrays, is taken
    /// by the elements of an array.
    fn steps(
        &mut self,
        mut steps: &'a [Step],
        mut item: Item<'a>,
        mut unwrap: bool,
        mut found: Found<'_, 'a>,
    ) -> Outcome {
        interrupt::check()?;
        loop {
            let Some((step, rest)) = steps.split_first() else {
                found.add(item);
                return Ok(true);
            };
            if unwrap
                && step.is_taken_by_elements()
                && let Some(array) = item.array()
            {
                return self.deeper(|run| run.children(steps, &array, Depths::ONE, false, found));
            }
            // One item to go on with, or the answer of all that the step led to.
            let next = match step {
                Step::Key(name) => match item.object() {
                    Some(object) => match object.get(name) {
                        Some(value) => value,
                        None => return self.structural(|| PathError::MemberNotFound(name.clone())),
                    },
                    None => return self.structural(|| PathError::MemberOfNonObject),
                },
                Step::AnyKey => match item.object() {
                    Some(object) => {
                        let unwrap = self.lax;
                        return self
                            .deeper(|run| run.children(rest, &object, Depths::ONE, unwrap, found));
                    }
                    None => return self.structural(|| PathError::WildcardMemberOfNonObject),
                },
                Step::AnyElement => match item.array() {
                    Some(array) => {
                        let unwrap = self.lax;
                        return self
                            .deeper(|run| run.children(rest, &array, Depths::ONE, unwrap, found));
                    }
                    None if self.lax => item,
                    None => return self.structural(|| PathError::WildcardElementOfNonArray),
                },
                Step::Elements(ranges) => {
                    return self.deeper(|run| run.elements(ranges, rest, &item, found));
                }
                Step::AnyLevel { first, last } => {
                    return self.deeper(|run| run.levels(*first, *last, rest, item, found));
                }
                Step::Filter(predicate) => {
                    if self.filter(predicate, &item)? != Truth::True {
                        return Ok(false);
                    }
                    item
                }
                Step::Method(Method::KeyValue) => {
                    return self.deeper(|run| run.key_values(rest, &item, found));
                }
                Step::Method(Method::Size) => match item.array() {
                    Some(array) => Item::Number(Numeric::from(array.len() as i64)),
                    None if self.lax => Item::Number(Numeric::ONE),
                    None => return self.structural(|| wrong_kind(&Method::Size)),
                },
                Step::Method(method) => self.method(method, &item)?,
            };
            (steps, item, unwrap) = (rest, next, self.lax);
        }
    }

    fn filter(&mut self, predicate: &'a Predicate, item: &Item<'a>) -> Result<Truth, PathError> {
        let outer = std::mem::replace(&mut self.current, item.clone());
        let truth = self.deeper(|run| run.predicate(predicate));
        self.current = outer;
        truth
    }

    /// Takes the steps from each of the values in a container, down to the depths that are wanted.
    fn children(
        &mut self,
        steps: &'a [Step],
        container: &Container<'a, '_>,
        depths: Depths,
        unwrap: bool,
        mut found: Found<'_, 'a>,
    ) -> Outcome {
        let mut any = false;
        for position in 0..container.len() {
            let child = container.child(position);
            let inner = child.container();
            if depths.are_reached(inner.is_some()) {
                let taken = if depths.is_wildcard {
                    self.forgiving(|run| run.steps(steps, child.clone(), unwrap, found.again()))
                } else {
                    self.steps(steps, child.clone(), unwrap, found.again())
                };
                any |= taken?;
            }
            if any && found.is_asking() {
                return Ok(true);
            }
            if let Some(inner) = inner
                && let Some(depths) = depths.below()
            {
                any |=
                    self.deeper(|run| run.children(steps, &inner, depths, unwrap, found.again()))?;
                if any && found.is_asking() {
                    return Ok(true);
                }
            }
        }
        Ok(any)
    }

    /// `.**{first to last}`
    fn levels(
        &mut self,
        first: u32,
        last: u32,
        rest: &'a [Step],
        item: Item<'a>,
        mut found: Found<'_, 'a>,
    ) -> Outcome {
        let mut any = false;
        if first == 0 {
            let outcome = self.forgiving(|run| run.go_on(rest, item.clone(), found.again()));
            any = match outcome {
                // As in PostgreSQL: what is inside is looked at all the same.
                Err(error) if self.quiet && !error.is_hard() && item.container().is_some() => false,
                outcome => outcome?,
            };
            if any && found.is_asking() {
                return Ok(true);
            }
        }
        if let Some(container) = item.container() {
            let depths = Depths { at: 1, first, last, is_wildcard: true };
            if depths.at <= last {
                any |= self.children(rest, &container, depths, self.lax, found)?;
            }
        }
        Ok(any)
    }

    /// `[1, 2 to 4]`
    fn elements(
        &mut self,
        ranges: &'a [Range],
        rest: &'a [Step],
        item: &Item<'a>,
        found: Found<'_, 'a>,
    ) -> Outcome {
        let array = item.array();
        if array.is_none() && !self.lax {
            return self.structural(|| PathError::ElementOfNonArray);
        }
        // Anything else is an array of one.
        let len = array.as_ref().map_or(1, Container::len);
        let outer = self.array_len.replace(len);
        let element = |position| match &array {
            Some(array) => array.child(position),
            None => item.clone(),
        };
        let outcome = self.each_range(ranges, len as i64, element, rest, found);
        self.array_len = outer;
        outcome
    }

    fn each_range(
        &mut self,
        ranges: &'a [Range],
        len: i64,
        element: impl Fn(usize) -> Item<'a>,
        rest: &'a [Step],
        mut found: Found<'_, 'a>,
    ) -> Outcome {
        let mut any = false;
        for Range { from, to } in ranges {
            let first = i64::from(self.subscript(from)?);
            let last = match to {
                Some(to) => i64::from(self.subscript(to)?),
                None => first,
            };
            if !self.forgiving && (first < 0 || first > last || last >= len) {
                return Err(PathError::SubscriptOutOfBounds);
            }
            for position in first.max(0)..=last.min(len - 1) {
                any |= self.go_on(rest, element(position as usize), found.again())?;
                if any && found.is_asking() {
                    return Ok(true);
                }
            }
        }
        Ok(any)
    }

    /// The position that a subscript says.
    fn subscript(&mut self, expr: &'a Expr) -> Result<i32, PathError> {
        let mut items = Vec::new();
        self.expr(expr, Found(Some(&mut items)))?;
        let [one] = &items[..] else { return Err(PathError::SubscriptNotNumber) };
        let number = one.number().ok_or(PathError::SubscriptNotNumber)?;
        number.trunc(0).to_i32().map_err(|_| PathError::SubscriptOutOfRange)
    }

    /// `.keyvalue()`: an object for each field, with an id that tells objects apart.
    fn key_values(
        &mut self,
        rest: &'a [Step],
        item: &Item<'a>,
        mut found: Found<'_, 'a>,
    ) -> Outcome {
        let object = item.object().ok_or_else(|| wrong_kind(&Method::KeyValue))?;
        let (base, start) = self.base;
        let id = item.address().wrapping_sub(start) as i64 + base * IDS_OF_A_BASE;
        let mut any = false;
        for field in 0..object.len() {
            let value = object.child(field);
            let mut builder = Builder::new();
            builder.object(|o| {
                o.name("id").int(id);
                o.name("key").string(object.name(field));
                value.write_to(o.name("value"));
            });
            let made = Item::made(builder.finish()?);
            let base = (self.bases, made.address());
            self.bases += 1;
            any |= self.based(base, |run| run.go_on(rest, made, found.again()))?;
            if any && found.is_asking() {
                return Ok(true);
            }
        }
        Ok(any)
    }

    /// `-x`: of each item.
    fn sign(
        &mut self,
        sign: Sign,
        operand: &'a Expr,
        steps: &'a [Step],
        mut found: Found<'_, 'a>,
    ) -> Outcome {
        let asking = found.is_asking() && steps.is_empty();
        let mut any = false;
        for item in self.unwrapped(operand)? {
            let Some(number) = item.number() else {
                if asking {
                    continue;
                }
                return Err(PathError::SignOfNonNumber { operator: sign.text() });
            };
            let number = if sign == Sign::Minus { number.neg() } else { number };
            any |= self.go_on(steps, Item::Number(number), found.again())?;
            if any && found.is_asking() {
                return Ok(true);
            }
        }
        Ok(any)
    }

    /// `x + y - z`
    fn arithmetic(
        &mut self,
        first: &'a Expr,
        others: &'a [(Operator, Expr)],
    ) -> Result<Numeric, PathError> {
        // Both sides are found before either is looked at.
        let mut left = self.unwrapped(first)?;
        for (operator, other) in others {
            let right = self.unwrapped(other)?;
            let left_number = operand(&left, "left", *operator)?;
            let right_number = operand(&right, "right", *operator)?;
            let result = match operator {
                Operator::Add => left_number.checked_add(&right_number),
                Operator::Subtract => left_number.checked_sub(&right_number),
                Operator::Multiply => left_number.checked_mul(&right_number),
                Operator::Divide => left_number.checked_div(&right_number),
                Operator::Remainder => left_number.checked_rem(&right_number),
            };
            left = vec![Item::Number(result?)];
        }
        operand(&left, "left", Operator::Add)
    }
}

/// The one number that an operand must be.
fn operand(
    items: &[Item<'_>],
    side: &'static str,
    operator: Operator,
) -> Result<Numeric, PathError> {
    let number = if let [one] = items { one.number() } else { None };
    number.ok_or(PathError::OperandNotNumber { side, operator: operator.text() })
}
