//! Proofs and searches beside an exact solver (CP-SAT): what it can schedule is never called impossible, and is found.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::child;
use crate::goals::Goal;
use crate::page::{Page, Table};

use super::peers;

/// The solver's model and the networks, both its own.
const SCRIPT: &str = "bench/planner_judge.py";
/// Small networks with deadlines near to what is possible, such with what a data plane needs, and large ones; how many of
/// each, and of which so many with `--quick`, and for how long ontick searches.
const DRAWN: [(&str, [u32; 2], &str); 3] =
    [("small", [400, 40], "1s"), ("margins", [200, 40], "1s"), ("large", [200, 12], "10s")];
/// How much of its time the fullest link carries on shortest paths, in percent: large networks of each load.
const LOADS: [u32; 6] = [50, 60, 70, 80, 90, 95];
const OF_EACH_LOAD: ([u32; 2], &str) = ([30, 2], "10s");
/// Of the large networks that can be scheduled, so many are found.
const FOUND: f64 = 0.98;
/// How long the solver may take for one, in s; and with `--quick`.
const LIMIT_S: [u32; 2] = [60, 10];
/// Where networks are drawn from: those with this seed are in the tests, too.
const SEED: &str = "1";

/// What the solver says, and what ontick says, with how many networks.
type Verdicts = BTreeMap<(String, String), usize>;

/// Whether the solver is there.
pub fn check() -> Result<(), String> {
    let words = [peers::python(), "-c".into(), "import ortools".into()];
    child::run(&words).map(drop).map_err(|_| {
        format!("the judge of plans needs OR-tools in {}; packaging/tsnkit puts it there", peers::python())
    })
}

/// Both kinds, on the page.
pub fn measure(ontick: &Path, page: &mut Page, quick: bool) -> Result<Vec<Goal>, String> {
    check()?;
    page.heading("Planning: beside an exact solver (CP-SAT)");
    let mut table = Table::of_words(&["networks", "the solver", "ontick", "number"]);
    let mut goals = Vec::new();
    let of = |two: [u32; 2]| two[usize::from(quick)];
    for (kind, count, time) in DRAWN {
        let folder = tempfile::tempdir().map_err(|e| format!("a folder for networks: {e}"))?;
        let verdicts = verdicts(ontick, folder.path(), (kind, of(count), of(LIMIT_S)), time)?;
        for ((solver, ours), number) in &verdicts {
            table.row([kind.into(), solver.clone(), ours.clone(), number.to_string()]);
        }
        goals.push(no_false_proof(kind, &verdicts));
        if kind == "large" {
            goals.push(found(&verdicts));
        }
    }
    page.table(&table);
    by_load(ontick, page, of)?;
    Ok(goals)
}

/// How many are found as links fill, and what the plans are like.
fn by_load(ontick: &Path, page: &mut Page, of: impl Fn([u32; 2]) -> u32) -> Result<(), String> {
    page.heading("Planning: as links fill, beside an exact solver");
    let mut table =
        Table::new(&["fullest link", "networks", "found by the solver", "by ontick", "by ontick, of the solver's"]);
    let folder = tempfile::tempdir().map_err(|e| format!("a folder for networks: {e}"))?;
    let (count, time) = OF_EACH_LOAD;
    for load in LOADS {
        let within = folder.path().join(load.to_string());
        let verdicts = verdicts(ontick, &within, (&format!("load-{load}"), of(count), of(LIMIT_S)), time)?;
        table.row(counts(load, &verdicts));
        // All plans are looked at together.
        for file in std::fs::read_dir(&within).map_err(|e| format!("{}: {e}", within.display()))?.flatten() {
            let to = folder.path().join(file.file_name());
            std::fs::rename(file.path(), &to).map_err(|e| format!("{}: {e}", to.display()))?;
        }
    }
    page.table(&table);
    let said = script(&["quality", &folder.path().display().to_string()])?;
    page.words(&format!("Of all these plans: {}.", said.trim().replace('\n', "; ")));
    Ok(())
}

fn counts(load: u32, verdicts: &Verdicts) -> [String; 5] {
    let ours = verdicts.iter().filter(|((_, ours), _)| ours == "planned").map(|(_, number)| number).sum::<usize>();
    let (both, solver) = (of(verdicts, "feasible", Some("planned")), of(verdicts, "feasible", None));
    let all = verdicts.values().sum::<usize>();
    [format!("{load} %"), all.to_string(), solver.to_string(), ours.to_string(), format!("{both} of {solver}")]
}

fn script(words: &[&str]) -> Result<String, String> {
    let words = words.iter().map(|word| (*word).to_owned());
    Ok(child::run(&[peers::python(), SCRIPT.into()].into_iter().chain(words).collect::<Vec<_>>())?.stdout)
}

fn verdicts(
    ontick: &Path,
    folder: &Path,
    (kind, count, limit_s): (&str, u32, u32),
    time: &str,
) -> Result<Verdicts, String> {
    let (into, count, limit) = (folder.display().to_string(), count.to_string(), limit_s.to_string());
    script(&["draw", kind, &count, SEED, &into])?;
    let decided = script(&["decide", &into, &limit])?;
    let mut verdicts = Verdicts::new();
    for line in decided.lines() {
        let [name, solver, _] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("{SCRIPT}: \"{line}\" is no verdict"));
        };
        let [file, plan] = ["json", "plan"].map(|end| folder.join(format!("{name}.{end}")).display().to_string());
        let words = [ontick.display().to_string(), "network".into(), "plan".into(), file];
        let options = ["--json", "--time", time, "--out", &plan].map(String::from);
        let measured = folder.join(format!("{name}.calibration"));
        let measured = measured.exists().then(|| ["--calibration".to_owned(), measured.display().to_string()]);
        let options = options.into_iter().chain(measured.into_iter().flatten());
        let said = child::run_whether_met(&words.into_iter().chain(options).collect::<Vec<_>>())?.stdout;
        let said: Value = serde_json::from_str(&said).map_err(|e| format!("ontick's JSON: {e}"))?;
        let ours = said["outcome"].as_str().unwrap_or("nothing").to_owned();
        *verdicts.entry((solver.to_owned(), ours)).or_default() += 1;
    }
    Ok(verdicts)
}

fn of(verdicts: &Verdicts, solver: &str, ours: Option<&str>) -> usize {
    let meant = |(key, _): &(&(String, String), &usize)| key.0 == solver && ours.is_none_or(|ours| key.1 == ours);
    verdicts.iter().filter(meant).map(|(_, number)| number).sum()
}

/// Neither a proof against what the solver schedules, nor a plan for what it proves to have none.
fn no_false_proof(kind: &str, verdicts: &Verdicts) -> Goal {
    let wrong = of(verdicts, "feasible", Some("impossible")) + of(verdicts, "infeasible", Some("planned"));
    let all = verdicts.values().sum::<usize>();
    let seen = (all > 0).then(|| (format!("{wrong} of {all}"), wrong == 0));
    Goal::new(format!("planning: {kind} networks on which ontick contradicts the solver"), "none", seen)
}

fn found(verdicts: &Verdicts) -> Goal {
    let (planned, all) = (of(verdicts, "feasible", Some("planned")), of(verdicts, "feasible", None));
    let seen = (all > 0).then(|| (format!("{planned} of {all}"), planned as f64 >= FOUND * all as f64));
    Goal::new("planning: large networks found within 10 s, of those that the solver schedules", "≥ 98 %", seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(of: &[(&str, &str, usize)]) -> Verdicts {
        of.iter().map(|(solver, ours, number)| (((*solver).into(), (*ours).into()), *number)).collect()
    }

    #[test]
    fn of_each_load_both_are_counted() {
        let all = verdicts(&[("feasible", "planned", 20), ("feasible", "not found", 2), ("unknown", "planned", 8)]);
        assert_eq!(counts(80, &all), ["80 %", "30", "22", "28", "20 of 22"]);
    }

    #[test]
    fn one_false_proof_and_one_false_plan_are_too_many() {
        let right =
            verdicts(&[("feasible", "planned", 98), ("feasible", "not found", 2), ("infeasible", "impossible", 5)]);
        assert_eq!(no_false_proof("small", &right).reached, Some(true));
        assert_eq!((found(&right).reached, found(&right).seen), (Some(true), "98 of 100".into()));
        for wrong in [("feasible", "impossible", 1), ("infeasible", "planned", 1)] {
            assert_eq!(no_false_proof("small", &verdicts(&[wrong])).reached, Some(false));
        }
        assert_eq!(found(&verdicts(&[("feasible", "planned", 97), ("feasible", "not found", 3)])).reached, Some(false));
        assert_eq!(found(&verdicts(&[])).reached, None);
    }
}
