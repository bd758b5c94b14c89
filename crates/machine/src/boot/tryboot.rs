//! A Raspberry Pi's firmware reads `tryboot.txt` in the place of `config.txt` in one boot, if the restart asks for it
//! (`reboot '0 tryboot'`); the usual files stay as they are.

use super::{Argument, BootError, BootFiles, Edit, in_file, one_line, read};
use crate::config_txt;
use crate::facts::{Facts, board};
use crate::root::Root;

/// Stands in the files that `ontick kernel` writes.
const KERNEL_MARK: &str = "Written by ontick kernel;";

/// Whose files they are.
#[derive(Debug, Clone, Copy)]
pub struct Tryboot<'a> {
    /// Name of the file that holds the kernel's arguments, beside the usual one.
    pub line: &'a str,
    /// Stands in `tryboot.txt`, and tells it from those of others.
    pub mark: &'a str,
}

impl Tryboot<'_> {
    /// What a restart is asked for.
    pub const REBOOT: &'static str = "0 tryboot";

    /// The new files, for a boot with these arguments and settings besides the usual ones.
    pub fn edits(
        self,
        root: &Root,
        place: &BootFiles,
        facts: &Facts,
        args: &[Argument],
        settings: &[(String, String)],
    ) -> Result<Vec<Edit>, BootError> {
        let BootFiles::RaspberryPi { cmdline, config } = place else {
            return Err(BootError::NoTrialHere);
        };
        let generation = facts.board.raspberry_pi.as_ref().map_or(0, |pi| pi.generation);
        if (1..4).contains(&generation) {
            return Err(BootError::NoTrialOnThisPi);
        }
        let tried = format!("{}tryboot.txt", folder_of(config));
        match root.text(&tried) {
            Ok(text) if text.contains(self.mark) => {}
            Ok(text) if text.contains(KERNEL_MARK) => return Err(BootError::KernelTrial(tried)),
            Ok(_) => return Err(BootError::ForeignTrial(tried)),
            Err(_) => {}
        }
        let line = format!("{}{}", folder_of(cmdline), self.line);
        let text = one_line::with(&read(root, cmdline)?, args).map_err(in_file(cmdline))?;
        let named = ("cmdline".to_owned(), self.named(root, cmdline, config));
        let settings: Vec<_> = settings.iter().cloned().chain([named]).collect();
        let config = config_txt::with(&read(root, config)?, &settings, self.mark);
        let line = Edit::new(&line, root.text(&line).ok(), text);
        // Last: without it nothing looks at the other file.
        Ok(line.into_iter().chain(Edit::new(&tried, root.text(&tried).ok(), config)).collect())
    }

    /// The file of arguments as the firmware looks for it: from its folder, below the prefix of the system's files.
    fn named(self, root: &Root, cmdline: &str, config: &str) -> String {
        let settings = board::config(root, config).unwrap_or_default();
        let from_folder = cmdline.strip_prefix(folder_of(config)).unwrap_or(cmdline);
        let prefix = settings.get("os_prefix").unwrap_or_default();
        format!("{}{}", folder_of(from_folder.strip_prefix(prefix).unwrap_or(from_folder)), self.line)
    }
}

/// A path's folder, with its slash.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..=at])
}
