//! What a test of switches that fails half-way would leave: taken away with its namespaces still there.

use std::path::Path;

use ontick_switch::verify::namespace::Namespace;

use super::ontick;

/// Takes away the switches of a state folder, and puts back settings that a killed command left.
pub fn revert_switches(here: &Namespace, state: &Path) {
    let folders = std::fs::read_dir(state).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    let names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let state = state.display().to_string();
    let revert = |name: Option<&str>| {
        let words = [&["switch", "revert"], name.as_slice(), &["--state", &state]].concat();
        // A test that fails says why; this says nothing more.
        let _ = here.within(|| ontick(&words).output());
    };
    names.iter().for_each(|name| revert(Some(name)));
    if names.is_empty() {
        revert(None);
    }
}

/// Does so at the end of a test, however it ends.
pub struct RevertSwitches<'a> {
    pub here: &'a Namespace,
    pub state: &'a Path,
}

impl Drop for RevertSwitches<'_> {
    fn drop(&mut self) {
        revert_switches(self.here, self.state);
    }
}
