//! Manual pages: one for each command, from the same declaration as its help.

use std::fs;
use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

/// Section of the manual: user commands.
const SECTION: &str = "1";

/// Writes `man1/ontick.1`, `man1/ontick-check.1` and so on.
pub fn write(folder: &Path) -> io::Result<()> {
    let folder = folder.join(format!("man{SECTION}"));
    fs::create_dir_all(&folder)?;
    let root = ontick::built(ontick::command().disable_help_subcommand(true));
    write_all(&root, None, &folder)
}

fn write_all(command: &Command, above: Option<&str>, folder: &Path) -> io::Result<()> {
    let name = title(command);
    fs::write(folder.join(format!("{name}.{SECTION}")), page(command, above)?)?;
    shown(command).try_for_each(|below| write_all(below, Some(&name), folder))
}

/// `ontick-latency-timer`
fn title(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set())
}

fn page(command: &Command, above: Option<&str>) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone())
        .title(title(command).to_uppercase())
        .section(SECTION)
        .date(date())
        .source(format!("ontick {}", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut out)?;
    }
    if shown(command).next().is_some() {
        man.render_subcommands_section(&mut out)?;
    }
    for section in [examples(command), Some(exit_status(command)), see_also(command, above)].into_iter().flatten() {
        section.to_writer(&mut out)?;
    }
    Ok(tidy(out))
}

/// The day of the sources if a package is made, else today.
fn date() -> String {
    let of_sources = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let time = of_sources.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.unwrap_or_else(jiff::Timestamp::now).strftime("%Y-%m-%d").to_string()
}

/// What stands below the options in `--help`: examples as they are typed, then words.
fn examples(command: &Command) -> Option<Roff> {
    let text = command.get_after_long_help().or(command.get_after_help())?.to_string();
    let mut section = Roff::new();
    for (number, paragraph) in text.split("\n\n").enumerate() {
        let (words, lines) = match paragraph.split_once('\n') {
            Some((words, lines)) if lines.starts_with(' ') => (words, lines),
            _ => (paragraph, ""),
        };
        match (number, words.starts_with("Example")) {
            (_, true) => section.control("SH", ["EXAMPLES"]),
            (0, false) => section.control("SH", ["NOTES"]).text([roman(words)]),
            (_, false) => section.control("PP", []).text([roman(words)]),
        };
        if !lines.is_empty() {
            as_typed(&mut section, lines);
        }
    }
    Some(section)
}

/// Lines that stay as they are.
fn as_typed(section: &mut Roff, lines: &str) {
    section.control("nf", []);
    for line in lines.lines() {
        section.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
    }
    section.control("fi", []);
}

fn exit_status(command: &Command) -> Roff {
    let meanings = [
        ("0", "Done, and every requirement met."),
        ("1", "Done, and a requirement not met."),
        ("2", "Not possible: one sentence on standard error says why, and what to do."),
        ("3", "Not proven: what a requirement is about was not reached, or too little was measured to tell."),
    ];
    let mut section = Roff::new();
    section.control("SH", ["EXIT STATUS"]);
    if title(command) == "ontick-run" {
        section.text([roman("That of the program; 128 + N if signal N ended it. If it was not started:")]);
    }
    for (status, meaning) in meanings {
        section.control("TP", []).text([roman(status)]).text([roman(meaning)]);
    }
    section
}

fn see_also(command: &Command, above: Option<&str>) -> Option<Roff> {
    let names: Vec<String> = above.map(str::to_owned).into_iter().chain(shown(command).map(title)).collect();
    let pages: Vec<String> = names.iter().map(|name| format!("{name}({SECTION})")).collect();
    let mut section = Roff::new();
    section.control("SH", ["SEE ALSO"]).text([roman(pages.join(", "))]);
    (!pages.is_empty()).then_some(section)
}

/// Each section comes with the same definition of the apostrophe, of which one will do. In roff a blank line is a command
/// of its own, where in help it parts paragraphs; a break beside it adds nothing.
fn tidy(page: Vec<u8>) -> Vec<u8> {
    let page = String::from_utf8(page).expect("what was rendered is text");
    let defines_apostrophe = |line: &str| line.starts_with(".ie \\n(.g .ds Aq") || line.starts_with(".el .ds Aq");
    let lines = page.lines().enumerate().filter(|(number, line)| *number < 2 || !defines_apostrophe(line));
    let lines: Vec<&str> = lines.map(|(_, line)| if line.trim().is_empty() { ".sp" } else { line }).collect();
    let mut kept: Vec<&str> = Vec::new();
    for (line, next) in lines.iter().zip(lines.iter().skip(1).chain([&""])) {
        let space = kept.last().is_some_and(|last| *last == ".sp");
        match *line {
            ".br" if space || *next == ".sp" => {}
            ".sp" if space => {}
            line => kept.push(line),
        }
    }
    kept.into_iter().flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}
