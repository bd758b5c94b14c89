//! What a data plane needs of a window beyond the time that frames take on the wire.
//!
//! One model for all who ask: the planner makes windows as long as it says, the validator and the check hold windows
//! against it, and the core of the user data plane reckons by it with what it has measured itself.

use serde::{Deserialize, Serialize};

use crate::message::MessageTime;

/// How exactly a data plane sends. All times are in ns.
///
/// ```
/// use ontick_tsn::egress::{DataPlane, EgressTiming};
/// let user = DataPlane::User.defaults();
/// // 1.136 us on the wire, and what the plane needs: less than 5 us.
/// assert_eq!(user.window_ns(1_136), 1_136 + user.margin_ns());
/// assert!(user.window_ns(1_136) <= 5_000);
/// assert_eq!(EgressTiming::IDEAL.window_ns(1_136), 1_136);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EgressTiming {
    /// From the opening of a gate until the first bit of a frame that waits for it is on the link, usually.
    pub hand_over_ns: u64,
    /// How much longer that may take.
    pub spread_ns: u64,
    /// From the hand-over of one frame to that of the next, at least: frames shorter than that have gaps between them.
    pub spacing_ns: u64,
    /// Left free before a gate closes.
    pub guard_ns: u64,
    /// By how much the plane's clock may differ from the node's, either way.
    pub clock_error_ns: u64,
    /// From the last bit of a frame at one port until it waits at another, at most.
    pub forwarding_ns: u64,
}

impl EgressTiming {
    /// What needs nothing: the model of IEEE 802.1Q.
    pub const IDEAL: Self =
        Self { hand_over_ns: 0, spread_ns: 0, spacing_ns: 0, guard_ns: 0, clock_error_ns: 0, forwarding_ns: 0 };

    /// From the opening of a gate until the first bit is on the link, at most.
    #[inline]
    pub fn latest_ns(&self) -> u64 {
        self.hand_over_ns + self.spread_ns
    }

    /// What each window has beyond the time of its frames.
    #[inline]
    pub fn margin_ns(&self) -> u64 {
        self.latest_ns() + self.guard_ns
    }

    /// The shortest window that carries a frame of this wire time.
    #[inline]
    pub fn window_ns(&self, frame_ns: u64) -> u64 {
        frame_ns.saturating_add(self.margin_ns())
    }

    /// Whether a window of this length carries a frame of this wire time.
    #[inline]
    pub fn fits(&self, frame_ns: u64, window_ns: u64) -> bool {
        self.window_ns(frame_ns) <= window_ns
    }

    /// Until when a window must be open that is to carry a frame: one that is handed over now, on a link that is free
    /// from then on.
    #[inline]
    pub fn ends_ns(&self, now_ns: u64, free_ns: u64, frame_ns: u64) -> u64 {
        free_ns.max(now_ns + self.latest_ns()) + frame_ns + self.guard_ns
    }

    /// A frame's part of a window in which others follow it.
    #[inline]
    pub fn spaced_ns(&self, frame_ns: u64) -> u64 {
        frame_ns.max(self.spacing_ns)
    }

    /// The shortest window that carries all frames of a message that wait when it opens.
    pub fn message_ns(&self, message: MessageTime) -> u64 {
        let before_ns = u64::from(message.frames - 1) * self.spaced_ns(message.first_ns);
        self.lasts_ns(self.latest_ns().saturating_add(before_ns), message.last_ns)
    }

    /// How long a window lasts whose last frame begins so long after its opening at the latest: until that frame has
    /// left, and until the next window may open, as the first frame of that one begins no sooner than a spacing later.
    #[inline]
    pub fn lasts_ns(&self, begins_ns: u64, frame_ns: u64) -> u64 {
        let paced_ns = begins_ns.saturating_add(self.spacing_ns).saturating_sub(self.latest_ns());
        begins_ns.saturating_add(frame_ns + self.guard_ns).max(paced_ns)
    }

    /// Whether every time is such that sums cannot run over, and such as a data plane may have.
    pub fn is_sane(&self) -> bool {
        let Self { hand_over_ns, spread_ns, spacing_ns, guard_ns, clock_error_ns, forwarding_ns } = *self;
        let times = [hand_over_ns, spread_ns, spacing_ns, guard_ns, clock_error_ns, forwarding_ns];
        times.into_iter().all(|ns| ns <= 1_000_000_000)
    }

    /// The longest frame that fits into a window, by its wire time; nothing where none does.
    pub fn longest_frame_ns(&self, window_ns: u64) -> Option<u64> {
        window_ns.checked_sub(self.margin_ns()).filter(|ns| *ns > 0)
    }
}

/// Kinds of data planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataPlane {
    /// A dedicated core.
    User,
    /// The kernel's taprio in software.
    Kernel,
    /// A port that opens and closes gates by itself.
    Hardware,
}

impl DataPlane {
    /// As it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            DataPlane::User => "user",
            DataPlane::Kernel => "kernel",
            DataPlane::Hardware => "hardware",
        }
    }

    /// What to reckon with where nothing was measured: assumptions, not promises.
    pub const fn defaults(self) -> EgressTiming {
        match self {
            // A core of its own, packet sockets, virtual Ethernet: the first frame after an opening, p50 and p99.
            DataPlane::User => EgressTiming {
                hand_over_ns: 700,
                spread_ns: 2_300,
                spacing_ns: 2_000,
                guard_ns: 500,
                clock_error_ns: 100,
                forwarding_ns: 5_000,
            },
            // hrtimers and softirqs of a machine that was not tuned.
            DataPlane::Kernel => EgressTiming {
                hand_over_ns: 10_000,
                spread_ns: 40_000,
                spacing_ns: 2_000,
                guard_ns: 5_000,
                clock_error_ns: 500,
                forwarding_ns: 20_000,
            },
            // A gate opens with a tick of the port's clock.
            DataPlane::Hardware => EgressTiming {
                hand_over_ns: 0,
                spread_ns: 40,
                spacing_ns: 0,
                guard_ns: 0,
                clock_error_ns: 0,
                forwarding_ns: 0,
            },
        }
    }
}

/// What was measured of a data plane on a machine; the file that `ontick switch calibrate` writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Version of this form, 1.
    pub ontick_calibration: u32,
    /// What was measured.
    pub plane: DataPlane,
    /// Where and when.
    #[serde(default)]
    pub about: String,
    /// What came out.
    pub timing: EgressTiming,
}

/// Why a text is no calibration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// It is not JSON, or not of this form.
    #[error("no calibration of ontick: {0}")]
    Form(#[from] serde_json::Error),
    /// It is of another version.
    #[error("no calibration of ontick: version {0}, and this program reads {version}", version = Calibration::VERSION)]
    Version(u32),
    /// No data plane takes so long.
    #[error("no calibration of ontick: a time is longer than a second")]
    TooLong,
}

impl Calibration {
    /// The form's version.
    pub const VERSION: u32 = 1;

    /// Reads its JSON text.
    pub fn read(text: &str) -> Result<Self, CalibrationError> {
        let read: Self = serde_json::from_str(text)?;
        match read.ontick_calibration {
            Self::VERSION if read.timing.is_sane() => Ok(read),
            Self::VERSION => Err(CalibrationError::TooLong),
            other => Err(CalibrationError::Version(other)),
        }
    }

    /// As JSON text.
    pub fn write(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: EgressTiming = EgressTiming {
        hand_over_ns: 700,
        spread_ns: 300,
        spacing_ns: 2_000,
        guard_ns: 100,
        clock_error_ns: 50,
        forwarding_ns: 5_000,
    };

    #[test]
    fn a_window_is_what_frames_take_and_the_margin() {
        assert_eq!(TIMING.margin_ns(), 1_100);
        assert_eq!(TIMING.window_ns(1_136), 2_236);
        assert!(TIMING.fits(1_136, 2_236) && !TIMING.fits(1_136, 2_235));
        assert_eq!(TIMING.longest_frame_ns(2_236), Some(1_136));
        assert_eq!(TIMING.longest_frame_ns(1_100), None);
        // Short frames come at the pace at which they are handed over, long ones back to back.
        let short = MessageTime { frames: 3, first_ns: 1_136, last_ns: 700, all_ns: 2 * 1_136 + 700, gap_ns: 96 };
        assert_eq!(TIMING.message_ns(short), 3 * 2_000);
        let longer = MessageTime { last_ns: 1_136, ..short };
        assert_eq!(TIMING.message_ns(longer), 2 * 2_000 + 1_136 + 1_100);
        let long = MessageTime { frames: 2, first_ns: 12_336, last_ns: 1_136, all_ns: 13_472, gap_ns: 96 };
        assert_eq!(TIMING.message_ns(long), 13_472 + 1_100);
    }

    /// Of windows one behind the other each has the whole spacing, whatever its frame takes.
    #[test]
    fn a_window_lasts_until_the_next_frame_can_be_handed_over() {
        let slow = EgressTiming { spacing_ns: 5_000, ..TIMING };
        let message = |frames, last_ns| MessageTime {
            frames,
            first_ns: 1_136,
            last_ns,
            all_ns: u64::from(frames - 1) * 1_136 + last_ns,
            gap_ns: 96,
        };
        assert_eq!(slow.message_ns(message(1, 700)), 5_000);
        assert_eq!(slow.message_ns(message(3, 700)), 3 * 5_000);
        assert_eq!(slow.message_ns(message(1, 3_900)), 5_000);
        assert_eq!(slow.message_ns(message(1, 3_901)), 5_001);
        // What the message is handed over late is what the next one may be late, too.
        assert_eq!(slow.lasts_ns(2_000, 700), 2_000 + 5_000 - 1_000);
    }

    #[test]
    fn a_calibration_survives_its_file() {
        let measured =
            Calibration { ontick_calibration: 1, plane: DataPlane::User, about: "here".into(), timing: TIMING };
        let text = measured.write().unwrap();
        assert_eq!(Calibration::read(&text).unwrap(), measured);
        for wrong in ["", "{}", &text.replace("_calibration\": 1", "_calibration\": 2"), &text.replace("700", "-1")] {
            assert!(
                Calibration::read(wrong).unwrap_err().to_string().starts_with("no calibration of ontick: "),
                "{wrong}"
            );
        }
        assert!(Calibration::read(&text.replace("700", "70000000000")).is_err());
    }

    #[test]
    fn a_frame_begins_when_the_link_is_free_and_it_was_handed_over() {
        assert_eq!(TIMING.ends_ns(10_000, 0, 1_136), 10_000 + 1_000 + 1_136 + 100);
        // The way to the link runs while another frame is on it.
        assert_eq!(TIMING.ends_ns(10_000, 10_400, 1_136), 10_000 + 1_000 + 1_136 + 100);
        assert_eq!(TIMING.ends_ns(10_000, 15_000, 1_136), 15_000 + 1_136 + 100);
    }
}
