//! A BeagleBone's `uEnv.txt`: `uname_r` names the release, and U-Boot takes `/boot/vmlinuz-RELEASE`,
//! `/boot/initrd.img-RELEASE` and `/boot/dtbs/RELEASE/`. So the files lie beside the others, each under its own
//! name, and only that one line makes the new kernel the one that is booted.

use ontick_machine::Root;

use super::{LoaderError, Stage, Survey, Written, read, size_of};
use crate::install::Installed;
use crate::install::package::Package;

const KEY: &str = "uname_r=";

pub(super) fn survey(root: &Root, file: &str, package: &Package) -> Result<Survey, LoaderError> {
    let text = read(root, file)?;
    let now = release(&text).ok_or_else(|| LoaderError::NoRelease(file.into()))?;
    let initramfs = format!("/boot/initrd.img-{now}");
    if root.exists(&format!("/boot/dtbs/{now}")) && package.dtbs().next().is_none() {
        return Err(LoaderError::NoOwnDeviceTrees(format!("/boot/dtbs/{now}")));
    }
    Ok(Survey {
        folder: "/boot".into(),
        kernel: format!("vmlinuz-{}", package.release),
        initramfs: format!("initrd.img-{}", package.release),
        initramfs_size: size_of(root, &initramfs),
        wants_initramfs: root.exists(&initramfs),
        notes: vec!["uEnv.txt has no choice for one boot: keep the kernel untried; the way back from outside is a rollback with this card in a reader".into()],
        ..Survey::default()
    })
}

pub(super) fn write(root: &Root, file: &str, kernel: &Installed, stage: Stage) -> Result<Written, LoaderError> {
    let text = read(root, file)?;
    let mut written = Written::default();
    if stage == Stage::Keep {
        let after = with_release(&text, &kernel.release);
        written.edit(file, Some(text), after);
    }
    Ok(written)
}

/// The release that is booted; the last of several counts.
fn release(text: &str) -> Option<&str> {
    text.lines().rev().find_map(|l| l.strip_prefix(KEY)).map(str::trim).filter(|r| !r.is_empty())
}

fn with_release(text: &str, release: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(last) = lines.iter().rposition(|l| l.starts_with(KEY)) else { return text.into() };
    let ending = &lines[last][lines[last].trim_end_matches(['\r', '\n']).len()..];
    let new = format!("{KEY}{release}{ending}");
    lines.iter().enumerate().map(|(i, l)| if i == last { new.as_str() } else { l }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_changes() {
        let text = "#uname_r=no\nuname_r=4.14.71-ti-r80\r\n#dtb=\ncmdline=quiet\n";
        assert_eq!(release(text), Some("4.14.71-ti-r80"));
        assert_eq!(with_release(text, "6.12-rt"), text.replace("4.14.71-ti-r80", "6.12-rt"));
    }
}
