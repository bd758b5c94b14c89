//! In simulated time.

use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ontick_network::endpoint::Planned;
use ontick_network::{Costs, Options, simulate};
use ontick_record::Run;
use ontick_tsn::egress::DataPlane;

use super::drawn::{self, Lacks};
use super::{Prove, document};
use crate::commands::network::planned;
use crate::failure::Failure;
use crate::{stop, terminal};

impl Prove {
    /// The record, and what its picture lacks.
    pub(super) fn simulate(&self) -> Result<(Run, Option<Lacks>), Failure> {
        let timing = self.planned.timing()?;
        if timing.target.plane != Some(DataPlane::User) {
            return Err(Failure::new(format!(
                "a simulation runs the code of the user data plane, and the target is {}: leave --target out, or name user",
                timing.target.name
            )));
        }
        let stop = stop::on_signal()?;
        let go_on = || !stop.load(Relaxed);
        let planned = self.planned.read(&timing, &go_on)?;
        let note = planned::note(&planned, timing.target);
        let Planned { network, table, schedule } = planned;
        let options = Options {
            duration_ns: self.duration,
            seed: self.seed,
            costs: Costs::within(&network.timing),
            load: self.load,
            faults: self.fault.clone(),
            trace_ns: drawn::cycle_ns(&network, &schedule).unwrap_or(0),
        };
        let began = Instant::now();
        let line = RefCell::new(Progress::new(self.duration));
        let shown = |simulated_ns: u64| {
            line.borrow_mut().show(simulated_ns);
            go_on()
        };
        let outcome = simulate(&network, &table, &schedule, &options, &shown).map_err(Failure::new)?;
        line.borrow().clear();
        if outcome.interrupted && outcome.frames == 0 {
            return Err(Failure::new("the run was ended before anything was measured, so nothing is kept"));
        }
        let took = began.elapsed().as_secs_f64().max(1e-9);
        if !self.output.json {
            terminal::say(&format!(
                "ontick: {} of simulated time took {took:.2} s: {} frames a second on links",
                ontick_units::exact(outcome.simulated_ns),
                ontick_units::count((outcome.hops as f64 / took) as u64)
            ));
        }
        let (mut run, lacks) = document::run(&network, &schedule, &options, &outcome);
        run.notes.extend(note);
        run.notes.extend(self.fault.iter().filter_map(|fault| fault.spares(&network)));
        Ok((run, lacks))
    }
}

/// How far it is, on a line of the terminal that is rewritten.
struct Progress {
    whole_ns: u64,
    shown: bool,
    next: Instant,
}

impl Progress {
    fn new(whole_ns: u64) -> Self {
        Self { whole_ns, shown: terminal::can_rewrite(), next: Instant::now() + Duration::from_millis(500) }
    }

    fn show(&mut self, done_ns: u64) {
        if self.shown && Instant::now() >= self.next {
            self.next = Instant::now() + Duration::from_millis(200);
            terminal::rewrite(&format!("{:3.0}%  simulated", done_ns as f64 * 100.0 / self.whole_ns as f64));
        }
    }

    fn clear(&self) {
        if self.shown {
            terminal::clear_line();
        }
    }
}
