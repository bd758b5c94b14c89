//! `ontick check|tune … --interface` on virtual Ethernet, with ethtool(8) and sysfs as the judges of what is changed and put
//! back. What virtual Ethernet does not have is tested on a modelled card, in `crates/machine/tests/network.rs`.

use std::collections::BTreeMap;
use std::process::Command;

use super::{alone_on_this_machine, has, namespace::namespace, run, stderr, stdout};

/// What is done with the interface, each part behind a line that begins with `##`. The mount namespace has the network
/// namespace's own /sys, and a place of its own for the journal.
const SCRIPT: &str = r###"
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /var/lib
ontick=$1
show() { echo "## $1"; ethtool -k out; echo "threaded: $(cat /sys/class/net/out/threaded)"; }
# Without this virtual Ethernet takes no frames by polling.
ethtool -K out gro on
show before
echo "## check"; "$ontick" check --interface out --all || true
echo "## plan"; "$ontick" tune plan joined-frames receive-steering --interface out
echo "## applied"; "$ontick" tune apply joined-frames receive-steering --interface out
show changed
echo "## status"; "$ontick" tune status
echo "## reverted"; "$ontick" tune revert
show after
echo "## threaded"; "$ontick" tune apply threaded-napi napi-threads --interface out
show polling
echo "## threads"
for stat in /proc/[0-9]*/stat; do grep -s '(napi/out-' "$stat" || true; done
echo "## unthreaded"; "$ontick" tune revert
show last
"$ontick" tune apply joined-frames --interface out >&2
ip link del out
echo "## gone"; "$ontick" tune revert
"###;

#[test]
fn settings_of_an_interface_are_changed_and_put_back_exactly() {
    if !has("ip") || !has("ethtool") || !has("unshare") {
        return;
    }
    let (Some(near), Some(far)) = (namespace(), namespace()) else { return };
    near.join("out", &far, "in").unwrap();
    let _alone = alone_on_this_machine();
    let mut command = Command::new("unshare");
    command.args(["--mount", "bash", "-eu", "-c", SCRIPT, "bash"]);
    command.arg(env!("CARGO_BIN_EXE_ontick"));
    let output = near.within(|| command.output()).unwrap().unwrap();
    let text = stdout(&output);
    assert!(output.status.success(), "{text}\n{}", stderr(&output));
    let parts: BTreeMap<&str, &str> = text.split("## ").filter_map(|part| part.split_once('\n')).collect();
    // Before Linux 5.12 there is no such file.
    let has_threads = !parts["before"].ends_with("threaded: \n");

    for words in [
        "out has rx-gro",
        "out is made by software: no card, no wire",
        "ontick tune apply joined-frames --interface out",
    ] {
        let flat = parts["check"].split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{words}: {}", parts["check"]);
    }
    assert!(parts["plan"].contains("on → off"), "{}", parts["plan"]);
    let on = |part: &str, name: &str| parts[part].contains(&format!("{name}: on"));
    for name in ["generic-receive-offload", "tcp-segmentation-offload", "generic-segmentation-offload"] {
        assert!(on("before", name) && !on("changed", name), "{name}: {text}");
    }
    if has_threads {
        assert!(parts["before"].contains("threaded: 0") && parts["polling"].contains("threaded: 1"), "{text}");
        // Priority and policy, fields 40 and 41 of proc(5): FIFO is 1.
        let policy = |line: &str| {
            let fields: Vec<&str> = line.rsplit_once(") ").unwrap().1.split(' ').collect();
            (fields[40 - 3].to_owned(), fields[41 - 3].to_owned())
        };
        let policies: Vec<_> = parts["threads"].lines().map(policy).collect();
        assert!(!policies.is_empty() && policies.iter().all(|of| *of == ("50".into(), "1".into())), "{policies:?}");
        assert_eq!(parts["before"], parts["last"]);
    }
    assert!(parts["status"].contains("joined-frames") && parts["status"].contains("ethtool:out/feature"), "{text}");
    assert_eq!(parts["before"], parts["after"]);
    assert!(!parts["gone"].contains("refused"), "{}", parts["gone"]);
}

#[test]
fn an_interface_is_named_where_one_is_needed() {
    let refused = |arguments: &[&str], words: &str| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stdout(&output));
        assert!(stderr(&output).contains(words), "{words}: {}", stderr(&output));
    };
    refused(&["check", "--interface", "nowhere"], "there is no network interface nowhere (there are ");
    refused(&["tune", "plan", "--interface", "nowhere"], "there is no network interface nowhere");
    refused(
        &["tune", "plan", "interrupt-coalescing"],
        "interrupt-coalescing is a setting of a network interface: name it with --interface IF",
    );
    refused(&["tune", "plan", "--boot", "--interface", "lo"], "--interface");
}
