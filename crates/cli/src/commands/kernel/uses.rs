//! Which command of ontick an option of the kernel serves.

use ontick_kernel::fragment::OptionRequest;
use ontick_record::Finding;

/// Each reason with the command or option that needs the kernel's; the library knows none.
pub(super) fn in_findings(findings: &mut [Finding]) {
    for finding in findings {
        add(finding.id.strip_prefix("CONFIG_").unwrap_or(&finding.id), &mut finding.why);
    }
}

/// The same of options that are asked for.
pub(super) fn in_requests(asked: &mut [OptionRequest]) {
    asked.iter_mut().for_each(|one| add(&one.name, &mut one.why));
}

fn add(option: &str, why: &mut String) {
    if let Some(command) = used_by(option) {
        *why += &format!(" ({command})");
    }
}

fn used_by(option: &str) -> Option<&'static str> {
    Some(match option {
        "CPUSETS" => "ontick tune apply --isolate",
        "OSNOISE_TRACER" => "--explain, ontick latency noise",
        "TIMERLAT_TRACER" => "--explain",
        "NET_SCH_TAPRIO" => "ontick switch",
        "IKCONFIG" | "IKCONFIG_PROC" => "ontick kernel check",
        _ => return None,
    })
}
