//! Whether the machine itself is reached by a port.

use std::fs;

/// Interfaces that the machine's own default routes leave by, in this network namespace.
pub(super) fn defaults() -> Vec<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut names = of_ipv4(&read("/proc/thread-self/net/route"));
    names.extend(of_ipv6(&read("/proc/thread-self/net/ipv6_route")));
    names
}

/// Interface, destination, gateway, flags, …: the default's destination and mask are 0.
fn of_ipv4(table: &str) -> Vec<String> {
    let default = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(1) == Some(&"00000000") && words.get(7) == Some(&"00000000")).then(|| words[0].to_owned())
    };
    table.lines().filter_map(default).collect()
}

/// Destination, its length, …, interface: the default's length is 0; those of `lo` are there to refuse.
fn of_ipv6(table: &str) -> Vec<String> {
    let default = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(1) == Some(&"00") && words.len() >= 10 && words[9] != "lo").then(|| words[9].to_owned())
    };
    table.lines().filter_map(default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_routes_of_both_kinds() {
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                     eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                     eth1\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        assert_eq!(of_ipv4(table), ["eth0"]);
        let zero = "00000000000000000000000000000000";
        let line = |length: &str, name: &str| {
            format!("{zero} {length} {zero} 00 {zero} 00000400 00000001 00000000 00000003 {name}\n")
        };
        assert_eq!(of_ipv6(&(line("00", "eth0") + &line("40", "eth1") + &line("00", "lo"))), ["eth0"]);
        assert_eq!(of_ipv4("x\n\n"), [""; 0]);
    }
}
