//! What tells the series of a comparison or a table apart. A series' name is made of it, and is never read again.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Measurement;

/// A side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Side {
    /// As any program runs.
    Stock,
    /// As ontick runs it.
    Ontick,
    /// With latency minimised, in source 003's words.
    Minimised,
}

impl Side {
    const ALL: [Self; 3] = [Self::Stock, Self::Ontick, Self::Minimised];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Ontick => "ontick",
            Self::Minimised => "minimised",
        }
    }
}

/// What is special to one series of a run; absent where all are alike in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Case {
    /// How wide the pulses were to be, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width_ns: Option<u64>,
    /// How long the delay was to be, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ns: Option<u64>,
    /// The mechanism: `poll`, `hybrid`, `kernel udelay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The scheduling policy: `other`, `fifo:99`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The policy of the thread that handles the line's interrupt, where it is not the kernel's usual one: `fifo:60`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub irq_policy: Option<String>,
    /// The CPU, of several that were measured together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Which of the several waits of a loop, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<u32>,
    /// How many waits of a loop it is the sum of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_of_waits: Option<u32>,
    /// What was done for the loop's code and data: `untouched`, `prefetch+huge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// The side of a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// Whether beside a load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded: Option<bool>,
}

impl Case {
    /// Whether it tells nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether beside a load, in a word; source 001 stressed its machine.
    pub fn load(&self) -> Option<&'static str> {
        let loaded = if self.policy.is_some() { "stress" } else { "loaded" };
        self.loaded.map(|is_loaded| if is_loaded { loaded } else { "idle" })
    }

    /// What the thread of the line's interrupt was given, in words.
    pub fn irq(&self) -> Option<String> {
        self.irq_policy.as_ref().map(|policy| format!("irq thread {policy}"))
    }

    /// Of a record from before cases were kept: out of the name that this version would give it.
    pub fn of_name(measurement: &Measurement, name: &str) -> Option<Self> {
        let parts: Vec<&str> = name.split(", ").collect();
        let side = |name: &str| Side::ALL.into_iter().find(|side| side.as_str() == name);
        let text = |part: &str| Some(part.to_owned());
        let case = match (measurement, &parts[..]) {
            (Measurement::Prove, [of, _]) => Self { side: side(of), ..Self::default() },
            (Measurement::Response, [method, policy, _]) => {
                Self { method: text(method), policy: text(policy), ..Self::default() }
            }
            (Measurement::PulseTable, [width, method, of, _]) => Self {
                width_ns: ontick_units::parse_time(width).ok(),
                method: text(method),
                side: side(of),
                ..Self::default()
            },
            _ => return None,
        };
        let with_load = [false, true].map(|loaded| Self { loaded: Some(loaded), ..case.clone() });
        with_load.into_iter().find(|case| case.to_string() == name)
    }
}

/// Its parts, as a series of it is named: `ontick, loaded`, `10ms, sleep, stock, idle`, `poll, fifo:99, stress`.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let length = self.width_ns.or(self.delay_ns).map(ontick_units::exact);
        let irq = self.irq();
        let cpu = self.cpu.map(|cpu| format!("CPU {cpu}"));
        let wait = self.wait.map(|wait| format!("wait {wait}"));
        let sum = self.sum_of_waits.map(|waits| format!("sum of {waits} waits"));
        let parts = [
            length.as_deref(),
            self.method.as_deref(),
            self.policy.as_deref(),
            irq.as_deref(),
            cpu.as_deref(),
            wait.as_deref(),
            sum.as_deref(),
            self.cache.as_deref(),
            self.side.map(Side::as_str),
            self.load(),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_table_give_their_cases_again() {
        let side = |side| Case { side: Some(side), loaded: Some(true), ..Case::default() };
        let cell =
            Case { method: Some("poll".into()), policy: Some("fifo:99".into()), loaded: Some(true), ..Case::default() };
        let pulse = Case {
            width_ns: Some(25_000),
            method: Some("kernel udelay".into()),
            loaded: Some(false),
            ..side(Side::Minimised)
        };
        for (measurement, case, name) in [
            (Measurement::Prove, side(Side::Stock), "stock, loaded"),
            (Measurement::Prove, side(Side::Ontick), "ontick, loaded"),
            (Measurement::Response, cell, "poll, fifo:99, stress"),
            (Measurement::PulseTable, pulse, "25us, kernel udelay, minimised, idle"),
        ] {
            assert_eq!(case.to_string(), name);
            assert_eq!(Case::of_name(&measurement, name), Some(case), "{name}");
        }
    }

    #[test]
    fn the_thread_of_an_interrupt_has_its_place_in_the_name() {
        let (method, policy) = (Some("interrupt".into()), Some("rr:55".into()));
        let case = Case { method, policy, irq_policy: Some("fifo:60".into()), loaded: Some(true), ..Case::default() };
        assert_eq!(case.to_string(), "interrupt, rr:55, irq thread fifo:60, stress");
        assert!(Case { irq_policy: None, ..case.clone() }.to_string() != case.to_string());
    }

    #[test]
    fn names_that_mean_something_else_give_none() {
        for (measurement, name) in [
            (Measurement::Timer, "stock, idle"),
            (Measurement::Prove, "stock"),
            (Measurement::Prove, "mine, idle"),
            (Measurement::Prove, "stock, idle "),
            (Measurement::Response, "poll, fifo:99, loaded"),
            (Measurement::Response, "poll"),
            (Measurement::PulseTable, "wide, sleep, stock, idle"),
            (Measurement::Pulse, "10us, sleep, stock, idle"),
        ] {
            assert_eq!(Case::of_name(&measurement, name), None, "{name}");
        }
    }
}
