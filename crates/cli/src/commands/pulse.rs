//! `ontick pulse`

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use ontick_gpio::{Name, OnExit};
use ontick_measure::kmod::{self, Timer, Undisturbed};
use ontick_measure::pru;
use ontick_measure::pulse::{Channel, Device, Job, Method, Table, Trains};
use ontick_measure::restrict_affinity::Cpus;
use ontick_measure::timetable::Timetable;
use ontick_measure::{Error, Load, Observer};
use ontick_record::instrument_check::Between;
use ontick_record::{Measurement as Kind, Series};

use super::beside::{Beside, Instrument};
use super::measuring::{self, Measurement};
use super::simulated;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, MeasuringFlags};
use crate::privileges;

/// Make a train of pulses on a GPIO line, and measure their widths on the line.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick pulse\n  sudo ontick pulse --width 10us --method all --count 10000\n  sudo ontick pulse --output gpiochip0:17 --input gpiochip0:27 \\\n      --width 100us --method sleep --calibrate\n  sudo ontick pulse --method sleep --policy other --cpu any --stock \\\n      --load cpu --cpus 1,all\n  sudo ontick pulse --method pwm --pwm pwmchip0:0 \\\n      --input gpiochip0:27 --width 10us\n  sudo ontick pulse --method kernel --output gpiochip0:17\n  sudo ontick pulse --method pru --output P9_31 --width 25us\n  sudo ontick pulse --output gpiochip0:17 \\\n      --observer sigrok:fx2lafw,channel=D0,samplerate=24MHz\n  sudo ontick pulse --table\n\nThe error of a pulse is the difference between its width and the wanted width. A simulated line reports the time of every edge. For other lines, join a second line to the driven one and name it with --input; otherwise the clock is read around the writes, and the result says so. Some 200 pulses precede those that are measured, also with --count 1: `ontick gpio play` makes just those of a list.\n\nBefore something moves: a line keeps its level when the program hangs or is killed, and a pulse is as long as that lasts. The hardware must limit the time and rest without the program (docs/safety.md).\n\n--cpus 1 restricts the program and its load to one CPU by their affinity; the rest of the machine keeps all CPUs.",
    mut_arg("load", |load| load.help(LOAD)),
    mut_arg("watch", |watch| watch.help("Show the error live on the whole terminal")),
    mut_arg("explain", |explain| explain.help("Trace the kernel and name the cause of pulses that are too wide (needs root)"))
)]
pub struct Pulse {
    /// The line that is driven; for --method pru a pin of the PRU (P9_31, or pru0:0) [default: sim:bench/17]
    #[arg(long, value_name = "LINE")]
    output: Option<Name>,
    /// A line that is joined to the driven one and watches its pulses
    #[arg(long, value_name = "LINE")]
    input: Option<Name>,
    /// How wide each pulse should be
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = flags::time)]
    width: u64,
    /// Time between pulses [default: as long as a pulse, 1ms at least]
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    gap: Option<u64>,
    /// What times a pulse: sleep (as usleep does), spin (reading the clock), hybrid (sleeping to a margin before its
    /// end, then spinning), pwm or spi (hardware that times itself, named with --pwm or --spi), udelay, usleep or
    /// hrtimer (the kernel module, docs/kernel-module.md; kernel: all three), pru (a
    /// BeagleBone's coprocessor, docs/pru.md); or all but pru, one after the other
    #[arg(long, default_value = "hybrid")]
    method: Mechanism,
    /// What is disabled on the CPU during each pulse of --method udelay: nothing, preemption or interrupts
    #[arg(long, value_name = "WHAT", default_value = "nothing")]
    without: Undisturbed,
    /// PWM channel for --method pwm; --input watches the line that it drives
    #[arg(long, value_name = "CHIP:CHANNEL", requires = "input")]
    pwm: Option<Channel>,
    /// SPI device for --method spi: its data line makes the pulses, and --input watches them
    #[arg(long, value_name = "DEVICE", requires = "input")]
    spi: Option<Device>,
    /// With --table: this pin of a PRU also makes pulses
    #[arg(long, value_name = "PIN", requires = "table")]
    pru: Option<pru::Pin>,
    /// Folder of the firmware for a PRU [default: where it is installed, or was built]
    #[arg(long, value_name = "FOLDER")]
    firmware: Option<PathBuf>,
    /// Measure the constant overhead of the mechanism in a short train, and subtract it from the requested width
    #[arg(long)]
    calibrate: bool,
    /// A logic analyser records the line meanwhile, by sigrok-cli; its figures stand beside ontick's:
    /// sigrok:DRIVER,channel=CHANNEL[,KEY=VALUE…], the driver as sigrok-cli names it, and options of the device as --config
    /// takes them (docs/instruments.md). Or a Raspberry Pi Pico with ontick's firmware times its edges:
    /// pico:/dev/ttyACM0,channel=0 (docs/pico.md)
    #[arg(long, value_name = "INSTRUMENT", conflicts_with_all = ["table", "calibrate"])]
    observer: Option<Instrument>,
    /// State of the driven line afterwards: keep, low, high or input [default: low, and input without --output]
    #[arg(long, value_name = "STATE")]
    on_exit: Option<OnExit>,
    /// How many CPUs the program and its load may use together: a number, one or all; or several, one after the other
    /// (1,all)
    #[arg(long, value_name = "N|one|all", value_delimiter = ',', default_value = "all")]
    cpus: Vec<Cpus>,
    /// Measure the whole table of source 003 instead: 10ms, 1ms, 100us and 10us, by each mechanism, run as any program
    /// and with latency minimised, idle and under load, and by the kernel module if that can be used; all together takes the
    /// --duration on the clock [default: 60s]
    #[arg(long, conflicts_with_all = ["width", "gap", "method", "without", "calibrate", "cpus", "count", "policy", "stock", "wake_within", "stop_over"])]
    table: bool,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

const LOAD: &str = "Runs beside the measurement: none, cpu, memory, io, fork, net, cpu+net, all or cmd:COMMAND \
                    [default: none, with --table all]";

/// The mechanisms by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mechanism {
    Sleep,
    Spin,
    Hybrid,
    Pwm,
    Spi,
    Pru,
    /// One of the kernel module's, or all of them.
    Kernel(Option<Timer>),
    All,
}

impl FromStr for Mechanism {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "sleep" => Mechanism::Sleep,
            "spin" => Mechanism::Spin,
            "hybrid" => Mechanism::Hybrid,
            "pwm" => Mechanism::Pwm,
            "spi" => Mechanism::Spi,
            "pru" => Mechanism::Pru,
            "kernel" => Mechanism::Kernel(None),
            "all" => Mechanism::All,
            _ => match Timer::ALL.into_iter().find(|timer| timer.name() == text) {
                Some(timer) => Mechanism::Kernel(Some(timer)),
                None => {
                    let choices = "sleep, spin, hybrid, pwm, spi, udelay, usleep, hrtimer, kernel, pru or all";
                    return Err(format!("there is no such mechanism (choose {choices})"));
                }
            },
        })
    }
}

/// A gap that nobody chose: long enough for a thread to sleep in.
const SHORTEST_GAP_NS: u64 = 1_000_000;
/// The whole table, unless set otherwise.
const TABLE_NS: u64 = 60_000_000_000;

impl Pulse {
    pub fn run(self) -> Result<Outcome, Failure> {
        if self.table { self.run_table() } else { self.run_trains() }
    }

    fn run_trains(self) -> Result<Outcome, Failure> {
        let placement = self.measuring.placement.placement();
        let limits = flags::one_cycle(self.measuring.limits.limits(), self.width.saturating_add(self.gap_ns()))?;
        let trains = Trains {
            jobs: self.mechanisms()?.into_iter().map(|method| self.job(method)).collect(),
            cpus: self.cpus.clone(),
            load: self.measuring.load().clone(),
            calibrate: self.calibrate,
        };
        if trains.jobs.iter().any(|job| matches!(job.method, Method::Pru(_))) {
            self.measuring.limits.refuse_break_trace("a PRU")?;
        }
        let names = trains.names();
        let note = (self.method == Mechanism::All).then(|| self.why_no_kernel()).flatten();
        let interval_ns = trains.jobs.first().map(|job| job.width_ns + job.gap_ns);
        let takes_ns = Timetable::of_series(names.len(), limits, interval_ns, &trains.load);
        let beside = self.observer.as_ref();
        let beside =
            beside.map(|observer| Beside::of(observer, Between::Pulse, placement.cpu, names.len())).transpose()?;
        let takes_all =
            beside.is_some() || trains.jobs.iter().any(|job| matches!(job.method, Method::Pru(_) | Method::Kernel(..)));
        self.measured(Kind::Pulse, takes_all, names, (placement.cpu, takes_ns), note, |observer| match &beside {
            Some(beside) => beside.measure(observer, |observer| trains.measure(placement, limits, observer)),
            None => trains.measure(placement, limits, observer),
        })
    }

    fn run_table(self) -> Result<Outcome, Failure> {
        if let (Some(left), Some(_)) = (self.on_exit, &self.pru) {
            // Not after all the rows that come before those of the PRU.
            pru::Train::check_left(left)?;
        }
        let note = self.why_no_kernel();
        let table = Table {
            kernel: note.is_none(),
            pru: self.pru.map(|pin| self.pru_output(pin)).transpose()?,
            line: self.output(),
            watched_line: self.input.clone(),
            on_exit: self.on_exit(),
            cpu: self.measuring.placement.placement().cpu,
            load: self.measuring.load.clone().unwrap_or(Load::Mix("all")),
            duration_ns: self.measuring.limits.duration.unwrap_or(TABLE_NS),
        };
        let (cpu, takes_ns) = (table.placement().cpu, Some(table.takes_ns()));
        let takes_all = table.kernel || table.pru.is_some() || table.load.needs_rights();
        self.measured(Kind::PulseTable, takes_all, table.series(), (cpu, takes_ns), note, |observer| {
            table.measure(observer)
        })
    }

    /// Runs the measurement, with all the rights that there are where it takes them, and shows and judges what came: of
    /// calibrated trains only those after calibration.
    fn measured(
        &self,
        kind: Kind,
        takes_all: bool,
        series: impl IntoIterator<Item: Into<Series>>,
        (cpu, takes_ns): (Option<u32>, Option<u64>),
        note: Option<String>,
        measure: impl FnOnce(&mut Observer) -> Result<Vec<Series>, Error>,
    ) -> Result<Outcome, Failure> {
        let lines = self.lines();
        let mut asked = Measurement {
            cpu,
            takes_ns,
            // The load shares the CPUs of what it runs beside, and is started with it.
            load: &Load::None,
            simulated: ontick_gpio::simulation_note(&lines.iter().collect::<Vec<_>>()),
            ..Measurement::asked(&self.measuring, self.measuring.limits.limits(), kind, series)
        };
        asked.keeps = asked.keeps.filter(|_| !takes_all).map(|more| more | privileges::of_lines(&lines));
        asked.facts.extend(note);
        let calibrated = |series: &Series| series.pulse.as_ref().is_some_and(|pulse| pulse.subtracted_ns.is_some());
        measuring::run(asked, &self.measuring.output, |series| !self.calibrate || calibrated(series), measure)
    }

    fn lines(&self) -> Vec<Name> {
        let driven = !matches!(self.method, Mechanism::Pwm | Mechanism::Spi | Mechanism::Pru);
        driven.then(|| self.output()).into_iter().chain(self.input.clone()).collect()
    }

    fn output(&self) -> Name {
        self.output.clone().unwrap_or_else(|| simulated::line(17))
    }

    /// A line that nobody named is left as nobody uses it: another may be wired to it.
    fn on_exit(&self) -> OnExit {
        self.on_exit.unwrap_or(if self.output.is_some() { OnExit::Low } else { OnExit::Input })
    }

    fn mechanisms(&self) -> Result<Vec<Method>, Failure> {
        let (pwm, spi) = (self.pwm.clone().map(Method::Pwm), self.spi.clone().map(Method::Spi));
        if self.without != Undisturbed::No && !matches!(self.method, Mechanism::Kernel(_) | Mechanism::All) {
            return Err(Failure::new(
                "only the kernel module can switch something off meanwhile: choose --method udelay",
            ));
        }
        let named = |method: Option<Method>, how| method.map(|method| vec![method]).ok_or_else(|| Failure::new(how));
        match self.method {
            Mechanism::Sleep => Ok(vec![Method::Sleep]),
            Mechanism::Spin => Ok(vec![Method::Spin]),
            Mechanism::Hybrid => Ok(vec![Method::Hybrid]),
            Mechanism::Pwm => named(
                pwm,
                "pulses by pwm need its channel, and a line joined to its output: --pwm pwmchip0:0 --input LINE",
            ),
            Mechanism::Spi => named(
                spi,
                "pulses by spi need its device, and a line joined to its data output: --spi spidev0.0 --input LINE",
            ),
            Mechanism::Pru => Ok(vec![Method::Pru(self.of_pru()?)]),
            Mechanism::Kernel(None) => Ok(self.by_kernel()),
            Mechanism::Kernel(Some(timer)) => Ok(vec![Method::Kernel(timer, self.without)]),
            Mechanism::All => {
                let kernel = if self.why_no_kernel().is_none() { self.by_kernel() } else { Vec::new() };
                Ok(Method::PROGRAM.into_iter().chain(kernel).chain(pwm).chain(spi).collect())
            }
        }
    }

    /// Who sleeps does so with everything on.
    fn by_kernel(&self) -> Vec<Method> {
        Method::KERNEL
            .into_iter()
            .map(|method| match method {
                Method::Kernel(Timer::Udelay, _) => Method::Kernel(Timer::Udelay, self.without),
                other => other,
            })
            .collect()
    }

    /// Why the kernel module's pulses cannot stand beside the program's.
    fn why_no_kernel(&self) -> Option<String> {
        let why = kmod::usable(&[&self.output()]).err()?;
        Some(format!("pulses by the kernel module are not among these: {why}"))
    }

    /// The pin, if the machine has any.
    fn of_pru(&self) -> Result<pru::Output, Failure> {
        pru::Host::default().check()?;
        self.pru_output(self.output().to_string().parse().map_err(Failure::new)?)
    }

    fn pru_output(&self, pin: pru::Pin) -> Result<pru::Output, Failure> {
        let host = pru::Host { firmware: self.firmware.clone(), ..pru::Host::default() };
        host.check()?;
        Ok(pru::Output { pin, host })
    }

    fn gap_ns(&self) -> u64 {
        self.gap.unwrap_or(self.width.max(SHORTEST_GAP_NS))
    }

    fn job(&self, method: Method) -> Job {
        Job {
            line: self.output(),
            watched_line: self.input.clone(),
            width_ns: self.width,
            gap_ns: self.gap_ns(),
            method,
            subtract_ns: None,
            on_exit: self.on_exit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        pulse: Pulse,
    }

    #[test]
    fn a_line_that_nobody_named_is_let_go() {
        let of = |words: &[&str]| {
            let pulse = Alone::try_parse_from([&["pulse"], words].concat()).unwrap().pulse;
            (pulse.output().to_string(), pulse.on_exit())
        };
        assert_eq!(of(&[]), ("sim:bench/17".into(), OnExit::Input));
        assert_eq!(of(&["--on-exit", "high"]), ("sim:bench/17".into(), OnExit::High));
        assert_eq!(of(&["--output", "sim:bench/17"]), ("sim:bench/17".into(), OnExit::Low));
    }

    #[test]
    fn a_table_that_should_let_go_of_a_prus_pin_is_refused_before_it_begins() {
        let words = ["pulse", "--table", "--pru", "P9_31", "--on-exit", "input"];
        let refused = Alone::try_parse_from(words).unwrap().pulse.run().unwrap_err();
        let sentence: String = refused.lines().collect();
        assert!(sentence.contains("a PRU cannot let go of its pin"), "{sentence}");
    }
}
