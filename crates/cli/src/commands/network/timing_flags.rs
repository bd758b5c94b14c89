//! What is to carry a schedule out, and how exactly that sends.

use clap::Args;
use ontick_tsn::egress::EgressTiming;
use ontick_tsn::network::Network;
use ontick_tsn::target::{self, TARGETS, Target};
use ontick_units::exact;

use crate::commands::switch::measured::CalibrationFlag;
use crate::failure::Failure;
use crate::flags;

#[derive(Args)]
pub struct TimingFlags {
    /// What executes the schedule: any (exactly on time), user, kernel, hardware, i225, i210 or list-256 [default: any; user
    /// where it is run]
    #[arg(long, value_parser = target)]
    target: Option<&'static Target>,
    #[command(flatten)]
    calibration: CalibrationFlag,
    /// Usual time from a gate's opening until a waiting frame is on the link
    #[arg(long, value_name = "TIME", value_parser = flags::time, help_heading = "Timing of the target")]
    hand_over: Option<u64>,
    /// How much longer the hand-over may take
    #[arg(long, value_name = "TIME", value_parser = flags::time, help_heading = "Timing of the target")]
    spread: Option<u64>,
    /// Least time from the hand-over of one frame to that of the next
    #[arg(long, value_name = "TIME", value_parser = flags::time, help_heading = "Timing of the target")]
    spacing: Option<u64>,
    /// Time to leave free before a gate closes
    #[arg(long, value_name = "TIME", value_parser = flags::time, help_heading = "Timing of the target")]
    window_guard: Option<u64>,
    /// Largest difference between its clock and that of its node
    #[arg(long, value_name = "TIME", value_parser = flags::time, help_heading = "Timing of the target")]
    clock_error: Option<u64>,
    /// Longest time from a frame's last bit at one port until it waits at another
    #[arg(long, value_name = "TIME", value_parser = flags::time, help_heading = "Timing of the target")]
    forwarding: Option<u64>,
}

/// What was chosen.
pub struct Timing {
    pub target: &'static Target,
    pub timing: EgressTiming,
    /// Where the values come from.
    pub source: String,
}

fn target(name: &str) -> Result<&'static Target, String> {
    let names = || TARGETS.iter().map(|target| format!("{} ({})", target.name, target.about)).collect::<Vec<_>>();
    target::named(name).ok_or_else(|| format!("there is no target {name}; known are {}", names().join("; ")))
}

impl TimingFlags {
    /// What was chosen; where nothing was, gates open exactly on time.
    pub fn read(&self) -> Result<Timing, Failure> {
        self.read_else("any")
    }

    /// Whether any time of the target was named, or measured.
    pub fn names_times(&self) -> bool {
        let Self { target: _, calibration, hand_over, spread, spacing, window_guard, clock_error, forwarding } = self;
        let times = [hand_over, spread, spacing, window_guard, clock_error, forwarding];
        calibration.is_given() || times.into_iter().any(Option::is_some)
    }

    /// What a plan is for, as it is to be typed again.
    pub fn words(&self) -> Vec<String> {
        let target = self.target.iter().flat_map(|target| ["--target".into(), target.name.into()]);
        let times = [
            ("--hand-over", self.hand_over),
            ("--spread", self.spread),
            ("--spacing", self.spacing),
            ("--window-guard", self.window_guard),
            ("--clock-error", self.clock_error),
            ("--forwarding", self.forwarding),
        ];
        let times = times.into_iter().filter_map(|(name, ns)| Some([name.to_owned(), exact(ns?)])).flatten();
        target.chain(self.calibration.words()).chain(times).collect()
    }

    /// What was measured of the target.
    pub fn calibration(&self) -> &CalibrationFlag {
        &self.calibration
    }

    /// What was chosen; where nothing was, a target of this name.
    pub fn read_else(&self, usual: &str) -> Result<Timing, Failure> {
        let mut target = self.target.or(target::named(usual)).unwrap_or(&TARGETS[0]);
        let (mut timing, mut source) = (target.timing(), "assumed, not measured".to_string());
        if let Some(measured) = self.calibration.read()? {
            let plane = measured.calibration.plane;
            if target.plane.is_none() {
                target = target::named(plane.name()).unwrap_or(target);
            }
            if target.plane != Some(plane) {
                return Err(measured.is_of_another(&format!("the target is {}", target.name)));
            }
            (timing, source) = (measured.calibration.timing, format!("measured, {}", measured.file));
        }
        let given = [
            (&mut timing.hand_over_ns, self.hand_over),
            (&mut timing.spread_ns, self.spread),
            (&mut timing.spacing_ns, self.spacing),
            (&mut timing.guard_ns, self.window_guard),
            (&mut timing.clock_error_ns, self.clock_error),
            (&mut timing.forwarding_ns, self.forwarding),
        ];
        let mut some = 0;
        for (value, given) in given {
            if let Some(ns) = given {
                *value = ns;
                some += 1;
            }
        }
        if !timing.is_sane() {
            return Err(Failure::new("a time of the target is longer than a second; no data plane needs that"));
        }
        source = match some {
            0 => source,
            6 => "given".into(),
            _ => format!("some given, the others {source}"),
        };
        Ok(Timing { target, timing, source })
    }
}

impl Timing {
    /// The network with such nodes.
    pub fn apply(&self, network: Network) -> Network {
        network.timed(self.timing)
    }

    /// In a line; nothing where gates open exactly on time.
    pub fn in_words(&self) -> Option<String> {
        let EgressTiming { hand_over_ns, spread_ns, guard_ns, forwarding_ns, clock_error_ns, .. } = self.timing;
        if self.timing == EgressTiming::IDEAL {
            return None;
        }
        let mut words = format!(
            "each window has {} beyond its frames: hand-over {}, spread {}, guard {}",
            exact(self.timing.margin_ns()),
            exact(hand_over_ns),
            exact(spread_ns),
            exact(guard_ns)
        );
        if forwarding_ns > 0 {
            words += &format!(" · {} to forward", exact(forwarding_ns));
        }
        if clock_error_ns > 0 {
            words += &format!(" · clock within {}", exact(clock_error_ns));
        }
        Some(format!("{} · {words} ({})", self.target.name, self.source))
    }
}
