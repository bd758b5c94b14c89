//! Files that are begun anew when they are full.

use std::fs::File;
use std::io;

use crate::place::Place;

/// Gives a full file its number, and begins a new one in its place.
pub(super) fn next_file(place: &Place) -> io::Result<File> {
    // A link refuses to replace what is there, where a rename would not.
    let mut n = 1;
    while let Err(error) = place.link(&place.with(&format!(".{n}"))) {
        if error.kind() != io::ErrorKind::AlreadyExists {
            return Err(error);
        }
        n += 1;
    }
    place.remove()?;
    place.create_new()
}
