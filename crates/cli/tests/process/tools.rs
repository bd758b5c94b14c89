//! What a test asks of the machine.

use std::path::Path;

/// A tool that a test needs. Where everything must be tested its absence is a failure.
pub fn has(tool: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| Path::new(&folder).join(tool).is_file()));
    assert!(found || std::env::var_os("ONTICK_REQUIRE_TOOLS").is_none(), "{tool} is not installed");
    if !found {
        ontick_skip::skipped!("{tool} is not installed");
    }
    found
}
