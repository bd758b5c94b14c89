//! The trial of a kernel on a Raspberry Pi lasts until the kernel is kept or rolled back.

use super::*;

const TRYBOOT: &str = "/boot/firmware/tryboot.txt";

#[test]
fn a_trial_that_was_edited_is_not_forgotten() {
    for kept in [false, true] {
        let machine = lay("pi4");
        let before = state(&machine);
        install(&machine, &machine.root, &kernel(Arch::Arm64), &options("pi4")).unwrap();
        let edited = machine.read(TRYBOOT).replace("kernel=kernel8.img", "kernel=mine.img");
        machine.write(TRYBOOT, &edited);
        if kept {
            keep(&machine, &machine.root).unwrap();
        }
        assert_eq!(machine.read(TRYBOOT), edited);
        let done = back(&machine, false);
        assert!(!done.complete() && format!("{done:?}").contains("tryboot.txt"), "{done:?}");
        assert_eq!(machine.read(TRYBOOT), edited);
        assert!(back(&machine, true).complete());
        same(&machine, &before, "by force");
    }
}

#[test]
fn what_could_not_be_kept_can_still_be_tried() {
    let machine = lay("pi4");
    let before = state(&machine);
    for at in 0.. {
        install(&machine, &machine.root, &kernel(Arch::Arm64), &options("pi4")).unwrap();
        let trial = machine.read(TRYBOOT);
        let config = machine.read("/boot/firmware/config.txt");
        let full = Arc::new(Full(at, AtomicUsize::new(0)));
        let result = keep(&machine, &machine.root.clone().with_hook(full.clone()));
        let reached = full.1.load(Ordering::Relaxed) > at;
        match &result {
            Err(why) => {
                assert!(reached && machine.root.text(TRYBOOT).is_ok_and(|now| now == trial), "step {at}: {why}");
                assert_eq!(machine.read("/boot/firmware/config.txt"), config, "step {at}: {why}");
                let again = keep(&machine, &machine.root);
                assert!(again.is_ok(), "step {at}: {why}, then {again:?}");
            }
            Ok(_) => assert!(!machine.root.exists(TRYBOOT), "step {at}"),
        }
        assert!(back(&machine, false).complete(), "step {at}");
        same(&machine, &before, &format!("step {at}"));
        if !reached {
            assert!(at > 5, "only {at} steps were tried");
            break;
        }
    }
}

#[test]
fn the_trial_of_a_kernel_is_named_where_arguments_are_to_be_tried() {
    let machine = lay("pi4");
    install(&machine, &machine.root, &kernel(Arch::Arm64), &options("pi4")).unwrap();
    let target = machine.target(ontick_machine::Profile::DedicatedCore);
    let refused = ontick_machine::boot::plan(&machine.root, &machine.facts(), &target, true).unwrap_err();
    assert!(refused.to_string().contains("keep it or go back first"), "{refused}");
}
