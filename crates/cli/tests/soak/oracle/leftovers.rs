//! What commands leave behind when all of them have ended: nothing.

use std::fs;
use std::path::Path;

/// Processes that have these words in their environment: all that were started with them, and all that those started.
pub fn processes(marked: &str) -> Vec<String> {
    let found = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let is_marked = environment.split(|byte| *byte == 0).any(|word| word == marked.as_bytes());
        let command = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default().replace('\0', " ");
        is_marked.then(|| format!("process {pid}: {command}"))
    });
    found.collect()
}

/// Files in a folder, besides those that are known, and those of the whole machine's folders that have this name in theirs.
pub fn files(folder: &Path, name: &str) -> Vec<String> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().display().to_string()).collect()
    };
    let named = ["/dev/shm", "/run/ontick", "/tmp"].map(|folder| names(Path::new(folder))).concat();
    let named = named.into_iter().filter(|path| path.contains(name));
    names(folder).into_iter().chain(named).map(|path| format!("file {path}")).collect()
}

/// What this machine has of mounts and settings that the commands could have changed, as text.
pub fn settings() -> String {
    let of =
        |path: &str| format!("{path} {}\n", fs::read_to_string(path).unwrap_or_else(|error| error.kind().to_string()));
    let paths = ["/proc/thread-self/mounts", "/proc/sys/kernel/sched_rt_runtime_us", "/var/lib/ontick/tune.jsonl"];
    paths.map(of).concat()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_and_a_file_that_stay_are_found() {
        let mark = format!("ONTICK_SOAK_TEST=left-{}", std::process::id());
        assert_eq!(processes(&mark), Vec::<String>::new());
        let (name, value) = mark.split_once('=').unwrap();
        let child = Command::new("sleep").arg("1000").env(name, value).stdin(Stdio::null()).spawn().unwrap();
        let child = crate::site::Killed(child);
        crate::wait_until("its name", || processes(&mark).iter().any(|found| found.contains("sleep 1000")));
        drop(child);
        assert_eq!(processes(&mark), Vec::<String>::new());

        let (folder, name) = (tempfile::tempdir().unwrap(), format!("none-has-this-{}", std::process::id()));
        assert_eq!(files(folder.path(), &name), Vec::<String>::new());
        fs::write(folder.path().join("left"), "").unwrap();
        assert_eq!(files(folder.path(), &name).len(), 1);
    }
}
