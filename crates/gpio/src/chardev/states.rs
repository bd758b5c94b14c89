//! What the kernel tells about its chips and lines without anybody taking one.

use gpiocdev_uapi::v2::{LineFlags, LineInfo};

use super::chip::{self, Chip};
use crate::{Bias, LookError};

/// A line as the kernel shows it.
#[derive(Debug)]
pub struct LineState {
    pub own: Option<String>,
    pub output: bool,
    pub active_low: bool,
    pub bias: Bias,
    pub in_use: bool,
    pub consumer: Option<String>,
}

/// The chips' names.
pub fn chips() -> Vec<String> {
    chip::names()
}

/// A chip's label and its lines.
pub fn line_states(name: &str) -> Result<(String, Vec<LineState>), LookError> {
    let chip = Chip::open(name).map_err(|refused| LookError::Device(refused.sentence()))?;
    let line = |line| chip.line(line).map(|info| state(&info));
    let lines: Result<Vec<LineState>, _> = (0..chip.info.num_lines).map(line).collect();
    let refused = |errno| format!("its lines cannot be looked at: {}", std::io::Error::from(errno));
    let lines = lines.map_err(|errno| LookError::Device(refused(errno)))?;
    Ok((String::from(&chip.info.label), lines))
}

fn state(info: &LineInfo) -> LineState {
    let text = |name| Some(String::from(name)).filter(|text| !text.is_empty());
    let has = |flag| info.flags.contains(flag);
    LineState {
        own: text(&info.name),
        output: has(LineFlags::OUTPUT),
        active_low: has(LineFlags::ACTIVE_LOW),
        bias: match () {
            () if has(LineFlags::BIAS_PULL_UP) => Bias::PullUp,
            () if has(LineFlags::BIAS_PULL_DOWN) => Bias::PullDown,
            () if has(LineFlags::BIAS_DISABLED) => Bias::Disabled,
            () => Bias::AsIs,
        },
        in_use: has(LineFlags::USED),
        consumer: text(&info.consumer),
    }
}
