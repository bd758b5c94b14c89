//! How each kind of change is undone.

use serde::{Deserialize, Serialize};

use crate::value_format::ValueFormat;

/// How one change is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Undo {
    /// A value in a file of the kernel.
    Value {
        /// Which file.
        path: String,
        /// How its values are written.
        form: ValueFormat,
        /// What it showed, byte for byte.
        original: String,
        /// What it was to be.
        wanted: String,
    },
    /// A value that the kernel changes of its own when it changes another.
    Along {
        /// Which file.
        path: String,
        /// How its values are written.
        form: ValueFormat,
        /// What it showed, byte for byte.
        original: String,
    },
    /// A file on a disk.
    File {
        /// Which file.
        path: String,
        /// What it held; `None` where it was not there.
        original: Option<Content>,
        /// What it was to hold.
        wanted: Content,
        /// A dated copy of the original beside it.
        backup: Option<String>,
        /// What stood there until then, where that was ontick's own, too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stood: Option<Content>,
        /// What it would hold without ontick's part, where it was not there and others may have a part in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<Content>,
    },
    /// A symbolic link that was not there.
    Link {
        /// Which.
        path: String,
        /// Where it points.
        target: String,
    },
    /// A folder that was not there (a control group).
    Folder {
        /// Which.
        path: String,
    },
    /// A folder full of files that was not there: a kernel's modules, its files under `/boot`.
    Tree {
        /// Which.
        path: String,
        /// The files in it that people edit, and what they held.
        texts: Vec<(String, Content)>,
    },
    /// A file that was not there and is too large to be kept here.
    Placed {
        /// Which.
        path: String,
        /// Its length, in bytes.
        size: u64,
        /// Its CRC-32.
        crc: u32,
    },
    /// A variable of GRUB's environment block.
    Variable {
        /// The block's file.
        path: String,
        /// The variable.
        key: String,
        /// What it was; `None` where it was not set.
        original: Option<String>,
        /// What it was to be.
        wanted: String,
    },
    /// A variable of the firmware, as its file shows it.
    Firmware {
        /// The file.
        path: String,
        /// What it held; `None` where it was not there.
        original: Option<Content>,
        /// What it was to hold.
        wanted: Content,
    },
    /// A task that was moved from one control group to another.
    Task {
        /// Its thread number.
        task: u32,
        /// When it started, in ticks since boot: numbers are used again.
        started: u64,
        /// Its name.
        name: String,
        /// The `tasks` or `cgroup.threads` file that it was in.
        from: String,
        /// The one that it was moved to.
        to: String,
    },
}

impl Undo {
    /// What it is about.
    pub fn path(&self) -> &str {
        match self {
            Self::Value { path, .. }
            | Self::Along { path, .. }
            | Self::File { path, .. }
            | Self::Link { path, .. }
            | Self::Folder { path }
            | Self::Tree { path, .. }
            | Self::Placed { path, .. }
            | Self::Variable { path, .. }
            | Self::Firmware { path, .. } => path,
            Self::Task { to, .. } => to,
        }
    }

    /// Whether the change outlives a restart of the machine.
    pub fn outlives_boot(&self) -> bool {
        match self {
            Self::File { .. }
            | Self::Link { .. }
            | Self::Tree { .. }
            | Self::Placed { .. }
            | Self::Variable { .. }
            | Self::Firmware { .. } => true,
            Self::Folder { path } => !path.starts_with("/sys/"),
            Self::Value { .. } | Self::Along { .. } | Self::Task { .. } => false,
        }
    }

    /// Whether two records speak of one thing.
    pub(super) fn same_thing(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Task { task, started, .. }, Self::Task { task: t, started: s, .. }) => (task, started) == (t, s),
            (Self::Task { .. }, _) | (_, Self::Task { .. }) => false,
            _ => self.path() == other.path(),
        }
    }
}

/// Bytes of a file, as text where they are text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Text.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|e| Self::Bytes(e.into_bytes()), Self::Text)
    }
}

impl Content {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}
