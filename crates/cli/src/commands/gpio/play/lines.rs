//! Which signal of a file drives which line.

use std::str::FromStr;

use ontick_gpio::{Error, Line, Name};
use ontick_record::capture::Signals;

/// A signal and its line, as they are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineOf {
    signal: String,
    line: Name,
}

impl FromStr for LineOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once('=').filter(|(signal, _)| !signal.is_empty());
        let (signal, line) =
            parts.ok_or_else(|| format!("\"{text}\" gives no signal a line (write SIGNAL=LINE, as in D0=GPIO17)"))?;
        Ok(Self { signal: signal.into(), line: line.parse().map_err(|error| format!("{error}"))? })
    }
}

/// The places of the signals that are played, and the line of each. `only`: of those that are named.
pub fn choose(signals: &Signals, named: &[LineOf], only: bool) -> Result<Vec<(usize, Name)>, String> {
    let mut chosen: Vec<(usize, Name)> = Vec::new();
    for LineOf { signal, line } in named {
        let place = signals.place(signal).map_err(|error| error.to_string())?;
        if chosen.iter().any(|(other, _)| *other == place) {
            return Err(format!("signal {signal} is given two lines: give it one"));
        }
        chosen.push((place, line.clone()));
    }
    if !only {
        let mut without = Vec::new();
        for (place, signal) in signals.names().into_iter().enumerate() {
            if chosen.iter().any(|(other, _)| *other == place) {
                continue;
            }
            match own_line(&signal).map_err(|error| format!("signal {signal}: {error}"))? {
                Some(line) => chosen.push((place, line)),
                None => without.push(signal),
            }
        }
        if let [first, ..] = &without[..] {
            return Err(format!(
                "no line is called {}: say what drives which (--line {first}=LINE), or leave out what --line does not \
                 name (--only)",
                listed(&without)
            ));
        }
    }
    let is_twice = |n: &usize| chosen[..*n].iter().any(|(_, other)| *other == chosen[*n].1);
    if let Some(n) = (1..chosen.len()).find(is_twice) {
        return Err(format!("two signals are to drive line {}: give each a line of its own", chosen[n].1));
    }
    chosen.sort_by_key(|(place, _)| *place);
    Ok(chosen)
}

/// The line that a signal has its name from, if there is one.
fn own_line(signal: &str) -> Result<Option<Name>, Error> {
    let Ok(line) = signal.parse::<Name>() else { return Ok(None) };
    match Line::check_output(&line) {
        Ok(()) => Ok(Some(line)),
        // Any word could be the name of a line.
        Err(Error::NoSuchName { .. } | Error::NotFound { .. }) if matches!(line, Name::Own(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Names that fit a sentence.
fn listed(names: &[String]) -> String {
    const MOST: usize = 8;
    match names.len() {
        n if n > MOST => format!("{} and {} more", names[..MOST].join(", "), n - MOST),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ontick_gpio::sim;
    use ontick_record::capture::Format;

    use super::*;

    fn signals(names: &[&str]) -> Signals {
        let declared: String =
            names.iter().zip('!'..).map(|(name, code)| format!("$var wire 1 {code} {name} $end\n")).collect();
        let dump = format!("$timescale 1 us $end\n{declared}$enddefinitions $end\n");
        Signals::of(Cursor::new(dump), Format::Vcd, None).unwrap()
    }

    fn chosen(signals: &Signals, named: &[&str], only: bool) -> Result<Vec<(usize, String)>, String> {
        let named: Vec<LineOf> = named.iter().map(|text| text.parse().unwrap()).collect();
        choose(signals, &named, only)
            .map(|all| all.into_iter().map(|(place, line)| (place, line.to_string())).collect())
    }

    #[test]
    fn a_signal_drives_the_line_that_it_is_given_or_whose_name_it_has() {
        let chip = format!("chosen{}", std::process::id());
        let four = format!("sim:{chip}/4");
        let all = signals(&["D0", &four, "D1"]);
        let pairs = chosen(&all, &["D1=sim:other/5", "0=gpiochip9:1"], false).unwrap();
        assert_eq!(pairs, [(0, "gpiochip9:1".into()), (1, four.clone()), (2, "sim:other/5".into())]);
        assert_eq!(chosen(&all, &["D1=sim:other/5"], true).unwrap(), [(2, "sim:other/5".into())]);
        let error = chosen(&all, &["D1=sim:other/5"], false).unwrap_err();
        assert!(error.starts_with("no line is called D0: say what drives which (--line D0=LINE)"), "{error}");
        sim::remove(&chip).unwrap();
    }

    #[test]
    fn what_cannot_be_is_said() {
        let all = signals(&["D0", "D1"]);
        let refused = |named: &[&str]| chosen(&all, named, true).unwrap_err();
        assert!(refused(&["D7=sim:a/1"]).starts_with("there is no channel \"D7\""));
        assert_eq!(refused(&["D0=sim:a/1", "0=sim:a/2"]), "signal 0 is given two lines: give it one");
        let error = refused(&["D0=sim:a/1", "D1=sim:a/1"]);
        assert_eq!(error, "two signals are to drive line sim:a/1: give each a line of its own");
        assert!("D0".parse::<LineOf>().unwrap_err().contains("gives no signal a line"));
        assert!("=sim:a/1".parse::<LineOf>().is_err());
        assert!("D0=sim:a".parse::<LineOf>().unwrap_err().contains("names no line"));
        assert_eq!("a=b=sim:a/1".parse::<LineOf>().unwrap().signal, "a=b");
        let many: Vec<String> = (0..11).map(|n| format!("D{n}")).collect();
        assert!(listed(&many).ends_with("D7 and 3 more"));
    }
}
