//! A part of the last-level cache for one CPU alone, by resctrl (Intel CAT, AMD and ARM's equivalents): a group of its own
//! with a part of the cache that everything else is kept out of. It goes back when the measurement ends, however it ends.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ontick_undo::guardian::Writes;

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
        let plan = Plan::make(root, &base, cpu)
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

/// What is to be written, and what stood there before.
#[derive(Debug, PartialEq)]
struct Plan {
    before: String,
    others: String,
    own: String,
    about: String,
}

impl Plan {
    fn make(root: &Path, base: &Path, cpu: u32) -> Result<Self, String> {
        let schemata = fs::read_to_string(base.join("schemata")).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!(
                "{RESCTRL} is not there (a processor with cache allocation needs: sudo mount -t resctrl resctrl {RESCTRL})"
            ),
            _ => format!("{RESCTRL}/schemata: {error}"),
        })?;
        let lines =
            |level: &str| schemata.lines().map(str::trim).find_map(|line| line.strip_prefix(level).map(str::to_owned));
        let (level, masks) = ["3", "2"]
            .iter()
            .find_map(|level| Some((*level, lines(&format!("L{level}:"))?)))
            .ok_or("the processor allocates no cache (and separate parts for code and data are not divided here)")?;
        if let Some(name) = other_group(base) {
            return Err(format!("the cache is divided already, by the group {name}"));
        }
        let domain =
            domain(root, cpu, level).ok_or(format!("the kernel does not say which L{level} cache CPU {cpu} has"))?;
        let min_bits = fs::read_to_string(base.join(format!("info/L{level}/min_cbm_bits")));
        let min_bits = min_bits.ok().and_then(|bits| bits.trim().parse().ok()).unwrap_or(1u32).max(1);
        let mut parts = masks.split(';').map(|part| part.split_once('=').ok_or(format!("cannot read \"{part}\"")));
        let (mut others, mut own, mut about) = (Vec::new(), Vec::new(), None);
        parts.try_for_each(|part| -> Result<(), String> {
            let (id, mask) = part?;
            let whole = u64::from_str_radix(mask.trim(), 16).map_err(|_| format!("cannot read the mask \"{mask}\""))?;
            if id.trim().parse() != Ok(domain) {
                others.push(format!("{id}={mask}"));
                own.push(format!("{id}={mask}"));
                return Ok(());
            }
            let kept = upper_part(whole, min_bits).ok_or("its smallest part is more than half of the cache")?;
            others.push(format!("{id}={:x}", whole & !kept));
            own.push(format!("{id}={kept:x}"));
            about = Some(format!("{} of {} parts of the L{level} cache", kept.count_ones(), whole.count_ones()));
            Ok(())
        })?;
        let about = about.ok_or(format!("the L{level} cache of CPU {cpu} cannot be divided"))?;
        let line = |parts: Vec<String>| format!("L{level}:{}", parts.join(";"));
        Ok(Self { before: format!("L{level}:{masks}"), others: line(others), own: line(own), about })
    }
}

/// A quarter of the cache, or the least that may be had: the upper end, as the lower one is often shared with devices.
fn upper_part(whole: u64, min_bits: u32) -> Option<u64> {
    let bits = (whole.count_ones() / 4).max(min_bits);
    let top = 64 - whole.leading_zeros();
    let kept = if bits >= top { return None } else { ((1u64 << bits) - 1) << (top - bits) };
    // Parts are without gaps, and others need the least, too.
    let rest = whole & !kept;
    (kept & whole == kept && rest.count_ones() >= min_bits && bits * 2 <= whole.count_ones().max(2)).then_some(kept)
}

/// A group that somebody else made; the kernel's own folders are none.
fn other_group(base: &Path) -> Option<String> {
    let names = fs::read_dir(base).ok()?.flatten().filter(|entry| entry.path().is_dir());
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.into_iter().find(|name| !["info", "mon_data", "mon_groups"].contains(&name.as_str()))
}

/// The number of the cache of this level that the CPU has.
fn domain(root: &Path, cpu: u32, level: &str) -> Option<u32> {
    let caches = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cache"));
    let read =
        |folder: &PathBuf, name: &str| fs::read_to_string(folder.join(name)).map(|text| text.trim().to_owned()).ok();
    let folders = fs::read_dir(caches).ok()?.flatten().map(|entry| entry.path());
    let of_level = |folder: &PathBuf| {
        read(folder, "level").as_deref() == Some(level) && read(folder, "type").is_none_or(|kind| kind != "Instruction")
    };
    folders.filter(of_level).find_map(|folder| read(&folder, "id")?.parse().ok())
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

    #[test]
    fn parts_are_at_the_upper_end_without_gaps() {
        let parts = [(0xfff, 1), (0xff, 2), (0x7ff, 1), (0b11, 1), (0xf, 3), (1, 1), (0, 1), (u64::MAX, 1)];
        let kept = parts.map(|(whole, min_bits)| upper_part(whole, min_bits));
        let all = [Some(0xe00), Some(0xc0), Some(0x600), Some(0b10), None, None, None, Some(0xffff << 48)];
        assert_eq!(kept, all);
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
