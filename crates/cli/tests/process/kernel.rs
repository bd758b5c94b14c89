//! `ontick kernel check`, `list` and `configure`, on configurations and systems that are modelled in folders.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::kernel_tree::Modelled;
use crate::{has, ontick, run, stderr, stdout};

const FIT: &str = "# Linux/arm64 6.12.95 Kernel Configuration\nCONFIG_ARM64=y\nCONFIG_PREEMPT_RT=y\n\
    CONFIG_HIGH_RES_TIMERS=y\nCONFIG_HZ=250\n";

fn check(folder: &Path, name: &str, content: &[u8]) -> Output {
    let file = folder.join(name);
    fs::write(&file, content).unwrap();
    run(&["kernel", "check", "--config", file.to_str().unwrap(), "--json"])
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(output)))
}

#[test]
fn a_configuration_is_judged_with_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let fit = check(folder.path(), "fit", FIT.as_bytes());
    assert_eq!(fit.status.code(), Some(0), "{}", stderr(&fit));
    assert_eq!(json(&fit)["fit"], true);
    let unfit = check(folder.path(), "unfit", FIT.replace("PREEMPT_RT=y", "PREEMPT=y").as_bytes());
    assert_eq!(unfit.status.code(), Some(1));
    let unfit = json(&unfit);
    let worst = &unfit["findings"][0];
    assert_eq!((worst["id"].as_str(), worst["severity"].as_str()), (Some("CONFIG_PREEMPT_RT"), Some("bad")));
    assert!(worst["why"].as_str().unwrap().len() > 20 && worst["source"].as_str().unwrap().len() > 5);
}

#[test]
fn what_is_no_configuration_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("words", b"no options\n".as_slice()), ("cut.gz", b"\x1f\x8b\x08cut"), ("empty", b"")] {
        let output = check(folder.path(), name, content);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(stderr(&output).contains(name), "{}", stderr(&output));
    }
    let absent = run(&["kernel", "check", "--config", "/nowhere/config"]);
    assert_eq!(absent.status.code(), Some(2));
    assert!(stderr(&absent).contains("/nowhere/config cannot be read"), "{}", stderr(&absent));
}

#[test]
fn a_mounted_machine_without_a_configuration_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["kernel", "check", "--root", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    let places = format!("in {0}/boot or {0}/lib/modules is meant", folder.path().canonicalize().unwrap().display());
    assert!(said.contains("no kernel runs here") && said.contains(&places), "{said}");
    assert!(said.contains("name a file with --config") && !said.contains("modprobe"), "{said}");
}

/// A card with Raspberry Pi OS: its package lists as apt keeps them.
fn card(packages: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let place = folder.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::File::create(place).unwrap().write_all(text.as_bytes()).unwrap();
    };
    let server = "archive.example_debian_dists_bookworm";
    write("etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\nVERSION_CODENAME=bookworm\n");
    write("etc/apt/sources.list.d/raspi.list", "deb [trusted=yes] http://archive.example/debian bookworm main\n");
    write(
        "var/lib/dpkg/status",
        "Package: dpkg\nStatus: install ok installed\nArchitecture: arm64\nVersion: 1.21\nMaintainer: x <x@example>\nDescription: x\n\n",
    );
    write(
        &format!("var/lib/apt/lists/{server}_InRelease"),
        "Origin: Raspberry Pi Foundation\nSuite: stable\nCodename: bookworm\nArchitectures: arm64\nComponents: main\nDate: Sat, 01 Nov 2025 00:00:00 UTC\n",
    );
    write(&format!("var/lib/apt/lists/{server}_main_binary-arm64_Packages"), packages);
    write("var/lib/apt/lists/partial/.keep", "");
    write("var/cache/apt/archives/partial/.keep", "");
    write("etc/apt/preferences.d/.keep", "");
    folder
}

fn package(name: &str, version: &str) -> String {
    format!(
        "Package: {name}\nVersion: {version}\nArchitecture: arm64\nMaintainer: x <x@example>\nDescription: x\n\
         Filename: pool/{name}.deb\nSize: 1\nSHA256: {}\n\n",
        "0".repeat(64)
    )
}

#[test]
fn a_cards_package_lists_name_the_real_time_kernel() {
    if !has("apt-cache") {
        return;
    }
    let packages = [
        package("linux-image-rpi-v8", "1:6.12.47-1"),
        package("linux-image-rpi-v8-rt", "1:6.12.47-1"),
        package("linux-image-6.12.47+rpt-rpi-v8-rt", "1:6.12.47-1"),
    ];
    let card = card(&packages.concat());
    let before = listing(card.path());
    let output = run(&["kernel", "list", "--root", card.path().to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let listed = json(&output);
    assert_eq!(listed["packages"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["packages"][0]["name"], "linux-image-rpi-v8-rt");
    assert_eq!(listed["packages"][0]["version"], "1:6.12.47-1");
    assert!(listed["notes"][0].as_str().unwrap().contains("kernel=kernel8_rt.img"), "{listed}");
    let words = stdout(&run(&["kernel", "list", "--root", card.path().to_str().unwrap()]));
    assert!(words.contains("No build is needed"), "{words}");
    let command = listed["packages"][0]["install"].as_str().unwrap();
    assert!(words.lines().any(|line| line.trim() == format!("sudo {command}")), "a command to copy: {words}");
    assert_eq!(listing(card.path()), before, "listing changes nothing");
}

#[test]
fn without_such_a_package_a_build_is_named() {
    if !has("apt-cache") {
        return;
    }
    let card = card(&package("linux-image-rpi-v8", "1:6.12.47-1"));
    let output = run(&["kernel", "list", "--root", card.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("ontick kernel build"), "{}", stdout(&output));
    let empty = tempfile::tempdir().unwrap();
    let output = run(&["kernel", "list", "--root", empty.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("package manager is not known"), "{}", stdout(&output));
}

fn listing(folder: &Path) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        all.push(entry.path().display().to_string());
        if entry.path().is_dir() {
            all.extend(listing(&entry.path()));
        }
    }
    all.sort();
    all
}

#[test]
fn the_fragment_is_a_configuration_that_check_takes() {
    let output = run(&["kernel", "configure", "--board", "rpi4"]);
    assert_eq!(output.status.code(), Some(0));
    let fragment = stdout(&output);
    assert!(fragment.contains("\nCONFIG_PREEMPT_RT=y\n") && fragment.contains("CONFIG_HZ_1000=y\n"), "{fragment}");
    let folder = tempfile::tempdir().unwrap();
    let judged = check(folder.path(), "fragment", fragment.as_bytes());
    assert_eq!(judged.status.code(), Some(0), "{}", stdout(&judged));
    for (words, says) in [
        (["--board", "rpi9", "--json"], "rpi5"),
        (["--board", "rpi0", "--arch=arm64"], "does not run arm64"),
        (["--arch", "vax", "--json"], "one of arm"),
        // Of a tree alone, which nobody named.
        (
            ["--base", "/nowhere/config", "--json"],
            "--base is the start of a configuration in a tree: name it with --source",
        ),
        (["--cross", "arm-linux-gnueabihf-", "--json"], "name it with --source"),
    ] {
        let output = run(&[["kernel", "configure"].as_slice(), &words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
}

#[test]
fn an_option_that_the_kernel_drops_is_named_with_its_reason() {
    let Some(tree) = Modelled::lay() else { return };
    let good = tree.configure(&[]);
    assert_eq!(good.status.code(), Some(0), "{} {}", stdout(&good), stderr(&good));
    let more = tree.folder().join("more");
    fs::write(&more, "CONFIG_NEEDS_FOO=y\nCONFIG_MISSPELT=y\nCONFIG_GPIO_MOCKUP=m\n").unwrap();
    let output = tree.configure(&["--fragment", more.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let missing = &json(&output)["missing"];
    let why = |name: &str| {
        let found = missing.as_array().unwrap().iter().find(|one| one["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {missing}"))["why"].as_str().unwrap().to_owned()
    };
    assert_eq!(why("CONFIG_NEEDS_FOO"), "depends on FOO, which is not set");
    assert!(why("CONFIG_MISSPELT").contains("has no such option"));
    assert!(why("CONFIG_GPIO_MOCKUP").contains("CONFIG_GPIO_SIM"));
    assert_eq!(missing.as_array().unwrap().len(), 3, "{missing}");
}

#[test]
fn a_tree_that_cannot_be_real_time_says_that_it_needs_the_series() {
    let Some(tree) = Modelled::lay() else { return };
    tree.write("linux/arch/arm64/Kconfig", "config ARM64\n\tdef_bool y\nconfig ARCH_SUPPORTS_RT\n\tbool\n");
    let output = tree.configure(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("real-time series"), "{}", stdout(&output));
}

#[test]
fn what_keeps_a_configuration_from_being_made_is_said() {
    let Some(tree) = Modelled::lay() else { return };
    let says = |output: Output, words: &str| {
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(stderr(&output).contains(words), "{words}: {}", stderr(&output));
    };
    says(tree.configure(&["--base", "/nowhere/base"]), "/nowhere/base");
    says(tree.configure(&["--cross", "nowhere-"]), "apt install gcc-nowhere");
    says(ontick(&["kernel", "configure", "--source", "/usr"]).output().unwrap(), "is no source tree of a kernel");
    tree.write("linux/.config", "CONFIG_A=y\n");
    says(tree.configure(&[]), "make mrproper");
}
