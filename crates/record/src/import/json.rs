//! What the JSON files of these tools have in common.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ImportError;
use super::figures::Figures;
use super::lines::shorten;
use crate::run::Environment;

/// The JSON document in a text, after whatever the tool printed before it, if there is any.
fn document(text: &str) -> Option<(&str, usize)> {
    let mut at = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_start().starts_with('{') {
            return Some((&text[at..], i));
        }
        at += line.len();
    }
    None
}

/// Whether a text holds a JSON document with these fields.
pub(super) fn has_fields(text: &str, fields: &[&str]) -> bool {
    document(text).is_some_and(|(json, _)| fields.iter().all(|field| json.contains(&format!("\"{field}\""))))
}

/// The text of a field of the document, as rt-tests write them: with a colon in its name or without.
fn text_of<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    let (json, _) = document(text)?;
    let (_, rest) = json.split_once(&format!("\"{field}"))?;
    let rest = rest.trim_start_matches(':').strip_prefix('"')?.trim_start().strip_prefix(':')?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

/// The program of rt-tests that wrote the document.
pub(super) fn program(text: &str) -> Option<String> {
    let path = text_of(text, "cmdline")?.split_whitespace().next()?;
    let name = path.rsplit('/').next().unwrap_or(path);
    Some(shorten(name)).filter(|name| !name.is_empty())
}

/// The version of rt-tests that wrote the document.
pub(super) fn version(text: &str) -> Option<String> {
    text_of(text, "rt_test_version").map(shorten).filter(|version| !version.is_empty())
}

/// Reads the document; what follows it is not looked at.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, ImportError> {
    let (json, lines_before) = document(text).ok_or_else(|| ImportError::new("there is no JSON document in it"))?;
    // A thread without samples has the mean -nan, which is no JSON.
    let json = json.replace(": -nan", ": null").replace(": nan", ": null");
    T::deserialize(&mut serde_json::Deserializer::from_str(&json)).map_err(|e| {
        let line = lines_before + e.line();
        if e.is_eof() {
            return ImportError::at(line, "the file is cut off here");
        }
        let problem = e.to_string();
        let problem = problem.split(" at line ").next().unwrap_or(&problem);
        let missing = problem.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        match missing {
            Some(field) => ImportError::at(line, format!("the field \"{field}\" is missing")),
            None => ImportError::at(line, problem),
        }
    })
}

/// The threads of a document, which are named by their numbers, in the order of these.
pub(super) fn numbered<T>(threads: BTreeMap<String, T>) -> Result<BTreeMap<usize, T>, ImportError> {
    let number =
        |key: &str| key.parse().map_err(|_| ImportError::new(format!("\"{}\" is not a thread's number", shorten(key))));
    threads.into_iter().map(|(key, thread)| Ok((number(&key)?, thread))).collect()
}

/// One thread of cyclictest or jitterdebugger.
#[derive(Debug, Deserialize)]
pub(super) struct Thread {
    #[serde(default)]
    histogram: BTreeMap<String, u64>,
    #[serde(alias = "cycles")]
    count: u64,
    min: serde_json::Number,
    max: serde_json::Number,
    avg: Option<f64>,
    /// Only cyclictest tells it; -1 where the thread was not pinned.
    pub cpu: Option<i64>,
}

impl Thread {
    /// Its figures; samples that were counted but have no row are overflow.
    pub fn figures(&self, unit_ns: u64) -> Result<Figures, ImportError> {
        let value =
            |key: &str| key.parse().map_err(|_| ImportError::new(format!("\"{}\" is not a latency", shorten(key))));
        let rows =
            self.histogram.iter().map(|(key, count)| Ok((value(key)?, *count))).collect::<Result<Vec<_>, _>>()?;
        let in_rows = rows.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        let Some(overflow) = self.count.checked_sub(in_rows) else {
            return Err(ImportError::new(format!(
                "a thread counted {} samples, and its rows hold {in_rows}",
                self.count
            )));
        };
        Ok(Figures {
            unit_ns,
            row_width: 1,
            rows,
            overflow,
            min: signed(&self.min),
            max: signed(&self.max),
            mean: self.avg,
        })
    }
}

/// A latency, in whichever way the tool prints a negative one.
fn signed(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| number.as_u64().map(|n| n as i64))
}

/// What `uname` said on the machine.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct System {
    release: String,
    version: String,
    machine: String,
    realtime: Option<u32>,
    pub cpus_online: u32,
    pub resolution_in_ns: Option<u64>,
}

impl System {
    /// As the environment of a run.
    pub fn environment(&self) -> Environment {
        let word = |word: &str| self.version.split_whitespace().any(|w| w == word);
        let preemption = match self.realtime {
            Some(1) => "PREEMPT_RT",
            _ if word("PREEMPT_RT") => "PREEMPT_RT",
            // Before 5.3 the patch called itself so.
            _ if self.version.contains("PREEMPT RT") => "PREEMPT_RT",
            _ if word("PREEMPT") => "full",
            // PREEMPT_DYNAMIC leaves open which model was chosen.
            _ => "",
        };
        Environment {
            architecture: self.machine.clone(),
            kernel: self.release.clone(),
            kernel_build: self.version.clone(),
            preemption: preemption.into(),
            cpus_online: self.cpus_online,
            ..Environment::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_named_by_release_build_and_preemption() {
        for (build, realtime, preemption) in [
            ("#1 SMP PREEMPT_RT Tue", None, "PREEMPT_RT"),
            ("#1 SMP PREEMPT RT Tue", None, "PREEMPT_RT"),
            ("#1 SMP PREEMPT Tue", Some(1), "PREEMPT_RT"),
            ("#1 SMP PREEMPT Tue", Some(0), "full"),
            ("#1 SMP PREEMPT_DYNAMIC Tue", None, ""),
        ] {
            let system = System {
                release: "6.12.1".into(),
                version: build.into(),
                machine: "riscv64".into(),
                realtime,
                cpus_online: 4,
                resolution_in_ns: None,
            };
            let found = system.environment();
            assert_eq!((found.kernel.as_str(), found.kernel_build.as_str()), ("6.12.1", build));
            assert_eq!((found.architecture.as_str(), found.cpus_online), ("riscv64", 4));
            assert_eq!(found.preemption, preemption, "{build}");
        }
    }
}
