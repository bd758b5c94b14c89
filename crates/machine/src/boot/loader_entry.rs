//! systemd-boot: an entry file for each kernel, with the kernel's arguments on `options` lines.

use super::{Argument, ArgumentsError, arguments};
use crate::facts::arguments::key_of;

/// The text with these arguments on its last `options` line, and not on the others.
pub(super) fn with(text: &str, wanted: &[Argument]) -> Result<String, ArgumentsError> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let options = |line: &&str| line.strip_prefix("options").is_some_and(|r| r.starts_with([' ', '\t']));
    let last = lines.iter().rposition(options).ok_or(ArgumentsError::NoOptions)?;
    if lines.iter().any(|l| options(l) && l.contains('$')) {
        return Err(ArgumentsError::Variable);
    }
    let mut new = String::new();
    for (i, line) in lines.iter().enumerate() {
        if !options(line) {
            new.push_str(line);
        } else if i == last {
            let (keyword, rest) = line.split_at("options".len() + 1);
            new.extend([keyword, &arguments::with(rest, wanted)?]);
        } else {
            new.push_str(line);
        }
    }
    Ok(new)
}

/// The entries of the running kernel; all of them where none is known to be its. The others stay as a way out.
pub(super) fn of_kernel<'a>(entries: &'a [String], release: &str) -> Vec<&'a String> {
    let own: Vec<&String> = entries.iter().filter(|e| !release.is_empty() && e.contains(release)).collect();
    if own.is_empty() { entries.iter().collect() } else { own }
}

/// Arguments that the boot loader itself adds, which do not belong into a file.
pub(super) fn is_loaders(argument: &str) -> bool {
    matches!(key_of(argument), "BOOT_IMAGE" | "initrd")
}

#[cfg(test)]
mod tests {
    use super::super::arguments::tests::args;
    use super::{of_kernel, with};

    #[test]
    fn options_are_edited() {
        let text = "title Debian\nversion 6.12\noptions    root=UUID=1 ro\nlinux /k\n";
        assert_eq!(with(text, &args("a=1")).unwrap(), text.replace(" ro\n", " ro a=1\n"));
        assert!(with("title x\n", &args("a=1")).is_err());
        assert!(with("options $kernelopts\n", &args("a=1")).is_err_and(|e| e.to_string().contains("grubby")));
    }

    #[test]
    fn other_kernels_stay_as_a_way_out() {
        let entries = ["/boot/loader/entries/m-6.1.conf".to_owned(), "/boot/loader/entries/m-6.12.conf".to_owned()];
        assert_eq!(of_kernel(&entries, "6.12"), [&entries[1]]);
        assert_eq!(of_kernel(&entries, "7.0").len(), 2);
    }
}
