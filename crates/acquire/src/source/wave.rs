//! A signal that is computed: to try a chain of instruments before the first sensor is there.

use std::f64::consts::TAU;
use std::str::FromStr;

use ontick_units::parse_frequency;
use rustix::io::Errno;

use super::{Channel, Source};

/// The form of a computed signal, between -1 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Sine, 0 at the beginning.
    Sine,
    /// 1 in the first half of a period, -1 in the second.
    Square,
    /// From -1 to 1 and back.
    Triangle,
    /// From -1 to 1, then back at once.
    Ramp,
}

impl Shape {
    const ALL: [(Shape, &'static str); 4] =
        [(Shape::Sine, "sine"), (Shape::Square, "square"), (Shape::Triangle, "triangle"), (Shape::Ramp, "ramp")];

    /// The value at this part of a period, 0 to 1.
    fn at(self, phase: f64) -> f64 {
        match self {
            Shape::Sine => (phase * TAU).sin(),
            Shape::Square if phase < 0.5 => 1.0,
            Shape::Square => -1.0,
            Shape::Triangle => 1.0 - 4.0 * (phase - 0.5).abs(),
            Shape::Ramp => 2.0 * phase - 1.0,
        }
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(shape, _)| *shape == self).map_or("", |(_, name)| name)
    }
}

/// A computed signal of amplitude 1, in steps of a billionth. Its phase follows the monotonic clock, so that a
/// missed sample leaves a gap and no dent.
#[derive(Debug, Clone, PartialEq)]
pub struct Wave {
    shape: Shape,
    period_ns: u64,
    channels: [Channel; 1],
}

const STEP: f64 = 1e-9;

impl Wave {
    /// A signal with this period, in ns.
    pub fn new(shape: Shape, period_ns: u64) -> Self {
        let channel = Channel { name: shape.name().into(), unit: String::new(), scale: STEP, offset: 0.0 };
        Self { shape, period_ns: period_ns.max(1), channels: [channel] }
    }

    fn value(&self, now_ns: u64) -> i64 {
        let phase = (now_ns % self.period_ns) as f64 / self.period_ns as f64;
        (self.shape.at(phase) / STEP).round() as i64
    }
}

impl Source for Wave {
    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn read(&mut self, now_ns: u64, values: &mut [i64]) -> Result<(), Errno> {
        values[0] = self.value(now_ns);
        Ok(())
    }

    fn warm_up(&mut self, now_ns: u64) {
        std::hint::black_box(self.value(now_ns));
    }

    fn asks_no_device(&self) -> bool {
        true
    }

    fn simulated(&self) -> Option<String> {
        Some(format!("a computed {}", self.shape.name()))
    }
}

/// Why a text is no wave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaveError {
    /// No shape is called so.
    #[error("\"{0}\" is no shape (choose one of {names})", names = Shape::ALL.map(|(_, name)| name).join(", "))]
    Shape(String),
    /// It is no frequency, or one out of range.
    #[error("\"{0}\" is no frequency from 0.001Hz to 1000kHz")]
    Frequency(String),
}

impl FromStr for Wave {
    type Err = WaveError;

    /// `sine,50Hz`
    fn from_str(text: &str) -> Result<Self, WaveError> {
        let (shape, rate) = text.split_once(',').unwrap_or((text, "50Hz"));
        let found = Shape::ALL.iter().find(|(_, name)| *name == shape);
        let (shape, _) = found.ok_or_else(|| WaveError::Shape(shape.into()))?;
        let hertz = parse_frequency(rate).ok().filter(|hertz| (1e-3..=1e6).contains(hertz));
        let hertz = hertz.ok_or_else(|| WaveError::Frequency(rate.into()))?;
        Ok(Self::new(*shape, (1e9 / hertz).round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, now_ns: u64) -> f64 {
        let mut wave: Wave = text.parse().unwrap();
        let mut raw = [0];
        wave.read(now_ns, &mut raw).unwrap();
        wave.channels()[0].value(raw[0])
    }

    #[test]
    fn shapes_are_what_their_names_say() {
        let period_ns = 20_000_000;
        let quarters = |text: &str| [0, 1, 2, 3].map(|quarter| value(text, quarter * period_ns / 4).round() as i64);
        assert_eq!(quarters("sine,50Hz"), [0, 1, 0, -1]);
        assert_eq!(quarters("square,50Hz"), [1, 1, -1, -1]);
        assert_eq!(quarters("triangle"), [-1, 0, 1, 0]);
        assert_eq!(value("ramp,0.05kHz", 0), -1.0);
        assert!(value("ramp", period_ns - 1) > 0.99);
    }

    #[test]
    fn what_is_no_wave_is_explained() {
        for text in ["", "sinus", "sine,", "sine,50", "sine,0Hz", "sine,-1Hz", "sine,nanHz", "sine,infHz"] {
            assert!(text.parse::<Wave>().is_err(), "{text}");
        }
    }
}
