//! cyclictest's `--json` file.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use serde::Deserialize;

use super::command::Command;
use super::figures;
use super::{ImportError, json};
use crate::date;
use crate::run::{Run, Series};

/// Whether a text looks like it.
pub(super) fn wrote(text: &str) -> bool {
    json::has_fields(text, &["thread", "num_threads"]) && json::program(text).is_none_or(|name| name == "cyclictest")
}

#[derive(Deserialize)]
struct Document {
    // rt-tests writes these two names with a colon.
    #[serde(rename = "cmdline:", alias = "cmdline", default)]
    command: String,
    #[serde(rename = "rt_test_version:", alias = "rt_test_version", default)]
    version: String,
    #[serde(default)]
    start_time: String,
    #[serde(default)]
    end_time: String,
    #[serde(default)]
    sysinfo: Option<json::System>,
    /// 1 for nanoseconds, 0 for microseconds.
    #[serde(default)]
    resolution_in_ns: u64,
    thread: BTreeMap<String, json::Thread>,
}

pub(super) fn read(text: &str) -> Result<Run, ImportError> {
    let document: Document = json::read(text)?;
    let unit_ns = if document.resolution_in_ns == 1 { 1 } else { 1_000 };
    let command = Command::parse(&document.command);
    let mut run = Run::new(format!("cyclictest {}", document.version).trim_end(), "timer");
    run.environment = document.sysinfo.as_ref().map(json::System::environment);
    if let Some(start) = time(&document.start_time) {
        run.started = date::text(start);
        let end = time(&document.end_time).unwrap_or(start);
        run.duration_ns = u64::try_from(end.duration_since(start).as_nanos()).unwrap_or(0);
    }
    let mut named = Vec::new();
    for (i, thread) in json::numbered(document.thread)? {
        let name = format!("thread {i}");
        let figures = thread.figures(unit_ns)?;
        let mut settings = command.settings(i);
        settings.cpu = thread.cpu.and_then(|cpu| cpu.try_into().ok());
        let latency = figures.histogram().map_err(|e| ImportError::new(format!("{name}: {e}")))?;
        run.series.push(Series { name: name.clone(), settings, latency, ..Series::default() });
        named.push((name, figures));
    }
    run.notes = figures::notes("cyclictest", &named);
    Ok(run)
}

/// A time as rt-tests writes it: `Sat, 21 Nov 2026 07:55:14 +0000`. `None` for any other, such as a localised one.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written_as_rfc_3339() {
        for (written, is) in [
            ("Thu, 01 Jan 1970 00:00:00 +0000", Some("1970-01-01T00:00:00Z")),
            ("Sat, 21 Nov 2026 07:55:14 +0000", Some("2026-11-21T07:55:14Z")),
            ("Fri, 01 Mar 2024 00:30:00 +0100", Some("2024-02-29T23:30:00Z")),
            ("Tue, 31 Dec 2999 23:59:59 -0500", Some("3000-01-01T04:59:59Z")),
            ("", None),
            ("Sa, 21 Nov. 2026", None),
            ("Sat, 21 Nov 2026 25:00:00 +0000", None),
            ("Sat, 0 Nov 2026 01:00:00 +0000", None),
            ("Sat, 30 Feb 2026 01:00:00 +0000", None),
            ("a b c d e é", None),
        ] {
            assert_eq!(time(written).map(date::text).as_deref(), is, "{written}");
        }
    }
}
