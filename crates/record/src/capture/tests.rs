use std::fmt::Write;

use proptest::prelude::*;

use super::sigrok::tests::session;
use super::*;
use crate::{Measurement, Series};

/// Moments at which a channel changes, in samples; it begins low. The second channel follows so many samples later.
struct Train {
    hertz: u64,
    changes: Vec<u64>,
    delay: u64,
}

impl Train {
    fn rate(&self) -> Rate {
        Rate::new(self.hertz)
    }

    /// Levels of D0 and D1, sample by sample.
    fn samples(&self) -> Vec<[bool; 2]> {
        let length = self.changes.last().map_or(0, |last| last + self.delay + 3);
        let high = |at: u64| self.changes.iter().filter(|change| **change <= at).count() % 2 == 1;
        (0..length).map(|at| [high(at), at.checked_sub(self.delay).is_some_and(high)]).collect()
    }

    fn sr(&self) -> Vec<u8> {
        let samples: Vec<u8> = self.samples().iter().map(|[a, b]| u8::from(*a) | u8::from(*b) << 1 | 0b100).collect();
        session(self.rate(), &samples, 1000)
    }

    /// As libsigrok rounds it: to a tenth of a nanosecond.
    fn vcd(&self) -> Vec<u8> {
        let mut text = format!(
            "$comment\n Acquisition with 2/2 channels at {}\n$end\n$timescale 100 ps $end\n\
             $var wire 1 ! D0 $end\n$var wire 1 \" D1 $end\n$enddefinitions $end\n",
            self.rate()
        );
        let mut before = None;
        for (i, levels) in self.samples().into_iter().enumerate() {
            if before.replace(levels) != Some(levels) {
                let tick = (i as u128 * 10_000_000_000 + u128::from(self.hertz) / 2) / u128::from(self.hertz);
                writeln!(text, "#{tick} {}! {}\"", u8::from(levels[0]), u8::from(levels[1])).unwrap();
            }
        }
        text.into_bytes()
    }

    fn csv(&self) -> Vec<u8> {
        let mut text = format!("; Channels (2/2): D0, D1\n; Samplerate: {}\nlogic,logic\n", self.rate());
        for [a, b] in self.samples() {
            writeln!(text, "{},{}", u8::from(a), u8::from(b)).unwrap();
        }
        text.into_bytes()
    }

    /// As Logic 2 has it: a row for each change, to a nanosecond.
    fn logic_2(&self) -> Vec<u8> {
        let (mut text, mut before) = ("Time [s],D0,D1\n".to_owned(), None);
        for (i, levels) in self.samples().into_iter().enumerate() {
            if before.replace(levels) != Some(levels) {
                let seconds = i as f64 / self.hertz as f64;
                writeln!(text, "{seconds:.9},{},{}", u8::from(levels[0]), u8::from(levels[1])).unwrap();
            }
        }
        text.into_bytes()
    }

    fn all(&self) -> [(Vec<u8>, Option<Rate>); 4] {
        [(self.sr(), None), (self.vcd(), None), (self.csv(), None), (self.logic_2(), Some(self.rate()))]
    }

    /// So many samples, in whole nanoseconds.
    fn ns(&self, samples: u64) -> u64 {
        (samples as f64 * 1e9 / self.hertz as f64).round() as u64
    }
}

fn measured(file: &[u8], rate: Option<Rate>, subject: &Subject) -> Result<Run, String> {
    let job = Job { subject: subject.clone(), rate };
    read(Cursor::new(file), "file", None, &job).map_err(|e| e.to_string())
}

/// Lengths, each as often as it came, ascending.
fn lengths(series: &Series) -> Vec<u64> {
    series.latency.buckets().iter().flat_map(|b| std::iter::repeat_n(b.low_ns, b.count as usize)).collect()
}

fn intervals() -> Subject {
    Subject::Intervals { channel: Some("D0".into()) }
}

fn response() -> Subject {
    Subject::Response { input: "D0".into(), output: "D1".into(), changes: Changes::Both, inverse: false }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_train_of_edges_comes_back_from_each_format(
        gaps in prop::collection::vec(4u64..60, 3..60),
        hertz in prop::sample::select(vec![24_000_000u64, 3_000_000, 1_000_000, 12_500, 100_000_000]),
        delay in 0u64..4,
    ) {
        let changes: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        let train = Train { hertz, changes, delay };
        // The first gap is cut off.
        let expected = |from: usize, of: &dyn Fn(&[u64]) -> u64, window: usize| {
            let mut all: Vec<u64> = gaps[from..].windows(window).step_by(2).map(|gaps| train.ns(of(gaps))).collect();
            all.sort_unstable();
            all
        };
        let wanted = [
            ("D0 high", expected(1, &|gaps| gaps[0], 1)),
            ("D0 low", expected(2, &|gaps| gaps[0], 1)),
            ("D0 period", expected(1, &|gaps| gaps[0] + gaps[1], 2)),
        ];
        for (file, rate) in train.all() {
            let run = measured(&file, rate, &intervals()).unwrap();
            let found: Vec<_> = run.series.iter().map(|series| (series.name.as_str(), lengths(series))).collect();
            prop_assert_eq!(&found[..], &wanted.clone().into_iter().filter(|(_, all)| !all.is_empty()).collect::<Vec<_>>()[..]);
            let run = measured(&file, rate, &response()).unwrap();
            prop_assert_eq!(lengths(&run.series[0]), vec![train.ns(delay); gaps.len()]);
            prop_assert_eq!(run.series[0].missed, 0);
            prop_assert_eq!(run.instrument.unwrap().rate_hz, Some(hertz));
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..400), text in "[#01!xb$;,. a-z\n]{0,200}") {
        for format in Format::ALL {
            for file in [&bytes[..], text.as_bytes()] {
                let job = Job { subject: intervals(), rate: None };
                let _ = read(Cursor::new(file), "file", Some(format), &job);
            }
        }
    }
}

/// Pulses of 100 us, one of 112 us, every millisecond; one is left out.
fn pulses() -> Train {
    let starts = [1u64, 2, 3, 5, 6].map(|ms| ms * 1_000);
    let changes = starts.iter().flat_map(|at| [*at, at + if *at == 3_000 { 112 } else { 100 }]).collect();
    Train { hertz: 1_000_000, changes, delay: 7 }
}

#[test]
fn pulses_are_held_against_what_was_asked_for() {
    let asked = |inverse, period_ns| {
        let subject = Subject::Widths { channel: Some("0".into()), width_ns: 100_000, period_ns, inverse };
        measured(&pulses().sr(), None, &subject).unwrap()
    };
    let run = asked(false, Some(1_000_000));
    let series = &run.series[0];
    assert_eq!((run.measurement, series.name.as_str(), series.missed), (Measurement::Pulse, "D0 high", 1));
    assert_eq!(lengths(series), [0, 0, 0, 0, 12_000], "the error");
    let pulse = series.pulse.as_ref().unwrap();
    assert_eq!((pulse.wanted_ns, pulse.gap_ns, pulse.width.max_ns), (100_000, 900_000, Some(112_000)));
    assert_eq!(pulse.first[2], (2_000_000, 112_000));
    assert_eq!(pulse.measured_by, "sigrok 0.5.2 (±1 us)");
    let run = asked(true, None);
    assert_eq!((run.series[0].name.as_str(), lengths(&run.series[0]).len()), ("D0 low", 4));
    assert_eq!(run.series[0].pulse.as_ref().unwrap().first, []);
}

#[test]
fn distances_are_held_against_the_period() {
    for inverse in [false, true] {
        let subject = Subject::Period { channel: Some("D0".into()), period_ns: 1_000_000, inverse };
        let run = measured(&pulses().vcd(), None, &subject).unwrap();
        let wrong = if inverse { vec![0, 12_000, 988_000] } else { vec![0, 0, 1_000_000] };
        let found = lengths(&run.series[0]);
        assert_eq!(found.len(), 4);
        assert_eq!(
            if inverse { found[1..].to_vec() } else { found[..2].iter().chain(&found[3..]).copied().collect() },
            wrong
        );
        assert_eq!(run.measurement, Measurement::Period);
    }
}

#[test]
fn a_run_says_what_saw_it_and_how_finely() {
    let train = Train { hertz: 24_000_000, ..pulses() };
    let run = measured(&train.sr(), None, &intervals()).unwrap();
    let instrument = run.instrument.clone().unwrap();
    assert_eq!((instrument.capture.as_str(), instrument.resolution().as_str()), ("sigrok session", "41.7 ns"));
    assert_eq!((instrument.edges, run.tool.as_str()), (10, "sigrok 0.5.2"));
    assert_eq!(run.facts[0], "imported from file, a sigrok session written by sigrok 0.5.2");
    assert!(run.facts[1].starts_with("pulses shorter than 41.7 ns can be missing"), "{:?}", run.facts);
    assert_eq!(run.notes, [""; 0]);
    assert_eq!(crate::store::parse(&crate::store::text(&run)).unwrap(), run);
    // Where nobody says the rate, that is said.
    let run = measured(&train.logic_2(), None, &intervals()).unwrap();
    assert!(run.notes[0].starts_with("The file does not say at which rate"), "{:?}", run.notes);
    assert_eq!(run.instrument.unwrap().rate_hz, None);
    // A rate that is named goes before that of the file.
    let run = measured(&train.sr(), Some(Rate::new(12_000_000)), &intervals()).unwrap();
    assert_eq!(run.instrument.unwrap().rate_hz, Some(12_000_000));
}

#[test]
fn what_ontick_watched_was_sampled_by_nobody() {
    let watched = |line: &str| {
        let dump = format!(
            "$version ontick 0.1.0 $end $timescale 1 ns $end $var wire 1 ! {line} $end $enddefinitions $end\n\
             #0 0! #1000 1! #2000 0! #3000 1!"
        );
        measured(dump.as_bytes(), None, &Subject::Intervals { channel: None }).unwrap()
    };
    let simulated = watched("sim:bench/17");
    assert_eq!(simulated.simulated.as_deref(), Some("line sim:bench/17 in shared memory"));
    assert_eq!(simulated.notes, [""; 0]);
    let board = watched("GPIO17");
    assert_eq!((board.simulated, board.notes.len()), (None, 1));
    assert!(board.notes[0].starts_with("No instrument saw line GPIO17: the times of its edges"), "{:?}", board.notes);
}

#[test]
fn a_real_line_beside_a_simulated_one_is_named_as_such() {
    let between = |input: &str, output: &str| {
        let dump = format!(
            "$version ontick 0.1.0 $end $timescale 1 ns $end $var wire 1 ! {input} $end \
             $var wire 1 % {output} $end $enddefinitions $end\n\
             #0 0! 0% #1000 1! #1100 1% #2000 0! #2200 0% #3000 1!"
        );
        let (input, output) = (input.into(), output.into());
        let subject = Subject::Response { input, output, changes: Changes::Both, inverse: false };
        let run = measured(dump.as_bytes(), None, &subject).unwrap();
        (run.simulated, run.notes)
    };
    for (input, output) in [("sim:bench/17", "GPIO17"), ("GPIO17", "sim:bench/17")] {
        let (simulated, notes) = between(input, output);
        assert_eq!(simulated.as_deref(), Some("line sim:bench/17 in shared memory"));
        assert!(matches!(&notes[..], [note] if note.starts_with("No instrument saw line GPIO17: ")), "{notes:?}");
    }
    let (simulated, notes) = between("GPIO17", "GPIO27");
    assert_eq!(simulated, None);
    assert!(notes[0].starts_with("No instrument saw lines GPIO17, GPIO27: the times of their edges"), "{notes:?}");
    assert_eq!(between("sim:bench/17", "sim:bench/27").1, [""; 0]);
}

#[test]
fn a_table_is_as_fine_as_its_finest_time() {
    let table = "Time [s],D0\n0.0,0\n0.000010000,1\n0.0001,0\n0.000200000,1\n";
    let run = measured(table.as_bytes(), None, &Subject::Intervals { channel: None }).unwrap();
    let said = run.facts.iter().chain(&run.notes).filter(|line| line.contains("1 ns")).count();
    assert_eq!((run.instrument.unwrap().resolution_ps, said), (1_000, 2), "{:?} {:?}", run.facts, run.notes);
    let recorded = edges(Cursor::new(table), Format::Csv, &[]).unwrap();
    assert_eq!(recorded.instrument.resolution_ps, 1_000);
}

#[test]
fn what_is_not_in_a_capture_is_said() {
    let file = pulses().sr();
    let with = |subject: Subject| measured(&file, None, &subject).unwrap_err();
    let of = |channel: Option<&str>| Subject::Intervals { channel: channel.map(str::to_owned) };
    assert_eq!(with(of(None)), "it has the channels D0, D1, D3: name one");
    assert_eq!(with(of(Some("D9"))), "there is no channel \"D9\" (there are D0, D1, D3)");
    assert_eq!(
        with(of(Some("D3"))),
        "channel D3 has 0 edges in it: a pulse lies between two edges that are in the capture"
    );
    let both = |input: &str, output: &str, inverse| Subject::Response {
        input: input.into(),
        output: output.into(),
        changes: Changes::Both,
        inverse,
    };
    assert_eq!(with(both("D0", "0", false)), "\"D0\" is both input and output: name two channels");
    let error = with(both("D0", "D3", true));
    assert!(error.starts_with("channel D0 has 10 edges in it: no change of the input is followed"), "{error}");
    assert_eq!(measured(b"Dear diary", None, &of(None)).unwrap_err(), CaptureError::Unknown.to_string());
    assert_eq!(measured(b"\n", None, &of(None)).unwrap_err(), CaptureError::Empty.to_string());
}

#[test]
fn a_level_that_becomes_unknown_is_reported() {
    let dump =
        "$timescale 1 us $end $var wire 1 ! D0 $end $enddefinitions $end #0 0! #10 1! #20 0! #25 x! #30 0! #40 1!";
    let run = measured(dump.as_bytes(), None, &Subject::Intervals { channel: None }).unwrap();
    assert!(run.notes.iter().any(|note| note.starts_with("The level became unknown once")), "{:?}", run.notes);
    assert_eq!(run.series.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["D0 high"]);
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let train = pulses();
    for (file, format) in [(train.vcd(), Format::Vcd), (train.logic_2(), Format::Csv)] {
        let named = ["D0".to_owned()];
        let of = |file: Vec<u8>| edges(Cursor::new(file), format, &named).unwrap().edges;
        assert_eq!(of([MARK, &file].concat()), of(file));
    }
}

#[test]
fn a_dump_need_not_say_what_wrote_it() {
    let dump = "$timescale 1 ns $end $var wire 1 ! D0 $end $enddefinitions $end #0 0! #10 1! #20 0! #30 1!";
    let subject = Subject::Widths { channel: None, width_ns: 10, period_ns: None, inverse: false };
    let run = measured(dump.as_bytes(), None, &subject).unwrap();
    assert!(run.facts[0].ends_with(", a value change dump"), "{}", run.facts[0]);
    assert_eq!(run.series[0].pulse.as_ref().unwrap().measured_by, "an instrument (±1 ns)");
}

#[test]
fn files_are_told_apart_by_their_beginning() {
    for (begin, format) in [
        (&b"PK\x03\x04\x14"[..], Some(Format::Sigrok)),
        (b"\xef\xbb\xbf$date today $end", Some(Format::Vcd)),
        (b"\n  $timescale 1ns $end", Some(Format::Vcd)),
        (b"Time[s], Channel 0\n0.0, 1\n", Some(Format::Csv)),
        (b"\"Time [s]\",\"Channel 0\"\n0.0,1\n", Some(Format::Csv)),
        (b"Time [s];Channel 0\n0.0;1\n", Some(Format::Csv)),
        (b"; CSV generated by libsigrok 0.5.2\n", Some(Format::Csv)),
        (b"; note\n; Samplerate: 1 MHz\n0\n", Some(Format::Csv)),
        (b"name,age\n", None),
        (b"# Histogram\n000000 000000\n", None),
        (b"", None),
    ] {
        assert_eq!(detect(begin), format, "{:?}", String::from_utf8_lossy(begin));
    }
    for format in Format::ALL {
        assert_eq!(format.to_string().parse::<Format>().ok(), Some(format));
    }
}
