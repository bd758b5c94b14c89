//! How wide the pulses came, drawn: the room between the widths is the margin.

use std::collections::BTreeMap;

use ontick_link::Setting;
use ontick_link::eye::{Eye, FINENESS};
use ontick_link::trial::Trial;
use ontick_units::show;
use serde::Serialize;

/// How many pulses came how wide, in steps from the shortest.
#[derive(Clone, Serialize)]
pub struct Bin {
    pub steps: f64,
    pub pulses: u64,
}

pub fn bins(trial: &Trial) -> Vec<Bin> {
    let counts = trial.eye.iter().flat_map(Eye::counts);
    counts.filter(|(_, pulses)| *pulses > 0).map(|(steps, pulses)| Bin { steps, pulses }).collect()
}

/// More widths than this are drawn one over the other.
const MOST_APART: u32 = 4;
const BARS: f64 = 40.0;

/// Bars that grow with the logarithm: where those of neighbours meet there is no margin left.
pub fn drawn(trial: &Trial, setting: Setting, note: &str) -> String {
    let (Some(eye), bins) = (&trial.eye, bins(trial)) else { return String::new() };
    if bins.is_empty() {
        return String::new();
    }
    let lines = if setting.code.longest_pulse() < MOST_APART { apart(&bins, setting) } else { folded(&bins, setting) };
    let how = if setting.code.longest_pulse() < MOST_APART { "" } else { ", all widths one over the other" };
    let margin = eye.margin() * 100.0;
    format!(
        "pulse widths{note}, of whole blocks{how}\n{lines}margin       {margin:.0} % of half a step is left by 99.9 % of the pulses\n"
    )
}

/// Each width by itself.
fn apart(bins: &[Bin], setting: Setting) -> String {
    let (short_ns, step_ns) = (setting.code.shortest_ns as f64, setting.code.step_ns as f64);
    let most = bins.iter().map(|bin| bin.pulses).max().unwrap_or(0);
    let (mut text, mut last) = (String::new(), None::<f64>);
    for Bin { steps, pulses } in bins {
        if last.is_some_and(|last| steps - last > 1.5 / FINENESS as f64) {
            text += "         …\n";
        }
        text += &line(&show((short_ns + steps * step_ns) as u64), *pulses, most);
        last = Some(*steps);
    }
    text
}

/// How far each pulse was from the width that it was taken for.
fn folded(bins: &[Bin], setting: Setting) -> String {
    let mut tenths: BTreeMap<i64, u64> = BTreeMap::new();
    for Bin { steps, pulses } in bins {
        *tenths.entry(((steps - steps.round()) * FINENESS as f64).round() as i64).or_default() += pulses;
    }
    let most = tenths.values().copied().max().unwrap_or(0);
    let half = FINENESS as i64 / 2;
    let off = |tenth: i64| {
        let ns = setting.code.step_ns * tenth.unsigned_abs() / FINENESS as u64;
        format!("{}{}", if tenth < 0 { "-" } else { "+" }, show(ns))
    };
    (-half..=half).map(|tenth| line(&off(tenth), tenths.get(&tenth).copied().unwrap_or(0), most)).collect()
}

fn line(name: &str, pulses: u64, most: u64) -> String {
    let bar = ((pulses + 1) as f64).ln() / ((most + 1) as f64).ln() * BARS;
    format!("{name:>10}  {:<40}  {pulses}\n", "#".repeat(bar.ceil() as usize))
}
