//! How a process is called where people read of it.

/// The beginning of a command line as `/proc` has it: the program's name and three arguments, the last of which is no option
/// whose value would be cut off.
pub fn shortened(line: &[u8]) -> String {
    let mut all = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let mut words: Vec<String> = all.by_ref().take(4).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    if all.next().is_some() && words.last().is_some_and(|last| last.starts_with('-')) {
        words.pop();
    }
    let program = words.first().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
    let line: Vec<String> = program.into_iter().chain(words.into_iter().skip(1)).collect();
    // Arguments are other people's text, and this goes to a terminal.
    line.join(" ").chars().filter(|char| !char.is_control()).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_shown_by_its_beginning() {
        assert_eq!(shortened(b"/usr/bin/ontick\0sample\0\0--for\x1b\x07\0a\0b\0"), "ontick sample --for a");
        assert_eq!(shortened(b"ontick\0latency\0timer\0--cpu\x001\0"), "ontick latency timer");
        assert_eq!(shortened(b"ontick\0latency\0timer\0--json\0"), "ontick latency timer --json");
        assert_eq!(shortened(&[b'x'; 100]), "x".repeat(60));
        assert_eq!(shortened(b""), "");
    }
}
