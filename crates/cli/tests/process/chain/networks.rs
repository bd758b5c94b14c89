//! Networks as a person would write them; the interface of A that leads to B is called A-B.

/// A file with these switches, cables between two nodes, and streams (name, talker, listeners).
fn network(switches: usize, stations: usize, cables: &[(&str, &str)], streams: &[(&str, &str, &[&str])]) -> String {
    let mut text = String::from("[network]\nrate = \"1Gbit\"\n");
    (1..=switches).for_each(|n| text += &format!("\n[[switch]]\nname = \"s{n}\"\n"));
    (1..=stations).for_each(|n| text += &format!("\n[[station]]\nname = \"h{n}\"\n"));
    for (place, (a, b)) in cables.iter().enumerate() {
        // A second cable between the same nodes has interfaces of its own.
        let again = if cables[..place].contains(&(*a, *b)) { "x" } else { "" };
        text +=
            &format!("\n[[link]]\nbetween = [\"{a}\", \"{b}\"]\nports = [\"{a}-{b}{again}\", \"{b}-{a}{again}\"]\n");
    }
    for (name, talker, listeners) in streams {
        text += &format!(
            "\n[[stream]]\nname = \"{name}\"\nfrom = \"{talker}\"\nto = {listeners:?}\nsize = 200\nperiod = \"2ms\"\n"
        );
    }
    text
}

/// Two stations at the ends of a line of switches.
pub fn line(switches: usize) -> String {
    let names: Vec<String> = (1..=switches).map(|n| format!("s{n}")).collect();
    let mut cables: Vec<(&str, &str)> = names.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    cables.extend([("h1", "s1"), ("h2", names[switches - 1].as_str())]);
    network(switches, 2, &cables, &[("there", "h1", &["h2"]), ("back", "h2", &["h1"]), ("more", "h1", &["h2"])])
}

/// Four stations at one switch.
pub fn star() -> String {
    let cables = [("h1", "s1"), ("h2", "s1"), ("h3", "s1"), ("h4", "s1")];
    network(1, 4, &cables, &[("all", "h1", &["h2", "h3", "h4"]), ("a", "h2", &["h1"]), ("b", "h3", &["h1"])])
}

const RING: [(&str, &str); 8] =
    [("s1", "s2"), ("s2", "s3"), ("s3", "s4"), ("s4", "s1"), ("h1", "s1"), ("h2", "s2"), ("h3", "s3"), ("h4", "s4")];

/// Streams between neighbours, one of them over the cable that no tree has, and one to all.
const AROUND: [(&str, &str, &[&str]); 5] = [
    ("first", "h1", &["h2"]),
    ("second", "h2", &["h3"]),
    ("third", "h3", &["h4"]),
    ("last", "h4", &["h3"]),
    ("all", "h1", &["h2", "h3", "h4"]),
];

/// Four switches in a ring, a station at each.
pub fn ring() -> String {
    network(4, 4, &RING, &AROUND)
}

/// Each switch joined with each.
pub fn mesh() -> String {
    network(4, 4, &[&RING[..], &[("s1", "s3"), ("s2", "s4")]].concat(), &AROUND)
}

/// Two switches joined twice.
pub fn two_cables() -> String {
    let cables = [("s1", "s2"), ("s1", "s2"), ("h1", "s1"), ("h2", "s2")];
    network(2, 2, &cables, &[("there", "h1", &["h2"]), ("back", "h2", &["h1"])])
}

/// Two stations at each of two switches that are joined by so many cables, and more streams than one cable has room for
/// if windows are wide.
pub fn more_than_one_cable_carries(cables: usize) -> String {
    let joined = std::iter::repeat_n(("s1", "s2"), cables);
    let cables: Vec<_> = joined.chain([("h1", "s1"), ("h3", "s1"), ("h2", "s2"), ("h4", "s2")]).collect();
    let streams: [(&str, &str, &[&str]); 6] = [
        ("a1", "h1", &["h2"]),
        ("a2", "h1", &["h2"]),
        ("a3", "h1", &["h2"]),
        ("b1", "h3", &["h4"]),
        ("b2", "h3", &["h4"]),
        ("b3", "h3", &["h4"]),
    ];
    network(2, 4, &cables, &streams)
}
