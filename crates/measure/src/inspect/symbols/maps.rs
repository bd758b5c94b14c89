//! `/proc/PID/maps` (proc(5)): which file is where in a program's memory.

/// Mappings with code that are kept; a program with more is named by addresses beyond them.
const MOST: usize = 1 << 14;

/// One mapping that holds code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// Number of the file; 0 for none.
    pub inode: u64,
    /// Its path as the program names it, `[vdso]`, or nothing.
    pub path: String,
}

impl Mapping {
    /// The file's own name.
    pub fn name(&self) -> &str {
        let path = self.path.strip_suffix(" (deleted)").unwrap_or(&self.path);
        path.rsplit('/').next().unwrap_or(path)
    }
}

/// The mappings with code of a program, in the order of their addresses.
pub fn parse(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = text.lines().filter_map(mapping).take(MOST).collect();
    mappings.sort_by_key(|mapping| mapping.start);
    mappings
}

/// `7f12-7f13 r-xp 00028000 08:01 393 /usr/lib/libc.so.6`
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    if !words.next()?.contains('x') || end <= start {
        return None;
    }
    let offset = number(words.next()?)?;
    let _device = words.next()?;
    let inode = words.next()?.parse().ok()?;
    Some(Mapping { start, end, offset, inode, path: words.next().unwrap_or_default().trim_start().into() })
}

/// The one that an address is in.
pub fn containing(mappings: &[Mapping], address: u64) -> Option<usize> {
    let after = mappings.partition_point(|mapping| mapping.start <= address);
    after.checked_sub(1).filter(|at| address < mappings[*at].end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c7a00000-55d0c7a01000 r--p 00000000 fd:00 1234                       /home/a user/loop (deleted)
55d0c7a01000-55d0c7a02000 r-xp 00001000 fd:00 1234                       /home/a user/loop (deleted)
7f1200000000-7f1200021000 rw-p 00000000 00:00 0 
7f1230028000-7f12301bd000 r-xp 00028000 fd:00 393                        /usr/lib/x86_64-linux-gnu/libc.so.6
7ffd1c1f2000-7ffd1c1f4000 r-xp 00000000 00:00 0                          [vdso]
7ffd1c200000-7ffd1c201000 rwxp 00000000 00:00 0 
nonsense
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    #[test]
    fn mappings_with_code_are_found_by_address() {
        let maps = parse(MAPS);
        let names: Vec<&str> = maps.iter().map(Mapping::name).collect();
        assert_eq!(names, ["loop", "libc.so.6", "[vdso]", "", "[vsyscall]"]);
        assert_eq!((maps[0].offset, maps[0].inode, maps[1].inode), (0x1000, 1234, 393));
        assert_eq!(containing(&maps, 0x55d0c7a01000), Some(0));
        assert_eq!(containing(&maps, 0x55d0c7a01fff), Some(0));
        assert_eq!(containing(&maps, 0x55d0c7a02000), None);
        assert_eq!(containing(&maps, 0x7f1230028abc), Some(1));
        assert_eq!(containing(&maps, 0), None);
        assert_eq!(containing(&maps, u64::MAX), None);
    }
}
