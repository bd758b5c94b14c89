//! Files that hold the kernel's arguments on one line: the Raspberry Pi's `cmdline.txt`, `/etc/kernel/cmdline`.

use super::{Argument, ArgumentsError, arguments};

/// The text with these arguments.
pub(super) fn with(text: &str, wanted: &[Argument]) -> Result<String, ArgumentsError> {
    let mut filled = text.lines().filter(|l| !l.trim().is_empty());
    let Some(line) = filled.next() else { return Err(ArgumentsError::Empty) };
    if filled.next().is_some() {
        return Err(ArgumentsError::SeveralLines);
    }
    let start = line.as_ptr() as usize - text.as_ptr() as usize;
    Ok(format!("{}{}{}", &text[..start], arguments::with(line, wanted)?, &text[start + line.len()..]))
}

#[cfg(test)]
mod tests {
    use super::super::arguments::tests::args;
    use super::with;

    #[test]
    fn line_ends_stay_and_two_lines_are_refused() {
        assert_eq!(with("root=x quiet\r\n", &args("a=1")), Ok("root=x quiet a=1\r\n".into()));
        assert_eq!(with("root=x\n\n", &args("a=1")), Ok("root=x a=1\n\n".into()));
        assert_eq!(with("\nroot=x", &args("a=1")), Ok("\nroot=x a=1".into()));
        assert!(with("root=x\nquiet\n", &args("a=1")).is_err_and(|e| e.to_string().contains("join")));
        assert!(with(" \r\n", &args("a=1")).is_err_and(|e| e.to_string().contains("empty")));
    }
}
