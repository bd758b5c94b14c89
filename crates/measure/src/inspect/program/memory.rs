//! A program's memory: what of it is locked, and on which nodes it is (`/proc/PID/smaps`, `numa_maps`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

/// A program with more mappings than fit in this is judged by the first of them, in bytes.
const LONGEST: u64 = 32 << 20;

/// Memory that is not locked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unlocked {
    /// How much of the address space, in bytes.
    pub bytes: u64,
    /// How much there is that could be locked, in bytes.
    pub of: u64,
    /// What it belongs to, the largest first: `[heap]`, a file's name, `anonymous`.
    pub parts: Vec<(String, u64)>,
}

/// What of a program's memory is not locked; `None` where that may not be looked at.
pub fn unlocked(pid: i32) -> Option<Unlocked> {
    parse_smaps(&read(pid, "smaps")?)
}

/// How much memory is on each node, in bytes; `None` where the kernel does not say.
pub fn nodes(pid: i32) -> Option<BTreeMap<u32, u64>> {
    Some(parse_numa_maps(&read(pid, "numa_maps")?))
}

fn read(pid: i32, name: &str) -> Option<String> {
    let mut text = Vec::new();
    File::open(format!("/proc/{pid}/{name}")).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn parse_smaps(text: &str) -> Option<Unlocked> {
    let mut found = Unlocked::default();
    let mut parts: BTreeMap<String, u64> = BTreeMap::new();
    let mut name = String::new();
    let (mut accessible, mut size) = (false, 0);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        if first == "Size:" {
            size = words.next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) << 10;
        } else if first == "VmFlags:" {
            let flags: Vec<&str> = words.collect();
            // What has no pages of its own cannot be locked: devices, special mappings, pages of the huge kind.
            if !accessible || ["io", "pf", "de", "ht"].iter().any(|flag| flags.contains(flag)) {
                continue;
            }
            found.of += size;
            if !flags.contains(&"lo") {
                found.bytes += size;
                *parts.entry(name.clone()).or_default() += size;
            }
        } else if !first.ends_with(':') {
            accessible = words.next().is_some_and(|rights| rights.starts_with(['r']) || rights.contains('w'));
            let path = line.splitn(6, ' ').nth(5).unwrap_or_default().trim();
            name = match path {
                "" => "anonymous memory".into(),
                path => path.rsplit('/').next().unwrap_or(path).into(),
            };
            accessible &= !name.starts_with("[v");
        }
    }
    found.parts = parts.into_iter().collect();
    found.parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    (found.of > 0).then_some(found)
}

fn parse_numa_maps(text: &str) -> BTreeMap<u32, u64> {
    let mut nodes = BTreeMap::new();
    for line in text.lines() {
        let of = |key: &str| line.split_whitespace().find_map(|word| word.strip_prefix(key)?.parse::<u64>().ok());
        let page = of("kernelpagesize_kB=").unwrap_or(4) << 10;
        for word in line.split_whitespace().filter_map(|word| word.strip_prefix('N')) {
            let Some((node, pages)) = word.split_once('=') else { continue };
            if let (Ok(node), Ok(pages)) = (node.parse::<u32>(), pages.parse::<u64>()) {
                *nodes.entry(node).or_default() += pages.saturating_mul(page);
            }
        }
    }
    nodes
}

/// The node of a CPU, by which folder is in the CPU's own; `None` on a machine without nodes.
pub fn node_of(cpu: u32) -> Option<u32> {
    let entries = std::fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    entries.flatten().find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
55d0c7a00000-55d0c7a01000 r--p 00000000 fd:00 1234                       /home/a user/loop
Size:                  4 kB
KernelPageSize:        4 kB
VmFlags: rd mr mw me lo sd 
55d0c8a00000-55d0c8a21000 rw-p 00000000 00:00 0                          [heap]
Size:                132 kB
VmFlags: rd wr mr mw me ac sd 
7f1200000000-7f1200021000 rw-p 00000000 00:00 0 
Size:                 12 kB
VmFlags: rd wr mr mw me nr sd 
7f1200021000-7f1204000000 ---p 00000000 00:00 0 
Size:              65404 kB
VmFlags: mr mw me nr sd 
7f1300000000-7f1300001000 rw-s 00000000 00:05 7                          /dev/mem
Size:                  4 kB
VmFlags: rd wr sh mr mw me ms io pf de sd 
7ffd1c1f2000-7ffd1c1f4000 r-xp 00000000 00:00 0                          [vdso]
Size:                  8 kB
VmFlags: rd ex mr mw me de sd 
";

    #[test]
    fn what_could_be_locked_and_is_not_is_counted() {
        let unlocked = parse_smaps(SMAPS).unwrap();
        assert_eq!((unlocked.bytes, unlocked.of), (144 << 10, 148 << 10));
        assert_eq!(unlocked.parts, [("[heap]".into(), 132 << 10), ("anonymous memory".into(), 12 << 10)]);
        assert_eq!(parse_smaps(""), None);
        let all = SMAPS.replace("mr mw me", "mr mw me lo");
        assert_eq!(parse_smaps(&all).unwrap().bytes, 0);
    }

    #[test]
    fn pages_are_summed_by_node() {
        let text = "\
7f10 default file=/usr/lib/libc.so.6 mapped=9 N0=8 N1=1 kernelpagesize_kB=4
7f20 bind:1 anon=3 dirty=3 N1=3 kernelpagesize_kB=2048
7f30 default Nx=3 N=2
";
        assert_eq!(parse_numa_maps(text), BTreeMap::from([(0, 8 << 12), (1, (1 << 12) + (3 << 21))]));
    }

    #[test]
    fn this_program_may_be_looked_at() {
        let unlocked = unlocked(std::process::id() as i32).expect("own memory");
        assert!(unlocked.of >= unlocked.bytes && unlocked.of > 0);
    }
}
