//! `ontick latency response`

mod observed_by;

use std::path::PathBuf;

use clap::Args;
use ontick_gpio::{Name, OnExit};
use ontick_measure::kmod;
use ontick_measure::pru::{self, Follower};
use ontick_measure::response::latmon::{self, Address};
use ontick_measure::response::table::{self, Table};
use ontick_measure::response::{self, Ends, Job, Method, Pair};
use ontick_measure::{Live, Load, Observer, series};
use ontick_record::Measurement as Kind;
use ontick_record::instrument_check::Between;
use ontick_units::{counted, exact};

use super::mechanisms::{self, Mechanisms};
use super::with_lines;
use crate::commands::beside::{Beside, Instrument};
use crate::commands::measuring::{self, Measurement};
use crate::commands::simulated;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, MeasuringFlags};
use crate::{privileges, stop, terminal};
use observed_by::ObservedBy;

/// Measure the time from a change of an input to the answer on an output.
///
/// One thread makes the output follow the input. A second thread on another CPU acts as the oscilloscope: it changes
/// the return output, which is joined to the input, and watches the return input, which is joined to the output.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick latency response --method all\n  sudo ontick latency response --input gpiochip0:17 --output gpiochip0:27 \\\n      --return-output gpiochip0:22 --return-input gpiochip0:23\n  sudo ontick latency response --input gpiochip0:17 --output gpiochip0:27 \\\n      --respond-only\n  sudo ontick latency response --input gpiochip0:17 --output gpiochip0:27 \\\n      --observer latmon://192.168.1.58\n  sudo ontick latency response --input gpiochip0:17 --output gpiochip0:27 \\\n      --return-output gpiochip0:22 --return-input gpiochip0:23 \\\n      --observer sigrok:fx2lafw,input=D0,output=D1,samplerate=24MHz\n  sudo ontick latency response --method pru --input P9_29 --output P9_31\n\nJoin --return-output with --input and --output with --return-input: by cables, or by `ontick gpio wire` if they are simulated. Without names, four simulated lines are used."
)]
pub struct Response {
    /// The line whose changes are answered [default: sim:bench/6]
    #[arg(long, value_name = "LINE", requires = "output")]
    input: Option<Name>,
    /// The line that gives the answer [default: sim:bench/7]
    #[arg(long, value_name = "LINE", requires = "input")]
    output: Option<Name>,
    /// The line that the observer changes [default: sim:bench/5]
    #[arg(long, value_name = "LINE", requires_all = ["return_input", "input"])]
    return_output: Option<Name>,
    /// The line that the observer watches [default: sim:bench/8]
    #[arg(long, value_name = "LINE", requires_all = ["return_output", "input"])]
    return_input: Option<Name>,
    /// How a change is detected: poll (reading again and again), interrupt (sleeping until notified), interrupt-busy
    /// (asking for notifications again and again); kernel or kernel-hard (answered by the kernel module in the
    /// interrupt's thread, or in the interrupt itself: docs/kernel-module.md); or several (poll,interrupt) or all of the
    /// first four that are available, one after the other; or pru: a BeagleBone's coprocessor answers and measures, input
    /// and output are its pins, and another device changes the input (docs/pru.md)
    #[arg(long, value_name = "METHOD,…", default_value = "poll", value_parser = mechanisms)]
    method: Mechanisms<Method>,
    /// Folder of the firmware for --method pru [default: where it is installed, or was built]
    #[arg(long, value_name = "FOLDER")]
    firmware: Option<PathBuf>,
    /// Mean time between changes, as a time or a rate; each comes up to half of it earlier or later
    #[arg(long, value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    interval: u64,
    /// A second board that runs Zephyr's latmon program stimulates and measures: latmon://HOST[:PORT]. Its pulse line is
    /// joined to the input, its acknowledge line to the output, which is then inverse. Or a logic analyser records input
    /// and output meanwhile, by sigrok-cli, and its figures stand beside ontick's: sigrok:DRIVER, the channels as
    /// input=D0 and output=D1, and options of the device, with commas between them (docs/instruments.md). Or a Raspberry Pi
    /// Pico with ontick's firmware times their edges: pico:/dev/ttyACM0,input=0,output=1 (docs/pico.md)
    #[arg(long, value_name = "OBSERVER")]
    observer: Option<ObservedBy>,
    /// The output is high while the input is low
    #[arg(long)]
    inverse: bool,
    /// Only answer until Ctrl-C, for an oscilloscope; nothing is measured here
    #[arg(long, conflicts_with_all = ["return_output", "return_input", "observer", "observer_cpu", "json", "record", "html", "require", "explain", "watch", "count", "break_trace"])]
    respond_only: bool,
    /// Source 001's whole table: every mechanism under policies other and fifo:99 (interrupt also rr:55, as WiringPi's
    /// handlers run; and the kernel module, if that can be used), idle and under --load, beside the source's figures; all together takes the --duration on the clock [default: 60s]
    #[arg(long, conflicts_with_all = ["method", "observer", "respond_only", "policy"])]
    table: bool,
    /// CPU of the observing thread [default: the first other one]
    #[arg(long, value_name = "N")]
    observer_cpu: Option<u32>,
    /// State of the output afterwards: keep, low, high or input
    #[arg(long, value_name = "STATE", default_value = "low")]
    on_exit: OnExit,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

/// The whole table, unless set otherwise, in ns.
const TABLE_NS: u64 = 60_000_000_000;

/// A PRU is none of the ways in which a thread answers: where it does, there are no such mechanisms.
fn mechanisms(text: &str) -> Result<Mechanisms<Method>, String> {
    match text {
        PRU => Ok(Mechanisms(Vec::new())),
        _ => {
            let named = mechanisms::read(text, &[&Method::PROGRAM[..], &[Method::KERNEL]].concat())?;
            // Of all, it is left out where it cannot be used; whoever names it wants it.
            let by_kernel = named.0.iter().any(|method| matches!(method, Method::Kernel(_)));
            match text != "all" && named.0.len() > 1 && by_kernel {
                true => {
                    Err("what the kernel module answers is measured by itself: name that method alone, or all".into())
                }
                false => Ok(named),
            }
        }
    }
}

const PRU: &str = "pru";

impl Response {
    /// All that can be had includes the kernel module where that can be used.
    fn without_what_is_not_here(&mut self, lines: &Pair) -> Option<String> {
        let all = self.method.0.len() > 1 && self.method.0.contains(&Method::KERNEL);
        let why = kmod::usable(&[&lines.input, &lines.output]).err().filter(|_| all || self.table)?;
        self.method.0.retain(|method| !all || *method != Method::KERNEL);
        Some(format!("the kernel module's answers are not among these: {why}"))
    }

    pub fn run(mut self) -> Result<Outcome, Failure> {
        let no_kernel = self.without_what_is_not_here(&self.pair());
        match (self.respond_only, self.observer.clone()) {
            _ if self.method.0.is_empty() => self.measure_pru(),
            _ if self.table => self.measure_table(no_kernel),
            (true, _) => self.respond(),
            (_, Some(ObservedBy::Board(board))) => self.measure_with(board, no_kernel),
            (_, Some(ObservedBy::Instrument(instrument))) => self.measure(no_kernel, Some(&instrument)),
            _ => self.measure(no_kernel, None),
        }
    }

    /// The PRU answers, and measures itself.
    fn measure_pru(self) -> Result<Outcome, Failure> {
        if self.respond_only || self.observer.is_some() || self.return_output.is_some() || self.observer_cpu.is_some() {
            return Err(Failure::new(
                "a PRU measures its answers itself: leave out --return-output, --return-input, --observer, --observer-cpu and --respond-only",
            ));
        }
        self.measuring.limits.refuse_break_trace("a PRU")?;
        let host = pru::Host { firmware: self.firmware.clone(), ..pru::Host::default() };
        host.check()?;
        let (Some(input), Some(output)) = (&self.input, &self.output) else {
            return Err(Failure::new("name the PRU's pins: --input P9_29 --output P9_31 (docs/pru.md lists them)"));
        };
        let pin = |name: &Name| name.to_string().parse().map_err(Failure::new);
        let (input, output) = (pin(input)?, pin(output)?);
        let (inverse, on_exit) = (self.inverse, self.on_exit);
        let follower = Follower { input, output, inverse, on_exit, host };
        let limits = flags::one_cycle(self.measuring.limits.limits(), self.interval)?;
        let asked = with_lines(&self.measuring, limits, Kind::Response, [PRU.to_string()], &[]);
        let asked = Measurement { keeps: None, ..asked };
        measuring::run(asked, &self.measuring.output, |_| true, |o| follower.measure(PRU, limits, o).map(|s| vec![s]))
    }

    /// The board's acknowledge line rises for its answer, where its pulse line fell.
    fn measure_with(self, board: Address, note: Option<String>) -> Result<Outcome, Failure> {
        if self.return_output.is_some() || self.observer_cpu.is_some() || self.measuring.explain {
            return Err(Failure::new(
                "the board stimulates and measures: leave out --return-output, --return-input, --observer-cpu and --explain",
            ));
        }
        self.measuring.limits.refuse_break_trace("a board")?;
        if self.input.is_none() {
            return Err(Failure::new("name the lines that the board is joined to: --input LINE --output LINE"));
        }
        let placement = self.measuring.placement.placement();
        let limits = flags::one_cycle(self.measuring.limits.limits(), self.interval)?;
        let (pair, interval_ns) = (Pair { inverse: true, ..self.pair() }, self.interval);
        let job = |method| latmon::Job { pair: pair.clone(), board: board.clone(), method, interval_ns };
        let mut asked =
            with_lines(&self.measuring, limits, Kind::Response, self.method.names(), &[&pair.input, &pair.output]);
        asked.keeps = asked.keeps.filter(|_| !self.is_of_kernel());
        asked.facts.extend(note);
        let each = |method: &Method, observer: &mut Observer| {
            latmon::measure(method.name(), &job(*method), placement, limits, observer)
        };
        measuring::run(asked, &self.measuring.output, |_| true, |observer| series::each(&self.method.0, observer, each))
    }

    fn measure(self, note: Option<String>, instrument: Option<&Instrument>) -> Result<Outcome, Failure> {
        let placement = self.measuring.placement.placement();
        let limits = flags::one_cycle(self.measuring.limits.limits(), self.interval)?;
        let ends = self.ends()?;
        let (pair, interval_ns, observer_cpu) = (self.pair(), self.interval, self.observer_cpu);
        let job = |method| Job {
            pair: pair.clone(),
            ends: ends.clone(),
            method,
            irq_policy: None,
            interval_ns,
            observer_cpu,
        };
        let lines = [&ends.stimulus, &pair.input, &pair.output, &ends.scope];
        let mut asked = with_lines(&self.measuring, limits, Kind::Response, self.method.names(), &lines);
        asked.keeps = asked.keeps.filter(|_| !self.is_of_kernel() && instrument.is_none());
        asked.facts.extend(note);
        let (between, methods) = (Between::Response { inverse: self.inverse }, self.method.0.len());
        let beside =
            instrument.map(|instrument| Beside::of(instrument, between, placement.cpu, methods)).transpose()?;
        let each = |method: &Method, observer: &mut Observer| {
            response::measure(method.name(), &job(*method), placement, limits, observer)
        };
        let methods = &self.method.0;
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| match &beside {
                Some(beside) => beside.measure(observer, |observer| series::each(methods, observer, each)),
                None => series::each(methods, observer, each),
            },
        )
    }

    fn measure_table(self, no_kernel: Option<String>) -> Result<Outcome, Failure> {
        let ends = self.ends()?;
        let lines = [&ends.stimulus, &self.pair().input, &self.pair().output, &ends.scope].map(Clone::clone);
        let job = Job {
            pair: self.pair(),
            ends,
            method: Method::Poll,
            irq_policy: None,
            interval_ns: self.interval,
            observer_cpu: self.observer_cpu,
        };
        let stress = match self.measuring.load() {
            Load::None => Load::STRESS,
            load => load.clone(),
        };
        let (placement, limits) = (self.measuring.placement.placement(), self.measuring.limits.limits_or(TABLE_NS));
        let kernel = no_kernel.is_none();
        let irq_thread = response::has_irq_thread(&job.pair.input);
        let plan = Table { job, placement, limits, kernel, irq_thread, stress };
        let mut asked =
            with_lines(&self.measuring, limits, Kind::Response, table::series(kernel, irq_thread), &lines.each_ref());
        // It runs in the stressed blocks only.
        (asked.load, asked.takes_ns) = (&Load::None, plan.takes_ns());
        asked.keeps = asked.keeps.filter(|_| !kernel);
        asked.facts.push(table::NOTE.into());
        if let Some(why) = no_kernel {
            asked.facts.extend([table::NOTE_OF_KERNEL.into(), why]);
        }
        if !irq_thread {
            asked.facts.push(table::NOTE_OF_IRQ_THREAD.into());
        }
        measuring::run(asked, &self.measuring.output, |_| true, |observer| table::table(&plan, observer))
    }

    /// Answers, and says so.
    fn respond(self) -> Result<Outcome, Failure> {
        let [method] = self.method.0[..] else {
            return Err(Failure::new("only one mechanism can answer: choose one with --method"));
        };
        let (pair, placement) = (self.pair(), self.measuring.placement.placement());
        let _load = self.measuring.load().start()?;
        let stop = stop::on_signal()?;
        if !self.is_of_kernel() {
            privileges::MEASURING.settle_but(privileges::of_lines([&pair.input, &pair.output]))?;
        }
        let mut look = |_: &Live| {};
        let mut observer = Observer::new(&stop, &mut look);
        let simulated =
            ontick_gpio::simulation_note(&[&pair.input, &pair.output]).map(|what| format!("simulated {what}\n"));
        let limit = self.measuring.limits.duration;
        let until = limit.map_or_else(|| "until Ctrl-C".into(), |ns| format!("for {}", exact(ns)));
        terminal::print(&format!(
            "{}Answering line {} on line {} by {method} {until}: look at it with an oscilloscope.\n",
            simulated.unwrap_or_default(),
            pair.input,
            pair.output
        ))?;
        let (series, answers) = response::respond(method, &pair, self.interval, placement, limit, &mut observer)?;
        let refused: String = series.settings.refused.iter().map(|what| format!("warning: {what}\n")).collect();
        terminal::print(&format!("Answered {}. Nothing was measured here.\n{refused}", counted(answers, "change")))?;
        Ok(Outcome::Met)
    }

    /// Whether the kernel module answers, which may have to be loaded first.
    fn is_of_kernel(&self) -> bool {
        self.method.0.iter().any(|method| matches!(method, Method::Kernel(_)))
    }

    fn pair(&self) -> Pair {
        let or = |name: &Option<Name>, line| name.clone().unwrap_or_else(|| simulated::line(line));
        let (input, output) = (or(&self.input, 6), or(&self.output, 7));
        Pair { input, output, inverse: self.inverse, on_exit: self.on_exit }
    }

    /// The observer's lines; with no line named at all the simulated ones, joined.
    fn ends(&self) -> Result<Ends, Failure> {
        match (&self.return_output, &self.return_input, &self.input) {
            (Some(stimulus), Some(scope), _) => Ok(Ends { stimulus: stimulus.clone(), scope: scope.clone() }),
            (_, _, Some(_)) => Err(Failure::new(
                "nobody observes these lines: name those of the observer (--return-output, --return-input), or only answer (--respond-only)",
            )),
            _ => {
                let ((stimulus, _), (_, scope)) = (simulated::joined(5, 6)?, simulated::joined(7, 8)?);
                Ok(Ends { stimulus, scope })
            }
        }
    }
}
