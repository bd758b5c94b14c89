//! `config.txt`, the Raspberry Pi firmware's settings: `key=value` under filters such as `[pi4]`. Of the lines
//! `initramfs FILE ADDRESS`, which have no `=`, the file counts as the value.

use serde::{Serialize, Serializer};

/// The settings that hold for one board, in order; the last of a key counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigTxt(Vec<(String, String)>);

impl ConfigTxt {
    /// Reads the text for a board. Settings under filters that depend on a display, a pin or a serial
    /// number are left out: whether they hold cannot be known from here.
    pub fn parse(text: &str, model: &str, generation: u32) -> Self {
        Self::parse_with(text, model, generation, &|_| None)
    }

    /// As above; `file` gives the text of a file that is named by `include`.
    pub fn parse_with(text: &str, model: &str, generation: u32, file: &dyn Fn(&str) -> Option<String>) -> Self {
        let (mut right_model, mut plain) = (true, true);
        let mut settings = Vec::new();
        let whole = included(text, file, 0);
        for line in whole.lines().map(str::trim) {
            if let Some(filter) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                match filter.trim() {
                    "all" => (right_model, plain) = (true, true),
                    "none" => plain = false,
                    board if is_board(board) => right_model = covers(board, model, generation),
                    _ => plain = false,
                }
            } else if let Some((key, value)) = setting(line) {
                if right_model && plain {
                    settings.push((key.trim().to_owned(), value.trim().to_owned()));
                }
            }
        }
        Self(settings)
    }

    /// The value of a setting.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Whether any setting has this key and this beginning of a value (`dtoverlay`, `sdio`).
    pub fn has(&self, key: &str, begins: &str) -> bool {
        self.0.iter().any(|(k, v)| k == key && v.starts_with(begins))
    }
}

fn setting(line: &str) -> Option<(&str, &str)> {
    match after("initramfs", line) {
        Some(rest) => Some(("initramfs", rest.split_whitespace().next()?)),
        None => line.split_once('=').filter(|_| !line.starts_with('#')),
    }
}

/// What stands behind a word that a line begins with.
fn after<'l>(word: &str, line: &'l str) -> Option<&'l str> {
    line.trim().strip_prefix(word).filter(|rest| rest.starts_with([' ', '\t'])).map(str::trim)
}

/// Files that include one another in a circle would have no end.
const DEPTH: u32 = 5;
/// Files that include others many times over would have one, but far away.
const LONGEST: usize = 1 << 20;

/// The text with the files that it includes in their places.
fn included(text: &str, file: &dyn Fn(&str) -> Option<String>, depth: u32) -> String {
    let mut whole = String::new();
    for line in text.lines() {
        match file_named(line).filter(|_| depth < DEPTH).and_then(file) {
            Some(inner) => whole += &included(&inner, file, depth + 1),
            None => whole += line,
        }
        whole += "\n";
        if whole.len() > LONGEST {
            break;
        }
    }
    whole
}

/// The file that an `include` line names.
fn file_named(line: &str) -> Option<&str> {
    after("include", line)
}

impl Serialize for ConfigTxt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(key, value)| format!("{key}={value}")))
    }
}

fn is_board(filter: &str) -> bool {
    filter.starts_with("pi") || filter.starts_with("cm") || filter.starts_with("board-type=")
}

fn covers(filter: &str, model: &str, generation: u32) -> bool {
    match filter {
        "pi0" => model.contains("Zero"),
        "pi0w" => model.contains("Zero W"),
        "pi02" => model.contains("Zero 2"),
        "pi3+" => generation == 3 && model.contains("Plus"),
        "pi400" => model.contains("400"),
        "pi500" => model.contains("500"),
        "cm4" => model.contains("Compute Module 4"),
        "cm5" => model.contains("Compute Module 5"),
        "pi1" | "pi2" | "pi3" | "pi4" | "pi5" => filter[2..].parse() == Ok(generation),
        _ => false,
    }
}

/// The text with settings that hold for every board at its end; they win, the last of a key counts.
pub fn with(text: &str, settings: &[(String, String)], comment: &str) -> String {
    if settings.is_empty() {
        return text.into();
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut new = text.to_owned();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push_str(newline);
    }
    // A filter of an included file holds on after it.
    let filtered = text.lines().any(|line| line.trim().starts_with('[') || file_named(line).is_some());
    // A filter of its own, so that they hold whatever is taken out before them.
    // The comment, which is like no other line, comes first: so a comparison of texts sees what belongs together.
    let mut lines = vec![format!("# {comment}")];
    lines.extend(filtered.then(|| "[all]".to_owned()));
    lines.extend(settings.iter().map(|(key, value)| format!("{key}={value}")));
    lines.iter().for_each(|line| new.extend([line.as_str(), newline]));
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "force_turbo=0\n#arm_boost=9\n[pi4]\narm_boost=1\n[pi5]\narm_boost=2\n[EDID=x]\nforce_turbo=7\n\
                        [all]\ndtoverlay=sdio,poll_once=off\n[none]\nforce_turbo=8\n";

    #[test]
    fn filters_are_respected() {
        let pi4 = ConfigTxt::parse(TEXT, "Raspberry Pi 4 Model B Rev 1.4", 4);
        assert_eq!((pi4.get("force_turbo"), pi4.get("arm_boost")), (Some("0"), Some("1")));
        assert!(pi4.has("dtoverlay", "sdio") && !pi4.has("dtoverlay", "poll"));
        let plus = ConfigTxt::parse("[pi3]\na=1\n[pi3+]\na=2\n[cm4]\na=3\n", "Raspberry Pi 3 Model B Plus Rev 1.3", 3);
        assert_eq!(plus.get("a"), Some("2"));
    }

    #[test]
    fn an_initramfs_is_a_setting_whose_line_has_no_equals_sign() {
        let of = |text: &str| {
            ConfigTxt::parse(text, "Raspberry Pi 4 Model B Rev 1.4", 4).get("initramfs").map(str::to_owned)
        };
        assert_eq!(of("a=1\n initramfs\tinitrd.img followkernel\n").as_deref(), Some("initrd.img"));
        assert_eq!(of("[pi5]\ninitramfs five\n[pi4]\ninitramfs four 0x00a00000\n").as_deref(), Some("four"));
        assert_eq!(of("#initramfs x\ninitramfs_x=1\ninitramfs \n"), None);
    }

    #[test]
    fn included_files_stand_in_their_places() {
        let file = |name: &str| match name {
            "user.txt" => Some("force_turbo=1\n[pi5]\narm_boost=1\n".to_owned()),
            "circle.txt" => Some("include circle.txt\nb=2".to_owned()),
            _ => None,
        };
        let parse = |text: &str| ConfigTxt::parse_with(text, "Raspberry Pi 4 Model B", 4, &file);
        let config = parse("force_turbo=0\ninclude user.txt\nafter=1\ninclude none.txt\n[all]\nlast=1\n");
        assert_eq!((config.get("force_turbo"), config.get("arm_boost")), (Some("1"), None));
        // A filter of the included file holds on.
        assert_eq!((config.get("after"), config.get("last")), (None, Some("1")));
        assert_eq!(parse("include circle.txt\na=1").get("a"), Some("1"));
        assert_eq!(parse("#include user.txt\nincluded=3").get("force_turbo"), None);
    }

    #[test]
    fn what_is_added_holds_after_an_included_filter() {
        let added = with("include f\n", &[("force_turbo".into(), "1".into())], "why");
        let config = ConfigTxt::parse_with(&added, "Raspberry Pi 4 Model B", 4, &|_| Some("[pi5]\n".into()));
        assert_eq!(config.get("force_turbo"), Some("1"), "{added}");
    }

    proptest! {
        #[test]
        fn what_is_added_wins_and_the_rest_stays(text in "(([a-z]{1,4}=[0-9]|\\[(all|pi4|none|EDID=x)\\]|#.{0,5})\r?\n){0,8}([a-z]=1)?") {
            let new = with(&text, &[("force_turbo".into(), "1".into())], "why");
            prop_assert!(new.starts_with(&text));
            let parsed = ConfigTxt::parse(&new, "Raspberry Pi 3 Model B", 3);
            prop_assert_eq!(parsed.get("force_turbo"), Some("1"));
        }

        #[test]
        fn any_text_is_answered(text in ".{0,80}") {
            let _ = ConfigTxt::parse(&text, "", 0);
        }
    }
}
