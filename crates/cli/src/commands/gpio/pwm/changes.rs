//! Changes that come as lines on standard input.

use std::io::{self, BufRead, BufReader, Read, stdin};
use std::sync::Arc;
use std::time::Duration;

use ontick_measure::Error;
use ontick_measure::pulse::{Modulation, Setpoint};
use ontick_rt::thread::block_signals;

use super::super::wire;
use crate::failure::Failure;
use crate::{flags, terminal};

/// No line with a change is longer.
const LONGEST: u64 = 1_000;
/// A terminal whose programs run in the background is asked again after this.
const AGAIN: Duration = Duration::from_millis(500);

/// What was asked for, as it was: a share of the period stays one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub period_ns: u64,
    pub high: High,
}

/// How long the line is high in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum High {
    /// In ns.
    Width(u64),
    /// In parts of a million of the period.
    Share(u32),
}

impl Wanted {
    pub fn modulation(self) -> Result<Modulation, Error> {
        let width_ns = match self.high {
            High::Width(ns) => ns,
            High::Share(ppm) => (u128::from(self.period_ns) * u128::from(ppm) / 1_000_000) as u64,
        };
        Modulation::new(self.period_ns, width_ns)
    }

    /// With one line's change.
    fn changed(self, line: &str) -> Result<Self, String> {
        let wrong = || format!("\"{line}\" changes nothing (write width 1200us, duty 30% or period 10ms)");
        let (what, value) = line.split_once(char::is_whitespace).ok_or_else(wrong)?;
        let value = value.trim();
        let changed = match what {
            "width" => Self { high: High::Width(flags::time(value)?), ..self },
            "duty" => Self { high: High::Share(wire::share(value)?), ..self },
            "period" => Self { period_ns: flags::interval(value)?, ..self },
            _ => return Err(wrong()),
        };
        changed.modulation().map_err(|error| error.to_string())?;
        Ok(changed)
    }
}

/// Takes changes from standard input until that ends, on a thread that nobody waits for.
pub fn follow(wanted: Wanted, setpoint: Arc<Setpoint>) -> Result<(), Failure> {
    let read = move || {
        // A program in the background that reads from its terminal would be stopped, and the line with it.
        block_signals();
        take(BufReader::new(stdin()), wanted, &setpoint, &terminal::say);
    };
    std::thread::Builder::new().name("ontick-changes".into()).spawn(read)?;
    Ok(())
}

/// Each line is a change, or is answered.
fn take(mut input: impl BufRead, mut wanted: Wanted, setpoint: &Setpoint, answer: &dyn Fn(&str)) {
    let mut line = Vec::new();
    loop {
        match input.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::EIO) => {
                std::thread::sleep(AGAIN);
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        }
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        if text.is_empty() {
            continue;
        }
        match wanted.changed(&text).and_then(|to| Ok((to, to.modulation().map_err(|error| error.to_string())?))) {
            Ok((to, modulation)) => {
                wanted = to;
                setpoint.set(modulation);
            }
            Err(why) => answer(&why),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const MIDDLE: Wanted = Wanted { period_ns: 20_000_000, high: High::Width(1_500_000) };

    /// What is set after these lines, and what was answered.
    fn after(lines: &[u8]) -> ((u64, u64), Vec<String>) {
        let (setpoint, said) = (Setpoint::new(MIDDLE.modulation().unwrap()), RefCell::new(Vec::new()));
        take(lines, MIDDLE, &setpoint, &|answer| said.borrow_mut().push(answer.to_owned()));
        let set = setpoint.get();
        ((set.period_ns(), set.width_ns()), said.into_inner())
    }

    #[test]
    fn lines_change_width_share_and_period() {
        assert_eq!(after(b"width 1200us\n"), ((20_000_000, 1_200_000), vec![]));
        assert_eq!(after(b"duty 30%\n\n  period   10ms \n"), ((10_000_000, 3_000_000), vec![]));
        assert_eq!(after(b"period 100Hz\nwidth 2ms"), ((10_000_000, 2_000_000), vec![]));
        assert_eq!(after(b"duty 0\n"), ((20_000_000, 0), vec![]));
        assert_eq!(after(b"duty 100%\n"), ((20_000_000, 20_000_000), vec![]));
    }

    #[test]
    fn a_bad_line_is_answered_and_changes_nothing() {
        for (line, reason) in [
            ("widht 1ms", "\"widht 1ms\" changes nothing (write width 1200us, duty 30% or period 10ms)"),
            ("1ms", "changes nothing"),
            ("width", "changes nothing"),
            ("width 5", "5"),
            ("width 30ms", "a width of 30ms does not fit into a period of 20ms"),
            ("period 1ms", "a width of 1.5ms does not fit into a period of 1ms"),
            ("period 2s", "not from 10us to 1s"),
            ("duty 101%", "0 to 100 percent"),
            ("width 1ms 2ms", "1ms 2ms"),
            ("\u{fffd}", "changes nothing"),
        ] {
            let (set, said) = after(format!("{line}\n").as_bytes());
            assert_eq!((set, said.len()), ((20_000_000, 1_500_000), 1), "{line}: {said:?}");
            assert!(said[0].contains(reason), "{line}: {said:?}");
        }
        // And those after it are taken all the same.
        let (set, said) = after(b"\xff\xff\nwidth 1ms\n");
        assert_eq!((set, said.len()), ((20_000_000, 1_000_000), 1));
        let endless = [b"x".repeat(5_000), b"\nwidth 1ms\n".to_vec()].concat();
        assert_eq!(after(&endless).0, (20_000_000, 1_000_000));
    }
}
