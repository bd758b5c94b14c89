//! What the kernel has, found by trying it in a network namespace that is gone at once: what can be set up there can be
//! set up here, whether it is built in or a module.

use crate::apply::{Host, Refused};

/// Whether something is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// It is.
    There,
    /// It is not.
    Missing {
        /// That it is not, as the beginning of a sentence.
        what: String,
        /// What showed it, as the end of that sentence.
        why: String,
    },
    /// That cannot be found out without root.
    Unknown,
}

impl Known {
    /// Why the kernel's data plane cannot be had, if that is known.
    pub(super) fn required(&self) -> Result<(), String> {
        match self {
            Self::Missing { what, why } => Err(format!("{what}, and the user data plane needs nothing of that: {why}")),
            Self::There | Self::Unknown => Ok(()),
        }
    }
}

/// tc-flower(8) with `skbedit` at a port's way out.
pub fn flower(host: &impl Host) -> Known {
    let filter = "filter add dev lo egress pref 1 protocol ip flower ip_proto udp action skbedit priority 0:1";
    let tried = tc(host, &format!("qdisc add dev lo clsact\n{filter}\n"));
    known(tried, &[], "tc flower with skbedit (CONFIG_NET_CLS_FLOWER, CONFIG_NET_ACT_SKBEDIT, CONFIG_NET_SCH_INGRESS)")
}

/// tc-police(8), tc-gate(8) and tc-flower(8), with these filters of `lo`.
pub fn policing(host: &impl Host, filters: &[String]) -> Known {
    let lines = filters.iter().enumerate().map(|(place, filter)| {
        let filter = filter.strip_prefix("tc ").unwrap_or(filter);
        format!("{}\n", filter.replace(" pref 0 ", &format!(" pref {} ", place + 1)))
    });
    let tried = tc(host, &format!("qdisc add dev lo clsact\n{}", lines.collect::<String>()));
    known(
        tried,
        &[],
        "policing of streams (tc flower, police, gate: CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_FLOWER, CONFIG_NET_ACT_POLICE, \
         CONFIG_NET_ACT_GATE; iproute2 5.19 for frames of no VLAN)",
    )
}

/// nftables' bridge family.
pub fn nft(host: &impl Host) -> Known {
    let table =
        "table bridge t { chain c { type filter hook postrouting priority 0; meta priority set 0:1 accept; }; }\n";
    known(isolated(host, &["nft", "-f", "-"], table), &[], "nftables' bridge family (CONFIG_NF_TABLES_BRIDGE)")
}

/// iptables' CLASSIFY.
pub fn iptables(host: &impl Host) -> Known {
    let rule = ["iptables", "-t", "mangle", "-A", "POSTROUTING", "-p", "udp", "-j", "CLASSIFY", "--set-class", "0:1"];
    known(isolated(host, &rule, ""), &[], "iptables' CLASSIFY (CONFIG_NETFILTER_XT_TARGET_CLASSIFY)")
}

/// taprio; `lo` has one queue only, which only taprio itself knows that it does not like.
pub fn taprio(host: &impl Host) -> Known {
    let qdisc = "qdisc add dev lo root taprio num_tc 1 map 0 queues 1@0 base-time 0 sched-entry S 01 1000000 \
                 clockid CLOCK_TAI\n";
    known(tc(host, qdisc), &["Multi-queue"], "taprio (CONFIG_NET_SCH_TAPRIO)")
}

/// etf.
pub fn etf(host: &impl Host) -> Known {
    let qdisc = "qdisc add dev lo root etf clockid CLOCK_TAI delta 100000 skip_sock_check\n";
    known(tc(host, qdisc), &[], "etf (CONFIG_NET_SCH_ETF)")
}

/// cbs.
pub fn cbs(host: &impl Host) -> Known {
    let qdisc = "qdisc add dev lo root cbs idleslope 1000 sendslope -9000 hicredit 1 locredit -1 offload 0\n";
    known(tc(host, qdisc), &[], "cbs (CONFIG_NET_SCH_CBS)")
}

/// prio.
pub fn prio(host: &impl Host) -> Known {
    known(tc(host, "qdisc add dev lo root prio\n"), &[], "prio (CONFIG_NET_SCH_PRIO)")
}

/// mqprio; `lo` has one queue only, which only mqprio itself knows that it does not like.
pub fn mqprio(host: &impl Host) -> Known {
    let qdisc = "qdisc add dev lo root mqprio num_tc 1 map 0 queues 1@0 hw 0\n";
    known(tc(host, qdisc), &["Operation not supported"], "mqprio (CONFIG_NET_SCH_MQPRIO)")
}

/// Whether `tc` itself can make traffic classes preemptible.
pub fn tc_knows_preemption(host: &impl Host) -> bool {
    // It explains itself as if that were an error.
    host.query(&["tc", "qdisc", "add", "taprio", "help"]).is_err_and(|refused| refused.why.contains("[fp "))
}

fn tc(host: &impl Host, lines: &str) -> Result<String, Refused> {
    isolated(host, &["tc", "-batch", "-"], lines)
}

fn isolated(host: &impl Host, argv: &[&str], input: &str) -> Result<String, Refused> {
    host.try_out(&[&["unshare", "--net", "--"], argv].concat(), input)
}

/// `fine`: refusals that only who is there can utter.
fn known(tried: Result<String, Refused>, fine: &[&str], what: &str) -> Known {
    let Err(Refused { why, .. }) = tried else { return Known::There };
    if fine.iter().any(|fine| why.contains(fine)) {
        return Known::There;
    }
    // util-linux's words, those of BusyBox, and those of a machine without either.
    if ["unshare failed", "unshare(", "package util-linux"].iter().any(|unknown| why.contains(unknown)) {
        return Known::Unknown;
    }
    Known::Missing { what: format!("this machine cannot do {what}"), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_right_to_try_nothing_is_known() {
        for why in [
            "unshare: unshare failed: Operation not permitted",
            "unshare: unshare(0x40000000): Operation not permitted",
        ] {
            let refused = Refused { what: "unshare --net".into(), why: why.into() };
            assert_eq!(known(Err(refused), &[], "taprio"), Known::Unknown, "{why}");
        }
    }
}
