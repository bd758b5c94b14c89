//! Looks at this machine, or at a folder that stands for one: `cargo run --example look [ROOT]`.
//! Reads only.

use std::time::Duration;

use ontick_machine::{Facts, Profile, Remedy, Root, Target, TuningPlan, check, ownership};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = match std::env::args().nth(1) {
        Some(folder) => Root::at(folder.as_ref())?,
        None => Root::live(),
    };
    let facts = Facts::gather(&root);
    let target = Target::new(&facts, None, Profile::DedicatedCore)?;
    for f in check(&facts, &target, &Remedy::to_string) {
        println!(
            "{:?} {}: {} (should be: {}); now: {:?}; boot: {:?}",
            f.severity, f.id, f.observed, f.should, f.now, f.boot
        );
    }
    for item in TuningPlan::make(&root, &facts, &target)?.items {
        println!("{} {}: {} -> {} {:?}", item.knob, item.path, item.current, item.wanted, item.state);
    }
    if let Ok(plan) = ontick_machine::boot::plan(&root, &facts, &target, false) {
        println!("{:?}", plan.place);
        plan.edits.iter().for_each(|edit| println!("{}", edit.diff));
        plan.commands.iter().chain(&plan.notes).for_each(|line| println!("{line}"));
    }
    if root.is_live() {
        let cpu = target.cpus.last().unwrap_or(0);
        let cpus = ontick_units::CpuList::one(cpu);
        let own = ownership::watch(&root, &facts, &cpus, Duration::from_secs(2), || true)?.remove(0);
        println!("CPU {cpu}: {:?}, timer {:?}/s, may: {:?}", own.time, own.timer_per_second, own.may);
        own.ran.iter().take(12).for_each(|r| println!("  {r:?}"));
        own.interrupts.iter().chain(&own.softirqs).for_each(|s| println!("  {s:?}"));
    }
    Ok(())
}
