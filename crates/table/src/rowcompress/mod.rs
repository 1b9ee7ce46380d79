//! `rowcompress`: a heap whose newest rows lie in the files as compressed batches.
//!
//! ```text
//!   memory, log, history    rows in row form, as in a heap
//!   files                   batches: the rows of one behind the other, compressed together
//! ```
//!
//! A batch is a block of columns of the store ([`store::ColumnEncoder`]) with one column, whose values are whole
//! rows. A scan reads whole rows; a read by key decodes one batch. The bytes are described in
//! `docs/format-columnar.md`.

use std::ops::RangeInclusive;
use std::sync::Arc;

use store::{BLOCK_ROWS_MAX, ColumnEncoder, EncodedBlock, EncodedPart, EncodedStripe};
use stripe::{ByteStrings, Chunk, Column as Values, Compression};
use types::Oid;

use crate::Result;
use crate::catalog::{Column, MethodData, Relation, TableData};
use crate::columnar::write_batch_head;
use crate::heap::HeapRows;
use crate::method::parameters::{Compressing, integer, value_of};
use crate::method::{AccessMethod, Options, Rows};
use crate::rows::Layout;

/// The rows that `batch_size` can name. A batch has at most [`BLOCK_ROWS_MAX`].
const BATCH_SIZES: RangeInclusive<u32> = 1..=100_000;
/// A batch ends when it has so many bytes, where nothing is said of its rows.
const BATCH_BYTES: usize = 64 << 10;
/// The same where something is said: a read by key decodes all of it.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// The access method `rowcompress`.
#[derive(Clone, Copy, Debug)]
pub struct RowCompress;

impl RowCompress {
    /// The number in `pg_am`.
    pub const OID: Oid = Oid(16_379);

    /// Returns the settings of a table; `None` if it has another method.
    pub fn settings(data: &TableData) -> Option<BatchSettings> {
        let is_own = data.method.oid == RowCompress::OID;
        is_own.then(|| BatchSettings::from_bytes(&data.method.settings).unwrap_or_default())
    }
}

/// The parameters of a table; `None` for those that are not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchSettings {
    compressing: Compressing,
    batch_rows: Option<u32>,
}

impl BatchSettings {
    fn of(options: &Options) -> Result<BatchSettings> {
        let rows = value_of(options, "batch_size");
        let rows = rows.map(|value| integer("batch_size", value, &BATCH_SIZES)).transpose()?;
        Ok(BatchSettings { compressing: Compressing::of(options)?, batch_rows: rows })
    }

    fn to_bytes(self) -> Vec<u8> {
        if self == BatchSettings::default() {
            return Vec::new();
        }
        let rows = self.batch_rows.unwrap_or(0).to_le_bytes();
        [&self.compressing.to_bytes()[..], &rows[..]].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<BatchSettings> {
        let [name, level, rows @ ..] = bytes else {
            return bytes.is_empty().then(BatchSettings::default);
        };
        let rows = u32::from_le_bytes(rows.try_into().ok()?);
        Some(BatchSettings {
            compressing: Compressing::from_bytes([*name, *level]),
            batch_rows: (rows > 0).then_some(rows),
        })
    }

    /// Returns the rows of a full batch; `None` if a batch ends by its bytes.
    pub fn batch_rows(&self) -> Option<usize> {
        self.batch_rows.map(|rows| BLOCK_ROWS_MAX.min(rows as usize))
    }

    /// Returns the compression and its level.
    pub fn compression(&self) -> (&'static str, i32) {
        self.compressing.effective()
    }

    fn encoder(&self) -> Arc<dyn ColumnEncoder> {
        let compression = self.compressing.compression();
        Arc::new(BatchEncoder { rows: self.batch_rows(), compression })
    }
}

impl AccessMethod for RowCompress {
    fn name(&self) -> &'static str {
        "rowcompress"
    }

    fn oid(&self) -> Oid {
        RowCompress::OID
    }

    fn takes(&self, parameter: &str) -> bool {
        parameter == "batch_size" || Compressing::takes(parameter)
    }

    fn changes(&self, parameter: &str) -> bool {
        self.takes(parameter)
    }

    fn define(&self, options: &Options, _: &[Column]) -> Result<Vec<u8>> {
        BatchSettings::of(options).map(BatchSettings::to_bytes)
    }

    fn parameters(&self, _: &Relation, data: &MethodData) -> Options {
        let settings = BatchSettings::from_bytes(&data.settings).unwrap_or_default();
        let rows = settings.batch_rows.map(|rows| ("batch_size", rows.to_string()));
        let all = rows.into_iter().chain(settings.compressing.parameters());
        all.map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn column_encoder(&self, relation: &Relation) -> Option<Arc<dyn ColumnEncoder>> {
        Some(RowCompress::settings(relation.table()?)?.encoder())
    }

    fn open(&self, _: &Relation, data: &TableData, layout: &Arc<Layout>) -> Box<dyn Rows> {
        let settings = RowCompress::settings(data).unwrap_or_default();
        Box::new(HeapRows::new(data.storage, layout).encoded_by(settings.encoder()))
    }
}

/// Encodes rows as batches.
#[derive(Debug)]
struct BatchEncoder {
    /// The rows of a full batch.
    rows: Option<usize>,
    compression: Compression,
}

impl BatchEncoder {
    fn is_full(&self, rows: usize, bytes: usize) -> bool {
        match self.rows {
            Some(rows_max) => rows >= rows_max || bytes >= BATCH_BYTES_MAX,
            None => rows >= BLOCK_ROWS_MAX || bytes >= BATCH_BYTES,
        }
    }

    fn write(&self, rows: &ByteStrings, is_deleted: &[bool]) -> EncodedBlock {
        let mut block = EncodedBlock { rows: rows.len(), ..EncodedBlock::default() };
        write_batch_head(&mut block.head);
        let mut chunk = Vec::new();
        let values = Values::Strings(rows, None);
        Chunk::write_by(self.compression, values, is_deleted, &mut chunk);
        block.parts.push(EncodedPart::Own(chunk));
        block
    }
}

impl ColumnEncoder for BatchEncoder {
    /// The past has patches, which lie with the row that they change.
    fn takes_history(&self) -> bool {
        false
    }

    fn encode(&self, values: &[Option<&[u8]>]) -> Option<EncodedStripe> {
        let mut stripe = EncodedStripe::default();
        let (mut rows, mut is_deleted, mut bytes) = (ByteStrings::default(), Vec::new(), 0);
        for value in values {
            let row = value.unwrap_or_default();
            rows.push(row);
            is_deleted.push(value.is_none());
            bytes += row.len();
            if self.is_full(rows.len(), bytes) {
                stripe.blocks.push(self.write(&rows, &is_deleted));
                (rows, bytes) = (ByteStrings::default(), 0);
                is_deleted.clear();
            }
        }
        if !rows.is_empty() {
            stripe.blocks.push(self.write(&rows, &is_deleted));
        }
        Some(stripe)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use store::StoreError;

    use super::*;
    use crate::columnar::Columnar;

    proptest! {
        /// Rows and deletions come back from batches as they were, whatever the size and the compression; damaged
        /// bytes give an error or other rows, and no panic.
        #[test]
        fn batches_come_back(
            rows in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..40)), 1..60),
            batch in prop::option::of(1..20_usize),
            level in 0..3_i32,
            damage in any::<(usize, u8)>(),
        ) {
            let compression = if level == 0 { Compression::None } else { Compression::Zstd(level) };
            let encoder = BatchEncoder { rows: batch, compression };
            let values: Vec<Option<&[u8]>> = rows.iter().map(Option::as_deref).collect();
            let stripe = encoder.encode(&values).expect("it always encodes");
            let mut read = Vec::new();
            for block in &stripe.blocks {
                prop_assert!(batch.is_none_or(|most| block.rows <= most));
                let [EncodedPart::Own(bytes)] = &block.parts[..] else { panic!("one part") };
                let part = |bytes: &[u8]| {
                    let bytes: Arc<[u8]> = bytes.into();
                    move |_: usize| -> std::result::Result<Arc<[u8]>, StoreError> { Ok(bytes.clone()) }
                };
                let decoder = Columnar::decoder();
                let mut each = |row: &[u8]| read.push(row.to_vec());
                decoder.decode(&block.head, block.rows, &part(bytes), &mut each).expect("it decodes");
                let mut damaged = bytes.clone();
                let at = damage.0 % damaged.len();
                damaged[at] ^= damage.1;
                let _ = decoder.decode(&block.head, block.rows, &part(&damaged), &mut |_| {});
            }
            let rows: Vec<Vec<u8>> = rows.into_iter().map(Option::unwrap_or_default).collect();
            prop_assert_eq!(read, rows);
        }
    }

    /// The catalog gives settings back as they were.
    #[test]
    fn settings_come_back() {
        for batch_rows in [None, Some(1), Some(100_000)] {
            for (name, level) in [(None, None), (Some(0), Some(19))] {
                let compressing = Compressing { name, level };
                let settings = BatchSettings { compressing, batch_rows };
                assert_eq!(BatchSettings::from_bytes(&settings.to_bytes()), Some(settings));
            }
        }
        assert_eq!(BatchSettings::from_bytes(&[1, 2, 3]), None);
    }
}
