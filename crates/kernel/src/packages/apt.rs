//! Debian, Raspberry Pi OS, Ubuntu: what apt's lists have. `apt-cache` reads them; with a folder that stands for a
//! machine, this machine's `apt-cache` reads that machine's lists.

use ontick_machine::Root;
use ontick_undo::program;

use super::{ListError, Package};
use crate::command::{self, CommandError};

/// Names that real-time kernels have: Debian's `-rt-`, Raspberry Pi OS' `-rt`, Ubuntu's `realtime`.
const NAMES: &str = "^linux-(image|realtime)(-.*)?(-rt(-.*)?|realtime.*)?$";

pub fn is_there(root: &Root) -> bool {
    root.exists("/var/lib/dpkg/status")
}

pub fn list(root: &Root, release: &str) -> Result<Vec<Package>, ListError> {
    let found = ask(root, &["search", "--names-only", NAMES])?;
    let names = names(&found);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut words = vec!["policy"];
    words.extend(names.iter().map(String::as_str));
    let policies = read_policy(&ask(root, &words)?);
    // The package of the kernel that runs is another than the one that follows the newest.
    let running = (release.contains("-rt") || release.contains("realtime")) && !release.is_empty();
    Ok(policies.iter().flat_map(|policy| policy.packages(running.then_some(release))).collect())
}

/// Packages that follow the newest, and those of one kernel each: only of what is installed are the latter of interest.
fn names(found: &str) -> Vec<String> {
    let is_kernel = |name: &&str| {
        let word = |word: &str| name.split('-').any(|part| part == word);
        (word("rt") || word("realtime")) && !["dbg", "unsigned", "dbgsym"].iter().any(|end| name.ends_with(end))
    };
    found.lines().filter_map(|line| line.split_whitespace().next()).filter(is_kernel).map(str::to_owned).collect()
}

/// What apt knows of one package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// The version that is installed.
    pub installed: Option<String>,
    /// The version that apt would install.
    pub candidate: Option<String>,
    /// All versions with the suites that have them, apt's order: the highest first.
    pub versions: Vec<(String, Vec<String>)>,
}

impl Policy {
    /// `linux-image-6.1.0-50-rt-amd64` is one kernel, `linux-image-6.12-rt-amd64` follows the newest of 6.12.
    fn is_one_kernel(&self) -> bool {
        self.name
            .split(['-', '+'])
            .any(|part| part.split('.').filter(|number| number.parse::<u32>().is_ok()).count() > 2)
    }

    fn packages(&self, running: Option<&str>) -> Vec<Package> {
        let runs = running.is_some_and(|release| self.name == format!("linux-image-{release}"));
        if self.is_one_kernel() && self.installed.is_none() {
            return Vec::new();
        }
        // What apt would take, and above that what waits in suites that must be asked for by name (backports).
        let above = self.versions.iter().take_while(|(version, _)| Some(version) != self.candidate.as_ref());
        let candidate = self.versions.iter().find(|(version, _)| Some(version) == self.candidate.as_ref());
        let package = |version: &str, suite: &str, by_name: bool| Package {
            name: self.name.clone(),
            version: version.into(),
            suite: suite.into(),
            installed: self.installed.clone(),
            running: runs,
            install: match by_name {
                true => format!("apt install {}/{suite}", self.name),
                false => format!("apt install {}", self.name),
            },
        };
        let suite = |suites: &[String]| suites.first().cloned().unwrap_or_default();
        let mut found: Vec<Package> =
            candidate.map(|(version, suites)| package(version, &suite(suites), false)).into_iter().collect();
        let newest = above.filter(|(_, suites)| !suites.is_empty()).take(1);
        found.extend(newest.map(|(version, suites)| package(version, &suite(suites), true)));
        found
    }
}

/// Reads what `apt-cache policy` prints.
pub fn read_policy(text: &str) -> Vec<Policy> {
    let mut all: Vec<Policy> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_suffix(':').filter(|name| !name.starts_with(' ')) {
            all.push(Policy { name: name.to_owned(), ..Policy::default() });
            continue;
        }
        let Some(policy) = all.last_mut() else { continue };
        let known = |value: &str| (value != "(none)").then(|| value.to_owned());
        let trimmed = line.trim_start();
        let words: Vec<&str> = trimmed.trim_start_matches("*** ").split_whitespace().collect();
        if let Some(value) = trimmed.strip_prefix("Installed: ") {
            policy.installed = known(value.trim());
        } else if let Some(value) = trimmed.strip_prefix("Candidate: ") {
            policy.candidate = known(value.trim());
        } else if let [version, priority] = words[..] {
            // `     6.1.192-2 500`, `500 /var/lib/dpkg/status`
            if priority.parse::<i32>().is_ok() && version.parse::<i32>().is_err() {
                policy.versions.push((version.to_owned(), Vec::new()));
            }
        } else if let [priority, _, suite, ..] = words[..] {
            // `500 http://mirror.example/debian bookworm-backports/main amd64 Packages`
            if let (Ok(_), Some((_, suites))) = (priority.parse::<i32>(), policy.versions.last_mut()) {
                suites.push(suite.split('/').next().unwrap_or_default().to_owned());
            }
        }
    }
    all
}

fn ask(root: &Root, words: &[&str]) -> Result<String, ListError> {
    let mut command = program::command("apt-cache").map_err(|_| ListError::NoApt)?;
    if !root.is_live() {
        let folder = root.resolve("/").map_err(ListError::Folder)?;
        let architecture = architecture(root);
        let folder = folder.display();
        command.args([
            "-o",
            &format!("Dir={folder}"),
            "-o",
            &format!("Dir::State::status={folder}/var/lib/dpkg/status"),
        ]);
        // The lists of a card are only read: no cache is put there.
        command.args(["-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="]);
        command.args(architecture.iter().flat_map(|arch| ["-o".into(), format!("APT::Architecture={arch}")]));
        command.args(architecture.iter().flat_map(|arch| ["-o".into(), format!("APT::Architectures::={arch}")]));
    }
    command::output("apt-cache", command.args(words)).map_err(|error| match error {
        CommandError::Start { .. } => ListError::NoApt,
        other => ListError::Command(other),
    })
}

/// The architecture that a card's packages are for: that of its dpkg.
fn architecture(root: &Root) -> Option<String> {
    let status = root.text("/var/lib/dpkg/status").ok()?;
    let dpkg = status.split("\n\n").find(|entry| entry.lines().any(|line| line == "Package: dpkg"))?;
    dpkg.lines().find_map(|line| line.strip_prefix("Architecture: ")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POLICY: &str = "linux-image-rt-amd64:\n  Installed: (none)\n  Candidate: 6.1.176-1\n  Version table:\n     \
        6.12.95-1~bpo12+1 100\n        100 http://mirror.example/debian bookworm-backports/main amd64 Packages\n     \
        6.1.176-1 500\n        500 http://mirror.example/debian bookworm/main amd64 Packages\n\
        linux-image-6.1.0-50-rt-amd64:\n  Installed: 6.1.176-1\n  Candidate: 6.1.176-1\n  Version table:\n \
        *** 6.1.176-1 500\n        500 http://mirror.example/debian bookworm/main amd64 Packages\n        \
        100 /var/lib/dpkg/status\nlinux-image-6.1.0-47-rt-amd64:\n  Installed: (none)\n  Candidate: 6.1.170-3\n  \
        Version table:\n     6.1.170-3 500\n        500 http://mirror.example/debian bookworm/main amd64 Packages\n";

    #[test]
    fn versions_come_with_their_suites() {
        let policies = read_policy(POLICY);
        assert_eq!(policies.len(), 3);
        let meta = policies[0].packages(None);
        let of = |p: &Package| (p.version.clone(), p.suite.clone(), p.install.clone());
        let word = String::from;
        assert_eq!(of(&meta[0]), (word("6.1.176-1"), word("bookworm"), word("apt install linux-image-rt-amd64")));
        assert_eq!(meta[1].install, "apt install linux-image-rt-amd64/bookworm-backports");
        assert_eq!(meta.len(), 2);
        let one = policies[1].packages(Some("6.1.0-50-rt-amd64"));
        assert_eq!((one.len(), one[0].running, one[0].installed.as_deref()), (1, true, Some("6.1.176-1")));
        assert_eq!(policies[2].packages(None), []);
    }

    #[test]
    fn names_of_real_time_kernels_are_reported_from_others() {
        let found = "linux-image-rt-amd64 - x\nlinux-image-rt-amd64-dbg - x\nlinux-image-6.12-rt-amd64 - x\n\
            linux-image-rpi-v8-rt - y\nlinux-image-amd64 - z\nlinux-image-realtime - u\nlinux-realtime - u\n\
            linux-image-6.1.0-50-rt-amd64-unsigned - x\n";
        let expected = [
            "linux-image-rt-amd64",
            "linux-image-6.12-rt-amd64",
            "linux-image-rpi-v8-rt",
            "linux-image-realtime",
            "linux-realtime",
        ];
        assert_eq!(names(found), expected);
        let one = |name: &str| Policy { name: name.into(), ..Policy::default() }.is_one_kernel();
        assert!(one("linux-image-6.1.0-50-rt-amd64") && one("linux-image-6.12.47+rpt-rpi-v8-rt"));
        assert!(!one("linux-image-6.12-rt-amd64") && !one("linux-image-rpi-v8-rt"));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "([a-z]{0,4}:|  (Installed|Candidate): .{0,6}|[ *]{0,9}[0-9a-z./ ]{0,20}|.{0,9}\n){0,9}") {
            for policy in read_policy(&text) {
                let _ = policy.packages(Some("x-rt"));
            }
        }
    }
}
