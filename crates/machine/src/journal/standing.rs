//! Tests of what is in force after each kind of record, here and read anew.

use std::fs;

use super::tests::{machine, value};
use super::*;
use crate::root::{Act, Hook, Verdict};

/// What is in force, by number and what it was: as it is held, which must be as it is read anew.
fn standing(journal: &Journal, root: &Root) -> Vec<(u64, String, bool)> {
    let of = |journal: &Journal| -> Vec<_> {
        journal.entries().map(|e| (e.seq, e.undo.path().to_owned(), e.done)).collect()
    };
    let read = Journal::read_kind(root, journal.kind).unwrap();
    assert_eq!(of(&read), of(journal));
    assert!(!read.lost_something() && read.damage().is_empty());
    of(journal)
}

fn entry(seq: u64, path: &str, done: bool) -> (u64, String, bool) {
    (seq, path.into(), done)
}

#[test]
fn only_what_was_done_is_done_and_what_was_not_made_is_gone() {
    let (_dir, root) = machine();
    let mut journal = Journal::open(&root).unwrap();
    journal.intend_all("three", vec![value("/a", "1"), value("/b", "2"), value("/c", "3")]).unwrap();
    journal.done(2, None).unwrap();
    assert_eq!(standing(&journal, &root), [entry(1, "/a", false), entry(2, "/b", true), entry(3, "/c", false)]);
    journal.void(3).unwrap();
    assert_eq!(standing(&journal, &root), [entry(1, "/a", false), entry(2, "/b", true)]);
    journal.forget(&[1]).unwrap();
    assert_eq!(standing(&journal, &root), [entry(2, "/b", true)]);
}

#[test]
fn a_second_change_of_one_thing_takes_the_place_of_the_first() {
    let (_dir, root) = machine();
    let mut journal = Journal::open(&root).unwrap();
    for path in ["/a", "/b", "/a"] {
        journal.intend("one", value(path, "1")).unwrap();
    }
    assert_eq!(standing(&journal, &root), [entry(3, "/a", false), entry(2, "/b", false)]);
}

#[test]
fn what_a_restart_undid_is_written_no_more() {
    let (dir, root) = machine();
    Journal::open(&root).unwrap().intend("one", value("/a", "1")).unwrap();
    fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "b\n").unwrap();
    let mut journal = Journal::open(&root).unwrap();
    assert_eq!(journal.undone_by_restart(), 1);
    journal.intend("two", value("/b", "1")).unwrap();
    assert_eq!(standing(&journal, &root), [entry(2, "/b", false)]);
    assert_eq!(Journal::read(&root).unwrap().undone_by_restart(), 0);
}

#[test]
fn each_book_says_what_it_is_and_has_no_idle_line() {
    let (dir, root) = machine();
    for (kind, format) in [(JournalKind::Tune, "ontick-tune/1"), (JournalKind::Kernel, "ontick-kernel/1")] {
        for path in ["/a", "/b"] {
            Journal::open_kind(&root, kind).unwrap().intend("one", value(path, "1")).unwrap();
        }
        let text = fs::read_to_string(dir.path().join(&kind.path()[1..])).unwrap();
        assert!(text.lines().next().unwrap().contains(&format!("\"journal\":\"{format}\"")), "{text}");
        assert!(text.lines().all(|line| !line.is_empty()), "{text}");
        let journal = Journal::open_kind(&root, kind).unwrap();
        assert_eq!(journal.damaged(), format!("{}.damaged", kind.path()));
        assert_eq!(standing(&journal, &root).len(), 2);
    }
}

#[test]
fn a_line_that_was_cut_off_loses_nothing() {
    let (dir, root) = machine();
    Journal::open(&root).unwrap().intend("one", value("/a", "1")).unwrap();
    let place = dir.path().join(&PATH[1..]);
    let whole = fs::read_to_string(&place).unwrap();
    let begin = whole.lines().next().unwrap();
    let cut = "{\"step\":\"intend\",\"seq\":2,\"kn";
    for (text, lost) in [
        (format!("{whole}{cut}"), false),
        (format!("{whole}{cut}\n"), true),
        (format!("{whole}{cut}\n{begin}\n"), false),
        (format!("{begin}\n{cut}\n{}\n", whole.lines().nth(1).unwrap()), true),
    ] {
        fs::write(&place, text).unwrap();
        let journal = Journal::read(&root).unwrap();
        assert_eq!((journal.lost_something(), journal.damage().len()), (lost, 1), "{:?}", journal.damage());
        assert_eq!(journal.damage()[0].contains("was cut off"), !lost);
    }
}

#[test]
fn a_folder_where_something_stands_or_that_is_only_read_stays() {
    let (dir, root) = machine();
    let lock = dir.path().join(&LOCK[1..]);
    let mut journal = Journal::open(&root).unwrap();
    journal.intend("one", value("/a", "1")).unwrap();
    journal.close();
    assert!(lock.exists() && root.exists(PATH));
    let mut journal = Journal::open(&root).unwrap();
    journal.forget(&[1]).unwrap();
    drop(journal);
    Journal::read(&root).unwrap().close();
    assert!(lock.exists(), "whoever has not locked the folder leaves it");
    Journal::open(&root).unwrap().close();
    assert!(!root.exists(FOLDER));
}

#[test]
fn a_disk_that_fails_is_no_empty_journal() {
    let (dir, root) = machine();
    fs::create_dir_all(dir.path().join(&PATH[1..])).unwrap();
    assert!(Journal::read(&root).is_err());
    fs::remove_dir(dir.path().join(&PATH[1..])).unwrap();
    fs::create_dir(dir.path().join(&LOCK[1..])).unwrap();
    assert!(Journal::open(&root).is_err());
}

#[test]
fn tasks_are_told_apart_by_number_and_start() {
    let task = |task, started| Undo::Task { task, started, name: "x".into(), from: "/from".into(), to: "/to".into() };
    assert!(task(7, 1).same_thing(&task(7, 1)));
    assert!(!task(7, 1).same_thing(&task(7, 2)) && !task(7, 1).same_thing(&task(8, 1)));
    assert!(!task(7, 1).same_thing(&value("/to", "1")) && !value("/to", "1").same_thing(&task(7, 1)));
    assert!(value("/to", "1").same_thing(&value("/to", "2")) && !value("/a", "1").same_thing(&value("/b", "1")));
}

#[test]
fn a_folder_of_the_kernel_goes_with_a_restart() {
    let outlives =
        ["/sys/fs/cgroup/ontick", "/etc/ontick"].map(|path| Undo::Folder { path: path.into() }.outlives_boot());
    assert_eq!(outlives, [false, true]);
}

#[test]
fn the_change_of_a_file_is_found_by_its_path() {
    let (_dir, root) = machine();
    let mut journal = Journal::open(&root).unwrap();
    journal.intend_all("two", vec![value("/a", "1"), value("/b", "2")]).unwrap();
    assert_eq!(["/a", "/b", "/c"].map(|path| journal.entry(path).map(|e| e.seq)), [Some(1), Some(2), None]);
}

#[test]
fn lines_with_nothing_in_them_are_no_damage() {
    let (dir, root) = machine();
    Journal::open(&root).unwrap().intend("one", value("/a", "1")).unwrap();
    let place = dir.path().join(&PATH[1..]);
    let text = fs::read_to_string(&place).unwrap().replace('\n', "\n\n \n");
    fs::write(&place, text).unwrap();
    let journal = Journal::read(&root).unwrap();
    assert_eq!(standing(&journal, &root), [entry(1, "/a", false)]);
}

/// Half a rewritten journal would be worse than none: what is sound is left alone, and lines are added to it.
#[test]
fn a_sound_journal_is_added_to_and_not_written_anew() {
    let (dir, root) = machine();
    let place = dir.path().join(&PATH[1..]);
    let mut journal = Journal::open(&root).unwrap();
    journal.intend_all("two", vec![value("/a", "1"), value("/b", "2")]).unwrap();
    journal.void(1).unwrap();
    drop(journal);
    let before = fs::read_to_string(&place).unwrap();
    Journal::open(&root).unwrap().intend("three", value("/c", "3")).unwrap();
    let after = fs::read_to_string(&place).unwrap();
    assert!(after.starts_with(&before) && after.len() > before.len(), "{after}");
}

/// A line that was spoilt may hold a boot loader's password as well as any other.
#[test]
fn what_cannot_be_read_is_kept_as_private_as_it_was() {
    use std::os::unix::fs::PermissionsExt;
    for mode in [0o600, 0o644] {
        let (dir, root) = machine();
        let place = dir.path().join(&PATH[1..]);
        let mut journal = Journal::open(&root).unwrap();
        journal.intend_all("two", vec![value("/a", "1"), value("/b", "2")]).unwrap();
        drop(journal);
        let spoilt = fs::read_to_string(&place).unwrap().replace("\"/a\"", "\"/a");
        fs::write(&place, spoilt).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        Journal::open(&root).unwrap().forget(&[]).unwrap();
        let kept = fs::metadata(dir.path().join(&DAMAGED[1..])).unwrap();
        assert_eq!(kept.permissions().mode() & 0o777, mode);
    }
}

#[test]
fn only_a_refusal_of_rights_advises_sudo() {
    let said = |kind: io::ErrorKind| failed(&Root::live(), JournalKind::Tune, "read", kind.into()).to_string();
    let advises = |kind: io::ErrorKind| said(kind).contains("sudo");
    assert!(advises(io::ErrorKind::PermissionDenied));
    assert!(!advises(io::ErrorKind::NotFound) && !advises(io::ErrorKind::StorageFull));
}

/// A disk that is full at the third line, and a kill two steps later.
struct FullThenKilled(std::sync::atomic::AtomicUsize);

impl Hook for FullThenKilled {
    fn before(&self, act: &Act) -> Verdict {
        let Act::Append { content, .. } = act else { return Verdict::Go };
        match self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 | 1 | 3 => Verdict::Go,
            2 => Verdict::Torn(content.len() / 2, io::ErrorKind::StorageFull.into()),
            _ => Verdict::Refuse(io::Error::other("killed")),
        }
    }
}

#[test]
fn half_a_line_is_ended_in_the_step_that_begins_the_next_session() {
    let (_dir, root) = machine();
    let mut journal = Journal::open(&root.clone().with_hook(std::sync::Arc::new(FullThenKilled(0.into())))).unwrap();
    journal.intend("one", value("/a", "1")).unwrap();
    journal.intend("two", value("/b", "1")).unwrap_err();
    journal.intend("three", value("/c", "1")).unwrap_err();
    drop(journal);
    let journal = Journal::read(&root).unwrap();
    assert!(!journal.lost_something() && journal.damage().len() == 1, "{:?}", journal.damage());
    assert_eq!(journal.entries().count(), 1);
}
