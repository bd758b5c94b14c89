//! Lines by the names that a board's description gives them.

use super::chip::{self, Chip, Refused};
use crate::{Error, Name};

/// The chip and line that has this name.
pub fn find(name: &Name, own: &str) -> Result<(String, u32), Error> {
    let names = chip::names();
    let (mut found, mut refused) = (Vec::new(), None);
    for chip_name in &names {
        match Chip::open(chip_name) {
            Ok(chip) => found.extend(lines_of(&chip, own).map(|line| (chip_name.clone(), line))),
            Err(why) => refused = Some(why),
        }
    }
    if found.len() > 1 {
        let all: Vec<String> = found.iter().map(|(chip, line)| format!("{chip}:{line}")).collect();
        return Err(Error::NotFound {
            name: name.clone(),
            why: format!("{} have this name; say which", all.join(", ")),
        });
    }
    match (found.pop(), refused) {
        (Some(one), _) => Ok(one),
        // The line may be on a chip that the user may not open.
        (None, Some(why @ Refused::Permission(_))) => Err(why.about(name)),
        (None, _) if names.is_empty() => Err(Error::NotFound { name: name.clone(), why: chip::NO_CHIP.into() }),
        (None, _) => Err(Error::NoSuchName { name: name.clone(), chips: names }),
    }
}

fn lines_of<'a>(chip: &'a Chip, own: &'a str) -> impl Iterator<Item = u32> + 'a {
    let is_it = move |line: &u32| chip.line(*line).is_ok_and(|info| info.name.as_os_str() == own);
    (0..chip.info.num_lines).filter(is_it)
}
