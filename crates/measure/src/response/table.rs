//! Source 001's whole table: every mechanism under every policy, idle and stressed, in interleaved blocks.

use ontick_record::run::Published;
use ontick_record::{Case, Series};
use ontick_rt::clock::ClockId;
use ontick_rt::thread::Policy;

use super::{Job, Method, measure};
use crate::blocks::absorb;
use crate::observe::Part;
use crate::timetable::{BESIDE_NS, Timetable};
use crate::{Error, Length, Limits, Load, Observer, Placement};

/// Passes through all cases of one load: forth and back.
const PASSES: u64 = 2;
/// The shortest block, in ns.
const LEAST_NS: u64 = 100_000_000;

/// What is measured, and for how long.
#[derive(Debug, Clone)]
pub struct Table {
    /// Lines and interval; the mechanism is each in turn.
    pub job: Job,
    /// Where the answering thread runs; the policy is each in turn.
    pub placement: Placement,
    /// All cases together, or the count of each; what else is in the limits holds for each block.
    pub limits: Limits,
    /// The kernel module answers, too.
    pub kernel: bool,
    /// The input's interrupt has a thread ([`has_irq_thread`](super::has_irq_thread)): it gets a priority above the
    /// answering thread's, too.
    pub irq_thread: bool,
    /// What stresses the machine.
    pub stress: Load,
}

/// One cell of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    method: Method,
    policy: Policy,
    /// Of the thread of the input's interrupt, where it is not the kernel's usual one.
    irq_policy: Option<Policy>,
    stressed: bool,
}

/// Above the handlers of WiringPi, where the kernel's usual 50 is below.
const IRQ_ABOVE: Policy = Policy::Fifo(60);

impl Cell {
    /// The cells in the order of the table.
    fn all(kernel: bool, irq_thread: bool) -> Vec<Cell> {
        let policies = |method| match method {
            // Handlers of WiringPi run at this priority.
            Method::Interrupt => vec![Policy::Other, Policy::RoundRobin(55), Policy::Fifo(99)],
            Method::Poll | Method::InterruptBusy => vec![Policy::Other, Policy::Fifo(99)],
            // The kernel's own threads of interrupts run at 50.
            Method::Kernel(_) => vec![Policy::Fifo(50), Policy::Fifo(99)],
        };
        let of = |method| {
            let above =
                (irq_thread && method == Method::Interrupt).then_some((Policy::RoundRobin(55), Some(IRQ_ABOVE)));
            let usual = policies(method).into_iter().map(|policy| (policy, None));
            usual
                .chain(above)
                .flat_map(move |(policy, irq)| [false, true].map(|stressed| (method, policy, irq, stressed)))
        };
        Method::PROGRAM
            .into_iter()
            .chain(kernel.then_some(Method::KERNEL))
            .flat_map(of)
            .map(|(method, policy, irq_policy, stressed)| Cell { method, policy, irq_policy, stressed })
            .collect()
    }

    /// Its series, empty.
    fn series(self) -> Series {
        let (method, policy) = (Some(self.method.to_string()), Some(self.policy.to_string()));
        let irq_policy = self.irq_policy.map(|policy| policy.to_string());
        let case = Case { method, policy, irq_policy, loaded: Some(self.stressed), ..Case::default() };
        Series { published: self.published(), ..case.into() }
    }

    /// What source 001's oscilloscope showed of it.
    fn published(self) -> Option<Published> {
        if self.irq_policy.is_some() {
            return None;
        }
        let (figure, over) = match (self.method, self.policy, self.stressed) {
            (Method::Poll, Policy::Other, false) => ("~ 50us", "20 minutes"),
            (Method::Poll, Policy::Other, true) => ("> 500us", "5 minutes"),
            (Method::Poll, Policy::Fifo(99), true) => ("< 50us", "3 hours"),
            (Method::Interrupt, Policy::RoundRobin(55), true) => ("~ 240us", "2 hours"),
            (Method::KERNEL, Policy::Fifo(50), true) => ("~ 110us", "5 hours"),
            _ => return None,
        };
        let (source, figure) = ("source 001".into(), figure.into());
        Some(Published { source, figure, how: format!("{ON}, {over}") })
    }
}

const ON: &str = "Pigeon RB100-CM3, Linux 4.4.50-rt63, oscilloscope";

/// Where the source's figures come from.
pub const NOTE: &str = "source 001's figures are the largest latencies that its oscilloscope showed on a Pigeon RB100-CM3 (Linux 4.4.50-rt63, `stress --cpu 4` and `ping -f`) in 5 minutes to 5 hours";

/// What of the source has no row without the kernel module.
pub const NOTE_OF_KERNEL: &str =
    "source 001's interrupt in the kernel (FIFO 50, stressed: max about 110us) is not in this table";

/// Why the priority of the input's interrupt has no row.
pub const NOTE_OF_IRQ_THREAD: &str = "the input's interrupt has no thread whose priority could be changed (a simulated line or register, or a user without the right): its priority has no row";

/// The series that [`table`] will measure, in order and empty.
pub fn series(kernel: bool, irq_thread: bool) -> Vec<Series> {
    Cell::all(kernel, irq_thread).into_iter().map(Cell::series).collect()
}

/// Measures all cases; fewer blocks if the observer ends the run. Each case has a block in every pass.
pub fn table(table: &Table, observer: &mut Observer) -> Result<Vec<Series>, Error> {
    table.stress.check()?;
    let cells = Cell::all(table.kernel, table.irq_thread);
    let mut all = series(table.kernel, table.irq_thread);
    let order = order(&cells);
    let now_ns = || ClockId::Monotonic.now_ns();
    let mut pace = match table.limits.length {
        Length::Duration(ns) => Some(timetable(&cells, table).start(ns, now_ns())),
        Length::Count(_) => None,
    };
    let share = 1.0 / order.len() as f64;
    let mut running = None;
    for (turn, i) in order.into_iter().enumerate() {
        if observer.stopped() {
            break;
        }
        let cell = cells[i];
        if cell.stressed != running.is_some() {
            running = None;
            if cell.stressed {
                let Some(started) = observer.or_end(table.stress.start(), turn > 0)? else { break };
                running = Some(started);
            }
            if running.is_some() {
                pace.iter_mut().for_each(|pace| pace.over(Timetable::of_load(&table.stress)));
            }
        }
        observer.begin(Part { series: i, from: turn as f64 * share, share });
        let job = Job { method: cell.method, irq_policy: cell.irq_policy, ..table.job.clone() };
        let placement = Placement { policy: cell.policy, ..table.placement };
        let began_ns = now_ns();
        let length = match (&pace, table.limits.length) {
            (Some(pace), _) => pace.block(began_ns).length,
            (None, Length::Count(count)) => Length::Count(count.div_ceil(PASSES)),
            (None, length) => length,
        };
        let limits = Limits { length, ..table.limits };
        let came = measure(&all[i].name, &job, placement, limits, observer);
        let Some(mut block) = observer.or_end(came, turn > 0)? else { break };
        match &running {
            Some(running) => table.stress.describe_beside(running, &mut block.settings),
            None => block.settings.load = Load::None.describe(),
        }
        absorb(&mut all[i], block, turn as u32);
        pace.iter_mut().for_each(|pace| pace.took(limits, now_ns() - began_ns));
        if let Some(status) = running.as_ref().and_then(|running| running.ended()) {
            observer.note(format!(
                "the load ended before the measurement did ({status}): stressed blocks may be idle ones"
            ));
        }
    }
    all.retain(|series| !series.blocks.is_empty());
    Ok(all)
}

impl Table {
    /// How long it takes on the clock: the duration, or as long as the shortest blocks need; `None` for a count.
    pub fn takes_ns(&self) -> Option<u64> {
        match self.limits.length {
            Length::Duration(ns) => Some(timetable(&Cell::all(self.kernel, self.irq_thread), self).takes_ns(ns)),
            Length::Count(_) => None,
        }
    }
}

fn timetable(cells: &[Cell], table: &Table) -> Timetable {
    // Two threads and four lines are set up for each block: a shorter one would be little else.
    let least_ns = (20 * table.job.interval_ns).max(LEAST_NS);
    let beside_ns = 3 * BESIDE_NS;
    Timetable { blocks: cells.len() as u64 * PASSES, least_ns, beside_ns, once_ns: Timetable::of_load(&table.stress) }
}

/// Idle forth, stressed forth and back, idle back: a machine that drifts favours no case.
fn order(cells: &[Cell]) -> Vec<usize> {
    let of = |stressed| (0..cells.len()).filter(move |i| cells[*i].stressed == stressed);
    let (idle, stressed): (Vec<_>, Vec<_>) = (of(false).collect(), of(true).collect());
    let back = |cases: &[usize]| cases.iter().rev().copied().collect::<Vec<_>>();
    [idle.clone(), stressed.clone(), back(&stressed), back(&idle)].concat()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ontick_gpio::{Name, OnExit};

    use super::*;
    use crate::response::{Ends, Pair};

    #[test]
    fn a_load_that_is_not_there_is_refused_before_a_block() {
        let line = |line| Name::Sim { chip: "response-none".into(), line };
        let pair = Pair { input: line(6), output: line(7), inverse: false, on_exit: OnExit::Low };
        let ends = Ends { stimulus: line(5), scope: line(8) };
        let method = Method::Poll;
        let job = Job { pair, ends, method, irq_policy: None, interval_ns: 500_000, observer_cpu: None };
        let stress = "cmd:/no/such/program".parse().unwrap();
        let limits = Limits::new(Length::Count(2));
        let asked = Table { job, placement: Placement::stock(), limits, kernel: false, irq_thread: false, stress };
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let error = table(&asked, &mut Observer::new(&stop, &mut look)).unwrap_err().to_string();
        assert!(error.contains("no program"), "{error}");
    }

    #[test]
    fn every_case_has_its_passes_and_the_source_its_places() {
        assert_eq!(Cell::all(false, false).len(), 14);
        let with_irq = Cell::all(false, true);
        let names = with_irq.iter().filter(|cell| cell.irq_policy.is_some()).map(|cell| cell.series().name);
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["interrupt, rr:55, irq thread fifo:60, idle", "interrupt, rr:55, irq thread fifo:60, stress"]
        );
        assert!(with_irq.len() == 16 && with_irq.iter().filter(|cell| cell.published().is_some()).count() == 4);
        let cells = Cell::all(true, false);
        assert_eq!(cells.len(), 18);
        let order = order(&cells);
        assert!((0..cells.len()).all(|i| order.iter().filter(|turn| **turn == i).count() as u64 == PASSES));
        let published: Vec<String> = cells
            .iter()
            .filter_map(|cell| Some(format!("{}: {}", cell.series().name, cell.published()?.figure)))
            .collect();
        assert_eq!(
            published,
            [
                "poll, other, idle: ~ 50us",
                "poll, other, stress: > 500us",
                "poll, fifo:99, stress: < 50us",
                "interrupt, rr:55, stress: ~ 240us",
                "kernel, fifo:50, stress: ~ 110us",
            ]
        );
    }
}
