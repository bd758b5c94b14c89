//! Files in the loop.

use ontick_record::findings::Severity;

use super::{Breach, Ended, Rule};
use crate::inspect::calls::OpenFile;

const RULE: Rule = Rule {
    id: "file",
    severity: Severity::Bad,
    what: "access to files",
    why: "the call may wait for locks of the file system, for free memory, or for the disk",
    mend: "open files before the loop, and give what is to be written to a thread of normal priority, over a ring without a lock",
    source: "write(2), fsync(2), open(2)",
};

/// Calls that go to a file system whatever their arguments.
const BY_PATH: [&str; 24] = [
    "open",
    "creat",
    "openat",
    "openat2",
    "stat",
    "lstat",
    "newfstatat",
    "statx",
    "access",
    "faccessat",
    "unlink",
    "unlinkat",
    "rename",
    "renameat2",
    "mkdirat",
    "linkat",
    "symlinkat",
    "readlink",
    "sync",
    "syncfs",
    "fsync",
    "fdatasync",
    "getdents64",
    "msync",
];

/// What says nothing of the file's content, or nothing at all.
const HARMLESS: [&str; 3] = ["lseek", "fstat", "ioctl"];

pub fn file_access(ended: &Ended) -> Option<Breach> {
    let name = ended.call.name()?;
    match &ended.call.file {
        Some(OpenFile::File(path)) if !HARMLESS.contains(&name) => {
            let to = if name.contains("read") || name == "getdents64" { "from" } else { "to" };
            let to = if name.contains("sync") { "of" } else { to };
            Some(Breach::new(&RULE, format!("{name} {to} {path}")))
        }
        _ if BY_PATH.contains(&name) => Some(Breach::new(&RULE, name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::calls::Call;
    use crate::inspect::calls::tests::call;
    use crate::inspect::rules::tests::judged;

    #[test]
    fn files_are_named_and_sockets_are_none() {
        let of = |name: &str, file: Option<OpenFile>| judged(&Call { file, ..call(name, [3, 0, 0, 0, 0, 0]) });
        let log = || Some(OpenFile::File("/var/log/loop.log".into()));
        assert_eq!(of("write", log()).unwrap().detail, "write to /var/log/loop.log");
        assert_eq!(of("fdatasync", log()).unwrap().detail, "fdatasync of /var/log/loop.log");
        assert_eq!(of("pread64", log()).unwrap().detail, "pread64 from /var/log/loop.log");
        assert_eq!(of("lseek", log()), None);
        assert_eq!(of("openat", None).unwrap().rule.id, "file");
        assert_eq!(of("write", Some(OpenFile::Other("socket:[7]".into()))), None);
    }
}
