//! The algorithms of tsnkit that run without a licence of a solver.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use crate::child;

use super::instance::Instance;

/// Where packaging/tsnkit puts it; the bench is started at the top of the sources.
const PYTHON: &str = "target/tsnkit/bin/python";

/// An algorithm, as its module is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Ls,
    LsTb,
    LsPl,
    Dt,
    Cg,
    SmtWa,
    At,
    SmtPr,
    IOmt,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Peer::Ls => "ls",
            Peer::LsTb => "ls_tb",
            Peer::LsPl => "ls_pl",
            Peer::Dt => "dt",
            Peer::Cg => "cg",
            Peer::SmtWa => "smt_wa",
            Peer::At => "at",
            Peer::SmtPr => "smt_pr",
            Peer::IOmt => "i_omt",
        })
    }
}

/// Those of which an answer within the limit can be hoped for.
pub fn for_streams(streams: u32) -> &'static [Peer] {
    use Peer::{At, Cg, Dt, IOmt, Ls, LsPl, LsTb, SmtPr, SmtWa};
    match streams {
        0..=10 => &[Ls, LsTb, LsPl, Dt, Cg, SmtWa, At, SmtPr, IOmt],
        11..=200 => &[Ls, LsTb, LsPl, Dt, Cg, SmtWa],
        _ => &[Ls, Dt],
    }
}

/// What an algorithm said of itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It has a schedule, after so many seconds.
    Schedule(f64),
    /// It has none, in its own word.
    Nothing(String),
    /// It was ended.
    OutOfTime,
    /// It ended itself.
    BrokeOff(String),
}

pub fn python() -> String {
    PYTHON.into()
}

/// What is there.
pub fn version() -> Result<String, String> {
    if !Path::new(PYTHON).is_file() {
        return Err(format!(
            "planning: there is no {PYTHON}; packaging/tsnkit makes it (network and python3-venv needed), --without planning leaves it out"
        ));
    }
    let script = "import importlib.metadata, platform; print('tsnkit', importlib.metadata.version('tsnkit'), 'on Python', platform.python_version())";
    Ok(child::run(&[python(), "-c".into(), script.into()])?.stdout.trim().to_owned())
}

/// Lets one run; its tables get the algorithm's name.
pub fn run(peer: Peer, instance: &Instance, limit: Duration) -> Answer {
    let folder = format!("{}/", instance.folder.display());
    let words = [
        python(),
        "-m".into(),
        format!("tsnkit.algorithms.{peer}"),
        instance.task().display().to_string(),
        instance.topology().display().to_string(),
        folder,
        "1".into(),
        peer.to_string(),
    ];
    match child::run_within(&words, limit) {
        Ok(Some(finished)) => answer(&finished.stdout),
        Ok(None) => Answer::OutOfTime,
        Err(sentence) => Answer::BrokeOff(sentence),
    }
}

/// Of the last row: `| time | name | flag | solve_time | …`.
fn answer(said: &str) -> Answer {
    let rows = said.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let last = rows.rev().find(|cells| cells.len() > 4 && cells[4].parse::<f64>().is_ok());
    match last.as_deref() {
        Some([_, _, _, "succ", seconds, ..]) => Answer::Schedule(seconds.parse().unwrap_or(0.0)),
        Some([_, _, _, flag, ..]) => Answer::Nothing((*flag).into()),
        _ => Answer::BrokeOff(said.lines().last().unwrap_or("it said nothing").trim().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_last_row_is_the_answer() {
        let head = "| time          | name | flag   | solve_time | total_time | total_mem \n";
        let row =
            |flag: &str| format!("{head}| 21~22:37:00   | X    | {flag}   | 0.008      | 0.537      | 85.188    \n");
        assert_eq!(answer(&row("succ")), Answer::Schedule(0.008));
        assert_eq!(answer(&row("infe")), Answer::Nothing("infe".into()));
        assert_eq!(answer(head), Answer::BrokeOff(head.trim().into()));
    }
}
