//! Lines as the module names them: by the label of their chip, and a number.

use std::io;

use ontick_gpio::list::{self, Chip, ChipName, LineInfo};
use ontick_gpio::{Name, OnExit};

use super::{Error, abi};

/// A line in the module's terms.
pub fn line(name: &Name, on_exit: OnExit) -> Result<abi::Line, Error> {
    let why = |why: String| Error::Line { line: name.clone(), why };
    let place = list::place(name).map_err(|error| why(error.to_string()))?;
    let Some((ChipName::Device(device), offset)) = place.filter(|_| !matches!(name, Name::Pull { .. })) else {
        return Err(Error::NotOfKernel { line: name.clone() });
    };
    let chip = list::chip(&ChipName::Device(device.clone())).map_err(|error| why(error.to_string()))?;
    is_free(&chip, offset).map_err(why)?;
    let label = chip.label.unwrap_or_default();
    let mut bytes = [0; abi::LABEL_LEN];
    // With its end, as C's texts have one.
    if label.is_empty() || label.len() >= bytes.len() {
        return Err(why(format!("the chip {device} has no label that the module could find it by")));
    }
    bytes[..label.len()].copy_from_slice(label.as_bytes());
    Ok(abi::Line { chip: bytes, offset, flags: 0, end: end(on_exit), reserved: 0 })
}

/// Why the module could not have a line of a chip.
fn is_free(chip: &Chip, offset: u32) -> Result<(), String> {
    match chip.lines.get(offset as usize) {
        None => Err(format!("its chip has {} lines, counted from 0", chip.lines.len())),
        Some(LineInfo { in_use: true, consumer, .. }) => {
            Err(format!("in use by \"{}\"", consumer.as_deref().unwrap_or("the kernel")))
        }
        Some(_) => Ok(()),
    }
}

fn end(on_exit: OnExit) -> u32 {
    match on_exit {
        OnExit::Keep => abi::END_KEEP,
        OnExit::Low => abi::END_INACTIVE,
        OnExit::High => abi::END_ACTIVE,
        OnExit::Input => abi::END_INPUT,
    }
}

/// What the module's refusal of a line means.
pub fn refusal(error: &io::Error, line: &Name) -> Option<Error> {
    let why = match error.raw_os_error()? {
        libc::EBUSY => "somebody else took it just now",
        libc::ENODEV => "its chip has gone",
        libc::ENOTUNIQ => "another chip has the same label, and the module cannot distinguish the two",
        libc::ERANGE => "its chip has fewer lines",
        libc::ENXIO => "it has no interrupt: its chip cannot report edges, or not on this line",
        _ => return None,
    };
    Some(Error::Line { line: line.clone(), why: why.into() })
}

#[cfg(test)]
mod tests {
    use ontick_gpio::Bias;

    use super::*;

    #[test]
    fn a_line_that_the_chip_does_not_have_or_somebody_else_has_is_refused() {
        let line = |number, consumer: Option<&str>| LineInfo {
            name: Name::Sim { chip: "none".into(), line: number },
            own: None,
            output: false,
            active_low: false,
            bias: Bias::AsIs,
            level: None,
            in_use: consumer.is_some(),
            consumer: consumer.map(String::from),
            wire: None,
        };
        let name = ChipName::Device("gpiochip0".into());
        let chip = Chip { name, label: None, lines: vec![line(0, None), line(1, Some("led"))] };
        assert_eq!(is_free(&chip, 0), Ok(()));
        assert!(is_free(&chip, 1).unwrap_err().contains("in use by \"led\""));
        assert!(is_free(&chip, 2).unwrap_err().contains("2 lines"));
    }
}
