//! Against a socket that answers as irqbalance does.

use std::fs;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};

use super::*;

/// What irqbalance was told, by request.
type Told = Arc<Mutex<Vec<String>>>;

/// A machine whose irqbalance takes what it is told after it was asked so often, if ever.
fn machine(environment: &str, takes_after: Option<usize>) -> (tempfile::TempDir, Root, Told) {
    machine_but(environment, takes_after, |_, _| false)
}

/// The same, where some requests are not answered, by their number and what they say.
fn machine_but(
    environment: &str,
    takes_after: Option<usize>,
    is_silent: impl Fn(usize, &str) -> bool + Send + 'static,
) -> (tempfile::TempDir, Root, Told) {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in [
        ("proc/733/comm", "irqbalance\n"),
        ("proc/733/environ", environment),
        ("sys/devices/system/cpu/isolated", "1\n"),
        ("sys/devices/system/cpu/nohz_full", "  (null)\n"),
    ] {
        fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
        fs::write(folder.path().join(path), content).unwrap();
    }
    let sockets = folder.path().join("run/irqbalance");
    fs::create_dir_all(&sockets).unwrap();
    // That of one that was killed comes first in the folder.
    drop(UnixListener::bind(sockets.join("irqbalance12.sock")).unwrap());
    let listener = UnixListener::bind(sockets.join("irqbalance733.sock")).unwrap();
    let told = Told::default();
    let said = told.clone();
    thread::spawn(move || {
        let (mut banned, mut next, mut asked) = (String::from("00000002"), None, 0);
        let mut unanswered = Vec::new();
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut buffer = [0; 200];
            let length = stream.read(&mut buffer).unwrap();
            let request = String::from_utf8(buffer[..length].to_vec()).unwrap();
            if is_silent(number, &request) {
                unanswered.push(stream);
                continue;
            }
            if request == "setup" {
                asked += 1;
                if takes_after.is_some_and(|times| asked > times) {
                    banned = next.take().unwrap_or(banned);
                }
                let _ = write!(stream, "SLEEP 0 IRQ 24 LOAD 5 DIFF 0 CLASS 0 BANNED {banned}");
                continue;
            }
            asked = 0;
            let list = request.strip_prefix("settings cpus ").unwrap().strip_suffix(" \0").unwrap();
            next = Some(match list {
                "NULL" => "00000002".into(),
                list => list.parse::<CpuList>().unwrap().mask(),
            });
            said.lock().unwrap().push(list.into());
        }
    });
    let root = Root::at(folder.path()).unwrap();
    (folder, root, told)
}

fn list(text: &str) -> CpuList {
    text.parse().unwrap()
}

#[test]
fn what_it_is_told_is_waited_for() {
    let (_folder, root, told) = machine("", Some(3));
    let daemon = Daemon::find(&root).unwrap();
    assert_eq!(daemon.banned().unwrap(), list("1"));
    daemon.ban(&list("1-3")).unwrap();
    assert_eq!(daemon.banned().unwrap(), list("1-3"));
    // CPU 1 is isolated: it keeps off that by itself.
    daemon.ban(&list("1")).unwrap();
    assert_eq!(*told.lock().unwrap(), ["1-3", "NULL"]);
}

#[test]
fn what_it_does_not_take_is_taken_back() {
    let (_folder, root, told) = machine("", None);
    let daemon = Daemon { slack: Duration::from_millis(100), ..Daemon::find(&root).unwrap() };
    let error = daemon.ban(&list("1-3")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    assert_eq!(*told.lock().unwrap(), ["1-3", "NULL"]);
}

/// That is asked without patience.
fn hasty(root: &Root) -> Daemon<'_> {
    Daemon { slack: Duration::from_millis(100), answer: Duration::from_millis(700), ..Daemon::find(root).unwrap() }
}

#[test]
fn an_answer_that_is_late_is_asked_for_again() {
    let (_folder, root, told) = machine_but("", Some(2), |number, _| number == 2);
    let patient = Daemon { slack: Duration::from_secs(10), ..hasty(&root) };
    patient.ban(&list("1-3")).unwrap();
    assert_eq!(*told.lock().unwrap(), ["1-3"]);
}

#[test]
fn what_it_was_told_is_taken_back_where_it_says_nothing_more_of_itself() {
    let (_folder, root, told) = machine_but("", Some(0), |number, request| number > 1 && request == "setup");
    let error = hasty(&root).ban(&list("1-3")).unwrap_err();
    assert!(error.kind() == io::ErrorKind::TimedOut && !may_come(&error), "{error}");
    assert_eq!(*told.lock().unwrap(), ["1-3", "NULL"]);
}

#[test]
fn what_cannot_be_taken_back_may_come_yet() {
    for answered in [1, 2] {
        let (_folder, root, _) = machine_but("", None, move |number, _| number >= answered);
        let error = hasty(&root).ban(&list("1-3")).unwrap_err();
        assert!(may_come(&error) && error.to_string().ends_with("and may do so yet"), "{error}");
    }
}

#[test]
fn its_environment_goes_before_what_is_isolated() {
    for (environment, by_itself) in [
        ("A=1\0IRQBALANCE_BANNED_CPUS=c\0IRQBALANCE_BANNED_CPULIST=5\0", "2-3"),
        ("IRQBALANCE_BANNED_CPUS=\0IRQBALANCE_BANNED_CPULIST=5\0", "5"),
        ("XIRQBALANCE_BANNED_CPULIST=5\0", "1"),
    ] {
        let (_folder, root, _) = machine(environment, None);
        assert_eq!(Daemon::find(&root).unwrap().by_itself(), Some(list(by_itself)), "{environment}");
    }
}

#[test]
fn one_that_has_ended_is_not_there() {
    let (folder, root, _) = machine("", None);
    fs::remove_file(folder.path().join("run/irqbalance/irqbalance733.sock")).unwrap();
    let missing = |root: &Root| Daemon::find(root).and_then(|daemon| daemon.banned()).unwrap_err().kind();
    assert_eq!(missing(&root), io::ErrorKind::NotFound);
    // Killed so that its socket stays, and its number used again by another.
    fs::create_dir_all(folder.path().join("proc/12")).unwrap();
    fs::write(folder.path().join("proc/12/comm"), "irqbalance\n").unwrap();
    assert_eq!(missing(&root), io::ErrorKind::NotFound);
}

#[test]
fn its_answers_are_read() {
    let read = |answer: &str| setup(answer).map(|setup| (setup.sleep.as_secs(), value_of(&setup.banned)));
    assert_eq!(read("SLEEP 10 BANNED 00000000,00000000"), Some((10, "none".into())));
    assert_eq!(read("SLEEP 5 IRQ 24 LOAD 0 DIFF 0 CLASS 0 BANNED 00000001,00000008\0"), Some((5, "3,32".into())));
    for answer in ["", "SLEEP 10", "SLEEP x BANNED 0", "SLEEP 1 BANNED"] {
        assert_eq!(read(answer), None, "{answer}");
    }
    assert_eq!((cpus("none\n"), cpus("2-3"), cpus("?")), (Some(CpuList::default()), Some(list("2-3")), None));
}
