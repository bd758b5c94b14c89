//! Who has a line: the name it was taken under, and the process where that can be found out.

use std::fs;
use std::path::Path;

use ontick_rt::kernel_text;

/// A program and its process, as far as known. `consumer` is what the kernel was given.
pub fn holder(chip: &str, line: u32, consumer: &str) -> String {
    match (consumer, process(chip, line)) {
        (consumer, Some((pid, program))) if consumer == program || consumer.is_empty() => {
            format!("{program} (process {pid})")
        }
        (consumer, Some((pid, program))) => format!("\"{consumer}\": {program} (process {pid})"),
        ("", None) => "the kernel or another program, which gave no name".into(),
        (consumer, None) => format!("\"{consumer}\""),
    }
}

/// The process that has the line open. The kernel says so (since 6.3) of processes that the user may look into.
fn process(chip: &str, line: u32) -> Option<(u32, String)> {
    let processes = fs::read_dir("/proc").ok()?;
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| has_open(&Path::new("/proc").join(pid.to_string()), chip, line);
    let pid = pids.into_iter().find(has)?;
    let program = kernel_text::read(format!("/proc/{pid}/comm")).ok()?;
    Some((pid, program.trim().into()))
}

fn has_open(process: &Path, chip: &str, line: u32) -> bool {
    let Ok(files) = fs::read_dir(process.join("fd")) else { return false };
    files.flatten().any(|file| {
        let is_line = fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == "anon_inode:gpio-line");
        is_line
            && fs::read_to_string(process.join("fdinfo").join(file.file_name()))
                .is_ok_and(|info| names_line(&info, chip, line))
    })
}

fn names_line(info: &str, chip: &str, line: u32) -> bool {
    let field = |label| info.lines().filter_map(move |text| text.strip_prefix(label)).map(str::trim);
    field("gpio-chip:").any(|name| name == chip) && field("gpio-line:").any(|number| number == line.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_file_information_is_read() {
        let info =
            "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1033\ngpio-chip:\tgpiochip1\ngpio-line:\t3\ngpio-line:\t7\n";
        assert!(names_line(info, "gpiochip1", 7) && names_line(info, "gpiochip1", 3));
        assert!(!names_line(info, "gpiochip1", 33) && !names_line(info, "gpiochip0", 7));
        assert!(!names_line("pos:\t0\n", "gpiochip1", 7));
    }

    #[test]
    fn somebody_is_always_named() {
        let nowhere = "gpiochip-of-nobody";
        assert_eq!(holder(nowhere, 3, "spi0 CS0"), "\"spi0 CS0\"");
        assert!(holder(nowhere, 3, "").contains("gave no name"));
    }
}
