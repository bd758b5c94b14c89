//! `ontick switch apply` of a switch that is set up says that it is as the file says only if it is.

use std::time::{Duration, Instant};

use super::switch_user::{Bench, bench, kill_with_guardians};
use super::{stderr, stdout, wait_until};

fn refused(bench: &Bench) -> String {
    let again = bench.switch(&["apply", &bench.file()]);
    assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));
    stderr(&again)
}

#[test]
fn a_switch_without_its_process_is_not_as_the_file_says() {
    let Some(bench) = bench() else { return };
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    kill_with_guardians(&bench);
    let said = refused(&bench);
    assert!(said.contains("the process that did its work is gone: sudo ontick switch revert cell"), "{said}");
    assert!(bench.switch(&["revert"]).status.success());
}

#[test]
fn a_switch_that_somebody_has_changed_is_not_as_the_file_says() {
    let Some(bench) = bench() else { return };
    let text = "[switch]\nname = \"cell\"\nplane = \"kernel\"\n[[class]]\nname = \"all\"\nqueue = 0\n[[port]]\nname = \
                \"port0\"\n[[port]]\nname = \"port1\"\n";
    std::fs::write(bench.file(), text).unwrap();
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    assert!(bench.switch(&["apply", &bench.file()]).status.success());
    bench.here.ip(&["link", "set", "dev", "port0", "nomaster"]).unwrap();
    let said = refused(&bench);
    assert!(said.contains("switch cell is set up as the file says, but port0 is not in cell: sudo ontick"), "{said}");
    assert!(bench.switch(&["revert"]).status.success());
}

/// Whoever put it there may have been killed before it was taken back.
#[test]
fn a_switch_whose_data_plane_refused_a_change_is_not_as_the_file_says() {
    let Some(bench) = bench() else { return };
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let kept = bench.folder.path().join("state/cell/switch.toml");
    let before = std::fs::read_to_string(&kept).unwrap();
    let other = before.replace("7777", "7778");
    std::fs::write(bench.file(), &other).unwrap();
    let refused_change = || bench.status()["report"]["refused_change"].clone();
    for _ in 0..2 {
        std::fs::write(&kept, &other).unwrap();
        wait_until("it to be refused", || refused_change()[0] == *other);
        let began = Instant::now();
        let said = refused(&bench);
        assert!(
            said.contains("did not take that: only gates, frame sizes, idle slopes and streams can change"),
            "{said}"
        );
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        // It is tried again when it comes again.
        std::fs::write(&kept, &before).unwrap();
        wait_until("nothing to be refused", || refused_change().is_null());
    }
    std::fs::write(bench.file(), &before).unwrap();
    let again = bench.switch(&["apply", &bench.file()]);
    assert_eq!(stdout(&again), "Switch cell is already as the file says.\n", "{}", stderr(&again));
    assert!(bench.switch(&["revert"]).status.success());
}
