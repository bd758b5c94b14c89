//! The named mixes, as stress-ng command lines.

/// Their names.
pub const NAMES: [&str; 7] = ["cpu", "memory", "io", "fork", "net", "cpu+net", "all"];

/// The command of a mix. Workers run until they are ended, with little enough memory and disk for a
/// small board.
pub fn command(name: &str) -> Vec<String> {
    let cpus = ontick_rt::cpus::online().len().to_string();
    let (cpu, memory, io, fork, net) = (
        ["--cpu", &cpus],
        ["--vm", "1", "--vm-bytes", "64m"],
        ["--hdd", "1", "--hdd-bytes", "32m", "--io", "1"],
        ["--fork", "1"],
        ["--sockpair", "1", "--udp", "1"],
    );
    let mut words = vec!["stress-ng", "--quiet", "--timeout", "0", "--temp-path", "."];
    let wanted = |part| name == "all" || name.split('+').any(|name| name == part);
    let parts: [(&str, &[&str]); 5] = [("cpu", &cpu), ("memory", &memory), ("io", &io), ("fork", &fork), ("net", &net)];
    for (part, options) in parts {
        if wanted(part) {
            words.extend(options);
        }
    }
    words.into_iter().map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mix_names_a_worker() {
        let bare = command("").len();
        for name in NAMES {
            assert!(command(name).len() > bare, "{name}");
        }
        assert_eq!(command("cpu+net").len(), command("cpu").len() + command("net").len() - bare);
        assert_eq!(command("all").iter().filter(|word| word.starts_with("--")).count() - 3, 9);
    }
}
