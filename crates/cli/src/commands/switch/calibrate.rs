//! `ontick switch calibrate`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ontick_record::store;
use ontick_switch::user::placement::place;
use ontick_switch::verify::calibration::{Calibrated, Calibrating};
use ontick_switch::verify::proof::Carrier;
use ontick_switch::verify::source_004_test;
use ontick_tsn::egress::Calibration;
use ontick_tsn::model::Guard;
use ontick_units::exact;

use crate::failure::{Failure, Outcome};
use crate::{flags, privileges, stop, terminal};

/// Measure the timing of a data plane on this machine: hand-over, its spread, spacing and forwarding.
///
/// A switch is set up in a network namespace, with virtual Ethernet for its ports; the machine's own ports are not
/// touched. Frames wait for a gate that opens a thousand times a second, and their arrival times are measured. `network
/// plan`, `network validate` and `check` take the result with --calibration.
///
/// Measure on the machine as it will be used: disturbances during the measurement are part of the figures.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick switch calibrate --out here.json\n  ontick network plan network.toml --calibration here.json --nodes nodes\n  sudo ontick switch calibrate --plane kernel --share 99% --duration 30s"
)]
pub struct Calibrate {
    /// What is measured
    #[arg(long, value_enum, default_value = "user")]
    plane: PlaneName,
    /// CPU of the user data plane [default: the one that suits best]
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// How long to measure the hand-over, and as long again the forwarding
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    duration: u64,
    /// Share of all hand-overs and forwardings that the result covers
    #[arg(long, value_name = "PERCENT", default_value = "99.9%", value_parser = share)]
    share: f64,
    /// Write the result to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON: what --out writes
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum PlaneName {
    /// A dedicated core
    User,
    /// Bridge, classifier and taprio
    Kernel,
}

fn duration(text: &str) -> Result<u64, String> {
    match flags::duration(text)? {
        ns if (200_000_000..=3_600_000_000_000).contains(&ns) => Ok(ns),
        _ => Err("it is measured for 200ms to 1h".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok());
    let share = number.map(|percent| percent / 100.0).filter(|share| (0.5..=1.0).contains(share));
    share.ok_or_else(|| format!("\"{text}\" is not a percentage from 50% to 100%"))
}

impl Calibrate {
    pub fn run(self) -> Result<Outcome, Failure> {
        if let Some(out) = &self.out {
            store::check_writable(out)?;
        }
        privileges::NAMESPACES.require("switch calibrate")?;
        let carrier = match self.plane {
            PlaneName::User => Carrier::User(place(&source_004_test::switch(1_000_000, Guard::None), self.cpu)),
            PlaneName::Kernel => Carrier::Kernel,
        };
        let stop = stop::on_signal()?;
        let calibrating = Calibrating { carrier, duration_ns: self.duration, share: self.share };
        let found = calibrating.carry_out(&stop, &mut |_, _| {})?;
        let written = Calibration {
            ontick_calibration: Calibration::VERSION,
            plane: found.plane,
            about: format!("{}, {}", ontick_record::date::now(), found.about),
            timing: found.timing,
        };
        let text = written.write()?;
        if let Some(out) = &self.out {
            store::write_whole(out, text.as_bytes())?;
        }
        terminal::print(&if self.json { text } else { self.text(&found) })?;
        Ok(Outcome::Met)
    }

    fn text(&self, found: &Calibrated) -> String {
        let timing = &found.timing;
        let share = format!("{} %", self.share * 100.0);
        let mut text = format!("plane       {}\n", found.about);
        text += &format!(
            "hand-over   {}, and {} more in {share} of {} openings\n",
            exact(timing.hand_over_ns),
            exact(timing.spread_ns),
            found.openings
        );
        text += &format!("spacing     {} from frame to frame\n", exact(timing.spacing_ns));
        text += &format!("forwarding  {} for {share} of all frames\n", exact(timing.forwarding_ns));
        text += &format!(
            "window      {} beyond its frames, a guard of {} included (assumed, as the clock's error of {})\n",
            exact(timing.margin_ns()),
            exact(timing.guard_ns),
            exact(timing.clock_error_ns)
        );
        if let Some(out) = &self.out {
            text += &format!("written     {}\n", out.display());
        }
        text
    }
}
