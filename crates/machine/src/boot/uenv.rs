//! BeagleBone `uEnv.txt`: variables of the boot loader; `cmdline=` goes to the kernel.

use super::{Argument, ArgumentsError, arguments};

/// The text with these arguments in `cmdline=` (or in `optargs=`, where only that is used).
pub(super) fn with(text: &str, wanted: &[Argument]) -> Result<String, ArgumentsError> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let last = |variable: &str| lines.iter().rposition(|l| l.starts_with(variable));
    let found = last("cmdline=").map(|i| (i, "cmdline=")).or_else(|| last("optargs=").map(|i| (i, "optargs=")));
    match found {
        Some((place, variable)) => {
            let edit = |(i, line): (usize, &&str)| match i == place {
                true => Ok(format!("{variable}{}", arguments::with(&line[variable.len()..], wanted)?)),
                false => Ok((*line).to_owned()),
            };
            lines.iter().enumerate().map(edit).collect()
        }
        None if wanted.is_empty() => Ok(text.into()),
        None => {
            let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
            let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
            Ok(format!("{text}{gap}cmdline={}{newline}", arguments::with("", wanted)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::tests::args;
    use super::with;
    use proptest::prelude::*;

    #[test]
    fn the_last_cmdline_counts() {
        let text = "uname_r=4.14.71-ti-r80\n#cmdline=no\ncmdline=coherent_pool=1M quiet\n\n##end\n";
        let new = "uname_r=4.14.71-ti-r80\n#cmdline=no\ncmdline=coherent_pool=1M quiet skew_tick=1\n\n##end\n";
        assert_eq!(with(text, &args("skew_tick=1")).unwrap(), new);
        assert_eq!(with("optargs=quiet", &args("a=1")).unwrap(), "optargs=quiet a=1");
        assert_eq!(with("uname_r=6\r\n", &args("a=1 b")).unwrap(), "uname_r=6\r\ncmdline=a=1 b\r\n");
    }

    proptest! {
        #[test]
        fn once_is_enough(text in "((cmdline|optargs|#x|dtb)=[a-z= ]{0,9}\r?\n){0,5}|.{0,40}") {
            if let Ok(once) = with(&text, &args("a=1")) {
                prop_assert_eq!(with(&once, &args("a=1")).unwrap(), once);
            }
        }
    }
}
