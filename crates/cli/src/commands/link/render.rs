//! What the ends of a link say.

use ontick_gpio::{Backend, Name};
use ontick_link::frame::Damage;
use ontick_link::stream::Number;
use ontick_link::transfer::{Reception, Sent, Warning};
use ontick_units::{count, counted};

/// What is said beside figures where any line is simulated.
pub fn note(lines: &[Option<&Name>]) -> &'static str {
    let simulated = lines.iter().flatten().any(|name| matches!(name, Name::Sim { .. }));
    if simulated { crate::commands::gpio::note(Backend::Simulated.name()) } else { "" }
}

pub fn sent(sent: &Sent, returns: bool, lines: &[Option<&Name>]) -> String {
    let Sent { bytes, frames, repeated, complete, unanswered } = *sent;
    let end = match (complete, unanswered, returns) {
        (true, _, true) => "; all of it arrived",
        (true, _, false) => "",
        (false, true, _) => "; given up, as nobody answers (is the receiver running, with the same code?)",
        (false, false, _) => "; ended before everything was sent",
    };
    let again = if repeated > 0 { format!(", {} of them again", count(repeated)) } else { String::new() };
    format!("sent {} in {}{again}{end}{}", counted(bytes, "byte"), counted(frames, "frame"), note(lines))
}

pub fn got(got: &Reception, lines: &[Option<&Name>]) -> String {
    let counts = [
        (got.damaged, "damaged"),
        (got.missing, "missing"),
        (got.foreign, "of another stream"),
        (got.noise, "times noise"),
    ];
    let counts: String =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {} {what}", count(*n))).collect();
    let mended =
        if got.mended > 0 { format!(", {} replaced by parity", counted(got.mended, "block")) } else { String::new() };
    let end = match (got.began, got.ended) {
        (_, true) => "",
        (true, false) => "; the end never came: the sender fell silent, or this was ended",
        (false, false) if got.foreign > 0 => "; that stream began before this receiver: start both ends anew",
        (false, false) if got.damaged + got.noise > 0 => {
            "; nothing came that could be read (do both ends have the same --code, --short and --step?)"
        }
        (false, false) => "; nothing came that could be read",
    };
    format!(
        "received {} in {}{counts}{mended}{end}{}",
        counted(got.bytes, "byte"),
        counted(got.frames, "frame"),
        note(lines)
    )
}

pub fn warning(warning: Warning) -> String {
    match warning {
        Warning::Missing(first, 1) => format!("frame {first} is missing"),
        Warning::Missing(first, count) => format!("frames {first} to {} are missing", first + count - 1),
        Warning::Damaged(damage) => match damage.number().map(|number| Number::of(number).index) {
            None => "a frame is damaged beyond its number".into(),
            Some(index) => match damage {
                Damage::Missing { came, wanted, .. } => {
                    format!("frame {index} is damaged: {came} of its {wanted} blocks came")
                }
                _ => format!("frame {index} is damaged"),
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_and_one_frame_is_no_frames() {
        let of = |bytes, frames| {
            let sent = Sent { bytes, frames, repeated: 0, complete: true, unanswered: false };
            super::sent(&sent, false, &[])
        };
        assert_eq!([of(1, 1), of(4096, 20)], ["sent 1 byte in 1 frame", "sent 4 096 bytes in 20 frames"]);
    }

    #[test]
    fn frames_of_another_stream_could_be_read() {
        let another = Reception { frames: 3, foreign: 3, damaged: 1, ..Reception::default() };
        assert_eq!(
            got(&another, &[]),
            "received 0 bytes in 3 frames, 1 damaged, 3 of another stream; that stream began before this receiver: \
             start both ends anew"
        );
        let nothing = Reception { noise: 2, ..Reception::default() };
        assert!(got(&nothing, &[]).contains("; nothing came that could be read (do both ends"));
    }
}
