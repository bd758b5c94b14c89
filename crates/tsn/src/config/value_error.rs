//! Why a single value of a file cannot be what it is written as.

use ontick_units::UnitError;

use super::suggest;

/// What is wrong with a value, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// It is no time or rate.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// It is not of the kind, or not within the range, that is wanted.
    #[error("\"{text}\" is not {wanted}")]
    IsNot {
        /// The value.
        text: String,
        /// The kind or range.
        wanted: String,
    },
    /// It is none of the words that there are.
    #[error("\"{text}\" is none of {words}")]
    NoneOf {
        /// The value.
        text: String,
        /// The words, and what was probably meant.
        words: String,
    },
    /// It is more than there may be.
    #[error("\"{text}\" is more than {most}")]
    MoreThan {
        /// The value.
        text: String,
        /// The most.
        most: &'static str,
    },
    /// It is less than there may be.
    #[error("\"{text}\" is less than {least}")]
    LessThan {
        /// The value.
        text: String,
        /// The least.
        least: &'static str,
    },
    /// What follows an address is no mask.
    #[error("\"{0}\": what follows the slash is a length from 0 to 48, or a mask")]
    NoMask(String),
    /// An address has more bits than its mask.
    #[error("\"{text}\" has bits set that the mask leaves out; write \"{right}\"")]
    OutsideMask {
        /// The value.
        text: String,
        /// The same without these bits.
        right: String,
    },
    /// A network has more bits than its prefix.
    #[error("\"{text}\" has bits set behind its prefix; write \"{right}\"")]
    BehindPrefix {
        /// The value.
        text: String,
        /// The same without these bits.
        right: String,
    },
    /// An address that no frame has.
    #[error("no frame has an address of zeros")]
    ZeroAddress,
    /// An address that bridges keep to themselves.
    #[error("frames to {0} are not forwarded by any bridge (IEEE 802.1Q-2022 Table 8-1)")]
    NotForwarded(String),
    /// A stream with the address of all stations.
    #[error(
        "\"{0}\" is the address of all stations: frames of others to it, such as ARP's, would go the stream's way alone; give the stream an address of its own, or leave `address` out"
    )]
    Broadcast(String),
    /// A name of no characters.
    #[error("a name is not empty")]
    EmptyName,
    /// A name that is too long.
    #[error("a name has {0} characters at most")]
    LongName(usize),
    /// Nothing can be called so.
    #[error("\"{text}\": {rule}")]
    Name {
        /// The name.
        text: String,
        /// What names are like.
        rule: &'static str,
    },
}

impl ValueError {
    pub(crate) fn is_not(text: &str, wanted: impl Into<String>) -> Self {
        Self::IsNot { text: text.into(), wanted: wanted.into() }
    }

    pub(crate) fn none_of(text: &str, words: &[&str]) -> Self {
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        Self::NoneOf { text: text.into(), words: quoted.join(", ") + &suggest::among(text, words) }
    }

    pub(crate) fn more_than(text: &str, most: &'static str) -> Self {
        Self::MoreThan { text: text.into(), most }
    }

    pub(crate) fn less_than(text: &str, least: &'static str) -> Self {
        Self::LessThan { text: text.into(), least }
    }

    pub(crate) fn name(text: &str, rule: &'static str) -> Self {
        Self::Name { text: text.into(), rule }
    }
}
