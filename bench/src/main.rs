//! ontick side by side with its peers, and what its parts cost. See docs/benchmarks.md.
#![deny(unsafe_code)]

mod access;
mod arguments;
mod beside_rust;
mod block;
mod c_loop;
mod child;
mod client;
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
mod pulses;
mod python_loop;
mod round_trips;
mod sample;
mod show;
mod side;
mod switch;
mod tracing;
mod unthrottled;
mod versus;
mod watch;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use ontick_measure::Load;
use ontick_record::store;
use ontick_rt::cpus;
use ontick_units::exact;

use arguments::{Arguments, Scale};
use page::{Page, Table};
use part::Part;
use side::{Job, PEERS, Side};
use versus::Versus;

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
            Part::Timing => timing(arguments, &job),
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
            Part::Switch => switch(arguments, &job),
        }?;
        reached &= goals.iter().all(|goal| goal.reached != Some(false));
    }
    Ok(reached)
}

/// The timed loop beside its peers, and what its parts cost.
fn timing(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
    let scale = arguments.scale();
    let mut page = Page::default();
    page.heading("Machine and programs");
    page.table(&machine::table(job)?);

    let versus = side_by_side(arguments, scale, job, &mut page)?;
    let costs = costs::measure(job.cpu)?;
    page.heading("What single operations cost");
    page.table(&show::costs(&costs));

    let accesses = access::measure(job.cpu)?;
    page.heading("What a register access costs");
    page.table(&show::costs(accesses.iter().flat_map(|access| [&access.raw, &access.line])));
    page.words("Both in turns on the same word of memory; a chip takes its own time on top, of both.");

    let start_up = start_up(job, &mut page)?;
    let (over_time, over_samples) = memory(scale, job, &mut page)?;
    journal(arguments, scale, job, &mut page)?;

    let tracing = traced(arguments, scale, job, &mut page)?;

    let pulses = trains(scale, job, &mut page)?;

    let edges = edges(arguments, scale, job, &mut page)?;

    let samples = samples(scale, job, &mut page)?;
    let links = links(arguments, job, &mut page)?;

    let seen = goals::Figures {
        versus: &versus,
        costs: &costs,
        accesses: &accesses,
        start_up,
        over_time: &over_time,
        over_samples: &over_samples,
        tracing: &tracing,
        pulses: &pulses,
        edges: &edges,
        samples: &samples,
        links: &links,
    };
    let goals = goals::judge(&seen);
    page.heading("Must reach");
    page.table(&show::goals(&goals));
    page.words("No allocation and no system call beyond the wait in the timed section: held by tests, not here. Maxima are published, never a goal: on a virtual machine they are the hypervisor's.");

    if let Some(path) = &arguments.markdown {
        page.write(path, "figures")?;
        println!("\nWritten to {}", path.display());
    }
    Ok(goals)
}

/// Planning has a page of its own, too.
fn planned(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
    let mut page = Page::default();
    page.heading("Planning: machine and programs");
    page.table(&machine::table(job)?);
    let seen = planning::measure(&job.ontick, arguments.planning(), &mut page)?;
    if let Some(file) = &arguments.markdown {
        planning::draw(&seen, file, &mut page)?;
    }
    let goals = planning::goals(&seen);
    page.heading("Planning: must reach");
    page.table(&show::goals(&goals));
    if let Some(path) = &arguments.markdown {
        page.write(path, "planning figures")?;
    }
    Ok(goals)
}

/// Programs in C have figures of their own.
fn loop_in_c(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
    let about = "bench/loops/c_loop.c through libontick.so, and bench/loops/rust_loop.rs. Both look for their phase first and leave out 200 cycles.";
    let page = LoopPage { title: "A loop in C", about, figures: "c figures" };
    page.measure(arguments, job, &c_loop::build()?, c_loop::goals)
}

/// And those in Python.
fn loop_in_python(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
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
        goals: fn(&[beside_rust::Figures]) -> Vec<goals::Goal>,
    ) -> Result<Vec<goals::Goal>, String> {
        let (mut page, title) = (Page::default(), self.title);
        page.heading(&format!("{title}: machine and programs"));
        page.table(&machine::table(job)?);
        let pairs = arguments.scale().pairs;
        let all = arguments.loads.iter().map(|load| beside_rust::measure(loops, job, load, pairs));
        let all = all.collect::<Result<Vec<_>, String>>()?;
        page.heading(&format!("{title} beside the same in Rust"));
        page.table(&beside_rust::table(&all));
        page.words(&format!(
            "{pairs} pairs of blocks of {} under each load, A B, B A, …: {}",
            exact(job.duration_ns),
            self.about
        ));
        let goals = goals(&all);
        page.heading(&format!("{title}: must reach"));
        page.table(&show::goals(&goals));
        if let Some(path) = &arguments.markdown {
            page.write(path, self.figures)?;
        }
        Ok(goals)
    }
}

/// Plans beside an exact solver.
fn judged(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
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
fn on_every_cpu(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
    let mut page = Page::default();
    page.heading("Every CPU at once: machine and programs");
    page.table(&machine::table(job)?);
    let rounds = arguments.scale().pairs;
    let all = arguments.loads.iter().map(|load| every_cpu::measure(job, load, rounds));
    let all = all.collect::<Result<Vec<_>, String>>()?;
    page.heading("The timed loop on every CPU at once beside each CPU alone");
    page.table(&every_cpu::table(&all));
    page.words(&format!(
        "{rounds} rounds of blocks of {} under each load: each CPU alone and then all at once, then the other way round. Each loop looks for the quietest phase of its CPU first.",
        exact(job.duration_ns)
    ));
    let goals = every_cpu::goals(&all);
    page.heading("Every CPU at once: must reach");
    page.table(&show::goals(&goals));
    if let Some(path) = &arguments.markdown {
        page.write(path, "cpus figures")?;
    }
    Ok(goals)
}

/// Round trips over virtual Ethernet have figures of their own.
fn round_trips(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
    let mut page = Page::default();
    page.heading("Round trips: machine and programs");
    page.table(&machine::table(job)?);
    let pairs = arguments.scale().pairs;
    let all = arguments.loads.iter().map(|load| round_trips::measure(job, load, pairs));
    let all = all.collect::<Result<Vec<_>, String>>()?;
    page.heading("Round trips over virtual Ethernet, no wire, both ends on this machine");
    page.table(&round_trips::table(&all));
    page.words(&format!(
        "{pairs} pairs of blocks of {} under each load, A B, B A, …: a request each {}, answered on the other CPU, both ends at FIFO {}.",
        exact(job.duration_ns),
        exact(job.interval_ns),
        job.priority
    ));
    let goals = round_trips::goals(&all);
    page.heading("Round trips: must reach");
    page.table(&show::goals(&goals));
    if let Some(path) = &arguments.markdown {
        page.write(path, "round trip figures")?;
    }
    Ok(goals)
}

/// A CPU that is kept from idling beside one that may.
fn not_idle(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
    let mut page = Page::default();
    page.heading("A CPU that does not idle: machine and programs");
    page.table(&machine::table(job)?);
    let pairs = arguments.scale().pairs;
    let all = arguments.loads.iter().map(|load| idle::measure(job, load, pairs));
    let all = all.collect::<Result<Vec<_>, String>>()?;
    page.heading("cyclictest on a CPU kept awake and on one that may idle");
    let cyclictest = ["cyclictest".into(), "…".into()];
    page.commands(&[idle::command(&Job { ontick: "ontick".into(), ..job.clone() }, true, &cyclictest).join(" ")]);
    page.table(&idle::table(&all));
    page.words(&format!(
        "{pairs} pairs of blocks of {} under each load, A B, B A, …: cyclictest each {} at FIFO {}, its histogram in microseconds.",
        exact(job.duration_ns),
        exact(job.interval_ns),
        job.priority
    ));
    let goals = idle::goals(&all);
    page.heading("A CPU that does not idle: must reach");
    page.table(&show::goals(&goals));
    if let Some(path) = &arguments.markdown {
        page.write(path, "idle figures")?;
    }
    Ok(goals)
}

/// What it costs a loop to be inspected.
fn inspected(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
    let mut page = Page::default();
    page.heading("Inspecting: machine and programs");
    page.table(&machine::table(job)?);
    let pairs = arguments.scale().pairs;
    let all = arguments.loads.iter().map(|load| inspect::measure(job, load, pairs));
    let all = all.collect::<Result<Vec<_>, String>>()?;
    page.heading("A sleeping loop inspected and alone");
    page.commands(&[inspect::command(&Job { ontick: "ontick".into(), ..job.clone() }).join(" ")]);
    page.table(&inspect::table(&all));
    page.words(&format!(
        "{pairs} pairs of blocks of {} under each load, A B, B A, …: the difference within each pair, its median (least to most).",
        exact(job.duration_ns)
    ));
    let goals = inspect::goals(&all);
    page.heading("Inspecting: must reach");
    page.table(&show::goals(&goals));
    if let Some(path) = &arguments.markdown {
        page.write(path, "inspect figures")?;
    }
    Ok(goals)
}

/// The service that watches.
fn watched(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
    let mut page = Page::default();
    page.heading("The watch: machine and programs");
    page.table(&machine::table(job)?);
    let goals = watch::goals(&watch::measure(job, arguments.watch(), &mut page)?);
    page.heading("The watch: must reach");
    page.table(&show::goals(&goals));
    if let Some(path) = &arguments.markdown {
        page.write(path, "watch figures")?;
    }
    Ok(goals)
}

/// End points, and a network with real frames.
fn networked(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
    let mut page = Page::default();
    page.heading("The network: machine and programs");
    page.table(&machine::table(job)?);
    let goals = network::goals(&network::measure(job, arguments.network(), &mut page)?);
    page.heading("The network: must reach");
    page.table(&show::goals(&goals));
    if let Some(path) = &arguments.markdown {
        page.write(path, "network figures")?;
    }
    Ok(goals)
}

/// A switch managed by NETCONF.
fn managed(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
    let mut page = Page::default();
    page.heading("NETCONF: machine and programs");
    page.table(&machine::table(job)?);
    let goals = netconf::goals(&netconf::measure(job, arguments.netconf(), &mut page)?);
    page.heading("NETCONF: must reach");
    page.table(&show::goals(&goals));
    if let Some(path) = &arguments.markdown {
        page.write(path, "netconf figures")?;
    }
    Ok(goals)
}

/// The switch has a page of its own, as it takes as long as all the others.
fn switch(arguments: &Arguments, job: &Job) -> Result<Vec<goals::Goal>, String> {
    let mut page = Page::default();
    page.heading("The switch: machine and programs");
    page.table(&machine::table(job)?);
    let goals = switch::goals(&switch::measure(job, arguments.switch(), &mut page)?);
    page.heading("The switch: must reach");
    page.table(&show::goals(&goals));
    if let Some(path) = &arguments.markdown {
        page.write(path, "switch figures")?;
    }
    Ok(goals)
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

fn side_by_side(arguments: &Arguments, scale: Scale, job: &Job, page: &mut Page) -> Result<Vec<Versus>, String> {
    page.heading("Side by side: the same job");
    page.commands(&commands(job));
    page.words(&format!(
        "{} pairs of blocks of {} with each peer, A B, B A, …; --secaligned has the phase that ontick chose last. cyclictest and jitterdebugger measure how late a sleeping thread wakes. ontick's hybrid wait sleeps to a margin before the deadline and spins the rest: it measures how far from the deadline the job acts, and pays with CPU time (last column: of the whole program, as a share of one CPU, ontick's search for the phase included). Where the peers' whole microseconds or missing rows leave a doubt, the lower value stands.",
        scale.pairs,
        exact(scale.block_ns)
    ));
    page.words(&format!(
        "Steal-excluded: every pair is left out in which either block saw more than {} of steal on all CPUs together (/proc/stat counts in steps of 10ms). One rule for both sides.",
        exact(arguments.steal_limit)
    ));

    let mut all = Vec::new();
    let mut log = Table::new(&show::BLOCK);
    let (online, blocks) = (cpus::online().len(), scale.pairs as usize * PEERS.len() * 2 * arguments.loads.len());
    let mut done = 0;
    for load in &arguments.loads {
        let name = versus::load_name(load);
        println!("\n  {name}");
        let versus = versus::measure(load, scale.pairs, job, |block| {
            let row = show::block(format!("{name}: {}", block.side.name()), block, online);
            let named = row.iter().zip(show::BLOCK).skip(1).map(|(cell, head)| format!("{head} {cell}"));
            done += 1;
            println!("    {done}/{blocks} {}: {}", block.side.name(), named.collect::<Vec<_>>().join(", "));
            log.row(row);
        })?;
        page.heading(&format!("Load {}", versus.command));
        page.table(&show::sides(&versus));
        println!();
        page.table(&show::ratios(&versus, arguments.steal_limit));
        all.push(versus);
    }
    page.folded("Every block, in the order in which they ran", &log);
    Ok(all)
}

/// The commands of all sides, as they are shown: each block has its own folder and the phase chosen last.
fn commands(job: &Job) -> Vec<String> {
    let shown = Job { ontick: "ontick".into(), ..job.clone() };
    let sides = std::iter::once(Side::Ontick).chain(PEERS);
    sides
        .map(|side| side.command(&shown, 0, Path::new("DIR")).join(" ").replace("secaligned=0", "secaligned=PHASE"))
        .collect()
}

fn traced(arguments: &Arguments, scale: Scale, job: &Job, page: &mut Page) -> Result<Vec<tracing::Cost>, String> {
    page.heading("What --explain costs");
    let shown = Job { ontick: "ontick".into(), ..job.clone() };
    page.commands(&[true, false].map(|explain| tracing::command(&shown, explain).join(" ")));
    let costs: Result<Vec<_>, String> =
        arguments.loads.iter().map(|load| tracing::measure(job, load, scale.pairs)).collect();
    let costs = costs?;
    page.table(&show::tracing(&costs));
    page.words(&format!(
        "{} pairs under each load, with --explain and without it, A B, B A, …: the difference within each pair, its median (least–most).",
        scale.pairs
    ));
    Ok(costs)
}

fn trains(scale: Scale, job: &Job, page: &mut Page) -> Result<Vec<pulses::Block>, String> {
    page.heading("Pulses of 10us on a simulated line, idle");
    let shown = Job { ontick: "ontick".into(), ..job.clone() };
    page.commands(&[0, 1].map(|side| pulses::command(&shown, side).join(" ")));
    let blocks = pulses::measure(job, scale.pairs)?;
    page.table(&pulses::table(&blocks));
    page.words(&format!(
        "{} pairs of blocks of {}, hybrid and sleep (what usleep does) in turn, A B, B A, …. The line is one of a simulated chip, whose edges tell their own time: this is how well the program keeps time on this machine, not what a board's pin does.",
        scale.pairs,
        exact(scale.block_ns)
    ));
    Ok(blocks)
}

fn edges(arguments: &Arguments, scale: Scale, job: &Job, page: &mut Page) -> Result<Vec<edges::Figures>, String> {
    page.heading("Edges between two CPUs on simulated lines, seen by polling");
    page.commands(&[edges::command(&Job { ontick: "ontick".into(), ..job.clone() }).join(" ")]);
    let all: Result<Vec<_>, String> =
        arguments.loads.iter().map(|load| edges::measure(job, load, scale.pairs)).collect();
    let all = all?;
    page.table(&edges::table(&all));
    page.words(&format!(
        "{} blocks of {} under each load, all edges together: from just before the write to the first clock reading after the edge was read on the other CPU.",
        scale.pairs,
        exact(scale.block_ns)
    ));
    Ok(all)
}

fn samples(scale: Scale, job: &Job, page: &mut Page) -> Result<Vec<sample::Figures>, String> {
    page.heading("Samples for four clients at once");
    let (shown, seconds) = (Job { ontick: "ontick".into(), ..job.clone() }, scale.sample_ns / 1_000_000_000);
    page.commands(&sample::RATES_KHZ.map(|khz| sample::command(&shown, khz, seconds, Path::new("DIR")).join(" ")));
    // As after `ontick tune apply`: else the timed thread rests by the clock.
    let _unthrottled = unthrottled::Unthrottled::begin(job.cpu)?;
    let mut all = Vec::new();
    for khz in sample::RATES_KHZ {
        all.push(sample::measure(job, khz, seconds)?);
    }
    page.table(&sample::table(&all));
    println!();
    page.table(&sample::causes(&all));
    page.words("The clients are threads of the bench, on the other CPUs; the file is read afterwards. Each counts numbers and gaps, and holds every deadline (time stamp less latency) against its number. Lost is what ontick's own record has more than the client. Slots that were never sampled stand as missed; < 3us counts them as late.");
    Ok(all)
}

fn links(arguments: &Arguments, job: &Job, page: &mut Page) -> Result<Vec<link::Moved>, String> {
    page.heading("A file over a wire, between two processes on simulated lines");
    let (shown, size) = (Job { ontick: "ontick".into(), ..job.clone() }, arguments.link());
    let cases = link::cases("idle", size);
    let commands = cases.iter().flat_map(|case| link::commands(&shown, case, "FILE").into_iter().skip(2));
    page.commands(&commands.map(|words| words.join(" ")).collect::<Vec<_>>());
    let mut loads: Vec<&Load> = arguments.loads.iter().collect();
    loads.dedup();
    let mut all = Vec::new();
    for load in loads {
        all.extend(link::measure(job, load, size)?);
    }
    page.table(&link::table(&all));
    for moved in all.iter().filter(|moved| !moved.identical()) {
        page.words(&format!("Not identical ({}, {}): {}.", moved.name, moved.load, moved.said.join(". ")));
    }
    page.words("Rates count the bytes of the file, from before the sender's start to the receiver's end, with what had to be repeated; the article counts the bits on the wire, of which pulses and gaps of 100 and 200us carry 6.67 kb/s with two widths of each and 13.3 kb/s with four. Lines and wires are simulated: this is what the program and this machine's scheduler can do, no board's pins.");
    Ok(all)
}

fn start_up(job: &Job, page: &mut Page) -> Result<ontick_record::compare::Spread, String> {
    let ontick = footprint::start_up(&[job.ontick.display().to_string(), "--version".into()])?;
    let nothing = footprint::start_up(&["true".into()])?;
    page.heading("Start-up");
    page.words(&format!(
        "ontick --version, from fork to end, median of {} (least–most): {:.1} ms ({:.1}–{:.1}); true, a program that does nothing: {:.1} ms.",
        ontick.pairs, ontick.median, ontick.min, ontick.max, nothing.median
    ));
    Ok(ontick)
}

fn memory(scale: Scale, job: &Job, page: &mut Page) -> Result<(footprint::Growth, footprint::Growth), String> {
    page.heading("Memory");
    let over_time = footprint::memory_over_time(job, scale.short_ns, scale.long_ns)?;
    let over_samples = footprint::memory_over_samples(job)?;
    page.table(&show::memory(&[&over_time, &over_samples]));
    page.words(&format!(
        "Largest resident set of the process (wait4), locked memory included; the kernel miscounts by up to {} KiB.",
        footprint::MISCOUNT_KIB
    ));
    Ok((over_time, over_samples))
}

fn journal(arguments: &Arguments, scale: Scale, job: &Job, page: &mut Page) -> Result<(), String> {
    page.heading("Journal of a run with --record");
    let mut table = Table::new(&["load", "bytes per second", "MB per hour"]);
    let mut loads: Vec<&Load> = arguments.loads.iter().collect();
    loads.dedup();
    for load in loads {
        let rate = footprint::journal(job, load, scale.journal_ns)?;
        table.row([versus::load_name(load), format!("{rate:.0}"), format!("{:.1}", rate * 3600.0 / 1e6)]);
    }
    page.table(&table);
    Ok(())
}
