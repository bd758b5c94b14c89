//! Records as files: [written](crate::output_file) whole or not at all, read with a sentence for whatever is wrong.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::capture;
pub use crate::error::{HistogramError, ParseError, StoreError};
use crate::foreign_file;
use crate::import;
use crate::journal;
pub use crate::output_file::{check_writable, is_device, write_each_whole, write_whole, write_whole_by};
use crate::reading;
use crate::run::{Run, SCHEMA};

/// Larger files are not records; reading stops rather than filling the memory.
const LIMIT: u64 = 256 << 20;
/// Buckets, samples and other parts of a record.
const MOST_PARTS: usize = 4_000_000;

/// Reads a run from a record, or from the journal that a killed run left behind.
pub fn read(path: &Path) -> Result<Run, StoreError> {
    if let Some(journal) = read_journal(path)? {
        return Ok(journal);
    }
    let text = read_text(path)?;
    own(&text).map_err(|e| StoreError::NotARecord { path: path.into(), problem: e.to_string() })
}

/// As [`read`], and also from the output of other tools that can be [imported](crate::import).
pub fn read_any(path: &Path) -> Result<Run, StoreError> {
    if let Some(journal) = read_journal(path)? {
        return Ok(journal);
    }
    let text = read_text(path)?;
    let not = |problem| StoreError::NotARecord { path: path.into(), problem };
    match import::detect(&text) {
        Some(_) if !is_own(&text) => {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            import::read(&text, &name, None).map_err(|e| not(e.to_string()))
        }
        None if !is_own(&text) && import::foreign_tool(&text).is_some() => {
            let tool = import::foreign_tool(&text).unwrap_or_default();
            Err(not(format!("looks like {tool}, whose output cannot be imported")))
        }
        None if is_capture(text.as_bytes()) => {
            Err(not("a capture of an instrument, which must be imported first".into()))
        }
        None if text.trim().is_empty() => Err(not("the file is empty".into())),
        None if !text.trim_start().starts_with('{') => {
            let tools: Vec<String> = import::Format::all().map(|format| format.to_string()).collect();
            Err(not(format!("neither an ontick record nor output of {}", tools.join(", "))))
        }
        _ => own(&text).map_err(|e| not(e.to_string())),
    }
}

/// Whether a file is what a logic analyser saw: of which channel, and what, nobody said.
fn is_capture(bytes: &[u8]) -> bool {
    capture::detect(&bytes[..bytes.len().min(capture::BEGIN)]).is_some()
}

/// A journal in a regular file, of any size: it is read line by line. Pipes cannot be looked at twice.
fn read_journal(path: &Path) -> Result<Option<Run>, StoreError> {
    let io = |error| StoreError::Io { path: path.into(), error };
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Ok(None);
    }
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(io)?);
    let is_journal = journal::begins_one(file.fill_buf().map_err(io)?);
    match is_journal {
        true => journal::recover_from(file)
            .map(Some)
            .map_err(|e| StoreError::NotARecord { path: path.into(), problem: e.to_string() }),
        false => Ok(None),
    }
}

fn own(text: &str) -> Result<Run, ParseError> {
    if journal::is_journal(text) { journal::recover(text) } else { parse(text) }
}

/// Whether a text is a record or a journal of any version, sound or not.
fn is_own(text: &str) -> bool {
    journal::is_journal(text) || matches!(serde_json::from_str(text), Ok(Format { schema: Some(_) }))
}

/// Reads a whole text file of reasonable size.
pub fn read_text(path: &Path) -> Result<String, StoreError> {
    read_up_to(path, LIMIT)
}

fn read_up_to(path: &Path, limit: u64) -> Result<String, StoreError> {
    let io = |error| StoreError::Io { path: path.into(), error };
    let not = |problem| StoreError::NotARecord { path: path.into(), problem };
    let mut bytes = Vec::new();
    let read = File::open(path).map_err(io)?.take(limit + 1).read_to_end(&mut bytes).map_err(io)?;
    if read as u64 > limit {
        return Err(not("larger than any record (256 MiB)".into()));
    }
    String::from_utf8(bytes).map_err(|error| not(foreign_file::describe(error.as_bytes())))
}

/// Reads a run from the text of a record.
pub fn parse(text: &str) -> Result<Run, ParseError> {
    let unsound = |why: String| ParseError::Unsound { what: "sound record", why };
    refuse_many_parts(text)?;
    // The format comes first: a foreign file of any size is refused without being held in memory as JSON.
    match serde_json::from_str::<Format>(text) {
        Ok(Format { schema: Some(schema) }) => reading::check_schema(&schema)?,
        Ok(Format { schema: None }) => return Err(ParseError::Foreign { read: SCHEMA }),
        Err(e) if e.is_data() => return Err(ParseError::Foreign { read: SCHEMA }),
        Err(e) if e.is_eof() => return Err(ParseError::CutOff { line: e.line() }),
        Err(e) => return Err(ParseError::Unsound { what: "record", why: e.to_string() }),
    }
    let mut run: Run = serde_json::from_str(text).map_err(|e| unsound(e.to_string()))?;
    reading::check(&run).map_err(unsound)?;
    reading::complete(&mut run);
    Ok(run)
}

/// An empty entry takes two characters of text and a thousand bytes of memory: the memory that a record takes is bounded
/// before any of it is held.
fn refuse_many_parts(text: &str) -> Result<(), ParseError> {
    let parts = text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
    match parts > MOST_PARTS {
        true => Err(ParseError::Unsound {
            what: "sound record",
            why: format!("it has {parts} parts; the most that are read are {MOST_PARTS}"),
        }),
        false => Ok(()),
    }
}

/// The one field that every version of the format has.
#[derive(serde::Deserialize)]
struct Format {
    schema: Option<String>,
}

/// The text of a record.
pub fn text(run: &Run) -> String {
    let mut text = serde_json::to_string(run).expect("a run is always representable as JSON");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    /// 1.6 GB of memory for a file of 10 MB, once.
    #[test]
    fn a_record_of_empty_series_is_refused_before_it_fills_the_memory() {
        let empty = text(&Run::new("ontick 0.1.0", "timer"));
        let with = |series: usize| {
            let filled = format!("\"series\":[{}]", vec!["{}"; series].join(","));
            empty.replacen("\"series\":[]", &filled, 1)
        };
        assert_eq!(parse(&with(4096)).unwrap().series.len(), 4096);
        let why = parse(&with(4097)).unwrap_err();
        assert!(why.to_string().contains("at most 4096 series"), "{why}");
        let why = parse(&with(MOST_PARTS)).unwrap_err();
        assert!(why.to_string().contains("the most that are read are 4000000"), "{why}");
    }

    #[test]
    fn exactly_as_many_parts_as_are_read_are_read() {
        let mut parts = "{[".repeat(MOST_PARTS / 2);
        assert_eq!(refuse_many_parts(&parts), Ok(()));
        parts.push('[');
        assert!(refuse_many_parts(&parts).unwrap_err().to_string().contains("4000001 parts"));
    }

    fn sample() -> Run {
        let mut run = Run::new("ontick 0.1.0", "timer");
        let mut series = crate::Series { name: "hybrid".into(), ..Default::default() };
        series.latency.add(400, 4, 7);
        run.series.push(series);
        run
    }

    #[test]
    fn what_is_written_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        write_whole(&path, text(&sample()).as_bytes()).unwrap();
        assert_eq!(read(&path).unwrap(), sample());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file may stay");
    }

    #[test]
    fn every_truncation_is_refused() {
        let whole = text(&sample());
        for end in 0..whole.trim_end().len() {
            assert!(parse(&whole[..end]).is_err(), "{}", &whole[..end]);
        }
    }

    #[test]
    fn foreign_files_are_named() {
        for (text, word) in [
            ("{}", "not an ontick record"),
            ("[1,2]", "not an ontick record"),
            ("{\"schema\":\"ontick-run/9\"}", "ontick-run/9"),
            ("{\"schema\":\"ontick-run/1\"}", "not a sound record"),
            ("# histogram", "not a record"),
            ("{\"schema\"", "cut off"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains(word), "{text}: {error}");
        }
        let unsorted = text(&sample()).replace("[[400,4,7]]", "[[400,4,7],[300,4,7]]");
        assert!(parse(&unsorted).unwrap_err().to_string().contains("ascending"));
    }

    #[test]
    fn figures_that_are_not_numbers_do_not_spoil_a_record() {
        let mut run = sample();
        let series = &mut run.series[0];
        series.latency.mean_ns = Some(f64::NAN);
        series.settings.spin_duty = Some(f64::INFINITY);
        series.conditions.load_average = Some([f64::NAN, 1.0, 1.0]);
        series.blocks.push(crate::run::Block { load_average: f64::NAN, ..Default::default() });
        let back = parse(&text(&run)).unwrap().series.remove(0);
        assert_eq!((back.latency.mean_ns, back.settings.spin_duty, back.conditions.load_average), (None, None, None));
        assert_eq!(back.blocks[0].load_average, 0.0);
    }

    #[test]
    fn what_a_later_version_adds_is_passed_over() {
        let later = text(&sample()).replacen("\"tool\"", "\"weather\":{\"rain\":[1,2]},\"tool\"", 1).replacen(
            "\"missed\"",
            "\"glance\":null,\"missed\"",
            1,
        );
        assert_eq!(parse(&later).unwrap(), sample());
    }

    #[test]
    fn a_file_is_read_as_text_or_refused_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "a\nb\n").unwrap();
        assert_eq!(read_text(&path).unwrap(), "a\nb\n");
        fs::write(&path, [0xff, 0x00]).unwrap();
        assert!(read_text(&path).unwrap_err().to_string().ends_with("/a: not text"));
        assert!(matches!(read_text(dir.path()), Err(StoreError::Io { .. })));
        assert!(matches!(read_text(&dir.path().join("none")), Err(StoreError::Io { .. })));
        fs::write(&path, "12345678").unwrap();
        assert_eq!(read_up_to(&path, 8).unwrap(), "12345678");
        assert!(read_up_to(&path, 7).unwrap_err().to_string().contains("larger than any record"));
    }

    #[test]
    fn a_file_is_taken_for_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        for (text, word) in [
            ("hello", "neither an ontick record nor output of"),
            ("Time [s],Channel 0\n0.5,1\n", "a capture of an instrument, which must be imported first"),
            ("\n", "the file is empty"),
            ("{}", "not an ontick record: it lacks \"schema\":\"ontick-run/1\""),
            ("{\"schema\":\"ontick-run/9\"}", "ontick-run/9"),
            // It has what a file of another tool has, too.
            ("{\"schema\":\"ontick-run/9\",\"num_threads\":1,\"thread\":{}}", "ontick-run/9"),
            ("{\"num_threads\":1,\"thread\":1}", "line 1"),
        ] {
            fs::write(&path, text).unwrap();
            let why = read_any(&path).unwrap_err().to_string();
            assert!(why.contains(word), "{text}: {why}");
        }
        fs::write(&path, self::text(&sample())).unwrap();
        assert_eq!((read_any(&path).unwrap(), read(&path).unwrap()), (sample(), sample()));
        fs::write(&path, "# Total: 000000002\nT: 0 ( 1) P:80 I:1000 C: 2 Min: 1 Act: 1 Avg: 1 Max: 3\n").unwrap();
        assert!(read(&path).is_err(), "what others wrote is imported only where that is asked for");
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,64}") {
            let _ = parse(&text);
        }
    }
}
