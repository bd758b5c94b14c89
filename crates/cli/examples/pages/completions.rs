//! Completions, by the names under which each shell looks for them.

use std::fs;
use std::io;
use std::path::Path;

use clap_complete::{Shell, generate};

const FILES: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/ontick"),
    (Shell::Fish, "fish/vendor_completions.d/ontick.fish"),
    (Shell::Zsh, "zsh/vendor-completions/_ontick"),
];

/// Writes one file for each shell; `folder` is what `/usr/share` will be.
pub fn write(folder: &Path) -> io::Result<()> {
    for (shell, name) in FILES {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("it is in a folder"))?;
        let mut text = Vec::new();
        generate(shell, &mut ontick::command(), "ontick", &mut text);
        fs::write(file, text)?;
    }
    Ok(())
}
