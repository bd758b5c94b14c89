use std::fs;

use super::*;

fn begun(folder: &Path, name: &str) -> (SampleLog, std::path::PathBuf) {
    let path = folder.join(name);
    (SampleLog::begin(&SampleFile::at(path.clone()).unwrap()).unwrap(), path)
}

fn observed(cycle: u64) -> Observed {
    Observed { cycle, due_ns: 1_000_000 * cycle, latency_ns: cycle % 977 }
}

#[test]
fn a_row_says_whose_it_is_when_it_was_due_and_how_late_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (log, path) = begun(folder.path(), "samples.csv");
    let on = |cpu| Placement { cpu, ..Placement::stock() };
    let mut pinned = log.joining().tap("clock_nanosleep, CPU 1", on(Some(1)), 1);
    pinned.push(observed(3));
    drop(pinned);
    let mut free = log.joining().tap("a \"b\"", on(None), 2);
    free.push(observed(980));
    assert_eq!(log.end().unwrap(), Written { rows: 2, lost: 0 });
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("series,cpu,cycle,due_ns,latency_ns"));
    // Threads may be met in either order.
    let mut rows: Vec<&str> = lines.collect();
    rows.sort_unstable();
    assert_eq!(rows, ["\"a \"\"b\"\"\",,980,980000000,3", "\"clock_nanosleep, CPU 1\",1,3,3000000,3"]);
}

#[test]
fn the_file_is_there_at_the_end_alone_and_has_all_that_came() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["samples.csv", "samples.arrow"] {
        if cfg!(not(feature = "arrow")) && name.ends_with("arrow") {
            continue;
        }
        let (log, path) = begun(folder.path(), name);
        let mut tap = log.joining().tap("one", Placement::stock(), 1);
        (0..ROOM as u64).for_each(|cycle| tap.push(observed(cycle)));
        assert!(!path.exists());
        let written = log.end().unwrap();
        assert_eq!((written.rows + written.lost, written.lost), (ROOM as u64, 0), "{name}");
        let bytes = fs::read(&path).unwrap();
        match name.ends_with("csv") {
            true => assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), ROOM + 1),
            false => assert!(bytes.starts_with(b"ARROW1") && bytes.ends_with(b"ARROW1")),
        }
        // One that nobody wants leaves the old one, and nothing else.
        drop(begun(folder.path(), name));
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    let names = fs::read_dir(&folder).unwrap().count();
    assert_eq!(names, if cfg!(feature = "arrow") { 2 } else { 1 });
}

#[test]
fn a_full_disk_is_the_result_and_keeps_no_thread_waiting() {
    let log = SampleLog::begin(&SampleFile::at("/dev/full".into()).unwrap()).unwrap();
    let mut tap = log.joining().tap("one", Placement::stock(), 1);
    (0..2 * ROOM as u64).for_each(|cycle| tap.push(observed(cycle)));
    let said = log.end().unwrap_err().to_string();
    assert!(said.starts_with("/dev/full: "), "{said}");
}

#[test]
fn threads_that_are_timed_together_share_the_room() {
    let folder = tempfile::tempdir().unwrap();
    let (log, _) = begun(folder.path(), "samples.csv");
    let joining = log.joining();
    drop(log);
    // Nobody takes anything any more: what has no room is lost, and counted.
    let held = |together| {
        let before = joining.lost.load(Relaxed);
        let mut tap = joining.tap("one", Placement::stock(), together);
        (0..ROOM as u64 + 5).for_each(|cycle| tap.push(observed(cycle)));
        ROOM as u64 + 5 - (joining.lost.load(Relaxed) - before)
    };
    assert_eq!([held(1), held(4), held(512)], [ROOM, ROOM / 4, LEAST_ROOM].map(|room| room as u64));
}

/// A pipe whose reader is there and does not read: more than the pipe takes.
#[test]
fn a_reader_that_does_not_read_is_waited_for_until_it_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let _reader = fs::File::options().read(true).write(true).open(&path).unwrap();
    let full = || {
        let (log, _) = begun(folder.path(), "pipe");
        let mut tap = log.joining().tap("one", Placement::stock(), 1);
        (0..ROOM as u64).for_each(|cycle| tap.push(observed(cycle)));
        log
    };
    let mut asked = 0;
    let given_up = full().end_unless(|| {
        asked += 1;
        asked > 10
    });
    assert!(given_up.unwrap().is_none());
    // Nor is one waited for without end whose run came to nothing.
    drop(full());
}
