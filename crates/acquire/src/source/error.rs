//! What is wrong with the description of a source.

use ontick_gpio::NameError;

/// What is wrong with the description of a source, and what would be right.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No device is named.
    #[error("which device? ({0})")]
    NoDevice(&'static str),
    /// No channel is named.
    #[error("which channels? (DEVICE/voltage0,voltage1)")]
    NoChannels,
    /// No converter is named.
    #[error("which converter? (one of {0})")]
    NoConverter(String),
    /// No converter has this name.
    #[error("\"{name}\" is no known converter (choose one of {known})")]
    UnknownConverter {
        /// What was asked for.
        name: String,
        /// Those that are known.
        known: String,
    },
    /// No option has this name.
    #[error("\"{word}\" is no option (there are {known})")]
    UnknownOption {
        /// What was given.
        word: String,
        /// Those that there are.
        known: String,
    },
    /// An option or a channel, twice.
    #[error("{0} is given twice")]
    Twice(String),
    /// No channel has this name.
    #[error("\"{0}\" is no channel (voltage0, temp, accel_x, voltage0-voltage1)")]
    BadChannel(String),
    /// The converter has fewer channels.
    #[error("channels=\"{range}\": the {converter} has 0-{last}")]
    ChannelRange {
        /// What was asked for.
        range: String,
        /// The converter.
        converter: &'static str,
        /// Its last channel.
        last: u8,
    },
    /// A reference voltage that no converter takes.
    #[error("vref=\"{0}\" is no voltage from 0.1 to 10")]
    Vref(String),
    /// The converter has its own.
    #[error("the reference of the {converter} is inside, {volts} V: leave vref out")]
    VrefInside {
        /// The converter.
        converter: &'static str,
        /// Its reference.
        volts: f64,
    },
    /// A clock that the converter does not take.
    #[error("speed=\"{text}\": the {converter} takes 10kHz to {most_khz}kHz")]
    Speed {
        /// What was asked for.
        text: String,
        /// The converter.
        converter: &'static str,
        /// Its fastest clock.
        most_khz: u32,
    },
    /// A length of the kernel's buffer.
    #[error("length=\"{0}\" is no number of scans from 2 to 1000000")]
    Length(String),
    /// More lines than are read at once.
    #[error("{count} lines are more than a group may have ({most})")]
    ManyLines {
        /// How many.
        count: usize,
        /// The most.
        most: usize,
    },
    /// A range without its end.
    #[error("\"{0}\" has no last line (a range is sim:bench/0-7)")]
    NoLastLine(String),
    /// A range of none or of too many.
    #[error("\"{text}\" is no range of up to {most} lines")]
    LineRange {
        /// What was given.
        text: String,
        /// The most.
        most: usize,
    },
    /// A line's name.
    #[error(transparent)]
    Line(#[from] NameError),
}
