//! Which mechanisms are measured: one, or all in turn.

use std::fmt::Display;
use std::str::FromStr;

/// Some of the mechanisms that a measurement knows.
#[derive(Debug, Clone)]
pub struct Mechanisms<T>(pub Vec<T>);

impl<T: Display> Mechanisms<T> {
    /// Their names, which name the series.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(T::to_string).collect()
    }
}

/// Reads the name of one, several with commas between them, or "all".
pub fn read<T: FromStr<Err: Display> + Clone + PartialEq>(text: &str, all: &[T]) -> Result<Mechanisms<T>, String> {
    if text == "all" {
        return Ok(Mechanisms(all.to_vec()));
    }
    let mut named: Vec<T> = Vec::new();
    for name in text.split(',') {
        let one: T = name.parse().map_err(|error: T::Err| error.to_string())?;
        if named.contains(&one) {
            return Err(format!("{name} is named twice"));
        }
        named.push(one);
    }
    Ok(Mechanisms(named))
}

#[cfg(test)]
mod tests {
    use ontick_measure::wakeup::Method;

    use super::*;

    #[test]
    fn one_several_or_all_are_named() {
        let names = |text| read(text, &Method::ALL).map(|mechanisms| mechanisms.names());
        assert_eq!(names("pipe").unwrap(), ["pipe"]);
        assert_eq!(names("pipe,futex").unwrap(), ["pipe", "futex"], "in that order");
        assert_eq!(names("all").unwrap().len(), Method::ALL.len());
        assert_eq!(names("pipe,futex,pipe").unwrap_err(), "pipe is named twice");
        for wrong in ["", "pipe,", "pipe,all", "pipe, futex"] {
            assert!(names(wrong).unwrap_err().contains("there is no such method"), "{wrong}");
        }
    }
}
