//! What tuning refuses, with the option that mends it.

use ontick_machine::boot::BootError;
use ontick_machine::isolate::IsolateError;

use crate::failure::Failure;

/// Why the boot files cannot be planned.
pub(super) fn no_boot_plan(error: BootError) -> Failure {
    match error {
        BootError::NoTrialHere | BootError::NoTrialOnThisPi => Failure::new(format!("{error}: leave out --tryboot")),
        BootError::KernelTrial(_) => Failure::new(format!("{error} (ontick kernel keep, or ontick kernel rollback)")),
        other => Failure::new(other),
    }
}

/// Why CPUs cannot be isolated.
pub fn not_isolated(error: IsolateError) -> String {
    match error {
        IsolateError::NotAsked => format!("{error} (--isolate)"),
        IsolateError::NoCpusets | IsolateError::NotMounted => format!("{error} (ontick tune apply --boot)"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tuning_refuses_names_the_option_that_mends_it() {
        assert_eq!(
            no_boot_plan(BootError::NoTrialHere).to_string(),
            "only a Raspberry Pi can try a boot (tryboot): leave out --tryboot"
        );
        let trial = no_boot_plan(BootError::KernelTrial("/boot/firmware/tryboot.txt".into())).to_string();
        assert!(trial.ends_with("go back first (ontick kernel keep, or ontick kernel rollback)"), "{trial}");
        assert_eq!(
            not_isolated(IsolateError::NoCpusets),
            "this kernel is built without CPUSETS: isolate at boot instead (ontick tune apply --boot)"
        );
        assert_eq!(not_isolated(IsolateError::OneCpu), IsolateError::OneCpu.to_string());
    }
}
