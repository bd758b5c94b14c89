//! `ontick switch apply` of a switch that is set up says that it is as the file says only if it is.

use super::stderr;
use super::switch_user::{Bench, bench, kill_with_guardians};

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
