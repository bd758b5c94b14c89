//! Texts of the kernel with other people's words in them.
//!
//! The kernel cuts a process's name after 15 octets, in the middle of a character too, and any octets may stand in it: as
//! strict text, `stat`, `status` and `comm` of such a process could not be read, as if it were not there.

use std::fs;
use std::io;
use std::path::Path;

/// Reads a text, with U+FFFD for what is no UTF-8.
///
/// ```
/// let status = ontick_rt::kernel_text::read("/proc/self/status")?;
/// assert!(status.starts_with("Name:"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    let octets = fs::read(path)?;
    Ok(String::from_utf8(octets).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_cut_in_the_middle_of_a_character_is_read() {
        let named = std::thread::spawn(|| {
            rustix::thread::set_name(c"pr\xc3").unwrap();
            read("/proc/thread-self/comm").unwrap()
        });
        assert_eq!(named.join().unwrap(), "pr\u{fffd}\n");
    }
}
