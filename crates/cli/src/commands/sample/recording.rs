//! `ontick sample --read`: a recording in the binary or the Arrow format, shown as CSV.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Write, stdout};
use std::path::Path;

use ontick_acquire::format::{Csv, Encode, Entry};
use ontick_acquire::recording::read;
use ontick_report::printable_lines;

use crate::failure::{Failure, Outcome};

pub fn show(path: &Path) -> Result<Outcome, Failure> {
    let fail = |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| fail(&error))?;
    let mut recording = read(BufReader::new(file)).map_err(|error| fail(&error))?;
    let csv = Csv::new(recording.channels());
    let (mut out, mut text) = (BufWriter::new(stdout().lock()), Vec::new());
    csv.begin(&mut text);
    // The channels' names are the only text in it.
    text = printable_lines(&String::from_utf8_lossy(&text), false).into_bytes();
    loop {
        match out.write_all(&text) {
            // A reader that went away (`| head`) ends the program quietly.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(Outcome::Met),
            other => other.map_err(|error| fail(&error))?,
        }
        text.clear();
        match recording.next().map_err(|error| fail(&error))? {
            Some(Entry::Sample(sample)) => csv.sample(&sample, &mut text),
            Some(Entry::Gap(gap)) => csv.gap(gap, &mut text),
            None => break,
        }
    }
    match out.flush() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(fail(&error)),
        _ => Ok(Outcome::Met),
    }
}
