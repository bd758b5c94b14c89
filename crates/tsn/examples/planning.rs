//! How long the parts of planning take, on tsnkit's tables, and whether the plan holds:
//! `cargo run --release -p ontick-tsn --example planning -- TASK TOPO [payload]`
//! `… planning -- TASK TOPO add` also plans all streams but the last one, and then adds it to that plan; `tables` makes the
//! texts of tsnkit's tables, `write` the plan's document; `unvalidated` ends there.

use std::time::Instant;

use ontick_tsn::network::{Network, Overhead, tsnkit};
use ontick_tsn::planning::tsnkit::tables;
use ontick_tsn::planning::{Document, Outcome, PlanOptions, Timetable, gate_control_list, plan};
use ontick_tsn::validate::{MOST_MESSAGES, TARGETS, ValidationInput, validate};

fn main() {
    let mut args = std::env::args().skip(1);
    let (task, topo) = (args.next().expect("TASK"), args.next().expect("TOPO"));
    let options: Vec<String> = args.collect();
    let has = |name: &str| options.iter().any(|option| option == name);
    let overhead = if has("payload") { Overhead::PayloadOnly } else { Overhead::Wire };
    let [task, topo] = [task, topo].map(|file| std::fs::read_to_string(file).expect("a file"));
    let network = timed("read", || tsnkit::read(&task, &topo, None, overhead).unwrap_or_else(|e| panic!("{e}")));
    timed("lists not too long in any plan", || assert!(gate_control_list::too_long_in_any_plan(&network).is_none()));
    let table = timed("plan", || planned(&network, &Timetable::default()));
    let waiting = table.placed.iter().flatten().filter(|placed| placed.waits).count();
    println!("{} without a place, {waiting} wait in switches", table.missing().count());
    let schedule = timed("lists", || gate_control_list::schedule(&network, &table).expect("lists"));
    println!("{} windows", schedule.windows.len());
    if has("add") {
        let mut fewer = network.clone();
        fewer.streams.pop();
        let mut kept = planned(&fewer, &Timetable::default());
        kept.placed.push(None);
        let added = timed("add one stream", || planned(&network, &kept));
        assert_eq!(added.placed[..fewer.streams.len()], kept.placed[..fewer.streams.len()], "others have moved");
        println!("it has a place: {}", added.placed[fewer.streams.len()].is_some());
    }
    if has("tables") {
        let size =
            timed("tsnkit's tables", || tables(&network, &table, &schedule).map(|(_, text)| text.len()).sum::<usize>());
        println!("{:.1} MiB of text", size as f64 / f64::from(1 << 20));
    }
    if has("write") {
        let document = timed("document", || Document::new(&network, &table, &schedule));
        let text = timed("its text", || document.write().expect("a text"));
        let read = timed("read back", || Document::read(&text).expect("a plan"));
        timed("to a timetable", || assert_eq!(read.timetable(&network), table));
    }
    if let Some(kib) = peak_kib() {
        println!("at most {} MiB of memory", kib >> 10);
    }
    if has("unvalidated") {
        return;
    }
    let input = ValidationInput {
        network: &network,
        schedule: &schedule,
        target: &TARGETS[0],
        guard_bands: false,
        most_messages: MOST_MESSAGES,
    };
    let verdict = timed("validate", || validate(&input));
    println!("{} messages, complete: {}, faults: {:?}", verdict.messages, verdict.complete, verdict.counts);
}

fn planned(network: &Network, kept: &Timetable) -> Timetable {
    let begun = Instant::now();
    match plan(network, &PlanOptions::default(), kept, &|| begun.elapsed().as_secs() < 120) {
        Outcome::Planned(table) => table,
        Outcome::NotFound(found) => found.table,
        Outcome::Impossible(proofs) => panic!("impossible: {}", proofs[0].in_words(network)),
    }
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (begun, cpu) = (Instant::now(), cpu_ms());
    let result = work();
    let of_cpu =
        cpu_ms().zip(cpu).map_or(String::new(), |(end, begin)| format!(", {:.1} ms of the processor", end - begin));
    println!("{what}: {:.1} ms{of_cpu}", begun.elapsed().as_secs_f64() * 1e3);
    result
}

/// What this thread has had of a processor, where Linux says it.
fn cpu_ms() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e6)
}

/// The largest resident set so far, where Linux says it.
fn peak_kib() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().trim_end_matches(" kB").parse().ok()
}
