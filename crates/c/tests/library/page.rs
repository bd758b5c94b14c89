//! The page's programs are complete ones: each is compiled, and does what the page says.

use std::collections::BTreeSet;

use crate::compile::{Compiler, Linked, compile, has};
use crate::staged::top;

/// The blocks of a page in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    page.split(&opening).skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

fn page() -> String {
    std::fs::read_to_string(top().join("docs/c.md")).unwrap()
}

#[test]
fn every_program_of_the_page_compiles() {
    if !has("gcc") || !has("g++") {
        return;
    }
    let programs = blocks(&page(), "c");
    assert!(programs.len() >= 3, "the page has programs, and they were found");
    let folder = tempfile::tempdir().unwrap();
    for (number, program) in programs.iter().enumerate() {
        let source = folder.path().join(format!("program{number}.c"));
        std::fs::write(&source, program).unwrap();
        for compiler in [Compiler::C, Compiler::Cpp] {
            compile(&source, compiler, Linked::Shared, folder.path()).unwrap();
        }
    }
}

#[test]
fn the_page_shows_the_examples_as_they_are() {
    let example = |name| std::fs::read_to_string(top().join("crates/c/examples").join(name)).unwrap();
    for name in ["control_loop.c", "talk.c"] {
        assert!(blocks(&page(), "c").contains(&example(name)), "docs/c.md shows examples/{name}");
    }
    assert!(example("control_loop.c").lines().count() <= 40, "the page says that it has 40 lines");
}

/// Functions whose name the page has, and those of the header.
#[test]
fn the_page_names_every_function() {
    let header = std::fs::read_to_string(top().join("crates/c/include/ontick.h")).unwrap();
    let names = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.filter(|word| word.starts_with("ontick_")).map(str::to_owned).collect()
    };
    let (known, named) = (names(&header), names(&page()));
    let missing: Vec<_> = known.difference(&named).collect();
    let unknown: Vec<_> = named.difference(&known).filter(|name| !name.starts_with("ontick_rt")).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:?}, unknown: {unknown:?}");
}
