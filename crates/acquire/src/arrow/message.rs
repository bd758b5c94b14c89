//! Messages and footer: <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>.

use polars_arrow_format::ipc::planus::Builder;
use polars_arrow_format::ipc::{
    Block, Buffer, Endianness, Field, FieldNode, FloatingPoint, Footer, Int, KeyValue, Message, MessageHeader,
    MetadataVersion, Precision, RecordBatch, Schema, TimeUnit, Timestamp, Type,
};

use super::{DESCRIPTION, END, FIXED, MAGIC, Rows, is_plain};
use crate::Channel;
use crate::format::description;

/// Writes the parts of a file or a stream of samples of some channels.
#[derive(Debug)]
pub struct File {
    schema: Schema,
    message: Vec<u8>,
}

impl File {
    /// Of these channels.
    pub fn new(channels: &[Channel]) -> Self {
        let schema = schema(channels);
        let mut message = Vec::new();
        put(MessageHeader::Schema(Box::new(schema.clone())), 0, &mut message);
        Self { schema, message }
    }

    /// What a stream begins with.
    pub fn schema(&self) -> &[u8] {
        &self.message
    }

    /// What a file begins with.
    pub fn begin(&self) -> Vec<u8> {
        [&MAGIC[..], &self.message].concat()
    }

    /// Appends a batch, and tells where in the file it is when it is written at `offset`.
    pub fn batch(&self, rows: &Rows, offset: u64, out: &mut Vec<u8>) -> Block {
        let (length, bytes) = (rows.len() as i64, 8 * rows.len() as i64);
        let columns = 0..rows.columns.len() as i64;
        let nodes = columns.clone().map(|_| FieldNode { length, null_count: 0 }).collect();
        // Nothing is ever null: the first buffer of a column, which would say what is, stays empty.
        let buffers = columns.clone().flat_map(|column| [0, bytes].map(|length| (column * bytes, length)));
        let batch = RecordBatch {
            length,
            nodes: Some(nodes),
            buffers: Some(buffers.map(|(offset, length)| Buffer { offset, length }).collect()),
            compression: None,
            variadic_buffer_counts: None,
        };
        let body_length = bytes * columns.end;
        let meta_data_length = put(MessageHeader::RecordBatch(Box::new(batch)), body_length, out) as i32;
        rows.columns.iter().flatten().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        Block { offset: offset as i64, meta_data_length, body_length }
    }

    /// Appends what a file ends with, after these batches.
    pub fn end(&self, blocks: &[Block], out: &mut Vec<u8>) {
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

/// The names of all columns. A channel that has the name of another one gets a suffix.
pub(super) fn names(channels: &[Channel]) -> Vec<String> {
    let mut names: Vec<String> = FIXED.map(String::from).to_vec();
    for channel in channels {
        let mut name = channel.name.clone();
        while names.contains(&name) {
            name.push_str(".channel");
        }
        names.push(name);
    }
    names
}

fn schema(channels: &[Channel]) -> Schema {
    let unsigned = || Type::Int(Box::new(Int { bit_width: 64, is_signed: false }));
    let fixed = FIXED.iter().map(|name| match *name {
        "time" => {
            (Type::Timestamp(Box::new(Timestamp { unit: TimeUnit::Nanosecond, timezone: Some("UTC".into()) })), None)
        }
        _ => (unsigned(), None),
    });
    let values = channels.iter().map(|channel| {
        let type_ = match is_plain(channel) {
            true => Type::Int(Box::new(Int { bit_width: 64, is_signed: true })),
            false => Type::FloatingPoint(Box::new(FloatingPoint { precision: Precision::Double })),
        };
        let (scale, offset) = (channel.scale.to_string(), channel.offset.to_string());
        let about = [("unit", channel.unit.clone()), ("scale", scale), ("offset", offset)];
        (type_, Some(about.map(|(key, value)| entry(key, value)).to_vec()))
    });
    let field = |(name, (type_, custom_metadata))| Field {
        name: Some(name),
        nullable: false,
        type_: Some(type_),
        dictionary: None,
        children: Some(Vec::new()),
        custom_metadata,
    };
    Schema {
        endianness: Endianness::Little,
        fields: Some(names(channels).into_iter().zip(fixed.chain(values)).map(field).collect()),
        custom_metadata: Some(vec![entry(DESCRIPTION, description(channels).to_string())]),
        features: None,
    }
}

fn entry(key: &str, value: String) -> KeyValue {
    KeyValue { key: Some(key.into()), value: Some(value) }
}
