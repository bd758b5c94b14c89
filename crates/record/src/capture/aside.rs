//! Lines of sigrok-cli's own: what an output module leaves out, the sample rate and where a frame begins and ends, it prints
//! in between (libsigrok 0.5.2, output module `analog`).

use super::{CaptureError, Rate};

/// What such a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aside {
    /// `META samplerate: 24000000`
    Rate(Rate),
    /// `FRAME-BEGIN`
    FrameBegins,
    /// `FRAME-END`
    FrameEnds,
}

impl Aside {
    pub fn of(line: &str) -> Option<Self> {
        match line.trim() {
            "FRAME-BEGIN" => Some(Self::FrameBegins),
            "FRAME-END" => Some(Self::FrameEnds),
            line => {
                let hertz = line.strip_prefix("META samplerate: ")?.parse().ok()?;
                (hertz > 0).then(|| Self::Rate(Rate::new(hertz)))
            }
        }
    }

    /// A text from its first line on that is none.
    pub fn pass_over(mut text: &str) -> &str {
        while let Some((_, rest)) = text.split_once('\n').filter(|(line, _)| Self::of(line).is_some()) {
            text = rest;
        }
        text
    }
}

/// How long it took from one frame to the next nobody wrote down.
pub(super) fn several_frames(line: u64) -> CaptureError {
    CaptureError::line(line, "the capture has several frames, and no times between them: take one frame")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_aside_as_sigrok_cli_writes_it_alone() {
        assert_eq!(Aside::of("META samplerate: 24000000\r"), Some(Aside::Rate(Rate::new(24_000_000))));
        assert_eq!(
            [Aside::of("FRAME-BEGIN"), Aside::of("FRAME-END")],
            [Some(Aside::FrameBegins), Some(Aside::FrameEnds)]
        );
        for other in ["META samplerate: 0", "META samplerate: 24 MHz", "META limit_samples: 7", "FRAME", "A0: 1 V DC"] {
            assert_eq!(Aside::of(other), None, "{other}");
        }
    }

    #[test]
    fn a_text_begins_after_them() {
        assert_eq!(Aside::pass_over("FRAME-BEGIN\nMETA samplerate: 1\n$date\nFRAME-END\n"), "$date\nFRAME-END\n");
        assert_eq!(Aside::pass_over("META samplerate: 1"), "META samplerate: 1");
    }
}
