//! What `deny.toml` asks of the dependencies that this machine's programs are built of, those of tests left out: licences,
//! where they come from, none of them twice. `cargo deny` looks at all, where it is installed; this needs neither it nor
//! a network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The words between quotation marks in a list of `deny.toml`.
fn listed(rules: &str, key: &str) -> Vec<String> {
    let list = rules.split_once(&format!("\n{key} = [")).and_then(|(_, rest)| rest.split_once("]\n"));
    let list = list.map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether an SPDX expression can be met with licences that are allowed: `OR` binds less than `AND`.
fn met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let plain = expression.replace('/', " OR ");
    let (mut depth, mut word, mut words) = (0, String::new(), Vec::new());
    for part in plain.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
        depth += i32::from(part == "(") - i32::from(part == ")");
        match (depth, part) {
            (0, "OR" | "AND") => words.extend([std::mem::take(&mut word), part.to_owned()]),
            _ => word = format!("{word} {part}").trim().to_owned(),
        }
    }
    words.push(word);
    let one = |term: &String| match term.strip_prefix("( ").and_then(|t| t.strip_suffix(" )")) {
        Some(inner) => met(inner, allowed),
        None => allowed.contains(term),
    };
    words.split(|word| word == "OR").any(|all| all.iter().filter(|word| *word != "AND").all(one))
}

/// A package that is built here.
struct Package {
    name: String,
    /// Where it is from, if not from crates.io.
    from: Option<String>,
    licence: String,
}

/// The packages that are built here, those of this workspace left out.
fn dependencies() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--workspace", "--edges", "normal,build", "--prefix", "none"])
        .args(["--no-dedupe", "--format", "{p}|{l}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: BTreeSet<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let one = |line: &str| {
        let (package, licence) = line.split_once('|').unwrap();
        let mut words = package.splitn(3, ' ');
        let (name, _version) = (words.next().unwrap().to_owned(), words.next().unwrap());
        let from = words.next().filter(|from| *from != "(proc-macro)").map(str::to_owned);
        Package { name, from, licence: licence.to_owned() }
    };
    lines.into_iter().map(one).filter(|package| !package.name.starts_with("ontick")).collect()
}

#[test]
fn dependencies_are_as_deny_toml_asks() {
    let rules = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml")).unwrap();
    let allowed: BTreeSet<String> = listed(&rules, "allow").into_iter().collect();
    let twice: BTreeSet<String> = listed(&rules, "skip")
        .iter()
        .filter_map(|text| text.split_once(':'))
        .map(|(name, _)| name.to_owned())
        .collect();
    assert!(allowed.contains("MIT") && !twice.is_empty(), "deny.toml was not read: {allowed:?} {twice:?}");
    let all = dependencies();
    assert!(all.len() > 60, "{} packages", all.len());
    let mut wrong = Vec::new();
    let mut versions: BTreeMap<&str, u32> = BTreeMap::new();
    for package in &all {
        *versions.entry(&package.name).or_default() += 1;
        if !met(&package.licence, &allowed) {
            wrong.push(format!("{}: licence {}", package.name, package.licence));
        }
        wrong.extend(package.from.iter().map(|from| format!("{}: from {from}", package.name)));
    }
    let again = versions.iter().filter(|(name, count)| **count > 1 && !twice.contains(**name));
    wrong.extend(again.map(|(name, count)| format!("{name}: {count} versions")));
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_licence_that_is_not_allowed_is_found() {
    let allowed: BTreeSet<String> = ["MIT", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"].map(String::from).into();
    for fits in [
        "MIT",
        "GPL-3.0 OR MIT",
        "Apache-2.0/MIT",
        "(MIT OR GPL-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(met(fits, &allowed), "{fits}");
    }
    for not in ["GPL-3.0", "MIT AND GPL-3.0", "none", "(MIT OR GPL-2.0) AND Zlib", ""] {
        assert!(!met(not, &allowed), "{not}");
    }
}
