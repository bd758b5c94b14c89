//! Explores models one after the other, and says what came of each.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Something that must hold however its threads interleave.
pub struct Model {
    pub name: &'static str,
    pub holds: &'static str,
    /// Threads are interrupted at most so often where they could go on; `None`: as often as can be.
    pub interrupted: Option<usize>,
    pub run: fn(),
}

/// Explores those of these names, or all; returns the exit status.
pub fn all(wanted: &[String], models: &[Model]) -> i32 {
    if let Some(unknown) = wanted.iter().find(|name| models.iter().all(|model| model.name != **name)) {
        eprintln!("there is no model {unknown}: leave the name out, and all are explored and named");
        return 2;
    }
    let chosen = models.iter().filter(|model| wanted.is_empty() || wanted.iter().any(|name| name == model.name));
    let failed = chosen.filter(|model| !explore(model)).count();
    i32::from(failed > 0)
}

fn explore(model: &Model) -> bool {
    // Not loom's: this counts over all interleavings.
    static TRIED: AtomicUsize = AtomicUsize::new(0);
    TRIED.store(0, Relaxed);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = model.interrupted;
    builder.max_branches = 100_000;
    let began = Instant::now();
    let run = model.run;
    let explored = catch_unwind(AssertUnwindSafe(|| {
        builder.check(move || {
            TRIED.fetch_add(1, Relaxed);
            run();
        })
    }));
    let bound = model.interrupted.map_or(String::new(), |most| format!(", up to {most} interruptions"));
    let (tried, took) = (TRIED.load(Relaxed), began.elapsed().as_secs_f64());
    let came = if explored.is_ok() { "holds" } else { "FAILS" };
    println!("{came}  {:<20} {tried:>7} interleavings in {took:5.1} s{bound}: {}", model.name, model.holds);
    explored.is_ok()
}
