//! What the ends of a link say.

use ontick_gpio::{Backend, Name};
use ontick_link::frame::Damage;
use ontick_link::stream::Number;
use ontick_link::transfer::{Reception, Sent, Warning};

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
    let again = if repeated > 0 { format!(", {repeated} of them again") } else { String::new() };
    format!("sent {bytes} bytes in {frames} frames{again}{end}{}", note(lines))
}

pub fn got(got: &Reception, lines: &[Option<&Name>]) -> String {
    let counts = [
        (got.damaged, "damaged"),
        (got.missing, "missing"),
        (got.foreign, "of another stream"),
        (got.noise, "times noise"),
    ];
    let counts: String = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {n} {what}")).collect();
    let mended = if got.mended > 0 { format!(", {} blocks replaced by parity", got.mended) } else { String::new() };
    let end = match (got.began, got.ended) {
        (_, true) => "",
        (true, false) => "; the end never came: the sender fell silent, or this was ended",
        (false, false) if got.damaged + got.noise > 0 => {
            "; nothing came that could be read (do both ends have the same --code, --short and --step?)"
        }
        (false, false) => "; nothing came that could be read",
    };
    format!("received {} bytes in {} frames{counts}{mended}{end}{}", got.bytes, got.frames, note(lines))
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
