//! A part of the last-level cache for one CPU alone, by resctrl (Intel CAT, AMD and ARM's equivalents): a group of its own
//! with a part of the cache that everything else is kept out of. It goes back when the measurement ends, however it ends.

use std::fs;
use std::io;
use std::path::Path;

use ontick_machine::Root;
use ontick_machine::resctrl::Division;
use ontick_undo::guardian::Writes;
use ontick_units::CpuList;

use crate::Error;

/// Where the kernel has it.
const RESCTRL: &str = "/sys/fs/resctrl";

/// A part of the cache, kept for a CPU for as long as this lives.
#[derive(Debug)]
pub(super) struct Reservation {
    /// What it has, in words.
    pub about: String,
    /// Puts the others' part back and removes the group; also when this process is killed.
    _back: Writes,
}

impl Reservation {
    /// For this CPU of this machine.
    pub fn of(cpu: u32) -> Result<Self, Error> {
        Self::at(Path::new("/"), cpu)
    }

    /// In a folder that stands for a machine.
    fn at(root: &Path, cpu: u32) -> Result<Self, Error> {
        let base = root.join(RESCTRL.trim_start_matches('/'));
        let machine = Root::at(root).map_err(Error::system("looking at the machine"))?;
        let plan = Division::of(&machine, &CpuList::one(cpu))
            .map_err(|why| Error::Impossible(format!("no part of the cache can be reserved: {why}")))?;
        let group = base.join(format!("ontick-{}", std::process::id()));
        let [all, own, cpus] = [base.join("schemata"), group.join("schemata"), group.join("cpus_list")];
        // Before anything changes: others first, then the group, whose CPU falls back to all others' group.
        let writes = vec![(all.clone(), format!("{}\n", plan.before))];
        let removals = vec![own.clone(), cpus.clone(), group.clone()];
        let back = Writes::start_with_removals(writes, removals).map_err(Error::system("starting a guardian"))?;
        let steps = || -> io::Result<()> {
            fs::create_dir(&group)?;
            fs::write(&own, format!("{}\n", plan.own))?;
            fs::write(&all, format!("{}\n", plan.others))?;
            fs::write(&cpus, format!("{cpu}\n"))
        };
        // Where one step is refused, the guardian undoes those before it.
        steps().map_err(|error| refused(&base, &error))?;
        Ok(Self { about: plan.about, _back: back })
    }
}

fn refused(base: &Path, error: &io::Error) -> Error {
    // The kernel's own words, in which it says what was wrong.
    let why = fs::read_to_string(base.join("info/last_cmd_status")).unwrap_or_default();
    let why = match why.trim() {
        "" | "ok" => error.to_string(),
        said => format!("{error} ({said})"),
    };
    Error::Impossible(format!("no part of the cache can be reserved: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of two L3 caches of 12 parts, CPU 3 in the second.
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("sys/fs/resctrl/schemata", "    MB:0=100;1=100\n    L3:0=fff;1=fff\n");
        put("sys/fs/resctrl/info/L3/min_cbm_bits", "1\n");
        put("sys/fs/resctrl/mon_groups/x", "");
        for (index, level, kind, id) in [(0, "1", "Data", "6"), (2, "2", "Unified", "3"), (3, "3", "Unified", "1")] {
            let folder = format!("sys/devices/system/cpu/cpu3/cache/index{index}");
            [("level", level), ("type", kind), ("id", id)]
                .iter()
                .for_each(|(name, text)| put(&format!("{folder}/{name}"), text));
        }
        root
    }

    fn schemata(root: &Path) -> String {
        fs::read_to_string(root.join("sys/fs/resctrl/schemata")).unwrap()
    }

    fn groups(root: &Path) -> Vec<String> {
        let entries = fs::read_dir(root.join("sys/fs/resctrl")).unwrap().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("ontick-"))
            .collect()
    }

    #[test]
    fn a_cpu_has_a_quarter_of_its_cache_and_the_others_the_rest() {
        let root = machine();
        let kept = Reservation::at(root.path(), 3).unwrap();
        let [group] = &groups(root.path())[..] else { panic!("one group: {:?}", groups(root.path())) };
        let own = |name: &str| fs::read_to_string(root.path().join("sys/fs/resctrl").join(group).join(name)).unwrap();
        assert_eq!((own("schemata"), own("cpus_list")), ("L3:0=fff;1=e00\n".into(), "3\n".into()));
        assert_eq!(schemata(root.path()), "L3:0=fff;1=1ff\n");
        assert_eq!(kept.about, "3 of 12 parts of the L3 cache");
        drop(kept);
        // Of this file the kernel changes the lines that are written, and leaves the others.
        assert_eq!((schemata(root.path()), groups(root.path())), ("L3:0=fff;1=fff\n".into(), Vec::new()));
    }

    #[test]
    fn a_group_that_is_there_is_left_alone() {
        let root = machine();
        let left = root.path().join(format!("sys/fs/resctrl/ontick-{}", std::process::id()));
        fs::create_dir(&left).unwrap();
        let why = Reservation::at(root.path(), 3).unwrap_err().to_string();
        assert!(why.contains("divided already, by the group ontick-") && left.exists(), "{why}");
        assert!(schemata(root.path()).contains("1=fff"));
    }

    #[test]
    fn what_cannot_be_divided_is_refused_in_a_sentence() {
        let root = machine();
        let base = root.path().join("sys/fs/resctrl");
        let why = || Reservation::at(root.path(), 3).unwrap_err().to_string();
        let elsewhere = tempfile::tempdir().unwrap();
        let missing = Reservation::at(elsewhere.path(), 3).unwrap_err().to_string();
        assert!(missing.contains("/sys/fs/resctrl is not there") && missing.contains("mount -t resctrl"), "{missing}");
        fs::create_dir(base.join("database")).unwrap();
        assert!(why().contains("by the group database"), "{}", why());
        fs::remove_dir(base.join("database")).unwrap();
        for (text, word) in [
            ("L3:0=fff;1=1\n", "more than half"),
            ("L3:0=fff\n", "cannot be divided"),
            ("L3:0=fff;1=ffg\n", "cannot read the mask"),
            ("MB:0=100\n", "allocates no cache"),
        ] {
            fs::write(base.join("schemata"), text).unwrap();
            assert!(why().contains(word), "{text}: {}", why());
        }
        fs::remove_dir_all(root.path().join("sys/devices")).unwrap();
        fs::write(base.join("schemata"), "L3:0=fff;1=fff\n").unwrap();
        assert!(why().contains("which L3 cache CPU 3 has"), "{}", why());
        assert_eq!((schemata(root.path()), groups(root.path())), ("L3:0=fff;1=fff\n".into(), Vec::new()));
    }

    /// The test runs itself again, as a process that reserves, and is killed at once.
    #[test]
    fn a_killed_measurement_gives_the_cache_back() {
        const CHILD: &str = "ONTICK_TEST_RESERVES_IN";
        if let Some(root) = std::env::var_os(CHILD) {
            let _kept = Reservation::at(Path::new(&root), 3).unwrap();
            assert_eq!(schemata(Path::new(&root)), "L3:0=fff;1=1ff\n");
            fs::write(Path::new(&root).join("reserved"), "").unwrap();
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            loop {
                std::thread::park();
            }
        }
        let root = machine();
        let name = "timer::cache::reservation::tests::a_killed_measurement_gives_the_cache_back";
        let mut test = std::process::Command::new(std::env::current_exe().unwrap());
        let output = test.args([name, "--exact"]).env(CHILD, root.path()).output().unwrap();
        assert!(root.path().join("reserved").exists(), "{output:?}");
        // The guardian acts once its pipe has ended.
        let began = std::time::Instant::now();
        while schemata(root.path()) != "L3:0=fff;1=fff\n" || !groups(root.path()).is_empty() {
            assert!(
                began.elapsed() < std::time::Duration::from_secs(60),
                "{} {:?}",
                schemata(root.path()),
                groups(root.path())
            );
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}
