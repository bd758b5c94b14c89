//! Changes that come as lines on standard input.

use std::io::{self, BufRead, BufReader, stdin};
use std::sync::Arc;
use std::time::Duration;

use ontick_measure::Error;
use ontick_measure::pulse::{Modulation, Setpoint};
use ontick_rt::thread::block_signals;
use rustix::event::{PollFd, PollFlags, poll};

use super::super::wire;
use crate::failure::Failure;
use crate::{flags, terminal};

/// No line with a change is longer, in bytes.
const LONGEST: usize = 1_000;
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
        let ready = || poll(&mut [PollFd::new(&stdin(), PollFlags::IN)], None).map(drop).map_err(io::Error::from);
        take(BufReader::new(stdin()), &ready, wanted, &setpoint, &terminal::say);
    };
    std::thread::Builder::new().name("ontick-changes".into()).spawn(read)?;
    Ok(())
}

/// Each line is a change, or is answered. `ready` waits for more where reading does not.
fn take(
    mut input: impl BufRead,
    ready: &dyn Fn() -> io::Result<()>,
    mut wanted: Wanted,
    setpoint: &Setpoint,
    answer: &dyn Fn(&str),
) {
    let mut line = Vec::new();
    loop {
        let is_whole = match next_line(&mut input, ready, &mut line) {
            Ok(is_whole) => is_whole,
            Err(error) => {
                return answer(&format!(
                    "standard input cannot be read any more, so nothing changes from here on: {error}"
                ));
            }
        };
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        match is_whole {
            false if text.is_empty() => return,
            // Whoever wrote it may have died in the middle of it: `duty 10` may have been to be `duty 100%`.
            false => return answer("the last line was not ended, and changes nothing"),
            true if text.is_empty() => continue,
            true => {}
        }
        if line.len() > LONGEST {
            answer(&format!("a line of more than {LONGEST} bytes changes nothing"));
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

/// Reads the next line without its end, and of one that is too long a byte more than may be; `false` where the input ended
/// before the line did.
fn next_line(input: &mut impl BufRead, ready: &dyn Fn() -> io::Result<()>, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    loop {
        let came = match input.fill_buf() {
            Ok([]) => return Ok(false),
            Ok(came) => came,
            Err(error) => {
                wait_out(error, ready)?;
                continue;
            }
        };
        let end = came.iter().position(|byte| *byte == b'\n');
        let part = &came[..end.unwrap_or(came.len())];
        line.extend(part.iter().take((LONGEST + 1).saturating_sub(line.len())));
        let used = end.map_or(came.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Returns when it is worth reading again; the error where it is not.
fn wait_out(error: io::Error, ready: &dyn Fn() -> io::Result<()>) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        // Another program that has the same input may have made it so.
        io::ErrorKind::WouldBlock => match ready() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            waited => waited,
        },
        _ if error.raw_os_error() == Some(libc::EIO) => {
            std::thread::sleep(AGAIN);
            Ok(())
        }
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::io::Read;

    use super::*;

    const MIDDLE: Wanted = Wanted { period_ns: 20_000_000, high: High::Width(1_500_000) };

    /// What is set after these lines, and what was answered.
    fn after(lines: &[u8]) -> ((u64, u64), Vec<String>) {
        after_input(lines, &|| unreachable!("reading waits"))
    }

    fn after_input(input: impl BufRead, ready: &dyn Fn() -> io::Result<()>) -> ((u64, u64), Vec<String>) {
        let (setpoint, said) = (Setpoint::new(MIDDLE.modulation().unwrap()), RefCell::new(Vec::new()));
        take(input, ready, MIDDLE, &setpoint, &|answer| said.borrow_mut().push(answer.to_owned()));
        let set = setpoint.get();
        ((set.period_ns(), set.width_ns()), said.into_inner())
    }

    #[test]
    fn lines_change_width_share_and_period() {
        assert_eq!(after(b"width 1200us\n"), ((20_000_000, 1_200_000), vec![]));
        assert_eq!(after(b"duty 30%\n\n  period   10ms \n"), ((10_000_000, 3_000_000), vec![]));
        assert_eq!(after(b"period 100Hz\nwidth 2ms\n"), ((10_000_000, 2_000_000), vec![]));
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
    }

    #[test]
    fn no_part_of_a_line_is_taken_for_a_line() {
        for length in [LONGEST - 5, LONGEST, LONGEST + 1, 5_000, 100_000] {
            let endless = [b"x".repeat(length), b"duty 100%\nwidth 1ms\n".to_vec()].concat();
            let (set, said) = after(&endless);
            assert_eq!((set, said.len()), ((20_000_000, 1_000_000), 1), "{length}: {said:?}");
        }
        let (set, said) = after(&b"duty 100%".repeat(200));
        assert_eq!((set, said.len()), ((20_000_000, 1_500_000), 1), "{said:?}");
        // Nobody knows what it was to become.
        let (set, said) = after(b"width 1ms\nduty 10");
        assert_eq!(set, (20_000_000, 1_000_000));
        assert_eq!(said, ["the last line was not ended, and changes nothing"]);
        assert_eq!(after(b"width 1ms\n "), ((20_000_000, 1_000_000), vec![]));
    }

    /// Gives one of these after the other.
    struct Given(Vec<Result<&'static [u8], io::ErrorKind>>);

    impl Read for Given {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            match self.0.is_empty() {
                true => Ok(0),
                false => self.0.remove(0)?.read(room),
            }
        }
    }

    #[test]
    fn an_input_that_does_not_block_is_waited_for() {
        let waited = Cell::new(0);
        let ready = || {
            waited.set(waited.get() + 1);
            Ok(())
        };
        let again = Err(io::ErrorKind::WouldBlock);
        let given = Given(vec![again, Ok(b"width"), Err(io::ErrorKind::Interrupted), again, Ok(b" 1ms\n")]);
        assert_eq!(after_input(BufReader::new(given), &ready), ((20_000_000, 1_000_000), vec![]));
        assert_eq!(waited.get(), 2);
    }

    #[test]
    fn where_the_input_cannot_be_read_any_more_that_is_said() {
        let given = Given(vec![Ok(b"width 1ms\n"), Err(io::ErrorKind::IsADirectory), Ok(b"width 2ms\n")]);
        let (set, said) = after_input(BufReader::new(given), &|| Ok(()));
        assert_eq!((set, said.len()), ((20_000_000, 1_000_000), 1));
        assert!(said[0].starts_with("standard input cannot be read any more"), "{said:?}");
    }
}
