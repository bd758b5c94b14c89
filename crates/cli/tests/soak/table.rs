//! What a soak found, as a table and as a picture.

use std::fmt::Write;

use ontick_report::plot::{Growth, Panel, growth};

use crate::oracle::growth::{Series, memory};
use crate::participants::Count;
use crate::usage::Usage;

/// Points of a panel, at most.
const POINTS: usize = 100;

/// One life of a process.
pub struct Life {
    /// Seconds from the soak's beginning.
    pub began: f64,
    pub pid: u32,
    pub usage: Usage,
}

/// All that is known at the end.
pub struct Result {
    pub seconds: f64,
    pub faults: u64,
    pub findings: Vec<String>,
    pub counts: Vec<(&'static str, Count)>,
    pub lives: Vec<(&'static str, Life)>,
}

impl Result {
    /// In Markdown, as docs/endurance.md has it.
    pub fn table(&self, seed: u64) -> String {
        let mut text = format!(
            "seed {seed}, {:.0} s, {} faults, {} findings\n\n| command | lives | of | delivered | counted as missed | under way when \
             killed |\n|---|---|---|---|---|---|\n",
            self.seconds,
            self.faults,
            self.findings.len()
        );
        for (name, count) in &self.counts {
            let Count { lives, delivered, missed, killed, of } = count;
            let _ = writeln!(text, "| `{name}` | {lives} | {of} | {delivered} | {missed} | {killed} |");
        }
        text.push_str(
            "\n| process | longest life, s | descriptors, least and most | PSS at its end, KiB | lives judged for memory | most that \
             one grew, KiB |\n|---|---|---|---|---|---|\n",
        );
        for name in self.processes() {
            let lives: Vec<&Life> = self.lives.iter().filter(|(of, _)| *of == name).map(|(_, life)| life).collect();
            let Some(longest) = lives.iter().max_by(|a, b| span(&a.usage).total_cmp(&span(&b.usage))) else { continue };
            let descriptors = || lives.iter().flat_map(|life| &life.usage.descriptors).map(|(_, open)| *open);
            let (least, most) = (descriptors().fold(f64::MAX, f64::min), descriptors().fold(0.0, f64::max));
            let grown: Vec<f64> =
                lives.iter().filter_map(|life| memory(name).growth(&life.usage.proportional)).collect();
            let at_end = longest.usage.proportional.last().map_or(0.0, |(_, kib)| *kib);
            let grew = grown.iter().copied().reduce(f64::max).map_or("-".into(), |kib| format!("{kib:.0}"));
            let _ = writeln!(
                text,
                "| `{name}` | {:.0} | {least} to {most} | {at_end} | {} of {} | {grew} |",
                span(&longest.usage),
                grown.len(),
                lives.len()
            );
        }
        text
    }

    /// Memory of each process, and the descriptors of all.
    pub fn picture(&self, seed: u64) -> String {
        let memory = self.processes().into_iter().map(|name| {
            let lives = self.lives.iter().filter(|(of, _)| *of == name).map(|(_, life)| life);
            let points = lives.flat_map(|life| shifted(&life.usage.proportional, life.began, 1.0 / 1024.0)).collect();
            Panel { name: format!("{name}: PSS, MiB"), points: thinned(points) }
        });
        let descriptors = self.processes().into_iter().map(|name| {
            let lives = self.lives.iter().filter(|(of, _)| *of == name).map(|(_, life)| life);
            let points = lives.flat_map(|life| shifted(&life.usage.descriptors, life.began, 1.0)).collect();
            Panel { name: format!("{name}: descriptors"), points: thinned(points) }
        });
        growth(&Growth {
            title: "Memory and descriptors under faults".into(),
            about: format!(
                "seed {seed}, {} faults in {:.0} s; the most in each part of the time; a process that is killed begins anew",
                self.faults, self.seconds
            ),
            with: "s".into(),
            panels: memory.chain(descriptors).collect(),
        })
    }

    /// All figures, a line for each look at a process.
    pub fn usage(&self) -> String {
        let mut text = "seconds\tprocess\tpid\tdescriptors\tVmRSS KiB\tPSS KiB\n".to_owned();
        for (name, Life { began, pid, usage }) in &self.lives {
            let memory = usage.resident.iter().zip(&usage.proportional);
            for ((at, open), ((_, resident), (_, proportional))) in usage.descriptors.iter().zip(memory) {
                let _ = writeln!(text, "{:.1}\t{name}\t{pid}\t{open}\t{resident}\t{proportional}", began + at);
            }
        }
        text
    }

    fn processes(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self.lives.iter().map(|(name, _)| *name).collect();
        names.dedup();
        names
    }
}

fn span(usage: &Usage) -> f64 {
    usage.descriptors.last().map_or(0.0, |last| last.0 - usage.descriptors[0].0)
}

fn shifted(series: &Series, began: f64, scale: f64) -> impl Iterator<Item = (f64, f64)> {
    series.iter().map(move |(at, figure)| (began + at, figure * scale))
}

/// The most of each part of the time, in order.
fn thinned(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most = |some: &[(f64, f64)]| some.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points.chunks(points.len().div_ceil(POINTS).max(1)).filter_map(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_points_keep_the_most_and_their_order() {
        let points: Vec<(f64, f64)> =
            (0..1000).rev().map(|n| (f64::from(n), if n == 501 { 9.0 } else { 1.0 })).collect();
        let thinned = thinned(points);
        assert!(thinned.len() <= POINTS && thinned.is_sorted_by(|a, b| a.0 < b.0), "{thinned:?}");
        assert_eq!(thinned.iter().filter(|point| **point == (501.0, 9.0)).count(), 1);
        assert_eq!(super::thinned(vec![(1.0, 2.0)]), [(1.0, 2.0)]);
    }
}
