//! The whole table of source 003: pulses of four widths, by each mechanism, as any program runs and with latency
//! minimised, idle and under load, in interleaved blocks.

use ontick_gpio::{Name, OnExit};
use ontick_record::{Case, Series, Side};
use ontick_rt::clock::ClockId;
use ontick_units::exact;

use super::{Job, Method, measure};
use crate::blocks::{absorb, note_of_ended};
use crate::observe::Part;
use crate::pru;
use crate::timetable::{BESIDE_NS, Timetable};
use crate::{Error, Load, Observer, Placement};

/// The widths of source 003, in ns.
const WIDTHS_NS: [u64; 4] = [10_000_000, 1_000_000, 100_000, 10_000];
/// That of its PRU, in ns.
const WIDTH_OF_PRU_NS: u64 = 25_000;
/// Blocks of every case.
const ROUNDS: usize = 3;
/// A block holds so many of the longest pulses at least.
const FEWEST: u64 = 3;

/// What is measured, and for how long.
#[derive(Debug, Clone)]
pub struct Table {
    /// The line that is driven.
    pub line: Name,
    /// A line that follows it and is looked at instead.
    pub watched_line: Option<Name>,
    /// What the driven line is left at; the PRU's pin, which it cannot let go of, is low instead of an input.
    pub on_exit: OnExit,
    /// The CPU of the minimised side.
    pub cpu: Option<u32>,
    /// The kernel module makes pulses, too.
    pub kernel: bool,
    /// A pin on which a PRU makes pulses, too.
    pub pru: Option<pru::Output>,
    /// The load of the loaded half; [`Load::None`] leaves that out.
    pub load: Load,
    /// The whole run, in ns.
    pub duration_ns: u64,
}

/// One row of the table under one load.
struct Row {
    case: Case,
    job: Job,
    placement: Placement,
}

impl Table {
    /// Where the minimised side runs.
    pub fn placement(&self) -> Placement {
        Placement::dedicated(self.cpu)
    }

    /// The series, in order and empty.
    pub fn series(&self) -> Vec<Series> {
        self.loads().into_iter().flat_map(|(loaded, _)| self.rows(loaded)).map(|row| row.case.into()).collect()
    }

    /// The loads in turn; whether it is one.
    fn loads(&self) -> Vec<(bool, &Load)> {
        match &self.load {
            Load::None => vec![(false, &Load::None)],
            load => vec![(false, &Load::None), (true, load)],
        }
    }

    fn rows(&self, loaded: bool) -> Vec<Row> {
        let row = |width_ns, method: Method, side, placement| Row {
            case: Case {
                width_ns: Some(width_ns),
                method: Some(method.to_string()),
                side: Some(side),
                loaded: Some(loaded),
                ..Case::default()
            },
            job: self.job(method, width_ns),
            placement,
        };
        let sides = [(Side::Stock, Placement::stock()), (Side::Minimised, self.placement())];
        let mut rows = Vec::new();
        for width_ns in WIDTHS_NS {
            for (side, placement) in sides {
                for method in self.mechanisms(placement) {
                    rows.push(row(width_ns, method, side, placement));
                }
            }
        }
        if let Some(method) = self.pru.clone().map(Method::Pru) {
            rows.push(row(WIDTH_OF_PRU_NS, method, Side::Minimised, self.placement()));
        }
        rows
    }

    /// The kernel's and the PRU's have only the minimised side, as in the source.
    fn mechanisms(&self, placement: Placement) -> Vec<Method> {
        let kernel = self.kernel && placement.prepared;
        let pru = self.pru.clone().filter(|_| placement.prepared).map(Method::Pru);
        Method::PROGRAM.into_iter().chain(Method::KERNEL.into_iter().filter(|_| kernel)).chain(pru).collect()
    }

    fn job(&self, method: Method, width_ns: u64) -> Job {
        let on_exit = match (&method, self.on_exit) {
            (Method::Pru(_), OnExit::Input) => OnExit::Low,
            (_, left) => left,
        };
        Job {
            line: self.line.clone(),
            watched_line: self.watched_line.clone(),
            width_ns,
            // A fifth of the pulse leaves one that spins its tenth of rest.
            gap_ns: (width_ns / 5).max(1_000_000),
            method,
            subtract_ns: None,
            on_exit,
        }
    }

    fn timetable(&self) -> Timetable {
        Timetable {
            blocks: (self.series().len() * ROUNDS) as u64,
            least_ns: FEWEST * self.job(Method::Sleep, WIDTHS_NS[0]).period_ns(),
            // Beside a load that uses all memory, threads and lines need longer until they are there.
            beside_ns: if self.load == Load::None { BESIDE_NS } else { BESIDE_NS * 5 / 2 },
            once_ns: Timetable::of_load(&self.load),
        }
    }

    /// How long it takes on the clock: the duration, or as long as the shortest blocks need.
    pub fn takes_ns(&self) -> u64 {
        self.timetable().takes_ns(self.duration_ns)
    }

    fn check(&self) -> Result<(), Error> {
        let Timetable { blocks, least_ns, .. } = self.timetable();
        match self.duration_ns / blocks < least_ns {
            true => Err(Error::Impossible(format!(
                "the duration is too short: the table's {blocks} blocks need {} at least",
                exact((least_ns * blocks).div_ceil(1_000_000_000) * 1_000_000_000)
            ))),
            false => Ok(()),
        }
    }

    /// Measures the table; fewer blocks if the observer ends the run.
    pub fn measure(&self, observer: &mut Observer) -> Result<Vec<Series>, Error> {
        self.check()?;
        self.load.check()?;
        self.placement().check()?;
        let mut pace = self.timetable().start(self.duration_ns, ClockId::Monotonic.now_ns());
        let mut all = self.series();
        let share = 1.0 / (all.len() * ROUNDS) as f64;
        let mut order = 0;
        for (half, (loaded, load)) in self.loads().into_iter().enumerate() {
            if observer.stopped() {
                break;
            }
            let Some(beside) = observer.or_end(load.start(), order > 0)? else { break };
            let rows = self.rows(loaded);
            pace.over(Timetable::of_load(load));
            for number in interleaved(rows.len()) {
                if observer.stopped() {
                    break;
                }
                let (series, row) = (half * rows.len() + number, &rows[number]);
                observer.begin(Part { series, from: f64::from(order) * share, share });
                let began_ns = ClockId::Monotonic.now_ns();
                let limits = pace.block(began_ns);
                let came = measure(&all[series].name, &row.job, row.placement, limits, observer);
                let Some(mut block) = observer.or_end(came, order > 0)? else { break };
                load.describe_beside(&beside, &mut block.settings);
                absorb(&mut all[series], block, order);
                pace.took(limits, ClockId::Monotonic.now_ns() - began_ns);
                order += 1;
            }
            observer.note_all(note_of_ended(&beside));
        }
        all.retain(|series| !series.blocks.is_empty());
        Ok(all)
    }
}

/// The cases in the order in which their blocks run: there, back, and there again, so that drift favours none.
fn interleaved(cases: usize) -> impl Iterator<Item = usize> {
    (0..ROUNDS).flat_map(move |round| (0..cases).map(move |i| if round % 2 == 0 { i } else { cases - 1 - i }))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ontick_gpio::sim;

    use super::*;

    fn table(chip: &str, duration_ns: u64) -> Table {
        let line = Name::Sim { chip: chip.into(), line: 4 };
        Table {
            line,
            watched_line: None,
            on_exit: OnExit::Low,
            cpu: None,
            kernel: false,
            pru: None,
            load: Load::None,
            duration_ns,
        }
    }

    fn names(table: &Table) -> Vec<String> {
        table.series().into_iter().map(|series| series.name).collect()
    }

    #[test]
    fn every_case_comes_as_often_as_any_other() {
        let order: Vec<usize> = interleaved(3).collect();
        assert_eq!(order, [0, 1, 2, 2, 1, 0, 0, 1, 2]);
        let whole = Table { load: Load::Mix("cpu"), ..table("none", 1) };
        assert_eq!(names(&whole).len(), 4 * 3 * 2 * 2);
        assert_eq!(names(&whole)[0], "10ms, sleep, stock, idle");
        assert_eq!(names(&whole)[47], "10us, hybrid, minimised, loaded");
        let output = pru::Output { pin: "P9_31".parse().unwrap(), host: pru::Host::default() };
        let of_all = names(&Table { pru: Some(output), ..whole.clone() });
        let of_pru: Vec<&String> = of_all.iter().filter(|name| name.contains("pru")).collect();
        assert_eq!((of_all.len(), of_pru.len()), (4 * 3 * 2 * 2 + 2 * 5, 2 * 5));
        assert_eq!([of_pru[0], of_pru[9]], ["10ms, pru, minimised, idle", "25us, pru, minimised, loaded"]);
        let kernel = Table { kernel: true, ..whole };
        assert_eq!(names(&kernel).len(), 4 * (3 + 3 + 3) * 2);
        assert_eq!(names(&kernel)[8], "10ms, kernel udelay, minimised, idle");
    }

    #[test]
    fn the_prus_pin_is_left_low_where_the_line_is_let_go() {
        let output = pru::Output { pin: "P9_31".parse().unwrap(), host: pru::Host::default() };
        let left = |on_exit, method: &Method| {
            let table = Table { on_exit, pru: Some(output.clone()), ..table("none", 1) };
            table.job(method.clone(), WIDTH_OF_PRU_NS).on_exit
        };
        let pru = Method::Pru(output.clone());
        assert_eq!([&Method::Spin, &pru].map(|method| left(OnExit::Input, method)), [OnExit::Input, OnExit::Low]);
        assert_eq!([&Method::Spin, &pru].map(|method| left(OnExit::High, method)), [OnExit::High; 2]);
    }

    #[test]
    fn a_duration_that_holds_no_pulses_is_refused() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let error = table("none", 1_000_000).measure(&mut Observer::new(&stop, &mut look)).unwrap_err().to_string();
        assert!(error.contains("72 blocks need 3s"), "{error}");
    }

    #[test]
    fn a_load_that_is_not_there_is_refused_before_a_block() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let table = Table { load: "cmd:/no/such/program".parse().unwrap(), ..table("none", 20_000_000_000) };
        let error = table.measure(&mut Observer::new(&stop, &mut look)).unwrap_err().to_string();
        // The chip would be the next thing that is missing.
        assert!(error.contains("no program"), "{error}");
    }

    #[test]
    fn the_whole_table_is_measured() {
        let chip = format!("pulse-table-{}", std::process::id());
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let series = table(&chip, 3_000_000_000).measure(&mut Observer::new(&stop, &mut look)).unwrap();
        assert_eq!(series.len(), 24);
        for series in &series {
            let pulse = series.pulse.as_ref().unwrap();
            assert_eq!(series.blocks.len(), ROUNDS, "{}", series.name);
            assert_eq!(pulse.width.count(), series.latency.count(), "{}", series.name);
            assert!(pulse.width.count() > 0 && series.name.starts_with(&exact(pulse.wanted_ns)));
        }
        sim::remove(&chip).unwrap();
    }
}
