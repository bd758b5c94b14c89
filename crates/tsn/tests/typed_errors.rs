//! Callers can tell errors apart: no function that they see has a text for one.

use std::fs;
use std::path::Path;

/// Functions, methods and closures to hand in that may fail with a text, of those that are visible outside their file.
fn faults(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let items =
        code.split("\n\n").flat_map(|part| part.split("\n    pub ").skip(1).chain(part.split("\npub ").skip(1)));
    let signatures = items.filter_map(|item| item.split(" {\n").next()).filter(|item| item.contains("fn "));
    signatures.filter(|signature| signature.contains(", String>")).collect()
}

fn each_source(folder: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => each_source(&path, visit),
            false => visit(&path, &fs::read_to_string(&path).unwrap()),
        }
    }
}

#[test]
fn no_public_function_fails_with_a_text() {
    let mut functions = 0;
    each_source(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut |path, text| {
        functions += text.matches("pub fn ").count();
        assert_eq!(faults(&format!("\n{text}")), [""; 0], "{}", path.display());
    });
    assert!(functions > 100, "{functions} public functions");
}

#[test]
fn a_public_function_that_does_is_found() {
    let own = "\nfn own() -> Result<(), String> {\n    Ok(())\n}\n";
    let typed = "\npub fn typed() -> Result<String, Error> {\n    own()\n}\n";
    assert_eq!(faults(&format!("{own}{typed}")), [""; 0]);
    assert_eq!(faults("\n/// A.\npub fn text(\n    a: u8,\n) -> Result<u8, String> {\n    Ok(a)\n}\n").len(), 1);
    assert_eq!(
        faults("\nimpl A {\n    pub fn text(&self) -> Result<u8, String> {\n        Ok(1)\n    }\n}\n").len(),
        1
    );
}
