use super::*;
use crate::value_format::ValueFormat;
use proptest::prelude::*;

pub(super) fn value(path: &str, original: &str) -> Undo {
    Undo::Value { path: path.into(), form: ValueFormat::Plain, original: original.into(), wanted: "1".into() }
}

pub(super) fn machine() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("proc/sys/kernel/random")).unwrap();
    std::fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "a\n").unwrap();
    let root = Root::at(dir.path()).unwrap();
    (dir, root)
}

#[test]
fn what_was_begun_is_known_wherever_the_file_was_cut() {
    let (dir, root) = machine();
    let mut journal = Journal::open(&root).unwrap();
    let one = journal.intend("one", value("/a", "5\n")).unwrap();
    journal.done(one, Some("1\n".into())).unwrap();
    journal.intend("two", value("/b", "6\n")).unwrap();
    drop(journal);
    let path = dir.path().join(&PATH[1..]);
    let whole = std::fs::read(&path).unwrap();
    let lines: Vec<usize> = (0..whole.len()).filter(|i| whole[*i] == b'\n').collect();
    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let journal = Journal::read(&root).unwrap();
        // A line counts once all of it is there, with or without its end.
        let expected = usize::from(cut >= lines[1]) + usize::from(cut >= lines[3]);
        assert_eq!(journal.entries().count(), expected, "cut at {cut}");
        assert!(journal.entries().all(|e| matches!(&e.undo, Undo::Value { original, .. } if original.ends_with('\n'))));
    }
}

#[test]
fn writing_goes_on_after_a_cut() {
    let (dir, root) = machine();
    let mut journal = Journal::open(&root).unwrap();
    journal.intend("one", value("/a", "5\n")).unwrap();
    drop(journal);
    let path = dir.path().join(&PATH[1..]);
    let mut torn = std::fs::read(&path).unwrap();
    torn.extend_from_slice(b"{\"step\":\"intend\",\"seq\":2,\"kn");
    std::fs::write(&path, &torn).unwrap();
    let mut journal = Journal::open(&root).unwrap();
    assert_eq!(journal.damage().len(), 1);
    journal.intend("three", value("/c", "7\n")).unwrap();
    drop(journal);
    let journal = Journal::read(&root).unwrap();
    assert_eq!(journal.entries().map(|e| e.knob.as_str()).collect::<Vec<_>>(), ["one", "three"]);
    assert!(journal.damage().is_empty());
}

#[test]
fn a_line_that_cannot_be_read_is_kept() {
    // One in the middle, and the last.
    for (file, line, left) in [("/a", "line 2", (2, "two")), ("/b", "line 3", (1, "one"))] {
        let (dir, root) = machine();
        let mut journal = Journal::open(&root).unwrap();
        journal.intend("one", value("/a", "5\n")).unwrap();
        journal.intend("two", value("/b", "5\n")).unwrap();
        drop(journal);
        let path = dir.path().join(&PATH[1..]);
        let spoilt = std::fs::read_to_string(&path).unwrap().replace(&format!("\"{file}\""), &format!("\"{file}"));
        std::fs::write(&path, &spoilt).unwrap();
        let mut journal = Journal::open(&root).unwrap();
        assert!(journal.lost_something() && journal.damage()[0].contains(&format!("{line} cannot be read")));
        assert_eq!(journal.entries().map(|e| (e.seq, e.knob.as_str())).collect::<Vec<_>>(), [left]);
        journal.forget(&[left.0]).unwrap();
        journal.close();
        assert_eq!(std::fs::read_to_string(dir.path().join(&DAMAGED[1..])).unwrap(), spoilt);
    }
}

fn mode(place: &std::path::Path) -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(place).unwrap().mode() & 0o7777
}

fn set_mode(place: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(place, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_journal_that_others_could_have_written_is_not_believed() {
    let (dir, root) = machine();
    let mut journal = Journal::open(&root).unwrap();
    journal.intend("one", value("/a", "5\n")).unwrap();
    drop(journal);
    for at_fault in [&PATH[1..], &FOLDER[1..], "var/lib", "var"] {
        let place = dir.path().join(at_fault);
        let before = mode(&place);
        set_mode(&place, 0o777);
        for refused in [Journal::read(&root).err(), Journal::open(&root).err()] {
            let Some(JournalError::Untrusted(why)) = refused else { panic!("{at_fault}: {refused:?}") };
            assert!(why.contains("can be written by others") && why.contains("sudo chmod go-w"), "{why}");
        }
        set_mode(&place, before);
    }
    assert_eq!(Journal::read(&root).unwrap().entries().count(), 1);
}

/// `flock` needs a file that is open, and only its owner can open this one.
#[test]
fn nobody_else_can_hold_the_lock() {
    let (dir, root) = machine();
    let journal = Journal::open(&root).unwrap();
    assert_eq!((mode(&dir.path().join(&LOCK[1..])), mode(&dir.path().join(&FOLDER[1..]))), (0o600, 0o755));
    // Whoever holds the folder itself is in nobody's way.
    drop(journal);
    let folder = std::fs::File::open(dir.path().join(&FOLDER[1..])).unwrap();
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).unwrap();
    Journal::open(&root).unwrap().close();
    assert!(!root.exists(FOLDER));
}

#[test]
fn a_journal_that_holds_what_others_may_not_read_is_its_owners_alone() {
    let (dir, root) = machine();
    std::fs::write(dir.path().join("grub.cfg"), "password").unwrap();
    set_mode(&dir.path().join("grub.cfg"), 0o600);
    let file = |path: &str| Undo::File {
        path: path.into(),
        original: Some(Content::Text("password".into())),
        wanted: Content::Text("x".into()),
        backup: None,
        stood: None,
        base: None,
    };
    let place = dir.path().join(&PATH[1..]);
    let mut journal = Journal::open(&root).unwrap();
    journal.intend("one", value("/a", "5\n")).unwrap();
    assert_eq!(mode(&place), 0o644);
    let seq = journal.intend("boot", file("/grub.cfg")).unwrap();
    journal.done(seq, None).unwrap();
    assert_eq!(mode(&place), 0o600);
    // It stays so when it is written anew.
    journal.forget(&[1]).unwrap();
    assert_eq!(mode(&place), 0o600);
}

#[test]
fn a_later_versions_journal_is_left_alone() {
    let (dir, root) = machine();
    std::fs::create_dir_all(dir.path().join("var/lib/ontick")).unwrap();
    let text = "{\"step\":\"begin\",\"journal\":\"ontick-tune/9\",\"boot\":\"a\"}\n{\"step\":\"sing\"}\n";
    std::fs::write(dir.path().join(&PATH[1..]), text).unwrap();
    assert!(matches!(Journal::open(&root), Err(JournalError::Foreign { format, .. }) if format == "ontick-tune/9"));
    assert_eq!(std::fs::read_to_string(dir.path().join(&PATH[1..])).unwrap(), text);
}

#[test]
fn a_restart_undoes_values_but_not_files() {
    let (dir, root) = machine();
    let mut journal = Journal::open(&root).unwrap();
    journal.intend("one", value("/a", "5\n")).unwrap();
    let file = Undo::File {
        path: "/f".into(),
        original: None,
        wanted: Content::Text("x".into()),
        backup: None,
        stood: None,
        base: None,
    };
    journal.intend("boot", file).unwrap();
    drop(journal);
    std::fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "b\n").unwrap();
    let mut journal = Journal::open(&root).unwrap();
    assert_eq!((journal.entries().count(), journal.undone_by_restart()), (1, 1));
    journal.intend("one", value("/a", "6\n")).unwrap();
    drop(journal);
    let journal = Journal::read(&root).unwrap();
    assert_eq!(journal.entries().map(|e| e.undo.path()).collect::<Vec<_>>(), ["/f", "/a"]);
}

#[test]
fn settings_of_a_killed_command_are_reported_from_those_that_stay() {
    let (_dir, root) = machine();
    let mut journal = Journal::open(&root).unwrap();
    assert!(!journal.is_abandoned());
    journal.for_command("switch run");
    let one = journal.intend("one", value("/a", "5\n")).unwrap();
    journal.intend("two", value("/b", "5\n")).unwrap();
    // Written anew, it is still known.
    journal.forget(&[one]).unwrap();
    drop(journal);
    let mut journal = Journal::open(&root).unwrap();
    assert!(journal.is_abandoned());
    journal.intend("three", value("/c", "5\n")).unwrap();
    drop(journal);
    assert!(!Journal::read(&root).unwrap().is_abandoned());
}

#[test]
fn a_second_ontick_waits() {
    let (_dir, root) = machine();
    let held = Journal::open(&root).unwrap();
    assert!(matches!(Journal::open(&root), Err(JournalError::Busy)));
    drop(held);
    Journal::open(&root).unwrap().close();
    assert!(!root.exists(FOLDER));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_is_answered(text in "(\\{\"step\":\"(begin|intend|done|void)\"[^\n]{0,30}\n|.{0,20}\n){0,6}") {
        let (dir, root) = machine();
        std::fs::create_dir_all(dir.path().join("var/lib/ontick")).unwrap();
        std::fs::write(dir.path().join(&PATH[1..]), text).unwrap();
        let _ = Journal::read(&root).unwrap().entries().count();
    }

    #[test]
    fn bytes_of_files_read_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let content = Content::from(bytes.clone());
        let back: Content = serde_json::from_str(&serde_json::to_string(&content).unwrap()).unwrap();
        prop_assert_eq!(back.bytes(), &bytes[..]);
    }
}
