//! Which round trips have which number in rows: a small file that is replaced when one comes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use ontick_record::output_file;
use serde::{Deserialize, Serialize};

use crate::series::SeriesId;

/// A file of another program's may be long.
const MOST: usize = 1_000;

/// The names of all round trips that were ever measured here.
#[derive(Debug)]
pub struct Names {
    path: PathBuf,
    all: File,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    round_trips: BTreeMap<u16, String>,
}

impl Names {
    /// Takes up the file in a folder. One that cannot be read is moved aside; what was wrong with it comes with the new one.
    pub fn open(folder: &Path) -> io::Result<(Self, Option<String>)> {
        let path = folder.join("series.json");
        let read = match std::fs::read(&path) {
            Ok(text) => read(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(File::default()),
            Err(error) => return Err(error),
        };
        let (all, damage) = match read {
            Ok(all) => (all, None),
            Err(why) => {
                let aside = folder.join("series.damaged");
                std::fs::rename(&path, &aside)?;
                let text = format!(
                    "{}: {why}; it is now {}, and round trips have new rows from now on",
                    path.display(),
                    aside.display()
                );
                (File::default(), Some(text))
            }
        };
        Ok((Self { path, all }, damage))
    }

    /// The series of a name. One that is new gets the first number from `free` on that nobody has.
    pub fn id(&mut self, name: &str, free: u16) -> io::Result<SeriesId> {
        let there = self.all.round_trips.iter().find(|(_, known)| *known == name).map(|(number, _)| *number);
        if let Some(number) = there {
            return Ok(SeriesId::RoundTrip(number));
        }
        let next = self.all.round_trips.last_key_value().map_or(0, |(last, _)| last.saturating_add(1)).max(free);
        if !SeriesId::is_number(next) || self.all.round_trips.len() == MOST {
            return Err(io::Error::other("there were too many round trips: begin a folder of state anew"));
        }
        let mut all = self.all.clone();
        all.round_trips.insert(next, name.to_owned());
        output_file::replace(&self.path, &serde_json::to_vec(&all)?)?;
        self.all = all;
        Ok(SeriesId::RoundTrip(next))
    }

    /// In words, as series are named in the record.
    pub fn name(&self, series: SeriesId) -> String {
        match series {
            SeriesId::RoundTrip(number) => match self.all.round_trips.get(&number) {
                Some(name) => format!("round trip {name}"),
                None => series.to_string(),
            },
            SeriesId::Cpu(_) => series.to_string(),
        }
    }
}

fn read(text: &[u8]) -> Result<File, String> {
    let all: File = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let fits = all.round_trips.len() <= MOST && all.round_trips.keys().all(|number| SeriesId::is_number(*number));
    if fits { Ok(all) } else { Err("has more round trips than there can be".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_number_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let (mut names, _) = Names::open(folder.path()).unwrap();
        assert_eq!(names.id("eth1 to a", 0).unwrap(), SeriesId::RoundTrip(0));
        assert_eq!(names.id("UDP to b", 0).unwrap(), SeriesId::RoundTrip(1));
        let (mut names, damage) = Names::open(folder.path()).unwrap();
        assert_eq!((names.id("eth1 to a", 9).unwrap(), damage), (SeriesId::RoundTrip(0), None));
        assert_eq!(names.id("UDP to c", 1).unwrap(), SeriesId::RoundTrip(2));
        assert_eq!(names.name(SeriesId::RoundTrip(1)), "round trip UDP to b");
        assert_eq!(
            (names.name(SeriesId::RoundTrip(7)), names.name(SeriesId::Cpu(7))),
            ("round trip 7".into(), "CPU 7".into())
        );
    }

    #[test]
    fn a_damaged_file_is_moved_aside_and_no_number_has_two_names() {
        for text in ["nonsense", "{\"round_trips\":{\"40000\":\"a\"}}"] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("series.json"), text).unwrap();
            let (mut names, damage) = Names::open(folder.path()).unwrap();
            assert!(damage.unwrap().contains("series.damaged"));
            assert_eq!(names.id("eth1 to a", 3).unwrap(), SeriesId::RoundTrip(3));
            assert_eq!(std::fs::read_to_string(folder.path().join("series.damaged")).unwrap(), text);
        }
    }
}
