//! Value change dumps (IEEE 1364, clause 18): what analysers export and simulators write.

use std::io::Read;

use super::aside::{Aside, several_frames};
use super::clock::Clock;
use super::listener::{Channel, Header, Level, Levels, Listener};
use super::window::Window;
use super::{CaptureError, Rate};

/// Variables of a dump are held by name; a larger one is of a design, not of an instrument.
const MOST_NAMES: usize = 32 << 20;

/// What the declarations tell.
#[derive(Debug, Default)]
struct Declared {
    tool: String,
    tick_fs: Option<u128>,
    rate: Option<Rate>,
    channels: Vec<Channel>,
    /// The codes by which the dump calls the channels.
    codes: Vec<Vec<u8>>,
}

/// Reads a dump. A rate that somebody names goes before what the dump says.
pub(super) fn read<const N: usize>(
    input: impl Read,
    rate: Option<Rate>,
    listener: &mut impl Listener<N>,
) -> Result<(), CaptureError> {
    let mut words = Window::new(input);
    let declared = declarations(&mut words)?;
    let Some(tick_fs) = declared.tick_fs else {
        return Err(CaptureError::line(words.line(), "the dump has no $timescale: how long a tick is, is not known"));
    };
    let clock = Clock::of_ticks(tick_fs, rate.or(declared.rate));
    let chosen = listener.begin(Header { tool: declared.tool, channels: declared.channels, clock })?;
    let codes: Vec<Vec<u8>> = chosen.iter().map(|place| declared.codes[*place].clone()).collect();
    changes(&mut words, &codes, listener)
}

fn word<R: Read>(words: &mut Window<R>, what: &str) -> Result<String, CaptureError> {
    match words.word()? {
        Some(word) => Ok(String::from_utf8_lossy(word).into_owned()),
        None => Err(CaptureError::line(words.line(), format!("the dump ends within {what}"))),
    }
}

/// The words up to `$end`.
fn until_end<R: Read>(words: &mut Window<R>, what: &str) -> Result<Vec<String>, CaptureError> {
    // A comment may be long, and nobody reads it.
    const MOST: usize = 1 << 20;
    let (mut all, mut length) = (Vec::new(), 0);
    loop {
        match word(words, what)? {
            word if word == "$end" => return Ok(all),
            word => {
                length += word.len() + size_of::<String>();
                if length < MOST {
                    all.push(word);
                }
            }
        }
    }
}

/// What sigrok-cli puts before the first declaration, by the word it begins with.
fn aside<R: Read>(begin: &[u8], words: &mut Window<R>) -> Result<Option<Aside>, CaptureError> {
    if begin != b"META" {
        return Ok(Aside::of(&String::from_utf8_lossy(begin)));
    }
    let (key, value) = (word(words, "META")?, word(words, "META")?);
    Ok(Aside::of(&format!("META {key} {value}")))
}

fn declarations<R: Read>(words: &mut Window<R>) -> Result<Declared, CaptureError> {
    let (mut declared, mut scopes, mut held) = (Declared::default(), Vec::<String>::new(), 0);
    let mut is_first = true;
    loop {
        let Some(keyword) = words.word()? else {
            return Err(CaptureError::line(words.line(), "the dump ends before $enddefinitions"));
        };
        if !keyword.starts_with(b"$") {
            let keyword = keyword.to_owned();
            match aside(&keyword, words)?.filter(|_| is_first) {
                Some(Aside::Rate(rate)) => {
                    declared.rate = Some(rate);
                    continue;
                }
                Some(Aside::FrameBegins) => continue,
                Some(Aside::FrameEnds) | None => {}
            }
            let found = String::from_utf8_lossy(&keyword[..keyword.len().min(20)]).into_owned();
            return Err(CaptureError::line(
                words.line(),
                format!("\"{found}\" where a declaration ($timescale, $var, $enddefinitions) is due"),
            ));
        }
        is_first = false;
        let keyword = String::from_utf8_lossy(keyword).into_owned();
        let line = words.line();
        let within = until_end(words, &keyword)?;
        match keyword.as_str() {
            "$version" => declared.tool = within.join(" "),
            "$timescale" => declared.tick_fs = Some(timescale(&within.concat(), line)?),
            // As libsigrok writes it: "Acquisition with 4/4 channels at 24 MHz".
            "$comment" => {
                let rate = within.iter().position(|word| word == "at").map(|at| within[at + 1..].concat());
                declared.rate = declared.rate.or(rate.and_then(|rate| rate.parse().ok()));
            }
            "$scope" => {
                held += within.get(1).map_or(0, String::len);
                scopes.push(within.into_iter().nth(1).unwrap_or_default());
            }
            "$upscope" => drop(scopes.pop()),
            "$var" => {
                let [_, width, code, name, ..] = &within[..] else {
                    return Err(CaptureError::line(line, "a $var has a type, a width, a code and a name"));
                };
                // Only one bit is a level.
                if width == "1" {
                    let path = scopes.iter().map(String::as_str).chain([name.as_str()]).collect::<Vec<_>>().join(".");
                    held += path.len() + name.len() + code.len() + size_of::<Channel>();
                    declared.channels.push(Channel { name: name.clone(), path });
                    declared.codes.push(code.clone().into_bytes());
                }
            }
            "$enddefinitions" => break,
            _ => {}
        }
        if held > MOST_NAMES || scopes.len() > 1024 {
            return Err(CaptureError::line(line, "the dump declares more than can be held: dump fewer variables"));
        }
    }
    if declared.channels.is_empty() {
        return Err(CaptureError::line(words.line(), "the dump declares no variable of one bit"));
    }
    Ok(declared)
}

/// `1 us`, `100ps`: the length of a tick.
fn timescale(text: &str, line: u64) -> Result<u128, CaptureError> {
    const UNITS: [(&str, u32); 6] = [("fs", 0), ("ps", 3), ("ns", 6), ("us", 9), ("ms", 12), ("s", 15)];
    let unit = UNITS.iter().find_map(|(unit, power)| Some((text.strip_suffix(unit)?, *power)));
    match unit {
        Some((number @ ("1" | "10" | "100"), power)) => Ok(10u128.pow(power + number.len() as u32 - 1)),
        _ => Err(CaptureError::line(
            line,
            format!("the timescale \"{text}\" is not 1, 10 or 100 of s, ms, us, ns, ps or fs"),
        )),
    }
}

/// Reads the changes. What changes several times at one moment had only its last value.
fn changes<R: Read, const N: usize>(
    words: &mut Window<R>,
    codes: &[Vec<u8>],
    listener: &mut impl Listener<N>,
) -> Result<(), CaptureError> {
    let mut now: Option<u64> = None;
    let (mut levels, mut passed): (Levels<N>, Levels<N>) = ([Level::Unknown; N], [Level::Unknown; N]);
    // A value of several characters, whose code is the next word.
    let mut value: Option<Level> = None;
    // Between $comment and its $end nothing changes.
    let mut comment = false;
    let mut frames = 0;
    while let Some(word) = words.word()? {
        if let Some(level) = value.take() {
            if let Some(nth) = set(&mut levels, codes, word, level) {
                listener.unknown(words.line(), nth)?;
            }
            continue;
        }
        if comment {
            comment = word != b"$end";
            continue;
        }
        match word[0] {
            b'#' => {
                let time = number(&word[1..]).filter(|time| now.is_none_or(|now| *time >= now));
                let Some(time) = time else {
                    let found = String::from_utf8_lossy(&word[..word.len().min(24)]).into_owned();
                    let problem = match now.filter(|_| number(&word[1..]).is_some()) {
                        Some(now) => format!("the time {found} is before #{now}"),
                        None => format!("\"{found}\" is no time: a whole number of ticks below 2^64"),
                    };
                    return Err(CaptureError::line(words.line(), problem));
                };
                if levels != passed && now != Some(time) {
                    listener.levels(now.unwrap_or(0), levels);
                    passed = levels;
                }
                now = Some(time);
            }
            b'0' => drop(set(&mut levels, codes, &word[1..], Level::Low)),
            b'1' => drop(set(&mut levels, codes, &word[1..], Level::High)),
            b'x' | b'X' | b'z' | b'Z' | b'u' | b'U' | b'w' | b'W' | b'-' => {
                if let Some(nth) = set(&mut levels, codes, &word[1..], Level::Unknown) {
                    listener.unknown(words.line(), nth)?;
                }
            }
            b'h' | b'H' => drop(set(&mut levels, codes, &word[1..], Level::High)),
            b'l' | b'L' => drop(set(&mut levels, codes, &word[1..], Level::Low)),
            b'b' | b'B' => {
                value = Some(match word[word.len() - 1] {
                    b'0' => Level::Low,
                    b'1' => Level::High,
                    _ => Level::Unknown,
                });
            }
            // A real number or a text: its code follows, and no channel has it.
            b'r' | b'R' | b's' | b'S' => value = Some(Level::Unknown),
            b'$' => comment = word == b"$comment",
            b'F' if word == b"FRAME-END" => {
                frames += 1;
                if frames > 1 {
                    return Err(several_frames(words.line()));
                }
            }
            _ => {
                let found = String::from_utf8_lossy(&word[..word.len().min(24)]).into_owned();
                return Err(CaptureError::line(
                    words.line(),
                    format!("\"{found}\" is neither a time nor a change of a value"),
                ));
            }
        }
    }
    if value.is_some() {
        return Err(CaptureError::line(words.line(), "the dump ends within a change of a value"));
    }
    if levels != passed {
        listener.levels(now.unwrap_or(0), levels);
    }
    listener.end(now.unwrap_or(0));
    Ok(())
}

/// Sets what has this code; of what is unknown from here on, the first.
#[inline]
fn set<const N: usize>(levels: &mut Levels<N>, codes: &[Vec<u8>], code: &[u8], level: Level) -> Option<usize> {
    let mut first = None;
    for (place, watched) in codes.iter().enumerate() {
        if watched == code {
            levels[place] = level;
            first = first.or(Some(place));
        }
    }
    first.filter(|_| level == Level::Unknown)
}

#[inline]
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "$version a tool 1.0 $end\n$comment\n  Acquisition with 2/2 channels at 24 MHz\n$end\n\
        $timescale 100 ps $end\n$scope module top $end\n$var wire 1 ! D0 $end\n$var wire 8 % bus $end\n\
        $scope module inner $end\n$var reg 1 \" D0 $end\n$upscope $end\n$upscope $end\n$enddefinitions $end\n";

    #[derive(Default)]
    struct All {
        header: Option<Header>,
        levels: Vec<(u64, Levels)>,
        end: u64,
    }

    impl Listener for All {
        fn begin(&mut self, header: Header) -> Result<Vec<usize>, CaptureError> {
            let all = 0..header.channels.len().min(2);
            self.header = Some(header);
            Ok(all.collect())
        }
        fn levels(&mut self, tick: u64, levels: Levels) {
            self.levels.push((tick, levels));
        }
        fn end(&mut self, tick: u64) {
            self.end = tick;
        }
    }

    fn dumped(text: &str) -> Result<All, String> {
        let mut all = All::default();
        read(text.as_bytes(), None, &mut all).map(|()| all).map_err(|e| e.to_string())
    }

    fn first(all: &All) -> Vec<(u64, Level)> {
        all.levels.iter().map(|(at, levels)| (*at, levels[0])).collect()
    }

    #[test]
    fn declarations_name_channels_with_their_scopes() {
        let header = dumped(HEAD).unwrap().header.unwrap();
        assert_eq!((header.tool.as_str(), header.clock.rate().map(Rate::hertz)), ("a tool 1.0", Some(24_000_000)));
        let paths: Vec<&str> = header.channels.iter().map(|channel| channel.path.as_str()).collect();
        assert_eq!(paths, ["top.D0", "top.inner.D0"]);
    }

    #[test]
    fn changes_are_levels_from_their_time_on() {
        let text = format!("{HEAD}#0 $dumpvars 0! b0 % x\" $end\n#417 1! b101 %\n#833 0! 1\"\n#900\n");
        let all = dumped(&text).unwrap();
        let (low, high, unknown) = (Level::Low, Level::High, Level::Unknown);
        assert_eq!(all.levels, [(0, [low, unknown]), (417, [high, unknown]), (833, [low, high])]);
        assert_eq!(all.end, 900);
    }

    #[test]
    fn of_several_changes_at_a_moment_the_last_counts() {
        let all = dumped(&format!("{HEAD}#0 0!\n#5 1! 0!\n#7 1!\n#7 0!\n#9 1!")).unwrap();
        assert_eq!(first(&all), [(0, Level::Low), (9, Level::High)]);
    }

    #[test]
    fn other_values_and_comments_are_passed_over() {
        let all = dumped(&format!(
            "{HEAD}0! r1.5 & s0! ! #3 b1 ! $comment 0! #99 $end #5 bx ! #6 H! #7 $dumpoff z! $end #8 $dumpon L! $end"
        ));
        let (low, high, unknown) = (Level::Low, Level::High, Level::Unknown);
        // The text `s0!` has the code of a channel: what it says is no level.
        assert_eq!(first(&all.unwrap()), [(3, high), (5, unknown), (6, high), (7, unknown), (8, low)]);
    }

    #[test]
    fn a_frame_of_sigrok_cli_s_is_a_dump() {
        let told = HEAD.replace(" at 24 MHz", "");
        let all = dumped(&format!("FRAME-BEGIN\nMETA samplerate: 8000000\n{told}#0 0!\n#5 1!\nFRAME-END\n#9")).unwrap();
        assert_eq!((first(&all), all.end), (vec![(0, Level::Low), (5, Level::High)], 9));
        assert_eq!(all.header.unwrap().clock.rate().map(Rate::hertz), Some(8_000_000));
        for (text, word) in [
            ("META samplerate: 24 MHz\n$timescale 1 us $end", "line 1: \"MHz\" where a declaration"),
            ("META limit_samples: 5\n$timescale 1 us $end", "line 1: \"META\" where a declaration"),
            ("FRAME-END\n$timescale 1 us $end", "line 1: \"FRAME-END\" where a declaration"),
            ("$version x $end\nMETA samplerate: 5", "line 2: \"META\" where a declaration"),
            ("META samplerate:", "line 1: the dump ends within META"),
        ] {
            let error = dumped(text).map(|_| ()).unwrap_err();
            assert!(error.starts_with(word), "{text}: {error}");
        }
        let error = dumped(&format!("FRAME-BEGIN\n{HEAD}#0 0!\nFRAME-END\nFRAME-END\n#9")).map(|_| ()).unwrap_err();
        assert!(error.starts_with("line 17: the capture has several frames"), "{error}");
    }

    #[test]
    fn an_error_names_the_line_and_what_is_due() {
        for (text, word) in [
            ("", "line 1: the dump ends before $enddefinitions"),
            ("Dear diary", "line 1: \"Dear\" where a declaration"),
            ("$timescale 1 us $end\n$enddefinitions $end", "line 2: the dump declares no variable of one bit"),
            ("$timescale 3 us $end", "line 1: the timescale \"3us\" is not"),
            ("$var wire 1 $end", "line 1: a $var has"),
            ("$var wire 1 ! D0", "line 1: the dump ends within $var"),
            ("$var wire 1 ! D0 $end\n$enddefinitions $end\n", "line 2: the dump has no $timescale"),
        ] {
            let error = dumped(text).map(|_| ()).unwrap_err();
            assert!(error.starts_with(word), "{text}: {error}");
        }
        for (text, word) in [
            ("#5\n#4", "line 15: the time #4 is before #5"),
            ("#-5", "line 14: \"#-5\" is no time"),
            ("#99999999999999999999", "line 14: \"#99999999999999999999\" is no time"),
            ("#0 0!\nnonsense", "line 15: \"nonsense\" is neither"),
            ("#0 b1", "line 14: the dump ends within"),
        ] {
            let error = dumped(&format!("{HEAD}{text}")).map(|_| ()).unwrap_err();
            assert!(error.starts_with(word), "{text}: {error}");
        }
    }

    #[test]
    fn a_timescale_is_a_power_of_ten() {
        assert_eq!(timescale("1s", 1).unwrap(), 10u128.pow(15));
        assert_eq!(timescale("100fs", 1).unwrap(), 100);
        assert!(timescale("1000ps", 1).is_err() && timescale("1", 1).is_err());
    }
}
