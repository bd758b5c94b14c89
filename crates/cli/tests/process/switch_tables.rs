//! Tables of `ontick switch plan` and `status` on 80 columns.

use super::switch_plan::{network, plan};
use super::switch_user::bench;
use super::{run, stderr, stdout};

fn fits(text: &str) {
    let too_wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(too_wide.is_empty(), "{too_wide:#?}");
}

#[test]
fn the_table_of_a_plan_fits_80_columns() {
    let (folder, text) = network();
    let long = text.replace("\"video\"", "\"a-stream-whose-name-is-longer-than-others\"");
    // By the kernel one stream takes longer than its deadline.
    for (more, holds) in [(&["--target", "user"][..], true), (&["--target", "kernel"], false), (&[], true)] {
        let planned = plan(&folder, &long, more);
        assert_eq!(planned.status.code(), Some(i32::from(!holds)), "{}", stdout(&planned));
        fits(&stdout(&planned));
        // No name is cut for that.
        let has_it = stdout(&planned).contains("a-stream-whose-name-is-longer-than-others");
        assert_eq!(has_it, holds, "{}", stdout(&planned));
    }
}

#[test]
fn the_tables_of_a_status_fit_80_columns() {
    let Some(bench) = bench() else { return };
    let file = std::fs::read_to_string(bench.file()).unwrap();
    // Names as long as they may be, and more entries than a line holds.
    let name = "a-class-with-a-name-of-31-chars";
    let entries = "{ open = [\"blue\"], for = \"100us\" }, { open = [\"red\"], for = \"50us\" }, ".repeat(6);
    let file = file.replace("entries = [", &format!("entries = [{entries}")).replace("\"red\"", &format!("\"{name}\""));
    std::fs::write(bench.file(), file).unwrap();
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let status = stdout(&bench.switch(&["status"]));
    fits(&status);
    assert!(status.lines().any(|line| line == format!("  {name}")), "{status}");
    assert!(status.contains("gates     blue 100us, "), "{status}");
}

#[test]
fn a_plan_of_a_switch_s_commands_cuts_none_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("switch.toml");
    let gates = "entries = [{ open = [\"a\"], for = \"500us\" }, { open = [\"b\"], for = \"500us\" }]";
    let ports = "[[port]]\nname = \"p1\"\n\n[[port]]\nname = \"p2\"\n\n[port.gates]\n";
    let classes = "[[class]]\nname = \"a\"\nqueue = 1\nmatch = [{ pcp = 5 }]\n\n[[class]]\nname = \"b\"\nqueue = 0\n\n";
    std::fs::write(&path, format!("[switch]\nname = \"s\"\n\n{classes}{ports}{gates}\n")).unwrap();
    let shown = stdout(&run(&["switch", "plan", path.to_str().unwrap(), "--for-another-machine"]));
    let taprio = shown.lines().find(|line| line.contains(" taprio ")).unwrap();
    assert!(taprio.starts_with("tc qdisc replace dev p2 ") && taprio.ends_with("clockid CLOCK_TAI"), "{taprio}");
}
