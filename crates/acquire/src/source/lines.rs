//! A group of GPIO lines, read at once: one channel each, 0 or 1.
//!
//! ```text
//! lines:sim:bench/0-7          eight simulated lines, caught in one instant
//! lines:gpiochip0:4-7          a character device: one request of the kernel for all of them
//! lines:reg:0-31               registers: one load for each bank of 32
//! lines:sim:bench/4            one line is a group too
//! lines:GPIO17,GPIO27          several names or ranges of one chip
//! ```

use ontick_gpio::{Backend, Group, Name, Request};
use rustix::io::Errno;

use super::{Channel, Source, SpecError};
use crate::Error;

/// Lines as channels.
pub struct Lines {
    group: Group,
    channels: Vec<Channel>,
}

impl Lines {
    /// Takes the lines as inputs.
    pub fn open(names: &[Name]) -> Result<Self, Error> {
        let group = Group::open(names, &Request::input())?;
        let channel = |name: &Name| Channel { name: name.to_string(), unit: String::new(), scale: 1.0, offset: 0.0 };
        let channels = names.iter().map(channel).collect();
        Ok(Self { group, channels })
    }
}

impl Source for Lines {
    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn read(&mut self, _: u64, values: &mut [i64]) -> Result<(), Errno> {
        let levels = self.group.read().map_err(|gone| gone.0)?;
        for (n, value) in values.iter_mut().enumerate() {
            *value = (levels >> n & 1) as i64;
        }
        Ok(())
    }

    /// Levels in memory alone: a character device may be behind a slow bus, and reading it once more would make samples late.
    fn warm_up(&mut self, _: u64) {
        if self.asks_no_device() {
            let _ = std::hint::black_box(self.group.read());
        }
    }

    fn asks_no_device(&self) -> bool {
        matches!(self.group.backend(), Backend::Simulated | Backend::Registers(_))
    }

    fn simulated(&self) -> Option<String> {
        (self.group.backend() == Backend::Simulated).then(|| "lines in shared memory".into())
    }
}

/// The lines of `sim:bench/0-7,sim:bench/9`.
pub fn names(text: &str) -> Result<Vec<Name>, SpecError> {
    let parts: Vec<Vec<Name>> = text.split(',').map(range).collect::<Result<_, _>>()?;
    let names: Vec<Name> = parts.into_iter().flatten().collect();
    match names.len() {
        ..=Group::MOST => Ok(names),
        count => Err(SpecError::ManyLines { count, most: Group::MOST }),
    }
}

/// `LINE-LAST`, or one line. A board's own names may have a hyphen and a number too: those are names.
fn range(text: &str) -> Result<Vec<Name>, SpecError> {
    if let Some((first, last)) = text.rsplit_once('-') {
        let (first, last) = (first.parse::<Name>(), last.parse::<u32>());
        if let (Ok(Name::Sim { .. } | Name::Chip { .. } | Name::Register(_)), Err(_)) = (&first, &last) {
            return Err(SpecError::NoLastLine(text.into()));
        }
        if let (Ok(first), Ok(last)) = (first, last) {
            if let Some(names) = counted(&first, last) {
                return names.ok_or_else(|| SpecError::LineRange { text: text.into(), most: Group::MOST });
            }
        }
    }
    Ok(vec![text.parse()?])
}

/// From this line to `last`; nothing inside if they are none or too many, nothing at all if lines of this kind are not
/// counted.
fn counted(first: &Name, last: u32) -> Option<Option<Vec<Name>>> {
    let (number, name): (u32, Box<dyn Fn(u32) -> Name>) = match first.clone() {
        Name::Sim { chip, line } => (line, Box::new(move |line| Name::Sim { chip: chip.clone(), line })),
        Name::Chip { chip, line } => (line, Box::new(move |line| Name::Chip { chip: chip.clone(), line })),
        Name::Register(line) => (line, Box::new(Name::Register)),
        Name::Own(_) | Name::Pull { .. } => return None,
    };
    let fits = number <= last && ((last - number) as usize) < Group::MOST;
    Some(fits.then(|| (number..=last).map(name).collect()))
}

#[cfg(test)]
mod tests {
    use ontick_gpio::{Line, sim};

    use super::*;
    use crate::source::open;

    fn shown(text: &str) -> Vec<String> {
        names(text).unwrap().iter().map(Name::to_string).collect()
    }

    #[test]
    fn ranges_and_lists_are_lines() {
        assert_eq!(shown("sim:bench/6-8"), ["sim:bench/6", "sim:bench/7", "sim:bench/8"]);
        assert_eq!(shown("gpiochip0:4-5,gpiochip0:9"), ["gpiochip0:4", "gpiochip0:5", "gpiochip0:9"]);
        assert_eq!(shown("reg:0-31").len(), 32);
        assert_eq!(shown("sim:my-chip/3"), ["sim:my-chip/3"]);
        assert_eq!(shown("GPIO-17"), ["GPIO-17"], "a board's own name");
    }

    #[test]
    fn what_is_no_group_is_explained() {
        for (text, why) in [
            ("", "names no line"),
            ("sim:bench/7-6", "no range"),
            ("sim:bench/0-64", "up to 64"),
            ("sim:bench/0-4294967295", "up to 64"),
            ("sim:bench/0-x", "no last line"),
            ("sim:a/0-40,sim:b/0-40", "82 lines"),
        ] {
            assert!(names(text).unwrap_err().to_string().contains(why), "{text}: {:?}", names(text));
        }
        let error = open("lines:sim:a/0,sim:b/0").err().unwrap().to_string();
        assert!(error.contains("of one chip"), "{error}");
    }

    #[test]
    fn every_line_is_a_channel() {
        let chip = format!("acquire-lines-{}", std::process::id());
        let mut source = open(&format!("lines:sim:{chip}/2-4")).unwrap();
        let name = Name::Sim { chip: chip.clone(), line: 3 };
        let mut out = Line::open(&name, &Request::output(true)).unwrap();
        let mut values = [7; 3];
        source.read(0, &mut values).unwrap();
        assert_eq!(values, [0, 1, 0]);
        out.write(false).unwrap();
        source.read(0, &mut values).unwrap();
        assert_eq!(values, [0, 0, 0]);
        assert_eq!(source.channels()[1].name, name.to_string());
        assert!(source.simulated().is_some());
        sim::remove(&chip).unwrap();
    }
}
