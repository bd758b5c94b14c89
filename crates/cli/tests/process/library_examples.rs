//! The examples of the crates that other programs use, each run as its page says.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{alone_on_this_machine, stderr, stdout};

/// An example: its crate, its name, its arguments, and what it prints.
type Example = (&'static str, &'static str, &'static [&'static str], &'static str);

const EXAMPLES: [Example; 9] = [
    ("rt", "cycle", &["50"], "50 cycles"),
    ("rt", "wait_methods", &["20"], "hybrid         20"),
    ("gpio", "blink", &[], "sim:example-blink/4 = 1, sim:example-blink/17 = 1"),
    ("gpio", "edges", &["4"], "falling reported after"),
    ("acquire", "to_file", &["samples.csv", "50"], "50 samples in samples.csv"),
    ("acquire", "own_source", &[], "sample 0: load = "),
    ("link", "frames", &[], "\"carried by the widths of pulses\", 0 blocks"),
    ("link", "transfer", &[], "arrived: every byte arrives, once and in order"),
    ("tsn", "plan_network", &[], "0 faults"),
];

/// Tools for whoever works on the crate, which take root or tables of their own.
const TOOLS: [&str; 2] = ["forward", "planning"];

/// The folder of the built examples. `cargo test --workspace` has built them; a test that is run by its name has not.
fn built() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.ancestors().nth(2).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    // Set for the harness alone (packaging/test): with it cargo would build the dependencies anew.
    cargo.env_remove("RUSTC_BOOTSTRAP");
    cargo.args(["build", "--workspace", "--examples", "--offline", "--quiet"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "{}", stderr(&output));
    folder.join("examples")
}

#[test]
fn the_crates_examples_run_as_their_pages_say() {
    let built = built();
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    for (_, name, arguments, printed) in EXAMPLES {
        // Ended where it hangs: no other test is run meanwhile.
        let mut limited = Command::new("timeout");
        let output = limited.arg("60").arg(built.join(name)).args(arguments).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{name}: {}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains(printed), "{name}: {}", stdout(&output));
    }
    let samples = std::fs::read_to_string(folder.path().join("samples.csv")).unwrap();
    assert_eq!(samples.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count(), 50, "{samples}");
}

#[test]
fn every_example_is_run_and_on_its_crates_page() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for of in ["rt", "gpio", "acquire", "link", "switch"] {
        let page = std::fs::read_to_string(crates.join(of).join("README.md")).unwrap();
        for file in std::fs::read_dir(crates.join(of).join("examples")).unwrap() {
            let name = file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
            assert!(page.contains(&format!("- `{name}`: ")), "{of}/README.md lists `{name}`");
            let run = EXAMPLES.iter().any(|example| (example.0, example.1) == (of, name.as_str()));
            assert!(run || TOOLS.contains(&name.as_str()), "{of}: `{name}` is run here");
        }
    }
}
