//! `ontick kernel install`, `keep` and `rollback` on machines in folders: whatever happens, they boot what they booted
//! before.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::bad_disks::with_mounts;
use crate::kernel_tree::Modelled;
use crate::machine::Machine;
use crate::machine::packed::{self, Arch, MACHINES, RELEASE};
use crate::{has, run, stderr, stdout};

/// A machine in a folder, and a kernel's package in another.
pub struct Card {
    pub machine: Machine,
    pub folder: tempfile::TempDir,
}

impl Card {
    pub fn lay(name: &str, arch: Arch) -> Self {
        let machine = Machine::lay(name);
        for folder in ["/var/lib", "/lib/modules"] {
            fs::create_dir_all(machine.place(folder)).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        packed::write(&folder.path().join("kernel.tar.gz"), &packed::files(arch, RELEASE));
        Self { machine, folder }
    }

    pub fn package(&self) -> PathBuf {
        self.folder.path().join("kernel.tar.gz")
    }

    fn words<'a>(&'a self, words: &[&'a str], package: &'a Path) -> Vec<&'a str> {
        let package = (words[0] == "install").then(|| package.to_str().unwrap());
        let root = ["--root", self.machine.folder().to_str().unwrap()];
        [&["kernel"], words, &package.into_iter().collect::<Vec<_>>()[..], &root].concat()
    }

    fn run(&self, words: &[&str]) -> Output {
        run(&self.words(words, &self.package()))
    }

    /// All but folders that everything needs.
    fn state(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        self.machine.snapshot()
    }

    fn is_as(&self, before: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
        let now = self.state();
        let differ: Vec<_> = before.keys().chain(now.keys()).filter(|p| before.get(*p) != now.get(*p)).collect();
        assert!(differ.is_empty(), "{when}: {differ:?}");
    }
}

#[test]
fn three_commands_there_and_one_back_on_every_boot_loader() {
    for (name, arch) in MACHINES {
        let card = Card::lay(name, arch);
        let before = card.state();
        let would = card.run(&["install", "--dry-run"]);
        assert!(
            would.status.success() && stdout(&would).contains("Nothing is changed yet"),
            "{name}: {}",
            stderr(&would)
        );
        card.is_as(&before, name);

        let installed = card.run(&["install"]);
        let said = stdout(&installed);
        assert!(installed.status.success(), "{name}: {}", stderr(&installed));
        assert!(said.contains("The default boot entry is unchanged"), "{name}: {said}");
        let way_back = format!("sudo ontick kernel rollback --root {}", card.machine.folder().display());
        assert!(said.contains(&way_back), "{name}: {said}");
        let second = card.run(&["install"]);
        assert!(stderr(&second).contains(&way_back), "{name}: {}", stderr(&second));

        let untried = card.run(&["keep"]);
        assert!(
            untried.status.code() == Some(2) && stderr(&untried).contains("--untried"),
            "{name}: {}",
            stderr(&untried)
        );
        let kept = card.run(&["keep", "--untried", "--json"]);
        let document: Value =
            serde_json::from_slice(&kept.stdout).unwrap_or_else(|e| panic!("{name}: {e}: {}", stderr(&kept)));
        assert_eq!(document["plan"]["kernel"]["release"], RELEASE, "{name}");

        let back = card.run(&["rollback"]);
        assert!(
            back.status.success() && stdout(&back).contains("boots what it booted before"),
            "{name}: {}{}",
            stdout(&back),
            stderr(&back)
        );
        card.is_as(&before, name);
        let again = card.run(&["rollback"]);
        assert!(again.status.success() && stdout(&again).contains("no kernel here"), "{name}: {}", stdout(&again));
    }
}

/// The command, killed when it waits for the disk for the nth time.
fn killed_at(n: u32, call: &str, words: &[&str]) -> Output {
    let mut traced = Command::new("strace");
    let inject = format!("inject={call}:signal=KILL:when={n}");
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]);
    traced.arg(env!("CARGO_BIN_EXE_ontick")).args(words).output().unwrap()
}

#[test]
fn a_kill_at_any_step_leaves_the_way_back() {
    if !has("strace") {
        return;
    }
    for (name, arch) in [MACHINES[1], MACHINES[3]] {
        let card = Card::lay(name, arch);
        let before = card.state();
        let package = card.package();
        let mut kills = 0;
        // Around each wait for the disk, and around each name that is given.
        for (call, words) in [("fsync", &["install"][..]), ("rename", &["install"]), ("fsync", &["keep", "--untried"])]
        {
            for n in 1.. {
                if words[0] == "keep" {
                    assert!(card.run(&["install"]).status.success(), "{name}");
                }
                let killed = killed_at(n, call, &card.words(words, &package));
                let ended = killed.status.signal() != Some(9) && killed.status.code() != Some(137);
                kills += u32::from(!ended);
                if !ended && words[0] == "install" && card.state() != before {
                    // An install that was interrupted says what to do.
                    let again = card.run(&["install"]);
                    assert!(
                        again.status.success() || stderr(&again).contains("rollback"),
                        "{name}: {}",
                        stderr(&again)
                    );
                }
                // A rollback that is killed, too, is no obstacle to the next.
                killed_at(1 + n % 3, "fsync", &card.words(&["rollback"], &package));
                let back = card.run(&["rollback"]);
                assert_eq!(back.status.code(), Some(0), "{name}, {call} {n}: {}{}", stdout(&back), stderr(&back));
                let journal = fs::exists(card.machine.place("/var/lib/ontick")).unwrap();
                assert!(!journal, "{name}, {call} {n}: the journal stays");
                card.is_as(&before, &format!("{name}, {words:?}, killed at {call} {n}"));
                if ended {
                    break;
                }
            }
        }
        assert!(kills > 15, "{name}: only {kills} kills");
    }
}

#[test]
fn what_speaks_against_an_install_is_said_and_nothing_is_changed() {
    let card = Card::lay("pi4", Arch::Arm64);
    let before = card.state();
    let refused = |package: &Path, says: &str| {
        let output = run(&card.words(&["install"], package));
        assert!(output.status.code() == Some(2) && stderr(&output).contains(says), "{says}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        card.is_as(&before, says);
    };
    let file = |name: &str, files: &packed::Files| {
        let path = card.folder.path().join(name);
        packed::write(&path, files);
        path
    };
    refused(Path::new("/no/such.tar"), "/no/such.tar");
    refused(card.folder.path(), "not a file");
    let text = card.folder.path().join("text");
    fs::write(&text, "no kernel at all\n".repeat(200)).unwrap();
    refused(&text, "no tar");
    refused(&file("pc.tar.gz", &packed::files(Arch::Amd64, RELEASE)), "64-bit PC");
    let mut escaping = packed::files(Arch::Arm64, RELEASE);
    escaping.push(("boot/../../../etc/passwd".into(), b"x".to_vec()));
    refused(&file("escaping.tar.gz", &escaping), "dangerous");
    let mut bare = packed::files(Arch::Arm64, RELEASE);
    bare.retain(|(path, _)| !path.contains("lib/modules"));
    refused(&file("bare.tar.gz", &bare), "no modules");
    let once = card.run(&["install", "--once"]);
    assert!(once.status.code() == Some(2) && stderr(&once).contains("tryboot"), "{}", stderr(&once));
    let named = card.run(&["install", "--name", "../up"]);
    assert!(named.status.code() == Some(2) && stderr(&named).contains("--name"), "{}", stderr(&named));
}

#[test]
fn packages_that_other_programs_pack_are_read() {
    let card = Card::lay("x86-grub", Arch::Amd64);
    fs::write(card.machine.place("/boot/grub/grubenv"), format!("{:#<1024}", "# GRUB Environment Block\n")).unwrap();
    let before = card.state();
    let tree = card.folder.path().join("tree");
    for (path, content) in packed::files(Arch::Amd64, RELEASE) {
        let place = tree.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, content).unwrap();
    }
    let control = tree.join("DEBIAN/control");
    fs::create_dir_all(control.parent().unwrap()).unwrap();
    fs::write(
        control,
        "Package: linux-image\nVersion: 1\nArchitecture: amd64\nMaintainer: x <x@example.org>\nDescription: x\n",
    )
    .unwrap();
    let mut packed: Vec<PathBuf> = Vec::new();
    let mut pack = |name: &str, tool: &str, command: &mut Command| {
        if has(tool) {
            assert!(command.status().unwrap().success(), "{tool}");
            packed.push(card.folder.path().join(name));
        }
    };
    let at = |name: &str| card.folder.path().join(name);
    pack("a.deb", "dpkg-deb", Command::new("dpkg-deb").args(["--build"]).args([&tree, &at("a.deb")]));
    for (name, tool, flag) in [("a.tar", "tar", "--xattrs"), ("a.tar.xz", "xz", "-J"), ("a.tar.zst", "zstd", "--zstd")]
    {
        pack(
            name,
            tool,
            Command::new("tar").arg(flag).arg("-cf").arg(at(name)).arg("-C").arg(&tree).args(["./boot", "./lib"]),
        );
    }
    for package in packed {
        let installed = run(&card.words(&["install", "--once"], &package));
        assert!(installed.status.success(), "{}: {}", package.display(), stderr(&installed));
        let module = card.machine.place(&format!("/lib/modules/{RELEASE}/kernel/drivers/two.ko"));
        assert_eq!(fs::read(module).unwrap(), Arch::Amd64.module());
        assert!(card.machine.read("/boot/grub/grubenv").contains(&format!("next_entry=ontick-{RELEASE}\n")));
        assert!(card.run(&["rollback"]).status.success());
        card.is_as(&before, &package.display().to_string());
        // Cut off half-way it is refused.
        let whole = fs::read(&package).unwrap();
        fs::write(&package, &whole[..whole.len() / 2]).unwrap();
        let cut = run(&card.words(&["install"], &package));
        assert!(cut.status.code() == Some(2), "{}: {}", package.display(), stdout(&cut));
        card.is_as(&before, &package.display().to_string());
    }
}

#[test]
fn what_ontick_builds_it_installs() {
    let Some(tree) = Modelled::lay() else { return };
    let release = "6.12.1-ontick-rt";
    tree.write_bytes("linux/image", &Arch::Arm64.image(release));
    for format in ["tar", "deb"].into_iter().filter(|format| *format == "tar" || has("dpkg-deb")) {
        let built = tree.build(&["--format", format, "--output", format, "--json"]);
        let built: Value = serde_json::from_slice(&built.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&built)));
        let package = PathBuf::from(built["file"].as_str().unwrap());
        let card = Card::lay("pi3b-bookworm", Arch::Arm64);
        let before = card.state();
        let installed = run(&card.words(&["install"], &package));
        assert!(installed.status.success(), "{format}: {}", stderr(&installed));
        let module = card.machine.place(&format!("/lib/modules/{release}/a.ko"));
        assert!(module.exists(), "{format}: {}", stdout(&installed));
        assert!(card.run(&["rollback"]).status.success(), "{format}");
        card.is_as(&before, format);
    }
}

#[test]
fn a_boot_partition_without_room_or_read_only_is_reported_before_anything_is_written() {
    let card = Card::lay("pi4", Arch::Arm64);
    let before = card.state();
    let (root, package) = (card.machine.folder().display(), card.package());
    let boot = format!("{root}/boot/firmware");
    for (options, says) in [("size=256k", "MiB free"), ("size=64m,ro", "read-only")] {
        let script = format!(
            "cp -r {boot} {root}/kept; mount -t tmpfs -o size=64m none {boot}; cp -r {root}/kept/. {boot}/; rm -r {root}/kept; mount -o remount,{options} {boot}; cp -r {boot} {root}/was; ontick kernel install {} --root {root} || echo status $?; diff -r {boot} {root}/was && rm -r {root}/was && echo as before",
            package.display()
        );
        let Some(output) = with_mounts(&script) else { return };
        assert!(stderr(&output).contains(says), "{options}: {}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains("status 2\nas before\n"), "{options}: {}{}", stdout(&output), stderr(&output));
        card.is_as(&before, options);
    }
}

#[test]
fn source_004s_evaluation_stands_beside_its_figures() {
    let output = run(&["kernel", "evaluate", "--loops", "40", "--load", "none"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for word in
        ["clock_nanosleep", "setitimer", "io_uring", "source 004", "23/37/95us", "23us / 37us / 95us", "this machine"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    let alone = run(&["kernel", "evaluate", "--loops", "40", "--load", "none", "--only", "--json"]);
    let run = crate::record(&alone);
    assert_eq!(run["measurement"], "kernel evaluate");
    let series = run["series"].as_array().unwrap();
    assert_eq!((series.len(), series[0]["name"].as_str()), (1, Some("clock_nanosleep")));
    let settings = &series[0]["settings"];
    assert_eq!((settings["interval_ns"].as_u64(), crate::samples(&series[0])), (Some(500_000), 40));
    assert_eq!(series[0]["published"]["source"], "source 004");
}
