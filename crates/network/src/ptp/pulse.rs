//! What a clock that has its time by a pulse each second is worth to others.

use ontick_tsn::network::{Pulse, PulseSource};

/// Accuracies of a clock, in ns, from 0x20 on (IEEE 1588-2019 table 5).
const ACCURACIES: [u64; 16] = [
    25,
    100,
    250,
    1_000,
    2_500,
    10_000,
    25_000,
    100_000,
    250_000,
    1_000_000,
    2_500_000,
    10_000_000,
    25_000_000,
    100_000_000,
    250_000_000,
    1_000_000_000,
];
const FIRST_ACCURACY: usize = 0x20;
const UNKNOWN_ACCURACY: usize = 0xfe;

/// What ptp4l announces of a clock that has its time by a pulse: its settings and why they are so.
pub fn announced(pulse: &Pulse) -> (&'static str, [(&'static str, String); 4]) {
    let accuracy = pulse.accuracy_ns.and_then(|ns| ACCURACIES.iter().position(|least| ns <= *least));
    let accuracy = accuracy.map_or(UNKNOWN_ACCURACY, |place| FIRST_ACCURACY + place);
    // Classes of table 4, sources of table 6.
    let (why, class, source) = match pulse.source {
        PulseSource::Nmea(_) => {
            ("In step with a primary reference (class 6), by satellites (0x20); it follows nobody else.", "6", "0x20")
        }
        PulseSource::Generic => (
            "By a pulse of which nothing more is known (class 248, source 0x90: other); it follows nobody else.",
            "248",
            "0x90",
        ),
    };
    let settings = [
        ("clockClass", class.to_owned()),
        ("clockAccuracy", format!("{accuracy:#04x}")),
        ("timeSource", source.to_owned()),
        // ptp4l would steer the card's clock, which ts2phc does.
        ("masterOnly", "1".to_owned()),
    ];
    (why, settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracies_are_the_next_worse_of_the_standard() {
        let announced = |accuracy_ns| {
            let (source, interface) = (PulseSource::Generic, None);
            let pulse = Pulse { source, interface, pin: 0, channel: 0, accuracy_ns: Some(accuracy_ns) };
            announced(&pulse).1[1].1.clone()
        };
        assert_eq!(
            [25, 26, 1_000, 1_001, 1_000_000_000].map(announced),
            ["0x20", "0x21", "0x23", "0x24", "0x2f"].map(str::to_owned)
        );
    }
}
