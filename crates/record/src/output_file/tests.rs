use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, lchown, symlink};

#[test]
fn nothing_but_the_file_stays() {
    let dir = tempfile::tempdir().unwrap();
    write_whole(&dir.path().join("run.json"), b"x").unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file may stay");
}

/// What is there already, and a name that nothing can have, in either order.
#[test]
fn several_files_are_replaced_all_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let files = ["a", "sub/b", "c"].map(|name| dir.path().join(name));
    fs::create_dir(dir.path().join("sub")).unwrap();
    let contents = || files.each_ref().map(|file| fs::read_to_string(file).unwrap_or_default());
    let each = |content: &str| files.each_ref().map(|file| (file.clone(), format!("{content} {}", file.display())));
    write_each_whole(each("first")).unwrap();
    assert_eq!(contents(), each("first").map(|(_, content)| content));
    for place in 0..=files.len() {
        let mut some: Vec<_> = each("second").into();
        some.insert(place, (dir.path().join("no/file"), String::new()));
        let error = write_each_whole(some).unwrap_err().to_string();
        assert!(error.contains("no/file"), "{error}");
        assert_eq!(contents(), each("first").map(|(_, content)| content));
    }
    write_each_whole(each("third")).unwrap();
    assert_eq!(contents(), each("third").map(|(_, content)| content));
    let names = |path: &Path| fs::read_dir(path).unwrap().count();
    assert_eq!((names(dir.path()), names(&dir.path().join("sub"))), (3, 1), "no temporary file may stay");
}

#[test]
fn a_stream_is_not_left_to_programs_that_are_started_meanwhile() {
    let file = open_without_waiting(CWD, "/dev/null".as_ref(), OFlags::NOFOLLOW).unwrap();
    assert!(rustix::io::fcntl_getfd(&file).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    assert!(!rustix::fs::fcntl_getfl(&file).unwrap().contains(OFlags::NONBLOCK), "its reader may take its time");
    let dir = tempfile::tempdir().unwrap();
    symlink("/dev/null", dir.path().join("link")).unwrap();
    assert!(open_without_waiting(CWD, dir.path().join("link").as_os_str(), OFlags::NOFOLLOW).is_err());
}

#[test]
fn links_stay_links_also_to_what_is_not_there_yet() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("runs")).unwrap();
    let (link, target) = (dir.path().join("latest.json"), dir.path().join("runs/1.json"));
    std::os::unix::fs::symlink("hop.json", &link).unwrap();
    std::os::unix::fs::symlink("runs/1.json", dir.path().join("hop.json")).unwrap();
    for content in ["first", "second"] {
        check_writable(&link).unwrap();
        write_whole(&link, content.as_bytes()).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), content);
    }
    assert_eq!(fs::read_dir(dir.path().join("runs")).unwrap().count(), 1);
    let circle = dir.path().join("circle");
    std::os::unix::fs::symlink("circle", &circle).unwrap();
    assert!(write_whole(&circle, b"x").unwrap_err().to_string().contains("circle"));
}

#[test]
fn permissions_stay() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    for mode in [0o600, 0o640, 0o664, 0o444] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        write_whole(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_a_killed_program_left_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let left = dir.path().join(format!(".run.json.{}.new", std::process::id()));
    fs::write(&left, "half").unwrap();
    let path = dir.path().join("run.json");
    for error in [write_whole(&path, b"x").unwrap_err(), check_writable(&path).unwrap_err()] {
        let reported = error.to_string();
        assert!(reported.contains(left.to_str().unwrap()) && reported.contains("remove it"), "{reported}");
    }
    assert_eq!(fs::read_to_string(&left).unwrap(), "half");
}

#[test]
fn what_a_process_that_is_gone_left_goes_before_a_run_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let (gone, here) = (child.id(), std::os::unix::process::parent_id());
    child.wait().unwrap();
    let place = |name: String| dir.path().join(name);
    let left = place(format!(".run.json.{gone}.new"));
    let others = [
        format!(".run.json.{here}.new"),
        format!(".run.json.0{gone}.new"),
        format!(".run.json.1.{gone}.new"),
        format!(".run.json.{gone}.new~"),
        format!(".other.json.{gone}.new"),
        format!("run.json.{gone}.new"),
        ".run.json.-1.new".into(),
        ".run.json..new".into(),
    ];
    let written = |path: &Path| fs::write(path, "half").unwrap();
    others.iter().for_each(|name| written(&place(name.clone())));
    written(&left);
    check_writable(&place("run.json".into())).unwrap();
    assert!(!left.exists());
    // A link, a folder, and a file that a process of another machine or container is writing.
    symlink(place(others[0].clone()), &left).unwrap();
    check_writable(&place("run.json".into())).unwrap();
    assert!(fs::symlink_metadata(&left).unwrap().is_symlink());
    fs::remove_file(&left).unwrap();
    fs::create_dir(&left).unwrap();
    check_writable(&place("run.json".into())).unwrap();
    assert!(left.is_dir());
    fs::remove_dir(&left).unwrap();
    written(&left);
    let held = File::open(&left).unwrap();
    leftovers::hold(&held);
    check_writable(&place("run.json".into())).unwrap();
    assert!(left.exists());
    drop(held);
    // Nor one of another user; this process may not be allowed to give it away.
    if lchown(&left, Some(65534), None).is_ok() {
        check_writable(&place("run.json".into())).unwrap();
        assert!(left.exists());
    }
    assert!(others.iter().all(|name| place(name.clone()).exists()));
}

#[test]
fn a_file_is_held_while_it_is_written_and_free_when_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    let is_free = |path: &Path| {
        let file = File::open(path).unwrap();
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
    };
    let temporary = dir.path().join(leftovers::temporary("run.json".as_ref(), std::process::id()));
    write_whole_by(&path, |put| {
        assert!(!is_free(&temporary));
        put(b"x")
    })
    .unwrap();
    assert!(is_free(&path));
    let _journal = begin_anew(&path, b"journal").unwrap();
    assert!(is_free(&path));
}

#[test]
fn a_file_that_cannot_be_finished_leaves_the_one_of_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.arrow");
    let not = || StoreError::NotARecord { path: "b.json".into(), problem: "no record".into() };
    for before in [None, Some("before")] {
        before.into_iter().for_each(|text| fs::write(&path, text).unwrap());
        let failed = write_whole_by(&path, |put| put(b"half").and(Err(not()))).unwrap_err();
        assert_eq!(failed.to_string(), "b.json: no record");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), before);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), before.iter().count());
    }
    write_whole_by(&path, |put| put(b"one, ").and_then(|()| put(b"two"))).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "one, two");
    let full = write_whole_by(Path::new("/dev/full"), |put| put(b"x")).unwrap_err().to_string();
    assert!(full.starts_with("/dev/full: "), "{full}");
}

#[test]
fn a_missing_folder_is_an_error_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let error = write_whole(&dir.path().join("no/run.json"), b"x").unwrap_err().to_string();
    assert!(error.contains("no/run.json"), "{error}");
}

/// A folder as /tmp is, and another user's number; `None` where this process may give no file away.
fn shared_folder() -> Option<(tempfile::TempDir, u32)> {
    const NOBODY: u32 = 65534;
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
    let probe = dir.path().join("probe");
    fs::write(&probe, "").unwrap();
    let given = lchown(&probe, Some(NOBODY), None);
    fs::remove_file(&probe).unwrap();
    match given {
        Ok(()) => Some((dir, NOBODY)),
        Err(error) => {
            ontick_skip::skipped!("a file cannot be given to another user ({error})");
            None
        }
    }
}

fn refused(path: &Path) {
    for error in [write_whole(path, b"report").unwrap_err(), check_writable(path).unwrap_err()] {
        let message = error.to_string();
        assert!(message.contains("belongs to user 65534") && message.contains("remove it"), "{message}");
    }
}

#[test]
fn another_users_link_in_a_shared_folder_is_not_written_through() {
    let Some((dir, other)) = shared_folder() else { return };
    let victims = tempfile::tempdir().unwrap();
    let victim = victims.path().join("passwd");
    fs::write(&victim, "root").unwrap();
    let (link, dangling) = (dir.path().join("report.html"), dir.path().join("new.html"));
    symlink(&victim, &link).unwrap();
    symlink(victims.path().join("cron"), &dangling).unwrap();
    for link in [&link, &dangling] {
        lchown(link, Some(other), None).unwrap();
        refused(link);
    }
    // Nor by way of a link that is one's own.
    symlink("report.html", dir.path().join("own.html")).unwrap();
    refused(&dir.path().join("own.html"));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "root");
    assert_eq!(fs::read_dir(victims.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "no temporary file may stay");
}

#[test]
fn links_that_the_kernel_follows_are_written_through() {
    let Some((dir, other)) = shared_folder() else { return };
    let (target, link) = (dir.path().join("1.json"), dir.path().join("latest.json"));
    symlink("1.json", &link).unwrap();
    // One's own in a shared folder; the folder owner's there; anybody's in a folder that is not shared.
    for (link_owner, folder_owner, mode) in [(0, other, 0o1777), (other, other, 0o1777), (other, 0, 0o755)] {
        fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
        std::os::unix::fs::chown(dir.path(), Some(folder_owner), None).unwrap();
        lchown(&link, Some(link_owner), None).unwrap();
        write_whole(&link, mode.to_string().as_bytes()).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), mode.to_string());
    }
}

#[test]
fn another_users_file_or_pipe_in_a_shared_folder_is_not_opened() {
    let Some((dir, other)) = shared_folder() else { return };
    let (file, pipe) = (dir.path().join("run.json"), dir.path().join("pipe"));
    fs::write(&file, "theirs").unwrap();
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    for path in [&file, &pipe] {
        lchown(path, Some(other), None).unwrap();
        refused(path);
        assert!(!is_device(path), "then no journal would be kept");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
}

#[test]
fn work_is_done_in_no_folder_that_others_planted_or_may_write() {
    let Some((dir, other)) = shared_folder() else { return };
    let work = dir.path().join("build");
    fs::create_dir(&work).unwrap();
    check_work_folder(&work).unwrap();
    std::os::unix::fs::chown(&work, Some(other), None).unwrap();
    assert!(check_work_folder(&work).unwrap_err().to_string().contains("belongs to user 65534"));
    assert!(check_work_folder(dir.path()).unwrap_err().to_string().contains("everyone may write"));
}

#[test]
fn a_pipe_without_a_reader_is_an_error_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert!(is_device(&pipe));
    let message = write_whole(&pipe, b"x").unwrap_err().to_string();
    assert!(message.contains("start its reader first"), "{message}");
    // One that is there gets everything, also more than the pipe holds.
    let mut reader = File::options().read(true).write(true).open(&pipe).unwrap();
    let content = vec![b'x'; 1 << 20];
    let reading = std::thread::spawn(move || {
        let mut came = vec![0; 1 << 20];
        io::Read::read_exact(&mut reader, &mut came).map(|()| came)
    });
    write_whole(&pipe, &content).unwrap();
    assert!(reading.join().unwrap().unwrap() == content);
}

#[test]
fn a_file_is_never_made_setuid() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o4755)).unwrap();
    write_whole(&path, b"new").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o755);
}

/// Runs a test of this module in a process of its own, to which the file `mounted` of its folder is a mount point.
fn beside_a_mount_point(name: &str, check: fn(&Path)) {
    const FOLDER: &str = "ONTICK_TEST_MOUNTED";
    if let Some(folder) = std::env::var_os(FOLDER) {
        return check(Path::new(&folder));
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mounted"), "old").unwrap();
    let mounting = "cd \"$1\" && mount --bind mounted mounted && shift && echo mounted && exec \"$@\"";
    let mut test = std::process::Command::new("unshare");
    let own_users = (!rustix::process::geteuid().is_root()).then_some("--map-root-user");
    test.arg("--mount").args(own_users).args(["sh", "-c", mounting, "sh"]).arg(dir.path());
    test.arg(std::env::current_exe().unwrap()).args(["--exact", "--nocapture", name]);
    let output = match test.env(FOLDER, dir.path()).output() {
        Ok(output) if output.stdout.starts_with(b"mounted") => output,
        other => return ontick_skip::skipped!("nothing can be mounted here: {other:?}"),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn a_mount_point_is_refused_before_anything_is_written() {
    beside_a_mount_point("output_file::tests::a_mount_point_is_refused_before_anything_is_written", |folder| {
        let (mounted, other, link) = (folder.join("mounted"), folder.join("other"), folder.join("link"));
        fs::write(&other, "old").unwrap();
        symlink("mounted", &link).unwrap();
        let both = [(other.clone(), "new"), (mounted.clone(), "new")];
        for refused in [
            check_writable(&mounted),
            check_writable(&link),
            write_whole(&mounted, b"new"),
            write_whole_by(&mounted, |_| panic!("a long run")),
            write_each_whole(both),
        ] {
            let said = refused.unwrap_err().to_string();
            assert!(said.contains("it is a mount point"), "{said}");
        }
        assert_eq!([&mounted, &other].map(|file| fs::read_to_string(file).unwrap()), ["old", "old"]);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 3, "no temporary file may stay");
        check_writable(&other).unwrap();
        check_writable(&folder.join("new")).unwrap();
    });
}

#[test]
fn a_file_that_its_user_protected_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    fs::write(&path, "old").unwrap();
    for attribute in ["i", "a"] {
        let chattr = |sign: &str| {
            let changed = std::process::Command::new("chattr").arg(format!("{sign}{attribute}")).arg(&path).output();
            changed.is_ok_and(|output| output.status.success())
        };
        if !chattr("+") {
            return ontick_skip::skipped!("no attribute {attribute} can be given to a file here");
        }
        let refused = [check_writable(&path), write_whole(&path, b"new")];
        assert!(chattr("-"));
        for refused in refused {
            let said = refused.unwrap_err().to_string();
            assert!(said.contains("immutable, or append-only"), "{said}");
        }
    }
    check_writable(&path).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}
