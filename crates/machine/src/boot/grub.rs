//! GRUB: a drop-in of our own where the distribution reads such, else the line in `/etc/default/grub`.

use super::{Argument, ArgumentsError, arguments};
use crate::facts::arguments::{key_of, same_key, words};
use crate::root::Root;

/// The recovery entry of the menu does not use this variable, so it stays a way out.
const VARIABLE: &str = "GRUB_CMDLINE_LINUX_DEFAULT";

/// The drop-in.
pub(super) fn drop_in(wanted: &[Argument], mark: &str) -> Result<String, ArgumentsError> {
    Ok(format!("# {mark}\n{VARIABLE}=\"{}\"\n", arguments::with(&format!("${VARIABLE}"), wanted)?))
}

/// `/etc/default/grub` with these arguments.
pub(super) fn with(text: &str, wanted: &[Argument]) -> Result<String, ArgumentsError> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(place) = lines.iter().rposition(|l| l.starts_with(VARIABLE) && l[VARIABLE.len()..].starts_with('='))
    else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{gap}{VARIABLE}=\"{}\"\n", arguments::with("", wanted)?));
    };
    let line = lines[place];
    let value = &line[VARIABLE.len() + 1..];
    let body = value.trim_end();
    let quote = body.chars().next().filter(|c| matches!(c, '"' | '\''));
    let inner = match quote {
        Some(q) => body[1..].strip_suffix(q).filter(|inner| !inner.contains(q)),
        None => Some(body).filter(|b| !b.contains([' ', '\t', '"', '\'', '\\', '#', ';'])),
    };
    let inner = inner.ok_or(ArgumentsError::Shell(VARIABLE))?;
    let quote = quote.unwrap_or('"');
    let new = format!("{VARIABLE}={quote}{}{quote}{}", arguments::with(inner, wanted)?, &value[body.len()..]);
    Ok(lines.iter().enumerate().map(|(i, l)| if i == place { new.as_str() } else { l }).collect())
}

/// Arguments that are also given in `/etc/default/grub`: the kernel would see them twice.
pub(super) fn given_elsewhere(root: &Root, wanted: &[Argument]) -> Vec<String> {
    let text = root.text("/etc/default/grub").unwrap_or_default();
    let lines = text.lines().filter(|l| l.starts_with("GRUB_CMDLINE_LINUX"));
    let given: Vec<String> = lines
        .filter_map(|l| l.split_once('='))
        .flat_map(|(_, value)| {
            let value = value.trim_matches(['"', '\'']);
            words(value).into_iter().map(|w| key_of(w.text).to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let twice = wanted.iter().filter(|a| given.iter().any(|g| same_key(g, &a.key)));
    twice
        .map(|a| format!("/etc/default/grub gives {} too: take it out there, the kernel would see it twice", a.key))
        .collect()
}

/// Whether GRUB's menu is made of entries that have the kernel's arguments themselves (Fedora and what comes of it): what makes
/// the menu leaves those as they are.
pub(super) fn has_entries(root: &Root) -> bool {
    let text = root.text("/etc/default/grub").unwrap_or_default();
    let set = text.lines().filter_map(|line| line.trim().strip_prefix("GRUB_ENABLE_BLSCFG=")).next_back();
    set.is_some_and(|value| value.trim().trim_matches(['"', '\'']) == "true")
        && !root.matching("/boot/loader/entries/*.conf").is_empty()
}

/// The command that makes GRUB's menu from these files.
pub(super) fn command(root: &Root) -> String {
    let there = |path: &str| root.exists(path);
    match () {
        () if there("/usr/sbin/update-grub") => "update-grub",
        () if there("/boot/grub2") => "grub2-mkconfig -o /boot/grub2/grub.cfg",
        () => "grub-mkconfig -o /boot/grub/grub.cfg",
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::super::arguments::tests::args;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_line_is_edited_in_its_quotes() {
        for (line, expected) in [
            ("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash a=1\""),
            ("GRUB_CMDLINE_LINUX_DEFAULT='quiet'", "GRUB_CMDLINE_LINUX_DEFAULT='quiet a=1'"),
            ("GRUB_CMDLINE_LINUX_DEFAULT=quiet", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet a=1\""),
            ("GRUB_CMDLINE_LINUX_DEFAULT=\"\"", "GRUB_CMDLINE_LINUX_DEFAULT=\"a=1\""),
            ("GRUB_TIMEOUT=5", "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT=\"a=1\"\n"),
        ] {
            assert_eq!(with(line, &args("a=1")).unwrap(), expected);
        }
        for line in [
            "GRUB_CMDLINE_LINUX_DEFAULT=\"a\"\"b\"",
            "GRUB_CMDLINE_LINUX_DEFAULT=\"a",
            "GRUB_CMDLINE_LINUX_DEFAULT=a # b",
        ] {
            assert!(with(line, &args("a=1")).is_err(), "{line}");
        }
    }

    #[test]
    fn the_drop_in_adds_to_what_is_there() {
        let text = drop_in(&args("isolcpus=3 nohz_full=3"), "mark").unwrap();
        let line = "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT isolcpus=3 nohz_full=3\"";
        assert_eq!(text, format!("# mark\n{line}\n"));
    }

    proptest! {
        #[test]
        fn once_is_enough(text in "((GRUB_CMDLINE_LINUX_DEFAULT|GRUB_X|#)=[\"']?[a-z= ]{0,9}[\"']?\n){0,4}|.{0,50}") {
            if let Ok(once) = with(&text, &args("x=1")) {
                prop_assert_eq!(with(&once, &args("x=1")).unwrap(), once);
            }
        }
    }
}
