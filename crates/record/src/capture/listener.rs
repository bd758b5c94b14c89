//! Between the readers of the formats and what measures: channels are offered and chosen, then levels pass.

use super::CaptureError;
use super::clock::Clock;

/// The level of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Level {
    Low,
    High,
    /// Not driven, or not defined, as simulators have it.
    #[default]
    Unknown,
}

impl Level {
    pub fn of(high: bool) -> Self {
        if high { Self::High } else { Self::Low }
    }

    pub fn opposite(self) -> Self {
        match self {
            Self::Low => Self::High,
            Self::High => Self::Low,
            Self::Unknown => Self::Unknown,
        }
    }
}

/// The levels of the channels that were chosen; where these are fewer, the others stay unknown.
pub(super) type Levels<const N: usize = 2> = [Level; N];

/// A channel that a file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Channel {
    /// As the file calls it.
    pub name: String,
    /// With what it is part of, where the file tells: `top.bus.clk`.
    pub path: String,
}

impl Channel {
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { path: name.clone(), name }
    }
}

/// What a file says before its first level.
#[derive(Debug, Clone)]
pub(super) struct Header {
    /// The program that wrote it, as far as it says.
    pub tool: String,
    pub channels: Vec<Channel>,
    pub clock: Clock,
}

/// Takes in what a reader finds of `N` channels at most.
pub(super) trait Listener<const N: usize = 2> {
    /// Which of the channels are wanted, by their places.
    fn begin(&mut self, header: Header) -> Result<Vec<usize>, CaptureError>;
    /// From this tick on these are the levels; ticks ascend. The first are those with which the capture begins.
    fn levels(&mut self, tick: u64, levels: Levels<N>);
    /// A line of a text says of the nth of the chosen channels that its level is unknown. An error ends the reading.
    fn unknown(&mut self, _line: u64, _nth: usize) -> Result<(), CaptureError> {
        Ok(())
    }
    /// The times of the file turned out to have steps of so many femtoseconds; said before the end, if at all.
    fn steps(&mut self, _step_fs: u128) {}
    /// The capture ends at this tick.
    fn end(&mut self, tick: u64);
}

/// The place of the channel that has a name, or else a number, counted from 0.
pub(super) fn choose(channels: &[Channel], named: &str) -> Result<usize, CaptureError> {
    let by = |is: &dyn Fn(&Channel) -> bool| -> Vec<usize> {
        channels.iter().enumerate().filter(|(_, channel)| is(channel)).map(|(place, _)| place).collect()
    };
    let mut found = by(&|channel| channel.path == named);
    if found.len() != 1 {
        found = by(&|channel| channel.name == named);
    }
    match (&found[..], named.parse::<usize>()) {
        ([place], _) => Ok(*place),
        ([], Ok(number)) if number < channels.len() => Ok(number),
        ([], _) => Err(CaptureError::NoChannel { named: named.into(), channels: names(channels) }),
        _ => {
            let paths: Vec<String> = found.iter().map(|place| channels[*place].path.clone()).collect();
            let tells = |path: &String| paths.iter().filter(|other| *other == path).count() == 1;
            match paths.iter().all(tells) {
                true => Err(CaptureError::Ambiguous { named: named.into(), channels: paths }),
                false => Err(CaptureError::SameName { named: named.into(), places: found }),
            }
        }
    }
}

pub(super) fn names(channels: &[Channel]) -> Vec<String> {
    channels.iter().map(|channel| channel.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_with_a_path_the_number_tells() {
        let channels = ["D0", "D1", "D0"].map(channel);
        assert_eq!(choose(&channels, "2").unwrap(), 2);
        let error = choose(&channels, "D0").unwrap_err().to_string();
        assert_eq!(error, "several channels are called \"D0\": name one by its number, of 0, 2");
    }

    fn channel(path: &str) -> Channel {
        Channel { name: path.rsplit('.').next().unwrap().into(), path: path.into() }
    }

    #[test]
    fn a_channel_is_chosen_by_name_then_by_number() {
        let channels = ["D0", "D1", "1"].map(channel);
        assert_eq!(["D1", "1", "0"].map(|named| choose(&channels, named).unwrap()), [1, 2, 0]);
        for named in ["D9", "3", ""] {
            assert!(matches!(choose(&channels, named), Err(CaptureError::NoChannel { .. })), "{named}");
        }
    }

    #[test]
    fn of_several_with_a_name_the_path_tells() {
        let channels = ["top.a.clk", "top.b.clk"].map(channel);
        assert_eq!(choose(&channels, "top.b.clk").unwrap(), 1);
        let error = choose(&channels, "clk").unwrap_err().to_string();
        assert_eq!(error, "several channels are called \"clk\": name one of top.a.clk, top.b.clk");
    }
}
