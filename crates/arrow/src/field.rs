//! What a table's columns are.

use polars_arrow_format::ipc;

/// What a column holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Whole numbers from 0 on, 64 bits.
    U64,
    /// Whole numbers, 64 bits.
    I64,
    /// Floating point, 64 bits.
    F64,
    /// Truth values.
    Bool,
    /// UTF-8 text.
    Text,
    /// Moments in ns since 1970, UTC.
    Time,
    /// As many of these in each row as there are.
    List(Box<Field>),
    /// One of each of these in each row.
    Struct(Vec<Field>),
}

/// A column's name, what it holds, and what is said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    name: String,
    pub(crate) kind: Kind,
    nullable: bool,
    metadata: Vec<(String, String)>,
}

impl Field {
    /// A column in which nothing is null.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind, nullable: false, metadata: Vec::new() }
    }

    /// With nulls.
    pub fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// With this in its metadata.
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }

    pub(crate) fn schema(&self) -> ipc::Field {
        let children = match &self.kind {
            Kind::List(item) => vec![item.schema()],
            Kind::Struct(fields) => fields.iter().map(Field::schema).collect(),
            _ => Vec::new(),
        };
        ipc::Field {
            name: Some(self.name.clone()),
            nullable: self.nullable,
            type_: Some(self.kind.type_()),
            dictionary: None,
            children: Some(children),
            custom_metadata: (!self.metadata.is_empty()).then(|| entries(self.metadata.iter().cloned())),
        }
    }
}

impl Kind {
    fn type_(&self) -> ipc::Type {
        let int = |is_signed| ipc::Type::Int(Box::new(ipc::Int { bit_width: 64, is_signed }));
        match self {
            Kind::U64 => int(false),
            Kind::I64 => int(true),
            Kind::F64 => ipc::Type::FloatingPoint(Box::new(ipc::FloatingPoint { precision: ipc::Precision::Double })),
            Kind::Bool => ipc::Type::Bool(Box::new(ipc::Bool {})),
            Kind::Text => ipc::Type::Utf8(Box::new(ipc::Utf8 {})),
            Kind::Time => {
                let (unit, timezone) = (ipc::TimeUnit::Nanosecond, Some("UTC".into()));
                ipc::Type::Timestamp(Box::new(ipc::Timestamp { unit, timezone }))
            }
            Kind::List(_) => ipc::Type::List(Box::new(ipc::List {})),
            Kind::Struct(_) => ipc::Type::Struct(Box::new(ipc::Struct {})),
        }
    }
}

pub fn entries(metadata: impl IntoIterator<Item = (String, String)>) -> Vec<ipc::KeyValue> {
    metadata.into_iter().map(|(key, value)| ipc::KeyValue { key: Some(key), value: Some(value) }).collect()
}
