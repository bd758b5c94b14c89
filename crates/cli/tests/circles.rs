//! Holds the files of each crate to an order: of the modules that stand side by side, none uses one that, directly or
//! through others, uses it. A module and those inside it count as one. The modules of `machine` have layers besides.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module by the names that lead to it; none for the crate's root.
type Module = Vec<String>;

/// The modules of `machine`, lowest first: each uses those of lower layers alone. The architecture page has them too.
const LAYERS_OF_MACHINE: [&[&str]; 10] = [
    &["root", "value_format", "config_txt", "device_tree", "merge", "service_unit"],
    &["facts", "resctrl", "own_setting"],
    &["target", "ownership", "wanted_cpus"],
    &["findings", "knobs"],
    &["plan", "profile_file"],
    &["journal"],
    &["apply", "boot", "isolate"],
    &["tree"],
    &["revert"],
    &["status"],
];

/// What the modules of a crate import of each other.
#[derive(Debug, Default)]
struct Modules {
    files: BTreeMap<Module, PathBuf>,
    /// Names that a module exports of another one.
    exports: BTreeMap<(Module, String), Module>,
    uses: BTreeMap<Module, BTreeSet<Module>>,
}

impl Modules {
    /// Reads every file below `src`.
    fn of(src: &Path) -> Self {
        let mut modules = Self::default();
        modules.find(src, &[]);
        let texts: Vec<(Module, String)> = modules
            .files
            .iter()
            .map(|(module, file)| (module.clone(), code(&fs::read_to_string(file).unwrap())))
            .collect();
        modules.learn(&texts);
        modules
    }

    /// As if these were the files of a crate.
    fn of_texts(texts: &[(&str, &str)]) -> Self {
        let mut modules = Self::default();
        let texts: Vec<(Module, String)> = texts
            .iter()
            .map(|(name, text)| (name.split('/').filter(|n| !n.is_empty()).map(String::from).collect(), code(text)))
            .collect();
        modules.files = texts.iter().map(|(module, _)| (module.clone(), PathBuf::new())).collect();
        modules.learn(&texts);
        modules
    }

    fn find(&mut self, folder: &Path, module: &[String]) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let inner: Module = module.iter().cloned().chain([name.clone()]).collect();
            if is_of_tests(&name) {
                continue;
            }
            if path.is_dir() {
                self.find(&path, &inner);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let is_own = matches!(name.as_str(), "mod" | "lib" | "main");
                self.files.insert(if is_own { module.to_vec() } else { inner }, path);
            }
        }
    }

    fn learn(&mut self, texts: &[(Module, String)]) {
        let used: Vec<(&Module, Used)> =
            texts.iter().flat_map(|(module, text)| paths(text).into_iter().map(move |used| (module, used))).collect();
        for (module, used) in &used {
            if let Some(path) = self.absolute(module, &used.path).filter(|_| used.exported) {
                let name = path.last().cloned().unwrap_or_default();
                self.exports.insert(((*module).clone(), name), path);
            }
        }
        for (module, used) in used {
            let owner = self.absolute(module, &used.path).map(|path| self.owner(&path, 8));
            if let Some(owner) = owner.filter(|owner| owner != module && !used.exported) {
                self.uses.entry(module.clone()).or_default().insert(owner);
            }
        }
    }

    /// A path from the crate's root; `None` for one of another crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let mut base = module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (base, rest) = (Module::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            name => {
                let inner: Module = module.iter().cloned().chain([name.to_owned()]).collect();
                self.files.get(&inner)?;
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// The module that what a path names is in, through at most so many exports.
    fn owner(&self, path: &[String], exports: usize) -> Module {
        let known = (0..=path.len()).rev().map(|length| &path[..length]).find(|p| self.files.contains_key(*p));
        let module = known.unwrap_or_default().to_vec();
        let Some(name) = path.get(module.len()) else { return module };
        match self.exports.get(&(module.clone(), name.clone())) {
            Some(of) if exports > 0 => {
                let whole: Module = of.iter().chain(&path[module.len() + 1..]).cloned().collect();
                self.owner(&whole, exports - 1)
            }
            _ => module,
        }
    }

    /// The circles among modules that stand side by side, each as the names of its modules in order.
    fn circles(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for above in self.files.keys() {
            let depth = above.len();
            let inside =
                |module: &Module| (module.len() > depth && module.starts_with(above)).then(|| module[depth].clone());
            let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for (module, uses) in &self.uses {
                let Some(from) = inside(module) else { continue };
                let to = uses.iter().filter_map(inside).filter(|to| *to != from);
                arrows.entry(from.clone()).or_default().extend(to);
            }
            let reached: BTreeMap<&String, BTreeSet<&String>> =
                arrows.keys().map(|from| (from, reach(&arrows, from))).collect();
            for (from, to) in reached.iter().filter(|(from, to)| to.contains(*from)) {
                let both = |other: &&&String| reached.get(**other).is_some_and(|back| back.contains(*from));
                let names: Vec<&str> = to.iter().filter(both).map(|name| name.as_str()).collect();
                let place: String = above.iter().map(|name| format!("{name}/")).collect();
                found.insert(format!("{place}{{{}}}", names.join(", ")));
            }
        }
        found
    }
}

/// Modules without a layer, and arrows that do not run down from one to another.
fn arrows_up(modules: &Modules, layers: &[&[&str]]) -> BTreeSet<String> {
    let layer = |name: &String| layers.iter().position(|layer| layer.contains(&name.as_str()));
    let names = modules.files.keys().filter_map(|module| module.first());
    let mut found: BTreeSet<String> =
        names.filter(|name| layer(name).is_none()).map(|name| format!("{name} has no layer")).collect();
    for (from, uses) in &modules.uses {
        for (from, to) in
            uses.iter().filter_map(|to| Some((from.first()?, to.first()?))).filter(|(from, to)| from != to)
        {
            if layer(to) >= layer(from) {
                found.insert(format!("{from} uses {to}"));
            }
        }
    }
    found
}

/// All that can be reached from a module.
fn reach<'a>(arrows: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a String> {
    let mut reached: BTreeSet<&String> = BTreeSet::new();
    let mut open: Vec<&String> = arrows.get(from).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(arrows.get(next).into_iter().flatten());
        }
    }
    reached
}

fn is_of_tests(name: &str) -> bool {
    name == "tests" || name == "testbed" || name.ends_with("_test")
}

/// A file's code without comments, and up to the tests in it.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    // A module for tests may use what it tests.
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// A path that a file names.
struct Used {
    path: Vec<String>,
    exported: bool,
}

/// The paths of the imports of a file, and those in its code that begin with `crate`, `super` or a module inside it.
fn paths(code: &str) -> Vec<Used> {
    let mut found = Vec::new();
    let mut rest = String::new();
    let mut import: Option<(bool, String)> = None;
    for line in code.lines() {
        let begins =
            ["use ", "pub use ", "pub(crate) use ", "pub(super) use "].into_iter().find(|w| line.starts_with(w));
        match (&mut import, begins) {
            (None, Some(words)) => import = Some((words != "use ", line[words.len()..].to_owned())),
            (Some((_, text)), _) => *text += line.trim(),
            (None, None) => rest = rest + line + "\n",
        }
        if let Some((exported, text)) = import.take_if(|(_, text)| text.contains(';')) {
            let tree = text.replace(' ', "");
            let each = expanded(tree.split(';').next().unwrap_or_default());
            found.extend(each.into_iter().map(|path| Used { path: names(&path), exported }));
        }
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let in_code = rest.split(|c| !is_part(c)).filter(|word| word.contains("::") && !word.starts_with(':'));
    found.extend(in_code.map(|word| Used { path: names(word), exported: false }));
    found
}

fn names(path: &str) -> Vec<String> {
    path.split("::").filter(|name| !name.is_empty()).map(String::from).collect()
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d` and `a::c::e`.
fn expanded(tree: &str) -> Vec<String> {
    let Some((before, inner)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    let mut depth = 0;
    let parts = inner.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts.filter(|part| !part.is_empty()).flat_map(expanded).map(|part| format!("{before}{part}")).collect()
}

#[test]
fn no_modules_of_a_crate_stand_in_a_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut circles = BTreeSet::new();
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let modules = Modules::of(&folder.join("src"));
        assert!(modules.files.contains_key(&Module::new()), "{name} has a root");
        circles.extend(modules.circles().into_iter().map(|circle| format!("{name}: {circle}")));
    }
    assert!(circles.is_empty(), "these modules use each other, directly or through others: {circles:#?}");
}

#[test]
fn no_arrow_in_machine_runs_up() {
    let modules = Modules::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/src"));
    assert!(modules.uses.len() > 30, "{} files use others", modules.uses.len());
    assert_eq!(arrows_up(&modules, &LAYERS_OF_MACHINE), BTreeSet::new());
    for name in LAYERS_OF_MACHINE.iter().copied().flatten() {
        assert!(modules.files.contains_key(&vec![(*name).to_owned()]), "machine has no module {name}");
    }
}

#[test]
fn the_architecture_page_has_the_same_layers_of_machine() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/architecture.md")).unwrap();
    let rows = page.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>()).filter(|row| row.len() == 5);
    let layers: Vec<String> = rows.filter(|row| row[1].parse::<u8>().is_ok()).map(|row| row[2].to_owned()).collect();
    let quoted = |layer: &&[&str]| layer.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    assert_eq!(layers, LAYERS_OF_MACHINE.iter().map(quoted).collect::<Vec<_>>());
}

#[test]
fn an_arrow_up_is_found() {
    let layers: [&[&str]; 2] = [&["low", "side"], &["high"]];
    let up = |texts: &[(&str, &str)]| arrows_up(&Modules::of_texts(texts), &layers).into_iter().collect::<Vec<_>>();
    assert_eq!(up(&[("", ""), ("low", ""), ("high", "use crate::low::L;"), ("high/x", "use super::y;")]), [""; 0]);
    assert_eq!(up(&[("", ""), ("low/x", "fn f() { crate::high::g() }"), ("high", "")]), ["low uses high"]);
    assert_eq!(up(&[("", ""), ("low", "use crate::side::S;"), ("side", "")]), ["low uses side"]);
    assert_eq!(up(&[("", ""), ("other", "")]), ["other has no layer"]);
}

#[test]
fn a_circle_is_found_whatever_it_goes_through() {
    let circles = |texts: &[(&str, &str)]| Modules::of_texts(texts).circles().into_iter().collect::<Vec<_>>();
    // Of each other by an import, by a path in the code, and by a name that the root exports.
    assert_eq!(circles(&[("", ""), ("a", "use crate::b::B;"), ("b", "fn f() { crate::a::g() }")]), ["{a, b}"]);
    assert_eq!(
        circles(&[("", "pub use a::A;"), ("a", "use crate::b::B;"), ("b", "use crate::{A, other};")]),
        ["{a, b}"]
    );
    // Over a third, and from deep inside.
    let deep = [("", ""), ("a", ""), ("a/deep", "use super::super::b::{self, x::{Y, Z}};"), ("b", "use crate::c::C;")];
    assert_eq!(circles(&[&deep[..], &[("c", "use crate::a;")]].concat()), ["{a, b, c}"]);
    // Side by side inside another.
    let inner = [("", ""), ("m", ""), ("m/a", "use super::b::B;"), ("m/b", "use super::a::{\n    A,\n};")];
    assert_eq!(circles(&inner), ["m/{a, b}"]);
}

#[test]
fn what_is_no_circle_is_not_taken_for_one() {
    let circles = |texts: &[(&str, &str)]| Modules::of_texts(texts).circles().len();
    assert_eq!(circles(&[("", ""), ("a", "use crate::b::B;"), ("b", "use other::a::A; // crate::a")]), 0);
    // A module and one inside it are one.
    assert_eq!(circles(&[("", ""), ("a", "mod x;\nx::f();"), ("a/x", "use super::A;")]), 0);
    assert_eq!(
        circles(&[("", ""), ("a", "use crate::b;"), ("b", "#[cfg(test)]\nmod tests {\n    use crate::a;\n}")]),
        0
    );
}
