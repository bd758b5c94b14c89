//! Who is at the other end of each cable, for people.

use ontick_record::network_check::{CableEnd, CableVerdict, CheckedPort, Neighbour, NetworkCheck};
use ontick_report::{Style, printable, text::fitted};

/// Columns are not cut below this; rather is the line too long.
const NARROWEST: usize = 8;
const GAP: &str = "  ";

/// Tables of ports, and below them what differs.
pub fn text(check: &NetworkCheck, style: &Style) -> String {
    let mut text = String::new();
    for node in &check.nodes {
        text += &format!("{}  {}\n\n{}\n", node.node, counts(&node.ports), table(&node.ports, style));
    }
    if !check.unplanned.is_empty() {
        text += &format!("ports without a cable in the file\n\n{}\n", table(&check.unplanned, style));
    }
    let ports = check.nodes.iter().flat_map(|node| &node.ports).chain(&check.unplanned);
    for port in ports {
        let Some(difference) = &port.difference else { continue };
        let at = port.port.as_ref().map(|port| format!("{port}: ")).unwrap_or_default();
        text += &fitted(&format!("differs  {at}{}\n", printable(difference)), style);
    }
    text.trim_end().to_owned() + "\n"
}

fn counts(ports: &[CheckedPort]) -> String {
    let planned = ports.iter().filter(|port| port.verdict == CableVerdict::AsPlanned).count();
    let all = match ports.len() {
        1 => "1 cable".into(),
        n => format!("{n} cables"),
    };
    match ports.len() - planned {
        0 if planned == 0 => "no cable in the file".into(),
        0 => format!("{all} as planned"),
        _ => format!("{all}, {planned} as planned"),
    }
}

/// A row for each port, cut to the width; the sentences below have the names in full.
fn table(ports: &[CheckedPort], style: &Style) -> String {
    let heads = ["port", "planned", "heard", "age", ""].map(str::to_owned);
    let rows: Vec<[String; 5]> = [heads].into_iter().chain(ports.iter().map(row)).collect();
    let mut widths = [0, 1, 2, 3, 4].map(|column| rows.iter().map(|row| length(&row[column])).max().unwrap_or(0));
    let used = widths.iter().map(|width| GAP.len() + width).sum::<usize>();
    let mut over = used.saturating_sub(style.width);
    // Names of nodes are what may be long: the longer of the two columns gives way.
    while over > 0 && widths[1].max(widths[2]) > NARROWEST {
        widths[if widths[1] > widths[2] { 1 } else { 2 }] -= 1;
        over -= 1;
    }
    let line = |row: &[String; 5]| {
        let cell = |(column, cell): (usize, &String)| {
            let (cell, width) = (cut(cell, widths[column]), widths[column]);
            match column {
                3 => format!("{GAP}{cell:>width$}"),
                _ => format!("{GAP}{cell:<width$}"),
            }
        };
        row.iter().enumerate().map(cell).collect::<String>().trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

fn row(port: &CheckedPort) -> [String; 5] {
    let end = |end: &CableEnd| format!("{} {}", end.node, end.port.as_deref().unwrap_or_default()).trim().to_owned();
    let heard = match &port.heard[..] {
        [] => String::new(),
        [one] => neighbour(one),
        several => format!("{} neighbours", several.len()),
    };
    let age = match &port.heard[..] {
        [one] => one.age_s.map(age).unwrap_or_default(),
        _ => String::new(),
    };
    let nowhere = || "-".to_owned();
    [
        port.port.clone().unwrap_or_else(nowhere),
        port.planned.as_ref().map_or_else(nowhere, end),
        heard,
        age,
        verdict(port.verdict).into(),
    ]
}

fn neighbour(one: &Neighbour) -> String {
    let chassis = one.chassis.as_ref().map(|id| id.value.as_str());
    let name = one.node.as_deref().or(one.system_name.as_deref()).or(chassis).unwrap_or("?");
    let by_name = one.port.as_ref().filter(|id| id.subtype == "ifname").map(|id| id.value.as_str());
    let port = by_name.or(one.port_description.as_deref()).unwrap_or_default();
    printable(format!("{name} {port}").trim())
}

fn age(seconds: u64) -> String {
    match seconds {
        0..100 => format!("{seconds}s"),
        100..6_000 => format!("{}m", seconds / 60),
        6_000..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn verdict(verdict: CableVerdict) -> &'static str {
    match verdict {
        CableVerdict::AsPlanned => "as planned",
        CableVerdict::OtherNode => "another node",
        CableVerdict::OtherPort => "another port",
        CableVerdict::Several => "several",
        CableVerdict::Shared => "heard twice",
        CableVerdict::Silent => "nobody heard",
        CableVerdict::LinkDown => "link down",
        CableVerdict::NotListening => "not listening",
        CableVerdict::Unplanned => "not planned",
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn cut(text: &str, to: usize) -> String {
    match length(text) <= to {
        true => text.into(),
        false => text.chars().take(to.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use ontick_record::network_check::{CheckedNode, Identifier, SCHEMA};

    use super::*;

    fn port(port: &str, planned: Option<&str>, verdict: CableVerdict, heard: &[&str]) -> CheckedPort {
        let neighbour = |name: &&str| Neighbour {
            node: None,
            system_name: Some(name.to_string()),
            chassis: None,
            port: Some(Identifier { subtype: "mac".into(), value: "00:01:02:03:04:05".into() }),
            port_description: Some("eth0".into()),
            age_s: Some(7_300),
            belongs_at: None,
        };
        CheckedPort {
            port: Some(port.into()),
            planned: planned.map(|node| CableEnd { node: node.into(), port: Some("eth0".into()) }),
            verdict,
            heard: heard.iter().map(neighbour).collect(),
            heard_also_at: Vec::new(),
            difference: (verdict != CableVerdict::AsPlanned).then(|| format!("why {}", heard.join(", "))),
        }
    }

    fn check(ports: Vec<CheckedPort>, unplanned: Vec<CheckedPort>) -> NetworkCheck {
        let nodes = vec![CheckedNode { node: "s1".into(), ports }];
        NetworkCheck { schema: SCHEMA.into(), as_planned: false, nodes, unplanned }
    }

    #[test]
    fn a_row_for_each_cable_and_a_sentence_for_what_differs() {
        let ports = vec![
            port("p1", Some("camera"), CableVerdict::AsPlanned, &["camera"]),
            port("p2", Some("controller"), CableVerdict::Silent, &[]),
            port("p3", Some("drive"), CableVerdict::Several, &["drive", "printer"]),
        ];
        let unplanned = vec![port("p9", None, CableVerdict::Unplanned, &["hmi"])];
        let expected = "s1  3 cables, 1 as planned\n\n\
            \x20 port  planned          heard         age\n\
            \x20 p1    camera eth0      camera eth0    2h  as planned\n\
            \x20 p2    controller eth0                     nobody heard\n\
            \x20 p3    drive eth0       2 neighbours       several\n\n\
            ports without a cable in the file\n\n\
            \x20 port  planned  heard     age\n\
            \x20 p9    -        hmi eth0   2h  not planned\n\n\
            differs  p2: why \n\
            differs  p3: why drive, printer\n\
            differs  p9: why hmi\n";
        assert_eq!(text(&check(ports, unplanned), &Style::default()), expected);
    }

    #[test]
    fn a_neighbours_name_steers_no_terminal_and_breaks_no_line() {
        let name = format!("\x1b[2J\nforged  as planned{}", "x".repeat(250));
        let text = text(
            &check(vec![port("p1", Some("camera"), CableVerdict::OtherNode, &[&name])], vec![]),
            &Style::default(),
        );
        assert!(!text.contains('\x1b') && !text.lines().any(|line| line.starts_with("forged")), "{text}");
        let table: Vec<&str> = text.lines().skip(2).take(2).collect();
        assert!(table.iter().all(|line| length(line) <= 80), "{text}");
        assert!(table[1].ends_with("…   2h  another node"), "{text}");
    }

    #[test]
    fn all_as_planned_is_one_table() {
        let ports = vec![port("p1", Some("camera"), CableVerdict::AsPlanned, &["camera"])];
        let text = text(&check(ports, vec![]), &Style::default());
        assert!(text.starts_with("s1  1 cable as planned\n\n") && text.ends_with("  2h  as planned\n"), "{text}");
        assert_eq!([99, 100, 5_999, 6_000, 172_800].map(age), ["99s", "1m", "99m", "1h", "2d"]);
    }
}
