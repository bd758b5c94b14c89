//! The links of a network that was run, in their first cycle.

use std::collections::BTreeMap;

use ontick_record::network::NetworkProof;
use ontick_units::exact;

use super::gantt::{Bar, Gantt, Row};

/// The frames of the first cycle over the gates. Streams have the colours that they have in the picture of their plan.
pub(crate) fn picture(of: &NetworkProof) -> Gantt {
    let mut streams: Vec<&str> = of.streams.iter().map(|stream| stream.name.as_str()).collect();
    streams.dedup();
    let mut legend: BTreeMap<usize, String> = BTreeMap::new();
    let mut rows = Vec::new();
    for link in &of.links {
        let mut bars = Vec::new();
        for (stream, begin_ns, end_ns) in &link.frames {
            let name = stream.and_then(|stream| link.names.get(stream as usize));
            let colour = name.map(|name| {
                let place = streams.iter().position(|known| known == name).unwrap_or_else(|| {
                    streams.push(name);
                    streams.len() - 1
                });
                legend.insert(place, name.clone());
                place
            });
            let words = name.map_or("best effort", String::as_str);
            bars.push(Bar {
                begin_ns: *begin_ns,
                end_ns: (*end_ns).min(of.cycle_ns),
                colour: colour.unwrap_or(0),
                name: format!("{words}: {} to {}", exact(*begin_ns), exact(*end_ns)),
                waits: colour.is_none(),
            });
        }
        rows.push(Row { name: link.name.clone(), bars, windows: link.windows.clone(), ..Row::default() });
    }
    Gantt {
        title: "Frames on links, over the gates of streams".into(),
        about: format!("the first cycle, {}; gates for streams are open where a row is shaded", exact(of.cycle_ns)),
        span_ns: of.cycle_ns,
        legend: legend.into_iter().collect(),
        thin: "best effort".into(),
        rows,
        ..Gantt::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::network::{DrawnLink, ProvenStream};

    #[test]
    fn frames_are_bars_over_windows() {
        let link = DrawnLink {
            name: "a>s".into(),
            windows: vec![(0, 50)],
            frames: vec![(Some(0), 5, 40), (None, 60, 90)],
            names: vec!["near".into()],
        };
        let proof = NetworkProof { links: vec![link], cycle_ns: 100, ..NetworkProof::default() };
        let drawn = picture(&proof);
        assert_eq!(drawn.legend, [(0, "near".to_owned())]);
        assert_eq!(drawn.rows[0].windows, [(0, 50)]);
        assert_eq!(drawn.rows[0].bars.iter().map(|bar| bar.waits).collect::<Vec<_>>(), [false, true]);
        // The third stream of the network has the third colour, though the others have no frame here.
        let stream = |name: &str| ProvenStream { name: name.into(), ..ProvenStream::default() };
        let streams = ["far", "far", "other", "near"].map(stream).to_vec();
        let drawn = picture(&NetworkProof { streams, ..proof });
        assert_eq!((drawn.legend, drawn.rows[0].bars[0].colour), (vec![(2, "near".to_owned())], 2));
    }
}
