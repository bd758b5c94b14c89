//! Callers can tell errors apart: no function that they see has a text for one.

mod sources;

use sources::each_source;

/// Functions, methods and closures to hand in that may fail with a text, of those that are visible outside their file.
fn faults(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let items =
        code.split("\n\n").flat_map(|part| part.split("\n    pub ").skip(1).chain(part.split("\npub ").skip(1)));
    let signatures = items.filter_map(|item| item.split(" {\n").next()).filter(|item| item.contains("fn "));
    signatures.filter(|signature| signature.contains(", String>")).collect()
}

#[test]
fn no_public_function_fails_with_a_text() {
    let mut functions = 0;
    each_source(&mut |path, text| {
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
