//! The pickle machine: one loop over the opcodes, for both readers of the crate.
//!
//! ```text
//!   record  80 03 c persistent.mapping\nPersistentMapping\n q 00 .   80 03 } q 01 X .. data ... .
//!           └──────────────── class pickle ───────────────────┘   └────── state pickle ───────┘
//!
//!   Machine: offset, stack, marks, memo ──> Heap: values
//!                                            ├── Tags  (`head`): 16 bytes a value, no contents
//!                                            └── Tree  (`tree`): everything, for JSON
//! ```
//!
//! The machine knows the encoding of each opcode and the rules of the stack. A [`Heap`] knows what a
//! value is. No opcode imports a module, calls a function or sets an attribute: a class is two
//! strings, and a call is a value with a callable and its arguments.
//!
//! # Invariants
//! * The memo of the class pickle is still there in the state pickle: ZODB writes both with one
//!   pickler, and the state refers back to the class.
//! * A length is compared with the bytes that are left before anything is read or reserved.
//! * Each opcode adds at most three values, one slot of the stack and one slot of the memo.
//!   Memory is therefore proportional to the record.

use std::borrow::Cow;

use crate::error::{Error, Refused};
use crate::literal::{self, Big, Number};

/// The longest record that is read, in bytes: values are numbered in 32 bits.
pub(crate) const RECORD_BYTES_MAX: usize = 1 << 29;

/// The most marks that may be open at once: Python's own recursion limit allows about 1,000.
const MARKS_MAX: usize = 4096;

/// How an object is constructed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Construction {
    /// `callable(*args)`: the opcodes REDUCE, INST and OBJ.
    Call,
    /// `class.__new__(class, *args, **kwargs)`: the opcodes NEWOBJ and NEWOBJ_EX.
    New,
}

/// The heap in which the machine makes values.
pub(crate) trait Heap<'a> {
    /// A handle to a value.
    type Value: Copy;

    /// `None`.
    fn none(&mut self) -> Self::Value;
    /// `True` or `False`.
    fn bool(&mut self, value: bool) -> Self::Value;
    /// An integer of 64 bits.
    fn int(&mut self, value: i64) -> Self::Value;
    /// An integer of more than 64 bits.
    fn big(&mut self, value: Big<'a>) -> Self::Value;
    /// A floating point number.
    fn float(&mut self, value: f64) -> Self::Value;
    /// A string that is valid Unicode.
    fn text(&mut self, value: Cow<'a, str>) -> Self::Value;
    /// A string with lone surrogates, in UTF-8 that encodes surrogates like other characters.
    fn surrogates(&mut self, value: Cow<'a, [u8]>) -> Self::Value;
    /// Immutable or mutable bytes.
    fn bytes(&mut self, value: Cow<'a, [u8]>, mutable: bool) -> Self::Value;
    /// A class or function, by name.
    fn global(&mut self, module: &'a str, name: &'a str) -> Result<Self::Value, Refused>;
    /// A class or function whose module and name are values.
    fn stack_global(
        &mut self,
        module: Self::Value,
        name: Self::Value,
    ) -> Result<Self::Value, Refused>;
    /// A tuple.
    fn tuple(&mut self, items: &[Self::Value]) -> Self::Value;
    /// A list.
    fn list(&mut self, items: &[Self::Value]) -> Self::Value;
    /// An empty dict, filled by [`Heap::set_items`].
    fn dict(&mut self) -> Self::Value;
    /// An empty set, filled by [`Heap::add_items`].
    fn set(&mut self) -> Self::Value;
    /// A frozenset.
    fn frozen_set(&mut self, items: &[Self::Value]) -> Result<Self::Value, Refused>;
    /// Appends to a list or an object.
    fn append(&mut self, to: Self::Value, items: &[Self::Value]) -> Result<(), Refused>;
    /// Adds to a set or an object.
    fn add_items(&mut self, to: Self::Value, items: &[Self::Value]) -> Result<(), Refused>;
    /// Sets keys of a dict or an object; `pairs` has a key and a value in turn.
    fn set_items(&mut self, to: Self::Value, pairs: &[Self::Value]) -> Result<(), Refused>;
    /// An object that Python would make by a call.
    fn make(
        &mut self,
        construction: Construction,
        callable: Self::Value,
        args: Self::Value,
        kwargs: Option<Self::Value>,
    ) -> Result<Self::Value, Refused>;
    /// Gives an object its state.
    fn build(&mut self, object: Self::Value, state: Self::Value) -> Result<(), Refused>;
    /// The object that a persistent id refers to.
    fn persistent(&mut self, pid: Self::Value) -> Result<Self::Value, Refused>;
}

/// The state of a reader in the middle of a record.
pub(crate) struct Machine<'a, H: Heap<'a>> {
    record: &'a [u8],
    at: usize,
    /// Offset of the opcode that runs.
    opcode_at: usize,
    stack: Vec<H::Value>,
    /// Lengths of the stack at the open marks.
    marks: Vec<usize>,
    /// The innermost mark, or 0: an opcode that takes single values stays above it.
    fence: usize,
    memo: Vec<Option<H::Value>>,
    /// Values in the memo: the number that MEMOIZE gives next.
    memoized: usize,
    /// The values.
    pub heap: H,
}

impl<'a, H: Heap<'a>> Machine<'a, H> {
    /// A machine at byte `at` of `record`.
    pub fn new(record: &'a [u8], at: usize, heap: H) -> Result<Machine<'a, H>, Error> {
        if record.is_empty() {
            return Err(Error::Empty);
        }
        if record.len() > RECORD_BYTES_MAX {
            return Err(Error::TooLong { bytes: record.len(), limit: RECORD_BYTES_MAX });
        }
        // Typical records have a value for each eight bytes.
        let slots = (record.len() / 8).clamp(8, 128);
        Ok(Machine {
            record,
            at,
            opcode_at: at,
            stack: Vec::with_capacity(slots),
            marks: Vec::with_capacity(8),
            fence: 0,
            memo: Vec::with_capacity(slots),
            memoized: 0,
            heap,
        })
    }

    /// Puts a value in the memo, as PUT does.
    pub fn memoize(&mut self, index: usize, value: H::Value) -> Result<(), Error> {
        // A pickler numbers its values in order, and each takes a byte at least.
        if index >= self.record.len() {
            return self
                .invalid("the memo index is larger than the record: allowed are indexes in order");
        }
        if index >= self.memo.len() {
            self.memo.resize(index + 1, None);
        }
        let slot = &mut self.memo[index];
        self.memoized += usize::from(slot.is_none());
        *slot = Some(value);
        Ok(())
    }

    /// Runs one pickle up to its STOP opcode and returns its value. `pickle` names it in errors.
    pub fn run(&mut self, pickle: &'static str) -> Result<H::Value, Error> {
        self.stack.clear();
        self.marks.clear();
        self.fence = 0;
        loop {
            self.opcode_at = self.at;
            let Some(&code) = self.record.get(self.at) else {
                return Err(Error::Unfinished { at: self.at, pickle });
            };
            self.at += 1;
            match code {
                b'.' => return self.pop(),
                b'q' => {
                    let index = usize::from(self.byte("BINPUT")?);
                    let value = self.top()?;
                    self.memoize(index, value)?;
                }
                b'h' => {
                    let index = usize::from(self.byte("BINGET")?);
                    self.recall(index)?;
                }
                b'X' => {
                    let bytes = self.sized("BINUNICODE", 4)?;
                    self.text(bytes)?;
                }
                b'K' => {
                    let value = i64::from(self.byte("BININT1")?);
                    self.int(value);
                }
                b'(' => {
                    if self.marks.len() == MARKS_MAX {
                        return self
                            .invalid("more than 4096 marks are open: the value is too deep");
                    }
                    self.fence = self.stack.len();
                    self.marks.push(self.fence);
                }
                b'N' => {
                    let value = self.heap.none();
                    self.stack.push(value);
                }
                b'Q' => {
                    let pid = self.pop()?;
                    let value = self.heap.persistent(pid);
                    self.push(value)?;
                }
                b'C' => {
                    let bytes = self.sized("SHORT_BINBYTES", 1)?;
                    let value = self.heap.bytes(Cow::Borrowed(bytes), false);
                    self.stack.push(value);
                }
                b'}' => {
                    let value = self.heap.dict();
                    self.stack.push(value);
                }
                b']' => {
                    let value = self.heap.list(&[]);
                    self.stack.push(value);
                }
                b'u' => {
                    let (target, from) = self.target_below_mark()?;
                    let done = self.heap.set_items(target, &self.stack[from..]);
                    self.allowed(done)?;
                    self.stack.truncate(from);
                }
                b's' => {
                    let from = self.below(2)?;
                    let target = self.below(3)?;
                    let done = self.heap.set_items(self.stack[target], &self.stack[from..]);
                    self.allowed(done)?;
                    self.stack.truncate(from);
                }
                b'e' => {
                    let (target, from) = self.target_below_mark()?;
                    let done = self.heap.append(target, &self.stack[from..]);
                    self.allowed(done)?;
                    self.stack.truncate(from);
                }
                b'a' => {
                    let from = self.below(1)?;
                    let target = self.below(2)?;
                    let done = self.heap.append(self.stack[target], &self.stack[from..]);
                    self.allowed(done)?;
                    self.stack.truncate(from);
                }
                b'c' => {
                    let module = self.name("GLOBAL")?;
                    let name = self.name("GLOBAL")?;
                    let value = self.heap.global(module, name);
                    self.push(value)?;
                }
                0x85..=0x87 => self.tuple_of(usize::from(code - 0x84))?,
                b't' => {
                    let from = self.pop_mark()?;
                    let value = self.heap.tuple(&self.stack[from..]);
                    self.stack.truncate(from);
                    self.stack.push(value);
                }
                b')' => {
                    let value = self.heap.tuple(&[]);
                    self.stack.push(value);
                }
                0x80 => {
                    if self.byte("PROTO")? > 5 {
                        return self.invalid("the pickle protocol is unknown: allowed are 0 to 5");
                    }
                }
                0x88 | 0x89 => {
                    let value = self.heap.bool(code == 0x88);
                    self.stack.push(value);
                }
                b'M' => {
                    let [a, b] = self.array("BININT2")?;
                    self.int(i64::from(u16::from_le_bytes([a, b])));
                }
                b'J' => {
                    let bytes = self.array("BININT")?;
                    self.int(i64::from(i32::from_le_bytes(bytes)));
                }
                b'G' => {
                    let bytes = self.array("BINFLOAT")?;
                    let value = self.heap.float(f64::from_be_bytes(bytes));
                    self.stack.push(value);
                }
                b'R' => {
                    let args = self.pop()?;
                    let callable = self.pop()?;
                    let value = self.heap.make(Construction::Call, callable, args, None);
                    self.push(value)?;
                }
                0x81 => {
                    let args = self.pop()?;
                    let class = self.pop()?;
                    let value = self.heap.make(Construction::New, class, args, None);
                    self.push(value)?;
                }
                b'b' => {
                    let state = self.pop()?;
                    let object = self.top()?;
                    let done = self.heap.build(object, state);
                    self.allowed(done)?;
                }
                0x8c => {
                    let bytes = self.sized("SHORT_BINUNICODE", 1)?;
                    self.text(bytes)?;
                }
                0x94 => {
                    let value = self.top()?;
                    self.memoize(self.memoized, value)?;
                }
                0x95 => {
                    let bytes = self.array("FRAME")?;
                    self.check_left("FRAME", u64::from_le_bytes(bytes))?;
                }
                _ => self.rare(code)?,
            }
        }
    }

    /// Opcodes that records of today's ZODB seldom have.
    fn rare(&mut self, code: u8) -> Result<(), Error> {
        match code {
            b'0' => {
                if self.stack.len() > self.fence {
                    self.stack.pop();
                } else {
                    self.pop_mark()?;
                }
            }
            b'1' => {
                let from = self.pop_mark()?;
                self.stack.truncate(from);
            }
            b'2' => {
                let value = self.top()?;
                self.stack.push(value);
            }
            b'j' => {
                let index = u32::from_le_bytes(self.array("LONG_BINGET")?);
                self.recall(index as usize)?;
            }
            b'r' => {
                let index = u32::from_le_bytes(self.array("LONG_BINPUT")?);
                let value = self.top()?;
                self.memoize(index as usize, value)?;
            }
            b'g' | b'p' => {
                let line = self.line(if code == b'g' { "GET" } else { "PUT" })?;
                let Some(index) = literal::index(line) else {
                    return self.invalid("the memo index is not a decimal number");
                };
                if code == b'g' {
                    self.recall(index)?;
                } else {
                    let value = self.top()?;
                    self.memoize(index, value)?;
                }
            }
            b'l' => {
                let from = self.pop_mark()?;
                let value = self.heap.list(&self.stack[from..]);
                self.stack.truncate(from);
                self.stack.push(value);
            }
            b'd' => {
                let from = self.pop_mark()?;
                let value = self.heap.dict();
                let done = self.heap.set_items(value, &self.stack[from..]);
                self.allowed(done)?;
                self.stack.truncate(from);
                self.stack.push(value);
            }
            0x8f => {
                let value = self.heap.set();
                self.stack.push(value);
            }
            0x90 => {
                let (target, from) = self.target_below_mark()?;
                let done = self.heap.add_items(target, &self.stack[from..]);
                self.allowed(done)?;
                self.stack.truncate(from);
            }
            0x91 => {
                let from = self.pop_mark()?;
                let value = self.heap.frozen_set(&self.stack[from..]);
                self.stack.truncate(from);
                self.push(value)?;
            }
            0x93 => {
                let name = self.pop()?;
                let module = self.pop()?;
                let value = self.heap.stack_global(module, name);
                self.push(value)?;
            }
            0x92 => {
                let kwargs = self.pop()?;
                let args = self.pop()?;
                let class = self.pop()?;
                let value = self.heap.make(Construction::New, class, args, Some(kwargs));
                self.push(value)?;
            }
            b'i' => {
                let module = self.name("INST")?;
                let name = self.name("INST")?;
                let from = self.pop_mark()?;
                let class = self.heap.global(module, name);
                let class = self.allowed(class)?;
                self.call_with_rest(class, from, from)?;
            }
            b'o' => {
                let from = self.pop_mark()?;
                let Some(&class) = self.stack.get(from) else {
                    return self.invalid("OBJ finds no class behind its mark");
                };
                self.call_with_rest(class, from, from + 1)?;
            }
            b'P' => {
                let line = self.line("PERSID")?;
                let pid = self.old_string(Cow::Borrowed(line));
                let value = self.heap.persistent(pid);
                self.push(value)?;
            }
            0x82..=0x84 => {
                return self.invalid(
                    "extension codes (EXT1, EXT2, EXT4) are not supported: \
                     their classes are known to the process that wrote them only",
                );
            }
            0x97 | 0x98 => {
                return self.invalid(
                    "out-of-band buffers (NEXT_BUFFER, READONLY_BUFFER) are not supported: \
                     the record does not have their bytes",
                );
            }
            _ => return self.scalar(code),
        }
        Ok(())
    }

    /// Opcodes of the older or longer forms of numbers, strings and bytes.
    fn scalar(&mut self, code: u8) -> Result<(), Error> {
        match code {
            b'T' | b'U' => {
                let bytes = match code {
                    b'T' => self.sized("BINSTRING", 4)?,
                    _ => self.sized("SHORT_BINSTRING", 1)?,
                };
                let value = self.old_string(Cow::Borrowed(bytes));
                self.stack.push(value);
            }
            b'B' | 0x8e | 0x96 => {
                let bytes = match code {
                    b'B' => self.sized("BINBYTES", 4)?,
                    0x8e => self.sized("BINBYTES8", 8)?,
                    _ => self.sized("BYTEARRAY8", 8)?,
                };
                let value = self.heap.bytes(Cow::Borrowed(bytes), code == 0x96);
                self.stack.push(value);
            }
            0x8d => {
                let bytes = self.sized("BINUNICODE8", 8)?;
                self.text(bytes)?;
            }
            0x8a | 0x8b => {
                let bytes = match code {
                    0x8a => self.sized("LONG1", 1)?,
                    _ => self.sized("LONG4", 4)?,
                };
                self.number(Some(literal::from_twos_complement(bytes)))?;
            }
            b'I' => {
                let line = self.line("INT")?;
                match line {
                    b"00" | b"01" => {
                        let value = self.heap.bool(line == b"01");
                        self.stack.push(value);
                    }
                    _ => self.number(literal::decimal(line))?,
                }
            }
            b'L' => {
                let line = self.line("LONG")?;
                self.number(literal::decimal(line.strip_suffix(b"L").unwrap_or(line)))?;
            }
            b'F' => {
                let line = self.line("FLOAT")?;
                let text = std::str::from_utf8(line).ok();
                let Some(number) = text.and_then(|text| text.trim().parse::<f64>().ok()) else {
                    return self.invalid("FLOAT is not followed by a number");
                };
                let value = self.heap.float(number);
                self.stack.push(value);
            }
            b'S' => {
                let line = self.line("STRING")?;
                let Some(bytes) = literal::quoted(line) else {
                    return self.invalid("STRING is not followed by a quoted string");
                };
                let value = self.old_string(bytes);
                self.stack.push(value);
            }
            b'V' => {
                let line = self.line("UNICODE")?;
                let Some(bytes) = literal::raw_unicode(line) else {
                    return self.invalid("UNICODE has an escape that is not a character");
                };
                let value = match bytes {
                    Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
                        Ok(text) => self.heap.text(Cow::Borrowed(text)),
                        Err(_) => self.heap.surrogates(Cow::Borrowed(bytes)),
                    },
                    Cow::Owned(bytes) => match String::from_utf8(bytes) {
                        Ok(text) => self.heap.text(Cow::Owned(text)),
                        Err(error) => self.heap.surrogates(Cow::Owned(error.into_bytes())),
                    },
                };
                self.stack.push(value);
            }
            _ => return Err(Error::Opcode { at: self.opcode_at, code }),
        }
        Ok(())
    }

    /// Calls `class` with the values of the stack from `args` on, and truncates the stack to `to`.
    fn call_with_rest(&mut self, class: H::Value, to: usize, args: usize) -> Result<(), Error> {
        let args = self.heap.tuple(&self.stack[args..]);
        self.stack.truncate(to);
        let value = self.heap.make(Construction::Call, class, args, None);
        self.push(value)
    }

    fn tuple_of(&mut self, len: usize) -> Result<(), Error> {
        let from = self.below(len)?;
        let value = self.heap.tuple(&self.stack[from..]);
        self.stack.truncate(from);
        self.stack.push(value);
        Ok(())
    }

    fn int(&mut self, value: i64) {
        let value = self.heap.int(value);
        self.stack.push(value);
    }

    fn number(&mut self, number: Option<Number<'a>>) -> Result<(), Error> {
        let value = match number {
            Some(Number::Int(value)) => self.heap.int(value),
            Some(Number::Big(value)) => self.heap.big(value),
            None => return self.invalid("an integer has other characters than decimal digits"),
        };
        self.stack.push(value);
        Ok(())
    }

    /// A string of Python 2. ZODB reads it as text if it is ASCII, and as bytes if not.
    fn old_string(&mut self, bytes: Cow<'a, [u8]>) -> H::Value {
        if !bytes.is_ascii() {
            return self.heap.bytes(bytes, false);
        }
        match bytes {
            Cow::Borrowed(bytes) => self.heap.text(String::from_utf8_lossy(bytes)),
            Cow::Owned(bytes) => {
                let text = String::from_utf8(bytes).unwrap_or_default();
                self.heap.text(Cow::Owned(text))
            }
        }
    }

    fn text(&mut self, bytes: &'a [u8]) -> Result<(), Error> {
        let value = match std::str::from_utf8(bytes) {
            Ok(text) => self.heap.text(Cow::Borrowed(text)),
            Err(_) if literal::is_utf8_with_surrogates(bytes) => {
                self.heap.surrogates(Cow::Borrowed(bytes))
            }
            Err(_) => return self.invalid("a string is not UTF-8"),
        };
        self.stack.push(value);
        Ok(())
    }

    fn recall(&mut self, index: usize) -> Result<(), Error> {
        match self.memo.get(index) {
            Some(&Some(value)) => {
                self.stack.push(value);
                Ok(())
            }
            _ => self.invalid("the memo has no value under this index"),
        }
    }

    #[inline]
    fn top(&self) -> Result<H::Value, Error> {
        Ok(self.stack[self.below(1)?])
    }

    #[inline]
    fn pop(&mut self) -> Result<H::Value, Error> {
        let from = self.below(1)?;
        let value = self.stack[from];
        self.stack.truncate(from);
        Ok(value)
    }

    /// The index of the value that is `count` below the top, above the innermost mark.
    #[inline]
    fn below(&self, count: usize) -> Result<usize, Error> {
        if self.stack.len() < self.fence + count {
            return self.invalid("the stack has fewer values than the opcode takes");
        }
        Ok(self.stack.len() - count)
    }

    /// Closes the innermost mark and returns where its values begin.
    fn pop_mark(&mut self) -> Result<usize, Error> {
        let Some(from) = self.marks.pop() else {
            return self.invalid("the opcode needs a mark, and none is open");
        };
        self.fence = self.marks.last().copied().unwrap_or(0);
        Ok(from)
    }

    /// Closes the innermost mark; returns the value below it and where its values begin.
    fn target_below_mark(&mut self) -> Result<(H::Value, usize), Error> {
        let from = self.pop_mark()?;
        if from <= self.fence {
            return self.invalid("the stack has no container below the mark");
        }
        Ok((self.stack[from - 1], from))
    }

    fn push(&mut self, value: Result<H::Value, Refused>) -> Result<(), Error> {
        let value = self.allowed(value)?;
        self.stack.push(value);
        Ok(())
    }

    #[inline]
    fn allowed<T>(&self, result: Result<T, Refused>) -> Result<T, Error> {
        match result {
            Ok(value) => Ok(value),
            Err(what) => self.invalid(what),
        }
    }

    #[inline]
    fn byte(&mut self, what: &'static str) -> Result<u8, Error> {
        let [byte] = self.array(what)?;
        Ok(byte)
    }

    #[inline]
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Error> {
        match self.record[self.at..].first_chunk() {
            Some(bytes) => {
                self.at += N;
                Ok(*bytes)
            }
            None => self.truncated(what, N as u64),
        }
    }

    /// A field with its length in `len_bytes` bytes before it.
    #[inline]
    fn sized(&mut self, what: &'static str, len_bytes: usize) -> Result<&'a [u8], Error> {
        let len = match len_bytes {
            1 => u64::from(self.byte(what)?),
            4 => u64::from(u32::from_le_bytes(self.array(what)?)),
            _ => u64::from_le_bytes(self.array(what)?),
        };
        self.check_left(what, len)?;
        let bytes = &self.record[self.at..self.at + len as usize];
        self.at += bytes.len();
        Ok(bytes)
    }

    #[inline]
    fn check_left(&self, what: &'static str, len: u64) -> Result<(), Error> {
        if len > (self.record.len() - self.at) as u64 {
            return self.truncated(what, len);
        }
        Ok(())
    }

    /// The bytes up to the next line feed, which is skipped.
    fn line(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        let rest = &self.record[self.at..];
        let Some(len) = rest.iter().position(|&byte| byte == b'\n') else {
            return self.truncated(what, rest.len() as u64 + 1);
        };
        self.at += len + 1;
        Ok(&rest[..len])
    }

    /// A line that is the name of a module or class.
    fn name(&mut self, what: &'static str) -> Result<&'a str, Error> {
        let line = self.line(what)?;
        match std::str::from_utf8(line) {
            Ok(name) => Ok(name),
            Err(_) => self.invalid("the name of a module or class is not UTF-8"),
        }
    }

    #[cold]
    fn invalid<T>(&self, what: &'static str) -> Result<T, Error> {
        Err(Error::Invalid { at: self.opcode_at, what })
    }

    #[cold]
    fn truncated<T>(&self, what: &'static str, needed: u64) -> Result<T, Error> {
        let left = self.record.len() - self.at;
        Err(Error::Truncated { at: self.opcode_at, what, needed, left })
    }
}
