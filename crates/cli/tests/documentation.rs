//! README and docs are finished pages: nothing in them waits to be filled in, no link leads nowhere, every page is in the
//! index, the architecture names what exists, and README hides no goal that was missed.

use std::fs;
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(top().join("docs")).unwrap().map(|file| file.unwrap().path());
    let folders = fs::read_dir(top().join("crates")).unwrap().map(|folder| folder.unwrap().path().join("README.md"));
    let beside = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map(|name| top().join(name));
    let docs = docs.filter(|path| path.extension().is_some_and(|e| e == "md"));
    docs.chain(folders.filter(|path| path.exists())).chain(beside).collect()
}

/// What stands where words or figures are still missing.
const PLACEHOLDERS: [&str; 12] = [
    "todo",
    "fixme",
    "tbd",
    "xxx",
    "???",
    "lorem ipsum",
    "placeholder",
    "coming soon",
    "to be written",
    "to be done",
    "fill in",
    "not yet measured",
];

/// Placeholders of a page, each with its line.
fn placeholders(page: &str) -> Vec<String> {
    let has = |line: &str, word: &str| {
        let line = line.to_lowercase();
        line.match_indices(word).any(|(at, _)| {
            // Within another word it is none (`tbd` in `outbdoor`).
            let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            !joins(line[..at].chars().next_back()) && !joins(line[at + word.len()..].chars().next())
        })
    };
    let lines = page.lines().enumerate();
    let found = lines.flat_map(|(i, line)| {
        PLACEHOLDERS.iter().filter(move |word| has(line, word)).map(move |word| format!("line {}: {word}", i + 1))
    });
    found.collect()
}

/// The page without its code blocks and code spans, in which brackets are no links.
fn prose(page: &str) -> String {
    let outside = page.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    outside.split('`').step_by(2).collect::<Vec<_>>().join("")
}

/// Where the links and pictures of a page lead: `[words](target)`, `[name]: target`, `src="target"`, `href="target"`.
fn targets(page: &str) -> Vec<String> {
    let prose = prose(page);
    let until = |rest: &str, end: &[char]| rest.split(end).next().unwrap_or_default().to_owned();
    let inline = prose.split("](").skip(1).map(|rest| until(rest, &[')', ' ']));
    let named = prose.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: ")).map(|(_, rest)| rest.into());
    let tags =
        ["src=\"", "href=\""].into_iter().flat_map(|name| prose.split(name).skip(1)).map(|rest| until(rest, &['"']));
    inline.chain(named).chain(tags).collect()
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> Vec<String> {
    let outside = page.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    let headings = outside
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let anchor = |heading: String| -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// Links of a page in `folder` that lead nowhere. Links to other hosts are not looked at.
fn dead(page: &str, folder: &Path) -> Vec<String> {
    let leads = |target: &String| {
        let (file, anchor) = target.split_once('#').map_or((target.as_str(), None), |(f, a)| (f, Some(a)));
        let place = folder.join(file);
        let text = if file.is_empty() { Some(page.to_owned()) } else { fs::read_to_string(&place).ok() };
        let there = file.is_empty() || place.is_dir() || fs::metadata(&place).is_ok_and(|m| m.len() > 0);
        there && anchor.is_none_or(|anchor| text.is_some_and(|text| anchors(&text).iter().any(|a| a == anchor)))
    };
    let elsewhere = |target: &String| target.contains("://") || target.starts_with("mailto:");
    targets(page).into_iter().filter(|target| !elsewhere(target) && !leads(target)).collect()
}

#[test]
fn no_page_waits_to_be_filled_in() {
    for path in pages() {
        let found = placeholders(&fs::read_to_string(&path).unwrap());
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
}

#[test]
fn no_link_leads_nowhere() {
    let mut followed = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let found = dead(&page, path.parent().unwrap());
        assert!(found.is_empty(), "{}: {found:?}", path.display());
        followed += targets(&page).len();
    }
    assert!(followed > 5, "the pages have links, and they were found");
}

/// What a page names in code spans that begins with a folder of this repository, unless it has a placeholder.
fn named_paths(page: &str) -> Vec<&str> {
    let folders = ["crates", "docs", "packaging", "lab", "bench", "fuzz", "kmod", "pru"];
    let outside = page.split("```").step_by(2);
    let spans = outside.flat_map(|text| text.split('`').skip(1).step_by(2));
    spans.filter(|span| folders.contains(&span.split('/').next().unwrap_or_default())).collect()
}

#[test]
fn every_path_that_the_architecture_names_exists() {
    let page = fs::read_to_string(top().join("docs/architecture.md")).unwrap();
    let paths = named_paths(&page);
    assert!(paths.len() > 50, "the page names paths, and they were found");
    let gone: Vec<_> = paths.into_iter().filter(|path| !top().join(path).exists()).collect();
    assert!(gone.is_empty(), "docs/architecture.md names what does not exist: {gone:?}");
    assert_eq!(named_paths("`crates/x` and `ontick run` in `docs`\n```\n`lab/y`\n```\n"), ["crates/x", "docs"]);
}

#[test]
fn the_index_has_every_page() {
    let index = fs::read_to_string(top().join("docs/README.md")).unwrap();
    let listed = targets(&index);
    for file in fs::read_dir(top().join("docs")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") && name != "README.md" {
            assert!(listed.contains(&name), "docs/README.md lists {name}");
        }
    }
}

/// A row of a table of goals.
struct Goal<'a> {
    what: &'a str,
    wanted: &'a str,
    seen: &'a str,
    missed: bool,
}

fn goals<'a>(page: &'a str) -> Vec<Goal<'a>> {
    let row = |line: &'a str| {
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        match cells[..] {
            [what, wanted, seen, verdict @ ("reached" | "NOT REACHED")] => {
                Some(Goal { what, wanted, seen, missed: verdict == "NOT REACHED" })
            }
            _ => None,
        }
    };
    page.lines().filter_map(row).collect()
}

/// The words of a text that begin with a digit, each without its unit.
fn numbers(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| c.is_whitespace() || "(),;×≤≥".contains(c));
    words
        .map(|word| &word[..word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len())])
        .map(|number| number.trim_end_matches('.'))
        .filter(|number| !number.is_empty())
        .collect()
}

/// Whether a number as it is printed is this one, with two figures or more, rounded or cut off.
fn is(printed: &str, number: f64) -> bool {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let step = 0.1_f64.powi(decimals as i32);
    let apart = number - printed.parse::<f64>().unwrap();
    let figures = printed.trim_start_matches(['0', '.']).bytes().filter(u8::is_ascii_digit).count();
    apart.abs() < 1e-9 || figures >= 2 && apart > -0.5 * step - 1e-9 && apart < step - 1e-9
}

/// What was seen instead of what was wanted: the first figure, or how many of a million.
fn seen(goal: &Goal) -> Vec<f64> {
    let of_a_million = goal.seen.split(" of a million").next().filter(|before| before.len() < goal.seen.len());
    let figures = [numbers(goal.seen).first().copied(), of_a_million.and_then(|before| numbers(before).pop())];
    figures.into_iter().flatten().map(|figure| figure.parse().unwrap()).collect()
}

/// Goals that were missed, and whose figures these limits do not have, in their unit or the next greater one.
fn unsaid<'a>(page: &'a str, limits: &str) -> Vec<Goal<'a>> {
    // What is wanted is not what was seen.
    let mut parts = limits.split("goal");
    let first = parts.next().unwrap_or_default().to_owned();
    let limits = parts.fold(first, |text, part| text + part.split_once([';', ')']).map_or("", |(_, after)| after));
    let printed = numbers(&limits);
    let is_said = |goal: &Goal| {
        let wanted: Vec<f64> = numbers(goal.wanted).into_iter().map(|number| number.parse().unwrap()).collect();
        // Rounded to the goal, it would look reached; "below 1" is missed by 1.
        let is_goal = |number: &f64| wanted.contains(number) && !seen(goal).contains(number);
        let mut other = printed.iter().filter(|number| !is_goal(&number.parse().unwrap()));
        other.any(|number| seen(goal).into_iter().any(|seen| is(number, seen) || is(number, seen / 1_000.0)))
    };
    goals(page).into_iter().filter(|goal| goal.missed && !is_said(goal)).collect()
}

fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, after) = page.split_once(heading).unwrap_or_else(|| panic!("a section {heading}"));
    after.split("\n## ").next().unwrap_or_default()
}

#[test]
fn the_limits_have_every_goal_that_was_missed() {
    let page = fs::read_to_string(top().join("docs/benchmarks.md")).unwrap();
    let readme = fs::read_to_string(top().join("README.md")).unwrap();
    assert!(goals(&page).len() > 80, "the tables have goals, and they were found");
    let unsaid = unsaid(&page, section(&readme, "\n## Limits\n"));
    let unsaid: Vec<String> = unsaid.iter().map(|goal| format!("{}: {}", goal.what, goal.seen)).collect();
    assert!(unsaid.is_empty(), "README's limits do not have the figure of\n{}", unsaid.join("\n"));
}

/// What README says below its example are figures of the benchmarks, and no better ones.
#[test]
fn the_shares_below_the_first_example_are_those_of_the_benchmarks() {
    let page = fs::read_to_string(top().join("docs/benchmarks.md")).unwrap();
    let readme = fs::read_to_string(top().join("README.md")).unwrap();
    let prose = readme.split("\n\n").find(|paragraph| paragraph.contains("cyclictest and jitterdebugger")).expect("it");
    for load in ["all", "idle"] {
        let goals = goals(&page);
        let row = goals.iter().find(|goal| goal.what == format!("cycles within 3us, {load}, all blocks together"));
        let share = &row.expect("the row").seen;
        let cut = &share[..share.find(" %").expect("a share") - 1];
        assert!(numbers(prose).contains(&cut), "{load}: {share}, and README has not {cut}: {prose}");
    }
}

#[test]
fn a_goal_that_is_not_spoken_of_is_found() {
    let left = |row: &str, limits: &str| !unsaid(&format!("| a | {row} | NOT REACHED |"), limits).is_empty();
    let share = "≥ 99.9 % | 99.892 %";
    assert!(!left(share, "idle (99.89 %, goal 99.9 %)") && !left(share, "(99.892 %)"));
    assert!(left(share, "idle (99.9 %)") && left(share, "idle (99.88 %)") && left(share, "the p99.892"));
    assert!(left("≤ 10 | 12 of 4", "(99, goal 12)") && !left("≤ 10 | 12 of 4", "(9, goal 12; 12 of 4)"));
    assert!(!left("≤ 1 | 13 of 7 (11.6 of a million)", "11.6") && left("≤ 1 | 13 of 7 (11.6 of a million)", "7"));
    assert!(!left("≥ 1000.0 kb/s | identical, 623.4 kb/s", "0.62 Mb/s") && left("≤ 0.75, none | 1.19, 0 missing", "1"));
    assert!(unsaid("| a | ≤ 1 | 2 | reached |", "").is_empty());
}

fn all_commands() -> clap::Command {
    ontick::built(ontick::command().disable_help_subcommand(true))
}

fn has_long(command: &clap::Command, name: &str) -> bool {
    let longs = |argument: &clap::Arg| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        argument.get_long() == Some(name) || aliases.contains(&name)
    };
    command.get_arguments().any(longs)
}

/// Commands in the code spans of a page, and what is typed in its blocks (`$ ontick …`).
fn named_commands(page: &str) -> Vec<String> {
    let (mut outside, mut inside) = (Vec::new(), Vec::new());
    page.split("```").enumerate().for_each(|(n, text)| if n % 2 == 0 { outside.push(text) } else { inside.push(text) });
    let spans = outside.into_iter().flat_map(|text| text.split('`').skip(1).step_by(2));
    let typed = inside.into_iter().flat_map(str::lines).filter_map(|line| line.trim_start().strip_prefix("$ "));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let commands = spans.chain(typed).map(|text| words(text.trim_start_matches("sudo ")));
    commands.filter(|text| text.starts_with("ontick ")).collect()
}

/// The first word of a command's line that the program does not know.
fn unknown_word(line: &str, all: &clap::Command) -> Option<String> {
    let mut command = all;
    for word in line.split(' ').skip(1) {
        // The words of another program, or no more of this one's.
        if ["--", "|", ">", "&&", "…", "#", "\\"].contains(&word) {
            break;
        }
        let option = word.trim_start_matches('[').strip_prefix("--");
        let name = option.map(|name| name.split(['=', '[', ']', ',', '\'', '"']).next().unwrap_or_default());
        match name {
            Some(name) if !has_long(command, name) => return Some(word.to_owned()),
            Some(_) => {}
            None if !command.has_subcommands() => {}
            // Several at once: `timer|noise`.
            None => match command.find_subcommand(word.split('|').next().unwrap_or_default()) {
                Some(below) => command = below,
                None if word.starts_with(|c: char| c.is_ascii_lowercase()) => return Some(word.to_owned()),
                None => break,
            },
        }
    }
    None
}

#[test]
fn every_command_that_is_named_is_one() {
    let all = all_commands();
    let mut named = 0;
    for path in pages() {
        for line in named_commands(&fs::read_to_string(&path).unwrap()) {
            let unknown = unknown_word(&line, &all);
            assert_eq!(unknown, None, "{}: {line}", path.display());
            named += 1;
        }
    }
    assert!(named > 200, "the pages name commands, and they were found: {named}");
    let unknown = |line: &str| unknown_word(line, &all);
    assert_eq!(unknown("ontick tune --boot"), Some("--boot".into()));
    assert_eq!(unknown("ontick network times"), Some("times".into()));
    assert_eq!([unknown("ontick tune apply --boot"), unknown("ontick run -- ls --boot")], [None, None]);
    assert_eq!(named_commands("`sudo ontick run`\n```\n$ ontick check\nontick\n```\n"), ["ontick run", "ontick check"]);
}

/// The part of a page from these words to the end of the sentence.
fn sentence<'p>(page: &'p str, begins: &str) -> &'p str {
    let rest = &page[page.find(begins).unwrap_or_else(|| panic!("no sentence begins with {begins}"))..];
    rest.split(".\n").next().unwrap_or(rest).split(". ").next().unwrap_or(rest)
}

fn code_spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_options_that_all_measurements_take_are_those_of_each() {
    let all = all_commands();
    let readme = fs::read_to_string(top().join("README.md")).unwrap();
    let latency = all.find_subcommand("latency").unwrap();
    let mut compared = 0;
    for part in sentence(&readme, "All measurements of `latency`").split(';') {
        let (options, others): (Vec<&str>, Vec<&str>) =
            code_spans(part).into_iter().partition(|span| span.starts_with("--"));
        for measurement in latency.get_subcommands() {
            for option in &options {
                let excepted = others.contains(&measurement.get_name());
                let has = has_long(measurement, option.trim_start_matches("--"));
                assert_eq!(has, !excepted, "{} {option}", measurement.get_name());
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
    let explain = fs::read_to_string(top().join("docs/explain.md")).unwrap();
    let without: Vec<&str> =
        latency.get_subcommands().filter(|of| !has_long(of, "explain")).map(clap::Command::get_name).collect();
    assert_eq!(without, ["dip"]);
    assert!(explain.contains("on any `latency` command but `dip`"));
}

/// Commands that have this option, each as it is typed.
fn with_option(command: &clap::Command, name: &str, words: &str) -> Vec<String> {
    let below = command.get_subcommands();
    let below = below.flat_map(|below| with_option(below, name, format!("{words} {}", below.get_name()).trim_start()));
    has_long(command, name).then(|| words.to_owned()).into_iter().chain(below).collect()
}

#[test]
fn the_page_on_continuous_integration_names_every_command_with_junit() {
    let page = fs::read_to_string(top().join("docs/ci.md")).unwrap();
    let said = code_spans(sentence(&page, "`--junit` is an option of"));
    let have = with_option(&all_commands(), "junit", "");
    let of = |named: &str, command: &str| command == named || command.starts_with(&format!("{named} "));
    let missing: Vec<_> = have.iter().filter(|command| !said.iter().any(|named| of(named, command))).collect();
    let wrong: Vec<_> = said[1..].iter().filter(|named| !have.iter().any(|command| of(named, command))).collect();
    assert!(missing.is_empty() && wrong.is_empty(), "not named: {missing:?}; without it: {wrong:?}");
}

#[test]
fn a_shown_verdict_has_its_uncertainty_below() {
    let begins = ["This machine acts", "The simulated machine", "The machine measured"];
    let mut shown = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for block in page.split("```").skip(1).step_by(2) {
            let lines: Vec<&str> = block.lines().collect();
            for (n, line) in lines.iter().enumerate().filter(|(_, line)| begins.iter().any(|of| line.starts_with(of))) {
                let below = lines.iter().skip(n).take(4);
                assert!(below.into_iter().any(|line| line.contains("(instrument)")), "{}: {line}", path.display());
                shown += 1;
            }
        }
    }
    assert!(shown > 5, "the pages show verdicts, and they were found");
}

#[test]
fn what_is_unfinished_is_found() {
    assert_eq!(placeholders("fine\nTODO: words\n| p99 | TBD |"), ["line 2: todo", "line 3: tbd"]);
    assert_eq!(placeholders("`ontick`, outbdoors, XXXL"), [""; 0]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("there.md"), "# Which CPU?\n").unwrap();
    fs::write(folder.path().join("empty.png"), "").unwrap();
    let page = "# A page\n[a](there.md#which-cpu) [b](gone.md) [c](there.md#else) ![d](empty.png) `[e](code)`\n\
                [f](#a-page) [g](https://example.org/x)\n[h]: lost.md\n<img src=\"lost.svg\">\n```\n[i](block.md)\n```\n";
    let mut found = dead(page, folder.path());
    found.sort();
    assert_eq!(found, ["empty.png", "gone.md", "lost.md", "lost.svg", "there.md#else"]);
}
