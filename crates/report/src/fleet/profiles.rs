//! Profiles by letter, as their names are lists that no column has room for.

use ontick_record::fleet::{Kind, Survey};

/// What each letter stands for.
pub(super) struct Profiles<'a>(Vec<&'a str>);

impl<'a> Profiles<'a> {
    /// In the order in which the ranking first shows them.
    pub fn of(survey: &'a Survey) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for group in survey.jobs.iter().flat_map(|job| &job.groups) {
            if !names.contains(&group.kind.profile.as_str()) {
                names.push(&group.kind.profile);
            }
        }
        Self(names)
    }

    /// `A` to `Z`, then `AA`, `AB`, ….
    pub fn letter(&self, kind: &Kind) -> String {
        self.0.iter().position(|name| *name == kind.profile).map_or_else(String::new, letters)
    }

    /// Each letter and what it stands for.
    pub fn all(&self) -> impl Iterator<Item = (String, &'a str)> {
        self.0
            .iter()
            .enumerate()
            .map(|(place, name)| (letters(place), if name.is_empty() { "not stated" } else { name }))
    }
}

fn letters(place: usize) -> String {
    let letter = char::from(b'A' + (place % 26) as u8);
    match place / 26 {
        0 => letter.into(),
        before => letters(before - 1) + &letter.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([0, 25, 26, 27, 51, 52, 702].map(letters), ["A", "Z", "AA", "AB", "AZ", "BA", "AAA"]);
    }
}
