//! The levels of several channels, change by change: for whoever makes them again.

use std::io::{Read, Seek};

use super::clock::Clock;
use super::listener::{Channel, Header, Level, Levels, Listener, choose, names};
use super::{CaptureError, Format, Rate, hand_on};

/// Channels that are held: a bit each.
const MOST_CHANNELS: usize = 64;
/// Changes that are held.
const MOST: usize = 1 << 21;

/// The channels that a capture has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signals(Vec<Channel>);

impl Signals {
    /// Reads no further than what a capture says of its channels.
    pub fn of(input: impl Read + Seek, format: Format, rate: Option<Rate>) -> Result<Self, CaptureError> {
        let mut looking = Looking(None);
        match (hand_on(input, format, rate, &mut looking), looking.0) {
            (_, Some(channels)) => Ok(Self(channels)),
            (Err(error), None) => Err(error),
            (Ok(()), None) => Ok(Self::default()),
        }
    }

    /// As the capture calls them.
    pub fn names(&self) -> Vec<String> {
        names(&self.0)
    }

    /// The place of the one that has a name, or else a number, counted from 0.
    pub fn place(&self, named: &str) -> Result<usize, CaptureError> {
        choose(&self.0, named)
    }
}

struct Looking(Option<Vec<Channel>>);

impl Listener for Looking {
    fn begin(&mut self, header: Header) -> Result<Vec<usize>, CaptureError> {
        self.0 = Some(header.channels);
        // Nothing more is to be read.
        Err(CaptureError::Unknown)
    }

    fn levels(&mut self, _: u64, _: Levels) {}

    fn end(&mut self, _: u64) {}
}

/// A moment at which one channel or several change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// When, in ns since the capture began.
    pub at_ns: u64,
    /// The levels from then on: bit n is that of the nth channel.
    pub levels: u64,
}

/// What a capture says of some of its channels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moments {
    /// The levels with which it begins.
    pub first: u64,
    /// The changes, in order.
    pub changes: Vec<Moment>,
    /// How long it lasts, in ns.
    pub length_ns: u64,
}

impl Moments {
    /// The most channels, and the most changes.
    pub const MOST: (usize, usize) = (MOST_CHANNELS, MOST);

    /// Reads a capture; `places` are those of the channels. Each must have a level all the time.
    ///
    /// ```
    /// use ontick_record::capture::{Format, Moment, Moments};
    /// let dump = "$timescale 1 us $end $var wire 1 ! D0 $end $enddefinitions $end #0 0! #10 1! #110 0! #200";
    /// let moments = Moments::read(std::io::Cursor::new(dump), Format::Vcd, None, &[0]).unwrap();
    /// assert_eq!(moments.changes[0], Moment { at_ns: 10_000, levels: 1 });
    /// assert_eq!((moments.first, moments.changes.len(), moments.length_ns), (0, 2, 200_000));
    /// ```
    pub fn read(
        input: impl Read + Seek,
        format: Format,
        rate: Option<Rate>,
        places: &[usize],
    ) -> Result<Self, CaptureError> {
        let mut keeping = Keeping { places, names: Vec::new(), clock: None, begun: None, is_full: false, lacks: None };
        let mut moments = Self::default();
        hand_on(input, format, rate, &mut Kept { keeping: &mut keeping, moments: &mut moments })?;
        if let Some(name) = keeping.lacks {
            return Err(CaptureError::NoLevel(name));
        }
        match keeping.is_full {
            true => Err(CaptureError::TooMany { most: MOST }),
            false => Ok(moments),
        }
    }
}

struct Keeping<'p> {
    places: &'p [usize],
    names: Vec<String>,
    clock: Option<Clock>,
    /// When the capture began, in what the clock counts.
    begun: Option<u64>,
    is_full: bool,
    /// A channel without a level at the beginning.
    lacks: Option<String>,
}

struct Kept<'a, 'p> {
    keeping: &'a mut Keeping<'p>,
    moments: &'a mut Moments,
}

impl Kept<'_, '_> {
    fn since_begun_ns(&self, tick: u64) -> u64 {
        let Some(clock) = self.keeping.clock else { return 0 };
        let begun = self.keeping.begun.unwrap_or_default();
        clock.ns(clock.place(tick).saturating_sub(begun))
    }
}

impl Listener<MOST_CHANNELS> for Kept<'_, '_> {
    fn begin(&mut self, header: Header) -> Result<Vec<usize>, CaptureError> {
        self.keeping.names = self.keeping.places.iter().map(|place| header.channels[*place].name.clone()).collect();
        self.keeping.clock = Some(header.clock);
        Ok(self.keeping.places.to_vec())
    }

    #[inline]
    fn levels(&mut self, tick: u64, levels: Levels<MOST_CHANNELS>) {
        let bit = |(n, level): (usize, &Level)| u64::from(*level == Level::High) << n;
        let bits = levels.iter().enumerate().map(bit).sum();
        if self.keeping.begun.is_none() {
            self.keeping.begun = self.keeping.clock.map(|clock| clock.place(tick));
            let unknown = levels.iter().zip(&self.keeping.names).find(|(level, _)| **level == Level::Unknown);
            self.keeping.lacks = unknown.map(|(_, name)| name.clone());
            self.moments.first = bits;
            return;
        }
        let at_ns = self.since_begun_ns(tick);
        self.moments.length_ns = at_ns;
        let changes = &mut self.moments.changes;
        // Within a nanosecond only the last levels count.
        if changes.last().is_some_and(|last| last.at_ns == at_ns) {
            changes.pop();
        }
        if changes.last().map_or(self.moments.first, |last| last.levels) != bits {
            match changes.len() < MOST {
                true => changes.push(Moment { at_ns, levels: bits }),
                false => self.keeping.is_full = true,
            }
        }
    }

    fn unknown(&mut self, line: u64, nth: usize) -> Result<(), CaptureError> {
        let name = self.keeping.names.get(nth).cloned().unwrap_or_default();
        Err(CaptureError::line(line, format!("the level of {name} is not known here (neither 0 nor 1)")))
    }

    fn end(&mut self, tick: u64) {
        self.moments.length_ns = self.since_begun_ns(tick).max(self.moments.length_ns);
        if self.keeping.begun.is_none() {
            self.keeping.lacks = self.keeping.names.first().cloned();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const DUMP: &str = "$timescale 1 us $end\n$var wire 1 ! D0 $end\n$var wire 1 \" D1 $end\n$var wire 1 # D2 $end\n\
        $enddefinitions $end\n#5 1! 0\" x#\n#7 0! 1\"\n#9 0\"\n#20\n";

    fn read(dump: &str, places: &[usize]) -> Result<Moments, String> {
        Moments::read(Cursor::new(dump), Format::Vcd, None, places).map_err(|error| error.to_string())
    }

    #[test]
    fn levels_of_several_channels_are_kept_by_their_places() {
        let moments = read(DUMP, &[1, 0]).unwrap();
        let changes: Vec<_> = moments.changes.iter().map(|change| (change.at_ns, change.levels)).collect();
        assert_eq!((moments.first, changes, moments.length_ns), (0b10, vec![(2_000, 0b01), (4_000, 0)], 15_000));
        // Changes of others are none.
        assert_eq!(read(DUMP, &[0]).unwrap().changes.len(), 1);
    }

    #[test]
    fn all_sixty_four_have_a_bit() {
        let (mut head, mut levels) = (String::from("$timescale 1 us $end\n"), String::from("#0\n"));
        for n in 0..64 {
            head += &format!("$var wire 1 c{n} D{n} $end\n");
            levels += &format!("{}c{n}\n", n % 2);
        }
        let dump = format!("{head}$enddefinitions $end\n{levels}#1 1c0\n#2\n");
        let moments = read(&dump, &(0..64).collect::<Vec<_>>()).unwrap();
        assert_eq!((moments.first, moments.changes[0].levels), (0xaaaa_aaaa_aaaa_aaaa, 0xaaaa_aaaa_aaaa_aaab));
    }

    #[test]
    fn a_level_that_is_not_known_is_refused_with_its_line() {
        assert_eq!(read(DUMP, &[0, 2]).unwrap_err(), "line 6: the level of D2 is not known here (neither 0 nor 1)");
        let late = DUMP.replace(" x#", "").replace("#9 0\"", "#9 0\" z!");
        assert_eq!(read(&late, &[0]).unwrap_err(), "line 8: the level of D0 is not known here (neither 0 nor 1)");
        let error = read(&late, &[0, 2]).unwrap_err();
        assert!(error.starts_with("line 8: "), "{error}");
        assert_eq!(read(&late, &[1, 2]).unwrap_err(), "it does not say at which level D2 begins");
        let empty = DUMP.split_once("#5").unwrap().0;
        assert_eq!(read(empty, &[0]).unwrap_err(), "it does not say at which level D0 begins");
        let bus = DUMP.replace("#9 0\"", "#9 bz \"");
        assert!(read(&bus, &[1]).unwrap_err().starts_with("line 8: the level of D1"));
    }

    #[test]
    fn what_is_shorter_than_a_nanosecond_is_nothing() {
        let fine = DUMP
            .replace("1 us", "1 ps")
            .replace("#7 0! 1\"\n#9 0\"", "#7 1\"\n#9 0\"\n#9005 0!")
            .replace("#20", "#9020");
        let moments = read(&fine, &[0, 1]).unwrap();
        assert_eq!(moments.changes, [Moment { at_ns: 9, levels: 0 }]);
    }

    #[test]
    fn channels_are_found_without_reading_what_comes_of_them() {
        let signals = Signals::of(Cursor::new(DUMP.replace("#7", "nonsense")), Format::Vcd, None).unwrap();
        assert_eq!((signals.names(), signals.place("D1").unwrap()), (vec!["D0".into(), "D1".into(), "D2".into()], 1));
        assert!(signals.place("D7").unwrap_err().to_string().contains("there is no channel \"D7\""));
        assert!(Signals::of(Cursor::new("$timescale 3 us $end"), Format::Vcd, None).is_err());
    }
}
