//! README and docs are finished pages: nothing in them waits to be filled in, no link leads nowhere, every page is in the
//! index, and the architecture names what exists.

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
