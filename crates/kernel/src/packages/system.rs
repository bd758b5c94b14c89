//! What is known of systems beside what their package lists say.

use ontick_machine::Root;

use super::Package;

/// A system, as far as its real-time kernels differ from others'.
pub struct System {
    id: String,
    codename: String,
    pi_archive: bool,
    arm64: bool,
}

impl System {
    pub fn detect(root: &Root) -> Self {
        let release = root.text("/etc/os-release").unwrap_or_default();
        let value = |name: &str| {
            let found = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            found.unwrap_or_default().trim_matches('"').to_owned()
        };
        let lists = [root.list("/etc/apt/sources.list.d"), root.list("/var/lib/apt/lists")].concat();
        Self {
            id: value("ID"),
            codename: value("VERSION_CODENAME"),
            pi_archive: lists.iter().any(|name| name.contains("raspi") || name.contains("raspberrypi")),
            arm64: root.exists("/lib/ld-linux-aarch64.so.1"),
        }
    }

    /// What to know before installing, and where to look if nothing was found.
    pub fn notes(&self, packages: &[Package], manager: &str) -> Vec<String> {
        let has = |word: &str| packages.iter().any(|package| package.name.contains(word));
        let mut notes: Vec<String> = Vec::new();
        let mut note = |words: &str| notes.push(words.to_owned());
        if has("rpi-v8-rt") {
            note(
                "linux-image-rpi-v8-rt serves Raspberry Pi 3, 4, 5 and Zero 2 with a 64-bit system; the firmware starts \
                 it when config.txt says kernel=kernel8_rt.img, and the usual kernel again when that line is gone",
            );
        }
        if self.pi_archive && !has("rpi-v8-rt") {
            note(match self.arm64 {
                true => "Raspberry Pi OS has linux-image-rpi-v8-rt (Debian 12 and 13): run apt update",
                false => "Raspberry Pi OS has a real-time kernel for 64-bit systems only (linux-image-rpi-v8-rt)",
            });
        }
        if self.id == "debian" && !self.pi_archive && packages.is_empty() {
            note("Debian has linux-image-rt-amd64, -rt-arm64 and -rt-armmp: run apt update");
        }
        let has_6_12 = packages.iter().any(|package| package.version.starts_with("6.12"));
        if self.id == "debian" && self.codename == "bookworm" && !has_6_12 && !self.pi_archive {
            note(
                "Debian 12 has kernel 6.12, also real-time, in bookworm-backports, which is not among the apt sources",
            );
        }
        if self.id == "ubuntu" && packages.is_empty() {
            note(
                "Ubuntu's LTS releases have a real-time kernel in Ubuntu Pro: pro attach, then pro enable realtime-kernel",
            );
        }
        if self.id == "fedora" && packages.is_empty() {
            note(
                "Fedora's own repositories have no kernel-rt; its relatives (CentOS Stream, RHEL) have one in a repository called rt",
            );
        }
        if manager.is_empty() {
            note("this system's package manager is not known here: whether it has a real-time kernel was not asked");
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(os_release: &str, files: &[&str], packages: &[Package]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files.iter().map(|path| (*path, "")).chain([("etc/os-release", os_release)]) {
            let place = folder.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        }
        System::detect(&Root::at(folder.path()).unwrap()).notes(packages, "apt").join("\n")
    }

    #[test]
    fn each_system_has_its_own_words() {
        let debian = "ID=debian\nVERSION_CODENAME=bookworm\n";
        assert!(notes(debian, &[], &[]).contains("bookworm-backports"));
        let new = Package { name: "linux-image-6.12-rt-amd64".into(), version: "6.12.1".into(), ..Package::default() };
        assert_eq!(notes(debian, &[], &[new]), "");
        let pi = ["etc/apt/sources.list.d/raspi.list"];
        assert!(notes(debian, &pi, &[]).contains("64-bit systems only"));
        assert!(notes(debian, &[pi[0], "lib/ld-linux-aarch64.so.1"], &[]).contains("run apt update"));
        let rt = Package { name: "linux-image-rpi-v8-rt".into(), ..Package::default() };
        assert!(notes(debian, &pi, &[rt]).contains("kernel=kernel8_rt.img"));
        assert!(notes("ID=ubuntu\n", &[], &[]).contains("pro enable realtime-kernel"));
    }
}
