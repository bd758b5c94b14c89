//! ontick side by side with its peers, and what its parts cost. See docs/benchmarks.md.
#![deny(unsafe_code)]

mod access;
mod arguments;
mod beside_rust;
mod block;
mod c_loop;
mod captures;
mod child;
mod costs;
mod edges;
mod every_cpu;
mod footprint;
mod goals;
mod idle;
mod in_pairs;
mod inspect;
mod link;
mod machine;
mod netconf;
mod network;
mod page;
mod pair_table;
mod part;
mod planning;
mod program;
mod pulses;
mod python_loop;
mod round_trips;
mod samples;
mod show;
mod side;
mod switch;
mod timing;
mod tracing;
mod unthrottled;
mod versus;
mod watch;

use std::process::ExitCode;

use clap::Parser;
use ontick_measure::Load;
use ontick_record::store;
use ontick_units::exact;

use arguments::Arguments;
use goals::Goal;
use page::Page;
use part::Part;
use side::Job;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match bench(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(u8::from(arguments.strict)),
        Err(sentence) => {
            eprintln!("bench: {sentence}");
            ExitCode::from(2)
        }
    }
}

/// Runs everything; whether every goal that was measured was reached.
fn bench(arguments: &Arguments) -> Result<bool, String> {
    arguments.check()?;
    if let Some(path) = &arguments.markdown {
        store::check_writable(path).map_err(|e| e.to_string())?;
    }
    let job = job(arguments)?;
    let parts = arguments.parts();
    if parts.contains(&Part::Planning) {
        // What it needs is known before the hours of all else.
        planning::check()?;
    }
    let mut reached = true;
    for part in parts {
        let goals = match part {
            Part::Timing => timing::measure(arguments, &job),
            Part::Program => small(arguments, &job),
            Part::Samples => sampled(arguments, &job),
            Part::Planning => planned(arguments, &job),
            Part::Judge => judged(arguments, &job),
            Part::C => loop_in_c(arguments, &job),
            Part::Python => loop_in_python(arguments, &job),
            Part::Cpus => on_every_cpu(arguments, &job),
            Part::Watch => watched(arguments, &job),
            Part::RoundTrips => round_trips(arguments, &job),
            Part::Idle => not_idle(arguments, &job),
            Part::Inspect => inspected(arguments, &job),
            Part::Network => networked(arguments, &job),
            Part::Netconf => managed(arguments, &job),
            Part::Captures => imported(arguments, &job),
            Part::Hardening => hardened(arguments, &job),
            Part::Growth => grown(arguments, &job),
            Part::Switch => switch(arguments, &job),
        }?;
        reached &= goals.iter().all(|goal| goal.reached != Some(false));
    }
    Ok(reached)
}

/// A part with a page of its own: the machine, what was measured, and what must be reached.
fn page_of(
    (title, figures): (&str, &str),
    arguments: &Arguments,
    job: &Job,
    measure: impl FnOnce(&mut Page) -> Result<Vec<Goal>, String>,
) -> Result<Vec<Goal>, String> {
    let mut page = Page::default();
    page.heading(&format!("{title}: machine and programs"));
    page.table(&machine::table(job)?);
    let goals = measure(&mut page)?;
    page.heading(&format!("{title}: must reach"));
    page.table(&show::goals(&goals));
    if let Some(path) = &arguments.markdown {
        page.write(path, figures)?;
    }
    Ok(goals)
}

/// What was seen under each load.
fn under_each<F>(arguments: &Arguments, measure: impl Fn(&Load) -> Result<F, String>) -> Result<Vec<F>, String> {
    arguments.loads.iter().map(measure).collect()
}

/// As it is shown: without the folder that this machine has it in.
fn shown(job: &Job) -> Job {
    Job { ontick: "ontick".into(), ..job.clone() }
}

fn planned(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("Planning", "planning figures"), arguments, job, |page| {
        let seen = planning::measure(&job.ontick, arguments.planning(), page)?;
        if let Some(file) = &arguments.markdown {
            planning::draw(&seen, file, page)?;
        }
        Ok(planning::goals(&seen))
    })
}

/// Programs in C have figures of their own.
fn loop_in_c(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    let about = "bench/loops/c_loop.c through libontick.so, and bench/loops/rust_loop.rs. Both look for their phase first and leave out 200 cycles.";
    let page = LoopPage { title: "A loop in C", about, figures: "c figures" };
    page.measure(arguments, job, &c_loop::build()?, c_loop::goals)
}

/// And those in Python.
fn loop_in_python(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    let about = "bench/loops/python_loop.py with the wheel, and bench/loops/rust_loop.rs. Both look for their phase first; Rust leaves out 200 cycles, Python none.";
    let page = LoopPage { title: "A loop in Python", about, figures: "python figures" };
    page.measure(arguments, job, &python_loop::build()?, python_loop::goals)
}

/// A loop in another language beside the one in Rust, on a page of its own.
struct LoopPage {
    title: &'static str,
    about: &'static str,
    figures: &'static str,
}

impl LoopPage {
    fn measure(
        &self,
        arguments: &Arguments,
        job: &Job,
        loops: &beside_rust::Loops,
        goals: fn(&[beside_rust::Figures]) -> Vec<Goal>,
    ) -> Result<Vec<Goal>, String> {
        page_of((self.title, self.figures), arguments, job, |page| {
            let pairs = arguments.scale().pairs;
            let all = under_each(arguments, |load| beside_rust::measure(loops, job, load, pairs))?;
            page.heading(&format!("{} beside the same in Rust", self.title));
            page.table(&beside_rust::table(&all));
            page.words(&format!(
                "{pairs} pairs of blocks of {} under each load, A B, B A, …: {}",
                exact(job.duration_ns),
                self.about
            ));
            Ok(goals(&all))
        })
    }
}

/// The program itself.
fn small(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("The program", "program figures"), arguments, job, |page| {
        Ok(program::goals(&program::measure(job, page)?))
    })
}

/// Samples at several rates.
fn sampled(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("Samples", "sample figures"), arguments, job, |page| {
        Ok(samples::goals(&samples::measure(job, arguments.scale().sample_ns / 1_000_000_000, page)?))
    })
}

/// Plans beside an exact solver.
fn judged(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    let mut page = Page::default();
    let goals = planning::judge::measure(&job.ontick, &mut page, arguments.quick)?;
    page.heading("Planning: must reach");
    page.table(&show::goals(&goals));
    if let Some(path) = &arguments.markdown {
        page.write(path, "planner verdicts")?;
    }
    Ok(goals)
}

/// Every CPU at once has figures of its own.
fn on_every_cpu(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("Every CPU at once", "cpus figures"), arguments, job, |page| {
        let rounds = arguments.scale().pairs;
        let all = under_each(arguments, |load| every_cpu::measure(job, load, rounds))?;
        page.heading("The timed loop on every CPU at once beside each CPU alone");
        page.table(&every_cpu::table(&all));
        page.words(&format!(
            "{rounds} rounds of blocks of {} under each load: each CPU alone and then all at once, then the other way round. Each loop looks for the quietest phase of its CPU first.",
            exact(job.duration_ns)
        ));
        Ok(every_cpu::goals(&all))
    })
}

/// Round trips over virtual Ethernet have figures of their own.
fn round_trips(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("Round trips", "round trip figures"), arguments, job, |page| {
        let pairs = arguments.scale().pairs;
        let all = under_each(arguments, |load| round_trips::measure(job, load, pairs))?;
        page.heading("Round trips over virtual Ethernet, no wire, both ends on this machine");
        page.table(&round_trips::table(&all));
        page.words(&format!(
            "{pairs} pairs of blocks of {} under each load, A B, B A, …: a request each {}, answered on the other CPU, both ends at FIFO {}.",
            exact(job.duration_ns),
            exact(job.interval_ns),
            job.priority
        ));
        Ok(round_trips::goals(&all))
    })
}

/// A CPU that is kept from idling beside one that may.
fn not_idle(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("A CPU that does not idle", "idle figures"), arguments, job, |page| {
        let pairs = arguments.scale().pairs;
        let all = under_each(arguments, |load| idle::measure(job, load, pairs))?;
        page.heading("cyclictest on a CPU kept awake and on one that may idle");
        let cyclictest = ["cyclictest".into(), "…".into()];
        page.commands(&[idle::command(&shown(job), true, &cyclictest).join(" ")]);
        page.table(&idle::table(&all));
        page.words(&format!(
            "{pairs} pairs of blocks of {} under each load, A B, B A, …: cyclictest each {} at FIFO {}, its histogram in microseconds.",
            exact(job.duration_ns),
            exact(job.interval_ns),
            job.priority
        ));
        Ok(idle::goals(&all))
    })
}

/// What it costs a loop to be inspected.
fn inspected(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("Inspecting", "inspect figures"), arguments, job, |page| {
        let pairs = arguments.scale().pairs;
        let all = under_each(arguments, |load| inspect::measure(job, load, pairs))?;
        page.heading("A sleeping loop inspected and alone");
        page.commands(&[inspect::command(&shown(job)).join(" ")]);
        page.table(&inspect::table(&all));
        page.words(&format!(
            "{pairs} pairs of blocks of {} under each load, A B, B A, …: the difference within each pair, its median (least to most).",
            exact(job.duration_ns)
        ));
        Ok(inspect::goals(&all))
    })
}

/// The service that watches.
fn watched(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("The watch", "watch figures"), arguments, job, |page| {
        Ok(watch::goals(&watch::measure(job, arguments.watch(), page)?))
    })
}

/// End points, and a network with real frames.
fn networked(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("The network", "network figures"), arguments, job, |page| {
        Ok(network::goals(&network::measure(job, arguments.network(), page)?))
    })
}

/// A switch managed by NETCONF.
fn managed(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("NETCONF", "netconf figures"), arguments, job, |page| {
        Ok(netconf::goals(&netconf::measure(job, arguments.netconf(), page)?))
    })
}

/// Captures of other instruments.
fn imported(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("Captures", "capture figures"), arguments, job, |page| {
        Ok(captures::goals(&captures::measure(job, arguments.captures(), page)?))
    })
}

/// Filtered system calls.
fn hardened(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    // A hundredth is less than what one pair differs from the next.
    let pairs = if arguments.quick { 2 } else { 8 * arguments.scale().pairs };
    page_of(("Hardening", "hardening figures"), arguments, job, |page| {
        Ok(switch::hardening::goals(&switch::hardening::measure(job, pairs, page)?))
    })
}

/// Larger and larger switches.
fn grown(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    let turns = if arguments.quick { 1 } else { 2 * arguments.scale().pairs };
    page_of(("Growth", "growth figures"), arguments, job, |page| {
        let seen = switch::growth::measure(job, turns, page)?;
        if let Some(file) = &arguments.markdown {
            seen.draw(file, page)?;
        }
        Ok(seen.goals())
    })
}

/// The switch has a page of its own, as it takes as long as all the others.
fn switch(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
    page_of(("The switch", "switch figures"), arguments, job, |page| {
        Ok(switch::goals(&switch::measure(job, arguments.switch(), page)?))
    })
}

fn job(arguments: &Arguments) -> Result<Job, String> {
    Ok(Job {
        ontick: arguments.ontick()?,
        cpu: arguments.place().cpu.unwrap_or(0),
        priority: arguments.priority,
        interval_ns: arguments.interval,
        duration_ns: arguments.scale().block_ns,
    })
}
