//! When each message is on which link.

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use ontick_tsn::egress::EgressTiming;
use ontick_tsn::network::Network;
use ontick_tsn::planning::{
    Document, Outcome as Planned, PlanOptions, Prefer, Timetable, close_short_gaps, gate_control_list, plan,
};
use ontick_tsn::validate::beyond_target;

use super::super::timing_flags::TimingFlags;
use super::delivered::Delivery;
use super::summary::{self, Margin};
use crate::failure::{Failure, Outcome};
use crate::{flags, stop, terminal};

/// For so long a plan without the data plane's margin is looked for where there is none with it.
const WITHOUT_MARGIN: Duration = Duration::from_secs(5);

/// How schedules are computed, and where they go.
#[derive(Args)]
pub struct ScheduleFlags {
    /// How long to search if streams find no place at first
    #[arg(long, value_name = "TIME", value_parser = flags::time, default_value = "60s")]
    time: u64,
    /// Paths to try for each stream
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    paths: u8,
    /// Frames never wait in a switch: they pass without delay, or there is no schedule
    #[arg(long)]
    no_wait: bool,
    /// Where to place windows that could be anywhere
    #[arg(long, value_enum, default_value = "early")]
    prefer: PreferFlag,
    /// Times of windows are multiples of this, the resolution of the hardware [default: 1ns; 100ns with --tsnkit]
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    slot: Option<u64>,
    /// Seed of random choices: the same seed gives the same plan
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Keep the unchanged streams of this plan as they are, and fit new ones in
    #[arg(long, value_name = "PLAN")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    timing: TimingFlags,
    #[command(flatten)]
    delivery: Delivery,
}

#[derive(Clone, Copy, ValueEnum)]
enum PreferFlag {
    /// As early in the period as they fit: short delays
    Early,
    /// Over the whole period: time for best effort everywhere between
    Spread,
    /// Next to each other: short gate control lists, few guard bands
    FewEntries,
}

impl From<PreferFlag> for Prefer {
    fn from(flag: PreferFlag) -> Self {
        match flag {
            PreferFlag::Early => Prefer::Early,
            PreferFlag::Spread => Prefer::Spread,
            PreferFlag::FewEntries => Prefer::FewEntries,
        }
    }
}

impl ScheduleFlags {
    pub fn run(self, network: Network, json: bool) -> Result<Outcome, Failure> {
        self.delivery.check(&network)?;
        let timing = self.timing.read()?;
        let plain = network.timing;
        let network = &timing.apply(network);
        if let Some(too_long) = gate_control_list::too_long_in_any_plan(network) {
            return Err(Failure::new(too_long));
        }
        let kept = self.kept(network)?;
        let wanted = PlanOptions {
            routes: self.paths.into(),
            wait: !self.no_wait,
            prefer: self.prefer.into(),
            slot_ns: self.slot.unwrap_or(if self.delivery.tsnkit.is_some() { 100 } else { 1 }).max(1),
            shortest_ns: timing.target.shortest_ns,
            seed: self.seed,
        };
        let stop = stop::on_signal()?;
        let begun = Instant::now();
        let time = Duration::from_nanos(self.time);
        let outcome = plan(network, &wanted, &kept, &|| !stop.load(Relaxed) && begun.elapsed() < time);
        let took = begun.elapsed();
        let nobody = Timetable { placed: vec![None; network.streams.len()] };
        let table = match &outcome {
            Planned::Impossible(_) => &nobody,
            Planned::Planned(table) => table,
            Planned::NotFound(found) => &found.table,
        };
        let mut schedule = gate_control_list::schedule(network, table).map_err(Failure::new)?;
        close_short_gaps(&mut schedule, timing.target.shortest_ns, network, table);
        let beyond = beyond_target(network, &schedule, &self.delivery.limited(timing.target));
        let notes = match (&outcome, &beyond) {
            (Planned::Impossible(_), _) | (_, Some(_)) => Vec::new(),
            _ => self.delivery.deliver(network, table, &schedule, timing.target)?,
        };
        let margin = Margin { timing: timing.in_words(), is_why: is_margin(&outcome, network, plain, &wanted) };
        let text = match json {
            true => summary::json(network, &outcome, &Document::new(network, table, &schedule), &margin)?,
            false => summary::text(network, &outcome, table, took, &wanted, &margin, &terminal::style()),
        };
        terminal::print(&text)?;
        notes.iter().for_each(|note| terminal::say(&format!("ontick: {note}")));
        beyond.iter().for_each(|beyond| terminal::say(&format!("ontick: {beyond}; no file was written")));
        match outcome {
            Planned::Planned(_) if beyond.is_none() => Ok(Outcome::Met),
            _ => Ok(Outcome::NotMet),
        }
    }

    fn kept(&self, network: &Network) -> Result<Timetable, Failure> {
        let Some(file) = &self.keep else { return Ok(Timetable::default()) };
        Ok(super::delivered::read_plan(file)?.timetable(network))
    }
}

/// Whether it is the margin of the data plane that makes it impossible: with the timing of before there is a plan.
fn is_margin(outcome: &Planned, network: &Network, plain: EgressTiming, wanted: &PlanOptions) -> bool {
    if matches!(outcome, Planned::Planned(_)) || network.timing == EgressTiming::IDEAL {
        return false;
    }
    let begun = Instant::now();
    let go_on = || begun.elapsed() < WITHOUT_MARGIN;
    matches!(plan(&network.clone().timed(plain), wanted, &Timetable::default(), &go_on), Planned::Planned(_))
}
