//! A tree that stands for a machine shows written values in the form in which the kernel would.

/// The new content of a kernel file that held `old` after `value` was written.
pub(super) fn shaped(old: &str, value: &str) -> String {
    let ending = if old.ends_with('\n') { "\n" } else { "" };
    if let Some(lines) = line_of(old, value) {
        return lines;
    }
    if let Some(choice) = chosen(old, value) {
        return choice + ending;
    }
    if let Some(word) = value.strip_prefix('+') {
        let mut words: Vec<&str> = old.split_whitespace().filter(|w| *w != word).collect();
        words.push(word);
        return words.join(" ") + ending;
    }
    if let Some(word) = value.strip_prefix('-').filter(|w| w.starts_with(|c: char| c.is_ascii_alphabetic())) {
        return old.split_whitespace().filter(|w| *w != word).collect::<Vec<_>>().join(" ") + ending;
    }
    format!("{value}{ending}")
}

/// Of a file with a line for each resource (`L3:0=fff`), the one that `value` is for is replaced.
fn line_of(old: &str, value: &str) -> Option<String> {
    let resource =
        |line: &str| Some(line.trim_start().split_once(':')?.0.to_owned()).filter(|name| !name.contains(' '));
    let wanted = resource(value)?;
    let replaced = |line: &str| match resource(line) {
        Some(name) if name == wanted => {
            let indented = &line[..line.len() - line.trim_start().len()];
            let ending = if line.ends_with('\n') { "\n" } else { "" };
            format!("{indented}{value}{ending}")
        }
        _ => line.to_owned(),
    };
    old.lines()
        .any(|line| resource(line).as_ref() == Some(&wanted))
        .then(|| old.split_inclusive('\n').map(replaced).collect())
}

/// `always [madvise] never` with the brackets around another word.
fn chosen(old: &str, value: &str) -> Option<String> {
    for (open, close) in [('[', ']'), ('(', ')')] {
        let bare = |word: &str| word.strip_prefix(open).and_then(|w| w.strip_suffix(close)).map(str::to_owned);
        let words: Vec<&str> = old.split_whitespace().collect();
        if !words.iter().any(|w| bare(w).is_some()) {
            continue;
        }
        let words: Vec<String> = words.iter().map(|w| bare(w).unwrap_or_else(|| (*w).to_owned())).collect();
        if words.iter().any(|w| w == value) {
            let mark = |w: &String| if w == value { format!("{open}{w}{close}") } else { w.clone() };
            // Some of these files (pcie_aspm) end in a space, which stays.
            let space = if old.trim_end_matches('\n').ends_with(' ') { " " } else { "" };
            return Some(words.iter().map(mark).collect::<Vec<_>>().join(" ") + space);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::shaped;

    #[test]
    fn as_the_kernel_shows_it() {
        assert_eq!(shaped("always [madvise] never\n", "never"), "always madvise [never]\n");
        assert_eq!(shaped("none voluntary (full) lazy\n", "none"), "(none) voluntary full lazy\n");
        assert_eq!(shaped("[default] performance \n", "performance"), "default [performance] \n");
        assert_eq!(shaped("950000\n", "-1"), "-1\n");
        assert_eq!(shaped("cpu memory\n", "+cpuset"), "cpu memory cpuset\n");
        assert_eq!(shaped("cpu memory cpuset\n", "-cpuset"), "cpu memory\n");
        assert_eq!(
            shaped("    MB:0=100\n    L3:0=fff;1=fff\n", "L3:0=fff;1=1ff"),
            "    MB:0=100\n    L3:0=fff;1=1ff\n"
        );
    }
}
