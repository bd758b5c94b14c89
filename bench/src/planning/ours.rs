//! `ontick network plan`, and what `ontick network validate` says of anybody's schedule.

use std::path::{Path, PathBuf};

use ontick_record::compare::{Spread, paired};
use serde_json::Value;

use crate::child::{self, Words};

use super::instance::Instance;

/// What ontick did with a network.
#[derive(Debug, Clone, PartialEq)]
pub enum Planned {
    /// A schedule that holds.
    Holds,
    /// One that does not.
    Refused(String),
    /// A proof that there is none.
    Impossible(String),
    /// Neither.
    NotFound,
}

/// All its runs.
#[derive(Debug, Clone)]
pub struct Ours {
    pub outcome: Planned,
    /// Of the whole process, in s.
    pub seconds: Vec<f64>,
}

impl Ours {
    pub fn spread(&self) -> Option<Spread> {
        paired(self.seconds.iter().copied())
    }

    pub fn median_s(&self) -> f64 {
        self.spread().map_or(f64::INFINITY, |spread| spread.median)
    }
}

fn tables(ontick: &Path, command: &str, instance: &Instance, prefix: &Path) -> Words {
    let word = |path: &Path| path.display().to_string();
    [word(ontick), "network".into(), command.into(), "--task".into(), word(&instance.task())]
        .into_iter()
        .chain(["--topo".into(), word(&instance.topology()), "--payload-only".into()])
        .chain(["--tsnkit".into(), word(prefix)])
        .collect()
}

fn prefix(instance: &Instance) -> PathBuf {
    instance.folder.join("ontick")
}

pub fn command(ontick: &Path, instance: &Instance) -> Words {
    tables(ontick, "plan", instance, &prefix(instance))
}

pub fn verdict_command(ontick: &Path, instance: &Instance, prefix: &Path) -> Words {
    tables(ontick, "validate", instance, prefix)
}

/// One run, in s.
pub fn run(ontick: &Path, instance: &Instance) -> Result<f64, String> {
    Ok(child::run_whether_met(&command(ontick, instance))?.wall.as_secs_f64())
}

/// What it answers, and whether that holds.
pub fn outcome(ontick: &Path, instance: &Instance) -> Result<Planned, String> {
    let mut words = command(ontick, instance);
    words.push("--json".into());
    let said: Value = json(&child::run_whether_met(&words)?.stdout)?;
    Ok(match said["outcome"].as_str() {
        Some("planned") => match refusal(ontick, instance, &prefix(instance))? {
            None => Planned::Holds,
            Some(why) => Planned::Refused(why),
        },
        Some("impossible") => Planned::Impossible(said["because"][0].as_str().unwrap_or_default().into()),
        _ => Planned::NotFound,
    })
}

/// Why a schedule in these tables does not hold; nothing if it does. Tables that cannot be read hold nothing either.
pub fn refusal(ontick: &Path, instance: &Instance, prefix: &Path) -> Result<Option<String>, String> {
    let mut words = verdict_command(ontick, instance, prefix);
    words.push("--json".into());
    let said = match child::run_whether_met(&words) {
        Ok(finished) => json(&finished.stdout)?,
        Err(unreadable) => return Ok(Some(unreadable)),
    };
    Ok((said["holds"] != Value::Bool(true)).then(|| reason(&said)))
}

/// `12 late, 3 missing; the first: stream …`.
fn reason(verdict: &Value) -> String {
    let counts = verdict["counts"].as_object().into_iter().flatten();
    let counts: Vec<String> = counts.map(|(kind, count)| format!("{count} {kind}")).collect();
    let first = verdict["faults"][0]["what"].as_str().unwrap_or("nothing is said of it");
    format!("{}; the first: {first}", counts.join(", "))
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|e| format!("ontick's JSON: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_why() {
        let verdict = serde_json::json!({
            "holds": false, "counts": { "late": 2, "missing": 1 }, "faults": [{ "kind": "late", "what": "stream 3 is late" }]
        });
        assert_eq!(reason(&verdict), "2 late, 1 missing; the first: stream 3 is late");
    }
}
