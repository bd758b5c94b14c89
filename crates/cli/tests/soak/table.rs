//! What a soak found, as a table and as a picture.

use std::fmt::Write;

use ontick_report::plot::{Growth, Panel, growth};

use crate::oracle::growth::{MEMORY, Series};
use crate::participants::Count;
use crate::usage::Usage;

/// One life of a process.
pub struct Life {
    /// Seconds from the soak's beginning.
    pub began: f64,
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
            let grown: Vec<f64> = lives.iter().filter_map(|life| MEMORY.growth(&life.usage.proportional)).collect();
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

    /// Memory and descriptors of all lives of each process.
    pub fn picture(&self, seed: u64) -> String {
        let of = |name: &str, figures: fn(&Usage) -> &Series, scale: f64| -> Vec<(f64, f64)> {
            let mut points: Vec<(f64, f64)> = Vec::new();
            for (_, life) in self.lives.iter().filter(|(of, _)| *of == name) {
                points.extend(figures(&life.usage).iter().map(|(at, figure)| (life.began + at, figure * scale)));
            }
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        let panels = self.processes().into_iter().flat_map(|name| {
            [
                Panel {
                    name: format!("{name}: PSS, MiB"),
                    points: of(name, |usage| &usage.proportional, 1.0 / 1024.0),
                },
                Panel { name: format!("{name}: descriptors"), points: of(name, |usage| &usage.descriptors, 1.0) },
            ]
        });
        growth(&Growth {
            title: "Memory and descriptors under faults".into(),
            about: format!(
                "seed {seed}, {} faults in {:.0} s; a process that is killed begins anew",
                self.faults, self.seconds
            ),
            with: "s".into(),
            panels: panels.collect(),
        })
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
