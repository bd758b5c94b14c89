//! GRUB's environment block: `key=value` lines after a fixed header, filled up to 1024 bytes with `#`.
//! GRUB writes into the file's blocks, so its length never changes.

const HEADER: &str = "# GRUB Environment Block\n";
const LENGTH: usize = 1024;

/// Why the block cannot be edited; the sentence follows the file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// It is another file.
    #[error("is not an environment block of GRUB (grub-editenv makes one)")]
    Foreign,
    /// No room for the variable.
    #[error("is full: unset a variable first (grub-editenv)")]
    Full,
}

/// A variable.
pub fn get<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().filter(|l| !l.starts_with('#')).find_map(|l| l.strip_prefix(key)?.strip_prefix('='))
}

/// The block with a variable set, or unset.
///
/// ```
/// use ontick_machine::boot::grubenv::{get, with};
/// let empty = format!("{:#<1024}", "# GRUB Environment Block\n");
/// let set = with(&empty, "next_entry", Some("ontick-6.12")).unwrap();
/// assert_eq!((get(&set, "next_entry"), set.len()), (Some("ontick-6.12"), 1024));
/// assert_eq!(with(&set, "next_entry", None).unwrap(), empty);
/// ```
pub fn with(text: &str, key: &str, value: Option<&str>) -> Result<String, BlockError> {
    if !text.starts_with(HEADER) || text.len() != LENGTH {
        return Err(BlockError::Foreign);
    }
    let (lines, _) = text.rsplit_once('\n').unwrap_or((text, ""));
    let mut new = String::with_capacity(LENGTH);
    let mut set = false;
    for line in lines.lines() {
        let named = line.strip_prefix(key).is_some_and(|rest| rest.starts_with('='));
        match (named, value) {
            (false, _) => new.extend([line, "\n"]),
            (true, Some(value)) if !set => {
                new.extend([key, "=", value, "\n"]);
                set = true;
            }
            (true, _) => {}
        }
    }
    if let Some(value) = value.filter(|_| !set) {
        new.extend([key, "=", value, "\n"]);
    }
    if new.len() > LENGTH {
        return Err(BlockError::Full);
    }
    Ok(format!("{new:#<LENGTH$}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(lines: &str) -> String {
        format!("{:#<LENGTH$}", format!("{HEADER}{lines}"))
    }

    #[test]
    fn only_a_block_is_edited_and_never_beyond_its_end() {
        assert!(with("", "a", Some("1")).is_err());
        assert!(with(&block("")[..1000], "a", Some("1")).is_err());
        assert!(with(&block(""), "a", Some(&"x".repeat(1000))).is_err_and(|e| e.to_string().contains("full")));
        let saved = block("saved_entry=0\nnext_entry=\n");
        assert_eq!(with(&saved, "next_entry", Some("b")).unwrap(), block("saved_entry=0\nnext_entry=b\n"));
    }

    proptest! {
        #[test]
        fn set_and_unset_is_nothing(lines in "([a-m]{1,5}=[a-z0-9 ]{0,9}\n){0,6}", value in "[a-z0-9.+-]{1,40}") {
            let before = block(&lines);
            let set = with(&before, "next_entry", Some(&value)).unwrap();
            prop_assert_eq!(get(&set, "next_entry"), Some(value.as_str()));
            prop_assert_eq!(with(&set, "next_entry", None).unwrap(), before);
        }
    }
}
