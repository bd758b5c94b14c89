//! The timed loop beside its peers, and what its parts cost.

use std::path::Path;

use ontick_measure::Load;
use ontick_units::exact;

use crate::arguments::{Arguments, Scale};
use crate::goals::Goal;
use crate::page::{Page, Table};
use crate::side::{Job, PEERS, Side};
use crate::versus::Versus;
use crate::{access, costs, edges, footprint, goals, link, machine, pulses, show, tracing, versus};
use ontick_rt::cpus;

pub fn measure(arguments: &Arguments, job: &Job) -> Result<Vec<Goal>, String> {
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

    let (over_time, over_samples) = memory(scale, job, &mut page)?;
    journal(arguments, scale, job, &mut page)?;

    let tracing = traced(arguments, scale, job, &mut page)?;

    let pulses = trains(scale, job, &mut page)?;

    let edges = edges(arguments, scale, job, &mut page)?;

    let links = links(arguments, job, &mut page)?;

    let seen = goals::Figures {
        versus: &versus,
        costs: &costs,
        accesses: &accesses,
        over_time: &over_time,
        over_samples: &over_samples,
        tracing: &tracing,
        pulses: &pulses,
        edges: &edges,
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
    let shown = crate::shown(job);
    let sides = std::iter::once(Side::Ontick).chain(PEERS);
    sides
        .map(|side| side.command(&shown, 0, Path::new("DIR")).join(" ").replace("secaligned=0", "secaligned=PHASE"))
        .collect()
}

fn traced(arguments: &Arguments, scale: Scale, job: &Job, page: &mut Page) -> Result<Vec<tracing::Cost>, String> {
    page.heading("What --explain costs");
    let shown = crate::shown(job);
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
    let shown = crate::shown(job);
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
    page.commands(&[edges::command(&crate::shown(job)).join(" ")]);
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

fn links(arguments: &Arguments, job: &Job, page: &mut Page) -> Result<Vec<link::Moved>, String> {
    page.heading("A file over a wire, between two processes on simulated lines");
    let (shown, size) = (crate::shown(job), arguments.link());
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
