//! Programs against the library: the examples, and those that misuse it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ontick_record::store;

use crate::compile::{Compiler, Linked, compile, has, printed, run};
use crate::staged::top;

/// Programs with real-time priority run one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn source(name: &str) -> PathBuf {
    let c = top().join("crates/c");
    let (example, program) = (c.join("examples").join(name), c.join("tests/programs").join(name));
    if example.exists() { example } else { program }
}

/// Compiled by gcc into a folder.
fn program(name: &str, folder: &Path) -> String {
    let program = compile(&source(name), Compiler::C, Linked::Shared, folder).unwrap();
    program.into_os_string().into_string().unwrap()
}

fn chip(of: &str) -> String {
    format!("c-{of}-{}", std::process::id())
}

#[test]
fn a_control_loop_of_40_lines_tells_its_latencies() {
    if !has("gcc") || !has("g++") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (compiler, linked) in
        [(Compiler::C, Linked::Shared), (Compiler::Cpp, Linked::Shared), (Compiler::C, Linked::Static)]
    {
        let loops = compile(&source("control_loop.c"), compiler, linked, folder.path()).unwrap();
        let _alone = alone();
        let said = printed(&[loops.to_str().unwrap(), "200"]);
        assert!(said.starts_with("200 cycles, ") && said.contains(" ns, max "), "{compiler:?}, {linked:?}: {said}");
    }
}

#[test]
fn valgrind_finds_nothing() {
    if !has("gcc") || !has("valgrind") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| program(name, folder.path());
    let (chip, place) = (chip("valgrind"), folder.path().to_str().unwrap());
    let valgrind = ["valgrind", "--quiet", "--error-exitcode=9", "--show-leak-kinds=definite"];
    let leaks = ["--leak-check=full", "--errors-for-leak-kinds=definite"];
    let _alone = alone();
    for (arguments, leaks, said) in [
        (vec![of("control_loop.c"), "50".into()], &leaks[..], "50 cycles, "),
        (vec![of("bad_arguments.c"), chip.clone(), place.into()], &leaks, "all refused as they should be"),
        // A child forgets its parent's handles, which is a leak on purpose.
        (vec![of("forked.c"), chip.clone()], &[], "the child left alone what is its parent's"),
    ] {
        let options = valgrind.iter().chain(leaks).copied();
        let words: Vec<&str> = options.chain(arguments.iter().map(String::as_str)).collect();
        assert!(printed(&words).contains(said), "{words:?}");
    }
}

#[test]
fn bad_arguments_are_refused_with_a_status_and_a_sentence() {
    if !has("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (program, place) = (program("bad_arguments.c", folder.path()), folder.path().to_str().unwrap());
    let _alone = alone();
    assert_eq!(printed(&[&program, &chip("bad"), place]), "all refused as they should be\n");
    let run = store::read(&folder.path().join("record.json")).unwrap();
    let series = &run.series[0];
    assert_eq!((series.name.as_str(), series.latency.count(), series.missed), ("my loop", 100, 3));
    assert!(run.environment.is_some_and(|machine| !machine.kernel.is_empty()));
}

#[test]
fn a_forked_child_leaves_alone_what_is_its_parents() {
    if !has("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = program("forked.c", folder.path());
    let _alone = alone();
    assert_eq!(printed(&[&program, &chip("forked")]), "the child left alone what is its parent's\n");
}

#[test]
fn what_a_timed_thread_starts_has_no_real_time_priority() {
    if !has("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = program("started.c", folder.path());
    let _alone = alone();
    assert!(printed(&[&program]).starts_with("normal, all of them"));
}

#[test]
fn a_thread_that_lost_its_rights_gets_back_what_it_had_and_is_told_what_is_refused() {
    if !has("gcc") {
        return;
    }
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return ontick_skip::skipped!("only root can become a user without its rights");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = program("unprivileged.c", folder.path());
    let _alone = alone();
    assert_eq!(printed(&[&program]), "taken, given back, refused\n");
}

#[test]
fn threads_have_messages_and_handles_of_their_own() {
    if !has("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = program("many_threads.c", folder.path());
    assert_eq!(printed(&[&program]), "each thread has its own\n");
}

#[test]
fn the_timed_section_allocates_nothing_and_makes_no_system_call_but_the_sleep() {
    if !has("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = program("timed_section.c", folder.path());
    let _alone = alone();
    assert_eq!(printed(&[&program, &chip("timed")]), "armed\n");
}

#[test]
fn cyclictests_options_work_and_the_record_can_be_read() {
    if !has("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (program, record) = (program("from_cyclictest.c", folder.path()), folder.path().join("run.json"));
    let _alone = alone();
    let said = printed(&[&program, "-i", "500", "-l", "100", "-w", "hybrid", "-o", record.to_str().unwrap()]);
    // The line is read as cyclictest's own is.
    let line = ontick_record::import::read(&said, "said", None).unwrap();
    assert_eq!((line.series[0].latency.count(), line.series[0].settings.interval_ns), (100, 500_000), "{said}");
    let run = store::read(&record).unwrap();
    let settings = &run.series[0].settings;
    assert_eq!(
        (settings.method.as_str(), settings.interval_ns, settings.policy.as_str()),
        ("hybrid", 500_000, "other")
    );
    let refused = self::run(&[&program, "-p", "400"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("1 to 99"), "{refused:?}");
}
