//! Messages and footer: <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>.

use polars_arrow_format::ipc::planus::Builder;
use polars_arrow_format::ipc::{
    Block, Endianness, Footer, Message, MessageHeader, MetadataVersion, RecordBatch, Schema,
};

use crate::column::{Column, Layout};
use crate::field::{Field, entries};

/// What a file begins with, and ends with without the zeros.
pub const MAGIC: &[u8; 8] = b"ARROW1\0\0";
/// The end of the messages.
pub const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Writes the parts of a file or a stream of some columns.
#[derive(Debug)]
pub struct Table {
    fields: Vec<Field>,
    schema: Schema,
    message: Vec<u8>,
}

impl Table {
    /// Of these columns, with this in the schema's metadata.
    pub fn new(fields: Vec<Field>, metadata: impl IntoIterator<Item = (String, String)>) -> Self {
        let schema = Schema {
            endianness: Endianness::Little,
            fields: Some(fields.iter().map(Field::schema).collect()),
            custom_metadata: Some(entries(metadata)),
            features: None,
        };
        let mut message = Vec::new();
        put(MessageHeader::Schema(Box::new(schema.clone())), 0, &mut message);
        Self { fields, schema, message }
    }

    /// An empty column for each field.
    pub fn columns(&self) -> Vec<Column> {
        self.fields.iter().map(|field| Column::of(&field.kind)).collect()
    }

    /// What a stream begins with; it ends with [`END`].
    pub fn begin_stream(&self) -> &[u8] {
        &self.message
    }

    /// What a file begins with.
    pub fn begin_file(&self) -> Vec<u8> {
        [&MAGIC[..], &self.message].concat()
    }

    /// Appends a batch, and tells where in the file it is when it is written at `offset`. The columns are as long as each
    /// other.
    pub fn batch(&self, columns: &[Column], offset: u64, out: &mut Vec<u8>) -> Block {
        let mut layout = Layout::default();
        columns.iter().for_each(|column| column.describe(&mut layout));
        let body_length = layout.end;
        let batch = RecordBatch {
            length: columns.first().map_or(0, Column::len) as i64,
            nodes: Some(layout.nodes),
            buffers: Some(layout.buffers),
            compression: None,
            variadic_buffer_counts: None,
        };
        let meta_data_length = put(MessageHeader::RecordBatch(Box::new(batch)), body_length, out) as i32;
        out.reserve(body_length as usize);
        columns.iter().for_each(|column| column.write(out));
        Block { offset: offset as i64, meta_data_length, body_length }
    }

    /// Appends what a file ends with, after these batches.
    pub fn end_file(&self, blocks: &[Block], out: &mut Vec<u8>) {
        out.extend_from_slice(&END);
        let footer = Footer {
            version: MetadataVersion::V5,
            schema: Some(Box::new(self.schema.clone())),
            dictionaries: Some(Vec::new()),
            record_batches: Some(blocks.to_vec()),
            custom_metadata: None,
        };
        let mut builder = Builder::new();
        let footer = builder.finish(&footer, None);
        out.extend_from_slice(footer);
        out.extend_from_slice(&(footer.len() as i32).to_le_bytes());
        out.extend_from_slice(&MAGIC[..6]);
    }
}

/// Appends a message's metadata, padded; how long it is with its prefix.
fn put(header: MessageHeader, body_length: i64, out: &mut Vec<u8>) -> usize {
    let message = Message { version: MetadataVersion::V5, header: Some(header), body_length, custom_metadata: None };
    let mut builder = Builder::new();
    let metadata = builder.finish(&message, None);
    let padded = metadata.len().next_multiple_of(8);
    out.extend_from_slice(&END[..4]);
    out.extend_from_slice(&(padded as i32).to_le_bytes());
    out.extend_from_slice(metadata);
    out.resize(out.len() + padded - metadata.len(), 0);
    padded + 8
}
