//! The documentation's way from a list of streams to a switch at work, command by command as it is printed.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::examples::files;
use crate::{alone_on_this_machine, has, namespace::namespace, ontick, stderr, stdout};

/// The section's commands, as words: without comments and `sudo`.
fn commands(page: &str) -> Vec<Vec<String>> {
    let section = page.split("## From a list of streams\n").nth(1).expect("the page has the section");
    let block = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("its commands");
    let words = |line: &str| shlex::split(line.trim_start_matches("sudo ")).expect("a command line");
    block.lines().filter(|line| !line.is_empty()).map(words).collect()
}

#[test]
fn readmes_way_from_streams_to_a_switch_works_as_printed() {
    if !["ip", "tc"].into_iter().all(has) {
        return;
    }
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = |name: &str| fs::read_to_string(top.join(name)).unwrap();
    let commands = commands(&page("docs/switch-start.md"));
    let kinds: Vec<&str> = commands.iter().map(|words| words[2].as_str()).collect();
    assert_eq!(kinds, ["plan", "validate", "verify", "apply", "status"], "all of them are known here");
    let guide = page("docs/switch-planning.md");
    let (_, network) = files(&guide).into_iter().find(|(name, _)| *name == "network.toml").unwrap();
    let (Some(here), Some(far)) = (namespace(), namespace()) else { return };
    for n in 1..=3 {
        here.join(&format!("p{n}"), &far, &format!("far{n}")).unwrap();
    }
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("network.toml"), network).unwrap();
    let state = folder.path().join("state").display().to_string();
    let run = |words: &[&str]| {
        let mut command = ontick(words);
        here.within(|| command.current_dir(&folder).output()).unwrap().unwrap()
    };
    for words in &commands {
        let mut arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        match arguments[1] {
            "verify" => arguments.extend(["--duration", "500ms"]),
            "apply" | "status" => arguments.extend(["--state", &state]),
            _ => {}
        }
        let output = run(&arguments);
        // Whether every frame was in its window, and whether enough could be sent, is this machine's matter.
        let met = match output.status.code() {
            Some(1 | 3) => arguments[1] == "verify",
            status => status == Some(0),
        };
        assert!(met, "{words:?}: {}{}", stdout(&output), stderr(&output));
    }
    for file in ["plan.json", "plan.svg", "nodes/s1.toml", "arrivals.png"] {
        assert!(fs::metadata(folder.path().join(file)).is_ok_and(|file| file.len() > 0), "{file}");
    }
    let status: Value =
        serde_json::from_slice(&run(&["switch", "status", "--json", "--state", &state]).stdout).unwrap();
    assert_eq!(status["name"], "s1", "{status}");
    let shown = stdout(&run(&["switch", "status", "--state", &state]));
    assert!(shown.contains("forward   0"), "its static entries: {shown}");
    let reverted = run(&["switch", "revert", "--state", &state]);
    assert!(stdout(&reverted).contains("everything else is as before"), "{}", stderr(&reverted));
}
