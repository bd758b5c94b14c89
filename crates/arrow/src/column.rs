//! Rows that are not written yet, column by column.

use polars_arrow_format::ipc::{Buffer, FieldNode};

use crate::bits::Bits;
use crate::field::Kind;

/// Values of one field. What is added must be of the field's kind; anything else panics.
#[derive(Debug, Clone)]
pub struct Column {
    values: Values,
    length: usize,
    nulls: usize,
    /// Which are not null; only kept from the first null on.
    valid: Option<Bits>,
}

#[derive(Debug, Clone)]
enum Values {
    Words(Vec<u64>),
    Bits(Bits),
    Text { ends: Vec<i32>, bytes: Vec<u8> },
    List { ends: Vec<i32>, items: Box<Column> },
    Struct(Vec<Column>),
}

impl Column {
    pub(crate) fn of(kind: &Kind) -> Self {
        let values = match kind {
            Kind::U64 | Kind::I64 | Kind::F64 | Kind::Time => Values::Words(Vec::new()),
            Kind::Bool => Values::Bits(Bits::default()),
            Kind::Text => Values::Text { ends: vec![0], bytes: Vec::new() },
            Kind::List(item) => Values::List { ends: vec![0], items: Box::new(Self::of(&item.kind)) },
            Kind::Struct(fields) => Values::Struct(fields.iter().map(|field| Self::of(&field.kind)).collect()),
        };
        Self { values, length: 0, nulls: 0, valid: None }
    }

    /// How many values there are.
    #[allow(clippy::len_without_is_empty)] // `len() == 0` reads as well
    pub fn len(&self) -> usize {
        self.length
    }

    /// Adds a number or a moment, by its bits.
    pub fn word(&mut self, word: u64) {
        let Values::Words(words) = &mut self.values else { self.refuse("a number") };
        words.push(word);
        self.one_more(true);
    }

    /// Adds a floating-point number.
    pub fn number(&mut self, number: f64) {
        self.word(number.to_bits());
    }

    /// Adds a truth value.
    pub fn flag(&mut self, flag: bool) {
        let Values::Bits(bits) = &mut self.values else { self.refuse("a truth value") };
        bits.push(flag);
        self.one_more(true);
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        let Values::Text { ends, bytes } = &mut self.values else { self.refuse("a text") };
        bytes.extend_from_slice(text.as_bytes());
        ends.push(offset(bytes.len()));
        self.one_more(true);
    }

    /// Adds a list, whose items `fill` adds.
    pub fn list(&mut self, fill: impl FnOnce(&mut Column)) {
        let Values::List { ends, items } = &mut self.values else { self.refuse("a list") };
        fill(items);
        ends.push(offset(items.length));
        self.one_more(true);
    }

    /// Adds a structure of words.
    pub fn words(&mut self, words: &[u64]) {
        let Values::Struct(columns) = &mut self.values else { self.refuse("a structure") };
        columns.iter_mut().zip(words).for_each(|(column, word)| column.word(*word));
        self.one_more(true);
    }

    /// Adds a null.
    pub fn null(&mut self) {
        match &mut self.values {
            Values::Words(words) => words.push(0),
            Values::Bits(bits) => bits.push(false),
            Values::Text { ends, .. } | Values::List { ends, .. } => ends.push(ends.last().copied().unwrap_or(0)),
            Values::Struct(columns) => columns.iter_mut().for_each(Column::null),
        }
        self.one_more(false);
    }

    fn refuse(&self, what: &str) -> ! {
        panic!("{what} was added to a column of another kind");
    }

    fn one_more(&mut self, valid: bool) {
        if !valid {
            self.nulls += 1;
            self.valid.get_or_insert_with(|| Bits::ones(self.length));
        }
        if let Some(bits) = &mut self.valid {
            bits.push(valid);
        }
        self.length += 1;
    }

    /// Forgets all values: they are written.
    pub fn clear(&mut self) {
        match &mut self.values {
            Values::Words(words) => words.clear(),
            Values::Bits(bits) => bits.clear(),
            Values::Text { ends, bytes } => {
                ends.truncate(1);
                bytes.clear();
            }
            Values::List { ends, items } => {
                ends.truncate(1);
                items.clear();
            }
            Values::Struct(columns) => columns.iter_mut().for_each(Column::clear),
        }
        (self.length, self.nulls, self.valid) = (0, 0, None);
    }

    /// Bytes that its values take in a file.
    pub fn bytes(&self) -> u64 {
        let mut layout = Layout::default();
        self.describe(&mut layout);
        layout.end as u64
    }

    /// Where its buffers are in a body, behind those that are there.
    pub(crate) fn describe(&self, layout: &mut Layout) {
        layout.nodes.push(FieldNode { length: self.length as i64, null_count: self.nulls as i64 });
        layout.buffer(self.valid.as_ref().map_or(0, |bits| bits.bytes().len()));
        match &self.values {
            Values::Words(words) => layout.buffer(8 * words.len()),
            Values::Bits(bits) => layout.buffer(bits.bytes().len()),
            Values::Text { ends, bytes } => {
                layout.buffer(4 * ends.len());
                layout.buffer(bytes.len());
            }
            Values::List { ends, items } => {
                layout.buffer(4 * ends.len());
                items.describe(layout);
            }
            Values::Struct(columns) => columns.iter().for_each(|column| column.describe(layout)),
        }
    }

    /// Appends its buffers, in the same order.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put(out, self.valid.iter().flat_map(|bits| bits.bytes()).copied());
        match &self.values {
            Values::Words(words) => words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes())),
            Values::Bits(bits) => put(out, bits.bytes().iter().copied()),
            Values::Text { ends, bytes } => {
                put(out, ends.iter().flat_map(|end| end.to_le_bytes()));
                put(out, bytes.iter().copied());
            }
            Values::List { ends, items } => {
                put(out, ends.iter().flat_map(|end| end.to_le_bytes()));
                items.write(out);
            }
            Values::Struct(columns) => columns.iter().for_each(|column| column.write(out)),
        }
    }
}

/// A batch's rows may hold 2 GiB of text and as many items: a writer makes batches far smaller.
fn offset(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

/// Appends a buffer, padded to eight bytes. What a body is made of is always a multiple of that.
fn put(out: &mut Vec<u8>, bytes: impl Iterator<Item = u8>) {
    let begin = out.len();
    out.extend(bytes);
    let length = out.len() - begin;
    out.resize(begin + length.next_multiple_of(8), 0);
}

/// Where the parts of a batch's body are.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub nodes: Vec<FieldNode>,
    pub buffers: Vec<Buffer>,
    pub end: i64,
}

impl Layout {
    fn buffer(&mut self, length: usize) {
        self.buffers.push(Buffer { offset: self.end, length: length as i64 });
        self.end += length.next_multiple_of(8) as i64;
    }
}
