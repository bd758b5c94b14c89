//! Why there can be no more pulses, or none that anybody sees.

use ontick_gpio::{Gone, Name};

use super::{Job, Method};
use crate::Error;
use crate::kmod::Undisturbed;

/// A line on which so many pulses in a row were not seen, for so long in ns, shows none.
const BLIND: (u64, u64) = (50, 3_000_000_000);

/// Why a train ends before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A line or device stopped answering.
    Gone(Gone),
    /// So many pulses in a row were not seen.
    Unseen(u64),
}

impl Ending {
    /// Whether nobody sees the pulses: so many were made since the last that was seen, so long ago.
    pub fn if_blind(unseen: u64, for_ns: u64) -> Option<Self> {
        let (pulses, longest_ns) = BLIND;
        (unseen > pulses && for_ns > longest_ns).then_some(Ending::Unseen(unseen))
    }

    pub fn explain(self, job: &Job) -> Error {
        let made_on = || job.method.hardware().unwrap_or_else(|| format!("line {}", job.line));
        match (self, &job.watched_line) {
            (Ending::Gone(gone), None) => Error::Gone { line: job.line.clone(), gone },
            (Ending::Gone(gone), Some(_)) => {
                Error::Impossible(format!("{} or the line that watches it: {gone}", made_on()))
            }
            (Ending::Unseen(count), watched_line) => {
                let line: &Name = watched_line.as_ref().unwrap_or(&job.line);
                Error::Impossible(format!(
                    "line {line} showed none of the last {count} pulses of {} (is it joined to it? or {})",
                    made_on(),
                    why_unseen(&job.method)
                ))
            }
        }
    }
}

fn why_unseen(method: &Method) -> &'static str {
    match method {
        Method::Kernel(_, Undisturbed::Interrupts) => {
            "its interrupt is on the CPU that has interrupts off meanwhile: move it (/proc/irq/N/smp_affinity_list), choose another CPU, or measure without an input"
        }
        _ => "they are too short for it: try a longer width",
    }
}
