//! Whether a package's kernel can run this machine at all.

use ontick_machine::Facts;
use ontick_machine::Root;

use super::InstallError;
use super::image::Architecture;
use super::package::Package;

/// Refuses a kernel that could never start.
pub(super) fn check(
    root: &Root,
    facts: &Facts,
    package: &Package,
    notes: &mut Vec<String>,
) -> Result<(), InstallError> {
    let built_for = package.image.architecture.or(package.modules_for);
    match (built_for, programs(root, facts)) {
        (Some(kernel), Some(system)) if !kernel.runs(system) => {
            return Err(InstallError::OtherArchitecture { kernel, system });
        }
        (Some(_), Some(_)) => {}
        _ => notes.push("it is unknown whether the kernel is for this machine's architecture".into()),
    }
    let old = facts.board.raspberry_pi.as_ref().filter(|pi| (1..3).contains(&pi.generation));
    if let (Some(pi), Some(Architecture::Arm64)) = (old, built_for) {
        return Err(InstallError::NarrowBoard(generation(pi.generation)));
    }
    if secure_boot(root) && !package.image.signed {
        return Err(InstallError::Unsigned);
    }
    if package.config.as_ref().is_some_and(|c| !c.lines().any(|l| l == "CONFIG_PREEMPT_RT=y")) {
        notes.push("by its configuration this is no real-time kernel (CONFIG_PREEMPT_RT is not set)".into());
    }
    Ok(())
}

fn generation(number: u32) -> &'static str {
    if number == 1 { "ARMv6" } else { "ARMv7" }
}

/// What the system's programs were built for; on a running machine also what its kernel says.
fn programs(root: &Root, facts: &Facts) -> Option<Architecture> {
    let files = ["/bin/sh", "/usr/bin/env", "/sbin/init", "/bin/bash", "/usr/lib/systemd/systemd"];
    let of_files = files.iter().find_map(|file| Architecture::of_elf(&root.bytes(file).ok()?));
    of_files.or_else(|| Architecture::of_machine(&facts.kernel.architecture))
}

/// Whether the firmware lets only signed kernels start.
fn secure_boot(root: &Root) -> bool {
    let variable = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    // Four bytes of attributes, then the value.
    root.bytes(variable).is_ok_and(|bytes| bytes.get(4) == Some(&1))
}

/// The Debian package that a path belongs to.
pub(super) fn owner(root: &Root, path: &str) -> Option<String> {
    let usr = format!("/usr{path}");
    let lists = root.matching("/var/lib/dpkg/info/linux-*.list");
    let holds = |list: &&String| root.text(list).is_ok_and(|text| text.lines().any(|line| line == path || line == usr));
    let list = lists.iter().find(holds)?;
    let name = list.rsplit('/').next()?.strip_suffix(".list")?;
    Some(name.split(':').next().unwrap_or(name).to_owned())
}
