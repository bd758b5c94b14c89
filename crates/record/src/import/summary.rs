//! The line that cyclictest prints for a thread:
//! `T: 0 (  976) P:80 I:500 C: 100000 Min:     23 Act:   40 Avg:   37 Max:      95`.

use super::figures::{Figures, signed};
use super::lines::Line;
use crate::run::Settings;

/// What such a line tells.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    /// The thread's number.
    pub thread: usize,
    /// The thread's id in the system; 0 as long as it did not run.
    pub id: u64,
    priority: u32,
    interval_us: u64,
    count: u64,
    min: Option<i64>,
    max: Option<i64>,
    mean: Option<i64>,
    /// Whether the widths of the columns are those of a run with `-N`.
    pub nanoseconds: bool,
}

impl Summary {
    /// Whether a line is such a line, perhaps a damaged one.
    pub fn is(text: &str) -> bool {
        text.starts_with("T:") && text.contains("P:") && text.contains("C:") && text.contains("Min:")
    }

    /// Reads a line; `Err` names the part that is missing or wrong.
    pub fn parse(line: &Line) -> Result<Self, String> {
        let text = &line.text;
        let number = |key: &str| {
            let word = after(text, key).ok_or_else(|| format!("the line of a thread lacks \"{key}\""))?.trim_start();
            signed(word).ok_or_else(|| format!("\"{key}\" is not followed by a number"))
        };
        let count = |key: &str| number(key).and_then(|n| n.try_into().map_err(|_| format!("\"{key}\" is negative")));
        let count: u64 = count("C:")?;
        Ok(Self {
            thread: number("T:")?.try_into().map_err(|_| "the thread has no number")?,
            id: number("(").ok().and_then(|id| id.try_into().ok()).unwrap_or(0),
            priority: number("P:")?.try_into().map_err(|_| "the priority is impossible")?,
            interval_us: number("I:")?.try_into().map_err(|_| "the interval is negative")?,
            count,
            min: Some(number("Min:")?),
            mean: number("Avg:").ok(),
            max: Some(number("Max:")?),
            nanoseconds: ["Act:", "Avg:"].into_iter().any(|key| after(text, key).is_some_and(is_wide)),
        })
    }

    /// What is known of the latencies: no more than this line.
    pub fn figures(&self, unit_ns: u64) -> Figures {
        Figures {
            unit_ns,
            row_width: 1,
            rows: Vec::new(),
            overflow: self.count,
            min: self.min,
            max: self.max,
            mean: self.mean.map(|m| m as f64),
        }
    }

    /// How the thread ran; `policy` is what the line `policy:` says, where there is one.
    pub fn settings(&self, policy: Option<&str>) -> Settings {
        Settings {
            interval_ns: self.interval_us.saturating_mul(1_000),
            policy: match (self.priority, policy) {
                (0, _) => "other".into(),
                // A priority without a policy is SCHED_FIFO to cyclictest.
                (priority, policy) => format!("{}:{priority}", policy.unwrap_or("fifo")),
            },
            ..Settings::default()
        }
    }
}

/// What stands after a key, up to the end of its word, leading blanks included.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let rest = &text[text.find(key)? + key.len()..];
    let word = rest.trim_start();
    let length = word.find(|c: char| c.is_whitespace() || c == ')').unwrap_or(word.len());
    Some(&rest[..rest.len() - word.len() + length]).filter(|w| !w.trim_start().is_empty())
}

/// With `-N` cyclictest pads the current and average latency to eight columns, else to five. Padding is
/// distinguished from long numbers by its blanks; texts that lost their blanks are taken for microseconds.
fn is_wide(padded: &str) -> bool {
    padded.starts_with(' ') && padded.chars().count() == 8
}

#[cfg(test)]
mod tests {
    use super::super::lines::lines;
    use super::*;

    fn parse(text: &str) -> Result<Summary, String> {
        Summary::parse(&lines(text).next().unwrap())
    }

    #[test]
    fn blanks_may_be_lost_and_smis_counted() {
        let s = parse("T: 1 (977) P:80 I:500 C: 100000 Min: -3 Act: 40 Avg: 37 Max: 95 SMI: 0").unwrap();
        assert_eq!((s.thread, s.id, s.count, s.min, s.mean, s.max), (1, 977, 100_000, Some(-3), Some(37), Some(95)));
        assert_eq!((s.settings(Some("rr")).policy.as_str(), s.settings(None).interval_ns), ("rr:80", 500_000));
    }

    #[test]
    fn nanoseconds_show_in_the_columns() {
        let line = |act: &str, avg: &str| format!("T: 0 (    1) P: 0 I:500 C: 9 Min: 1 Act:{act} Avg:{avg} Max: 9");
        assert!(!parse(&line("   40", "   37")).unwrap().nanoseconds);
        assert!(!parse(&line("40123456", "123456")).unwrap().nanoseconds);
        assert!(parse(&line("   17834", "   18012")).unwrap().nanoseconds);
        assert!(parse(&line("17834567", "   18012")).unwrap().nanoseconds);
    }

    #[test]
    fn what_is_missing_is_named() {
        for (text, word) in [
            ("T: 0 (1) P:80 I:500 C: 10 Min: 1 Avg: 1", "Max:"),
            ("T: 0 (1) P:80 I:500 C: x Min: 1 Avg: 1 Max: 2", "C:"),
            ("T: 0 (1) P:80 I:500 C:", "C:"),
            ("T: (1) P:80 I:500 C: 1 Min: 1 Max: 2", "T:"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
