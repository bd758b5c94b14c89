//! The edges of one or two channels, one by one: for whoever holds them against edges of his own.

use super::clock::Clock;
use super::listener::{Header, Level, Levels, Listener, choose, names};
use super::{CaptureError, Format};
use crate::run::Instrument;

/// Edges that are held; what an instrument recorded after them is left out.
const MOST: usize = 1 << 21;

/// A change of a channel's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// When, in ns: of a capture, since it began; by its clock.
    pub at_ns: u64,
    /// From low to high.
    pub rising: bool,
}

/// What an instrument recorded of one channel or two.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The program that wrote it, as far as it says.
    pub tool: String,
    /// The names of the channels.
    pub channels: Vec<String>,
    /// The edges of each channel, in order.
    pub edges: Vec<Vec<Edge>>,
    /// How long it recorded, in ns; where more edges came than are held, until the last that is.
    pub ends_ns: u64,
    /// Rate, resolution and number of edges.
    pub instrument: Instrument,
}

/// A listener that keeps edges.
pub(super) struct Keeping<'n> {
    named: &'n [String],
    clock: Option<Clock>,
    levels: Levels,
    is_full: bool,
    recorded: Recorded,
}

impl<'n> Keeping<'n> {
    /// Of the channels with these names or numbers; of the only one that there is without any.
    pub fn new(named: &'n [String]) -> Self {
        Self { named, clock: None, levels: Levels::default(), is_full: false, recorded: Recorded::default() }
    }

    pub fn finish(self, format: Format) -> Recorded {
        let edges = self.recorded.edges.iter().map(|edges| edges.len() as u64).sum();
        let instrument = Instrument {
            capture: format.words().into(),
            rate_hz: self.clock.and_then(|clock| clock.rate()).map(|rate| rate.hertz()),
            resolution_ps: self.clock.map_or(0, |clock| clock.resolution_ps()),
            edges,
        };
        Recorded { instrument, ..self.recorded }
    }
}

impl Listener for Keeping<'_> {
    fn begin(&mut self, header: Header) -> Result<Vec<usize>, CaptureError> {
        let chosen = match (self.named, header.channels.len()) {
            ([], 1) => vec![0],
            ([], _) => return Err(CaptureError::NoneNamed { channels: names(&header.channels) }),
            (named, _) => named.iter().map(|name| choose(&header.channels, name)).collect::<Result<Vec<_>, _>>()?,
        };
        if let [one, other] = chosen[..] {
            if one == other {
                return Err(CaptureError::SameChannel(header.channels[one].name.clone()));
            }
        }
        self.recorded.channels = chosen.iter().map(|place| header.channels[*place].name.clone()).collect();
        self.recorded.edges = vec![Vec::new(); chosen.len()];
        (self.recorded.tool, self.clock) = (header.tool, Some(header.clock));
        Ok(chosen)
    }

    #[inline]
    fn levels(&mut self, tick: u64, levels: Levels) {
        let Some(clock) = self.clock.filter(|_| !self.is_full) else { return };
        let at_ns = clock.ns(clock.place(tick));
        let before = std::mem::replace(&mut self.levels, levels);
        for (edges, (before, now)) in self.recorded.edges.iter_mut().zip(before.into_iter().zip(levels)) {
            if before.opposite() == now && now != Level::Unknown {
                edges.push(Edge { at_ns, rising: now == Level::High });
                self.is_full |= edges.len() == MOST;
            }
        }
        self.recorded.ends_ns = at_ns;
    }

    fn steps(&mut self, step_fs: u128) {
        self.clock = self.clock.map(|clock| clock.in_steps(step_fs));
    }

    fn end(&mut self, tick: u64) {
        if let Some(clock) = self.clock.filter(|_| !self.is_full) {
            self.recorded.ends_ns = clock.ns(clock.place(tick)).max(self.recorded.ends_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::edges;
    use super::*;

    const DUMP: &str = "$version sigrok $end $timescale 1 us $end $var wire 1 ! D0 $end $var wire 1 \" D1 $end
        $enddefinitions $end #0 1! 0\" #5 0! #7 1\" #9 1! 0\" #12 x! #20 0! #30";

    #[test]
    fn edges_are_kept_by_channel_and_an_unknown_level_is_none() {
        let named = ["D1".to_string(), "0".into()];
        let recorded = edges(Cursor::new(DUMP), Format::Vcd, &named).unwrap();
        let edge = |at_us: u64, rising| Edge { at_ns: at_us * 1_000, rising };
        assert_eq!(recorded.edges, [vec![edge(7, true), edge(9, false)], vec![edge(5, false), edge(9, true)]]);
        assert_eq!((recorded.channels, recorded.ends_ns), (vec!["D1".into(), "D0".into()], 30_000));
        assert_eq!((recorded.tool.as_str(), recorded.instrument.edges), ("sigrok", 4));
    }

    #[test]
    fn channels_are_named_unless_there_is_one() {
        let of = |named: &[&str]| {
            let named: Vec<String> = named.iter().map(|name| name.to_string()).collect();
            edges(Cursor::new(DUMP), Format::Vcd, &named).map(|recorded| recorded.channels)
        };
        assert!(matches!(of(&[]), Err(CaptureError::NoneNamed { .. })));
        assert!(matches!(of(&["D7"]), Err(CaptureError::NoChannel { .. })));
        assert!(matches!(of(&["D0", "0"]), Err(CaptureError::SameChannel(_))));
        assert_eq!(of(&["D1"]).unwrap(), ["D1"]);
    }
}
