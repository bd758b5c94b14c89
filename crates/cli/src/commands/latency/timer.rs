//! `ontick latency timer`

use clap::Args;
use ontick_measure::restrict_affinity::Cpus;
use ontick_measure::timer::cache::{self, Cache, Working};
use ontick_measure::timer::{self, Job, Method, Places, waits};
use ontick_measure::timetable::Timetable;
use ontick_measure::{Limits, Load, Observer, check_split, confined};
use ontick_record::{Measurement as Kind, Series};
use ontick_rt::{Overrun, Phase};

use super::mechanisms::{self, Mechanisms};
use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, EverySampleFlags, MeasuringFlags};

/// Measure how late a periodic job acts, by the method that it waits with.
#[derive(Args)]
#[command(
    mut_arg("cpu", flags::of_several),
    after_help = "Examples:\n  sudo ontick latency timer\n  sudo ontick latency timer --method all --duration 2s --load cpu\n  sudo ontick latency timer --load cpu --cpus 1,all\n  sudo ontick latency timer --cpu all --phase stagger --html cpus.html\n  sudo ontick latency timer --margin 40us\n  sudo ontick latency timer --stop-over 100us --break-trace      keeps a trace\n  sudo ontick latency timer --waits 4 --html waits.html\n  sudo ontick latency timer --cpu all --samples samples.csv\n  sudo ontick latency timer --method clock_nanosleep --split\n  sudo ontick latency timer --cache untouched,prefetch,huge --load memory\n  sudo ontick latency timer --method clock_nanosleep --interval 500us \\\n      --policy fifo:80 --count 100000"
)]
pub struct Timer {
    /// hybrid, spin, clock_nanosleep, nanosleep, timerfd, epoll, posix_timer, setitimer, select, poll, futex,
    /// io_uring; or several (hybrid,timerfd) or all, one after the other, each for the whole duration
    #[arg(long, value_name = "METHOD,…", default_value = "hybrid", value_parser = methods)]
    method: Mechanisms<Method>,
    /// Period of the job, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    interval: u64,
    /// Offset of the deadlines from multiples of the interval: a time, auto (the quietest), chance, or stagger (those of
    /// several CPUs evenly spread)
    #[arg(long, value_name = "TIME|auto|chance|stagger", default_value = "auto", value_parser = phase)]
    phase: Offset,
    /// After an overrun, act also on every passed deadline, instead of skipping and counting it
    #[arg(long)]
    catch_up: bool,
    /// Largest share of the time that hybrid and spin may spend spinning
    #[arg(long, value_name = "PERCENT", default_value = "90%", value_parser = flags::share)]
    duty: f64,
    /// Margin before the deadline at which hybrid stops sleeping, within the duty, instead of one that it learns
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    margin: Option<u64>,
    /// How many CPUs the program and its load may use together: a number, one or all; or several, one after
    /// the other (1,all)
    #[arg(long, value_name = "N|one|all", default_value = "all", value_delimiter = ',')]
    cpus: Vec<Cpus>,
    /// Wait so many times in each cycle of one loop, 2 to 16: each wait, their sum, and whether worst cases add
    #[arg(long, value_name = "K", conflicts_with = "cpus", value_parser = clap::value_parser!(u32).range(2..=waits::MOST as i64))]
    waits: Option<u32>,
    /// Measure to the end of work that reads memory, with its code and data untouched, prefetch (read just before each
    /// deadline), huge (in huge pages), reserved (a part of the cache for the CPU alone), or several joined by +; or
    /// several of these, one after the other
    #[arg(long, value_name = "WAY,…", conflicts_with_all = ["cpus", "waits"], value_delimiter = ',')]
    cache: Vec<Cache>,
    /// How much memory the work of `--cache` reads, in KiB
    #[arg(long, value_name = "KIB", default_value = "32", requires = "cache", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    working_set: u32,
    /// Split each latency into three parts by the kernel's events: until the timer's interrupt, until the thread is woken,
    /// until it runs; of methods that only sleep (needs root)
    #[arg(long, conflicts_with_all = ["explain", "waits", "cache"])]
    split: bool,
    #[command(flatten)]
    every_sample: EverySampleFlags,
    #[command(flatten)]
    measuring: MeasuringFlags,
}

fn methods(text: &str) -> Result<Mechanisms<Method>, String> {
    mechanisms::read(text, &Method::ALL)
}

/// Where the deadlines lie.
#[derive(Debug, Clone, Copy)]
enum Offset {
    Each(Phase),
    Staggered,
}

fn phase(text: &str) -> Result<Offset, String> {
    match text {
        "auto" => Ok(Offset::Each(Phase::Auto)),
        "chance" => Ok(Offset::Each(Phase::Chance)),
        "stagger" => Ok(Offset::Staggered),
        time => flags::time(time).map(Phase::Fixed).map(Offset::Each),
    }
}

impl Timer {
    pub fn run(self) -> Result<Outcome, Failure> {
        let placement = self.measuring.placement.placement();
        let limits = flags::one_cycle(self.measuring.limits.limits(), self.interval)?;
        let jobs: Vec<Job> = self
            .method
            .0
            .iter()
            .map(|method| Job {
                phase: match self.phase {
                    Offset::Each(phase) => phase,
                    Offset::Staggered => Phase::Chance,
                },
                overrun: if self.catch_up { Overrun::CatchUp } else { Overrun::Skip },
                duty: self.duty,
                margin_ns: self.margin.filter(|_| *method == Method::Hybrid),
                ..Job::new(self.interval, *method)
            })
            .collect();
        if self.margin.is_some() && !self.method.0.contains(&Method::Hybrid) {
            return Err(Failure::new("--margin is of the hybrid wait: leave it out, or name hybrid with --method"));
        }
        jobs.iter().try_for_each(Job::check_margin)?;
        if let Some(spins) = self.method.0.iter().find(|method| self.split && method.spins()) {
            return Err(Failure::new(format!(
                "--split is of methods that sleep until their time, and {spins} is awake by then: name one, as in --method \
                 clock_nanosleep"
            )));
        }
        let spins = self.method.0.contains(&Method::Spin);
        if let Some((cpus, note)) = self.measuring.placement.together(spins)? {
            return self.measure_each_cpu(&jobs, &cpus, note);
        }
        if matches!(self.phase, Offset::Staggered) {
            return Err(Failure::new(
                "--phase stagger spreads the deadlines of several CPUs: name them, as in --cpu 1-3 or --cpu all",
            ));
        }
        if !self.cache.is_empty() {
            return self.measure_cached(&jobs);
        }
        if let Some(count) = self.waits {
            return self.measure_waits(&jobs, count);
        }
        let takes_ns =
            Timetable::of_series(jobs.len() * self.cpus.len(), limits, Some(self.interval), self.measuring.load());
        if self.cpus[..] == [Cpus::All] {
            let asked = Measurement { takes_ns, ..self.asked(limits, self.method.names())? };
            let each = |observer: &mut Observer| timer::each(&jobs, placement, limits, observer);
            return measuring::run(asked, &self.measuring.output, |_| true, each);
        }
        let names = self.cpus.iter().flat_map(|cpus| jobs.iter().map(|job| self.name(*cpus, job)));
        let names: Vec<String> = names.collect();
        // The load shares the CPUs of what it runs beside, and is started with it.
        let load = &Load::None;
        let asked = Measurement { takes_ns, load, ..self.asked(limits, names)? };
        let load = self.measuring.load();
        let each =
            |observer: &mut Observer| timer::with_each_cpus(&jobs, &self.cpus, load, placement, limits, observer);
        measuring::run(asked, &self.measuring.output, |_| true, each)
    }

    /// As the flags ask for it.
    fn asked(&self, limits: Limits, series: impl IntoIterator<Item: Into<Series>>) -> Result<Measurement<'_>, Failure> {
        let asked = Measurement::asked(&self.measuring, limits, Kind::Timer, series);
        let keeps = asked.keeps.filter(|_| !self.split);
        Ok(Measurement { sample_file: self.every_sample.file()?, split: self.split, keeps, ..asked })
    }

    /// A thread on each of several CPUs.
    fn measure_each_cpu(&self, jobs: &[Job], cpus: &[u32], note: Option<String>) -> Result<Outcome, Failure> {
        if self.waits.is_some() || !self.cache.is_empty() || self.cpus[..] != [Cpus::All] {
            return Err(Failure::new(
                "--cpu with several CPUs measures one wait on each: leave out --waits, --cache and --cpus, or name one CPU",
            ));
        }
        if self.split {
            check_split(cpus)?;
        }
        let placement = self.measuring.placement.placement();
        let limits = flags::one_cycle(self.measuring.limits.limits(), self.interval)?;
        let takes_ns = Timetable::of_series(jobs.len(), limits, Some(self.interval), self.measuring.load());
        let cases = timer::cases(jobs, cpus);
        let mut asked = Measurement { takes_ns, ..self.asked(limits, cases)? };
        asked.facts.extend(note);
        let places = Places { cpus, staggered: matches!(self.phase, Offset::Staggered) };
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| timer::on_each_cpu(jobs, places, placement, limits, observer),
        )
    }

    /// Work after each wait, with what is done for its code and data.
    fn measure_cached(&self, jobs: &[Job]) -> Result<Outcome, Failure> {
        let placement = self.measuring.placement.placement();
        let limits = flags::one_cycle(self.measuring.limits.limits(), self.interval)?;
        let bytes = self.working_set as usize * 1024;
        let of_job = |job: &Job| {
            let job = *job;
            self.cache.iter().map(move |cache| Working { job, bytes, cache: *cache })
        };
        let all: Vec<Working> = jobs.iter().flat_map(of_job).collect();
        let takes_ns = Timetable::of_series(all.len(), limits, Some(self.interval), self.measuring.load());
        let cases = all.iter().map(Working::case);
        let asked = Measurement { takes_ns, ..self.asked(limits, cases)? };
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| cache::each(&all, placement, limits, observer),
        )
    }

    /// Several waits in each cycle.
    fn measure_waits(&self, jobs: &[Job], count: u32) -> Result<Outcome, Failure> {
        if self.measuring.explain {
            return Err(Failure::new(
                "--explain finds the cause of one wait, not of a sum: leave out --waits or --explain",
            ));
        }
        let placement = self.measuring.placement.placement();
        let limits = flags::one_cycle(self.measuring.limits.limits(), self.interval)?;
        let takes_ns = Timetable::of_series(jobs.len(), limits, Some(self.interval), self.measuring.load());
        let cases = jobs.iter().flat_map(|job| waits::cases(job, count));
        let asked = Measurement { takes_ns, ..self.asked(limits, cases)? };
        measuring::run(
            asked,
            &self.measuring.output,
            |_| true,
            |observer| waits::each(jobs, count, placement, limits, observer),
        )
    }

    fn name(&self, cpus: Cpus, job: &Job) -> String {
        confined::name(job.method.name(), cpus, &self.cpus)
    }
}
