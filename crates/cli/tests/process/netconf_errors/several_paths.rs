//! Streams that come by several paths.

use super::{IDENTITY, STREAMS, refused};
use crate::netconf::{Talk, managed, rpc};
use crate::stderr;
use crate::switch_user::bench;

const FRER: &str = "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-frer";

/// A stream that comes in by port0, and what drops its copies.
fn frer(recovered: u32, history: u32, algorithm: &str, output: &str) -> String {
    format!(
        "<stream-identity xmlns='{STREAMS}'><index>1</index><handle>5</handle><out-facing><input-port>port0</input-port>\
         {output}</out-facing><null-stream-identification><destination-mac>02-00-00-00-01-0A</destination-mac><tagged>all\
         </tagged></null-stream-identification></stream-identity><frer xmlns='{FRER}'><sequence-recovery><index>3</index>\
         <stream>{recovered}</stream><port>port0</port><direction-out-facing>true</direction-out-facing>\
         <algorithm><{algorithm}/></algorithm><history-length>{history}</history-length></sequence-recovery>\
         <sequence-identification><port>port0</port><direction-out-facing>true</direction-out-facing><active>false</active>\
         <stream>5</stream><encapsulation><r-tag/></encapsulation></sequence-identification></frer>"
    )
}

#[test]
fn a_wrong_value_of_several_paths_is_named_by_its_path() {
    let Some(bench) = managed() else { return };
    let mut talk = Talk::begin(&bench);
    let at = |path: &str| {
        let path = path.replace("[index", "[ieee802-dot1cb-frer:index").replace("[port", "[ieee802-dot1cb-frer:port");
        let path = path.replace("[direction", "[ieee802-dot1cb-frer:direction");
        path.split('/').map(|node| format!("/ieee802-dot1cb-frer:{node}")).collect::<String>()
    };
    let recovery = "frer/sequence-recovery[index='3']";
    let tag = "frer/sequence-identification[port='port0'][direction-out-facing='true']";

    refused(&mut talk, &frer(5, 64, "match", "")).is(
        "invalid-value",
        &at(&format!("{recovery}/algorithm")),
        "sequence-recovery 3, algorithm: `match` is not supported; numbers are recovered by the vector algorithm: write \
         `vector`",
    );
    let newest = refused(&mut talk, &frer(5, 64, "newest", ""));
    newest.is(
        "unknown-element",
        &at(&format!("{recovery}/algorithm")),
        "sequence-recovery 3, algorithm: there is no <newest> here that this switch has",
    );
    assert_eq!(newest.part("bad-element"), "newest");
    refused(&mut talk, &frer(5, 500, "vector", "")).is(
        "invalid-value",
        &at(&format!("{recovery}/history-length")),
        "sequence-recovery 3, history-length: is not a whole number from 2 to 128 but 500",
    );
    // The only stream has no recovery then, and the other one is none.
    refused(&mut talk, &frer(9, 64, "vector", "")).is(
        "invalid-value",
        &at(&format!("{tag}/stream[.='5']")),
        "sequence-identification port0 true, stream 5: no sequence-recovery looks at its numbers; leave it out",
    );
    let alone = frer(9, 64, "vector", "").split_once("<sequence-identification>").unwrap().0.to_owned() + "</frer>";
    let alone = alone.split_once("</stream-identity>").unwrap().1;
    refused(&mut talk, alone).is(
        "invalid-value",
        &at(&format!("{recovery}/stream[.='9']")),
        "sequence-recovery 3, stream 9: no entry of stream-identity has the handle 9",
    );
    let ports = "<output-port>port0</output-port><output-port>port7</output-port>";
    let replicated = frer(5, 64, "vector", ports).replace(
        "</frer>",
        "<sequence-identification><port>port0</port><direction-out-facing>false</direction-out-facing><active>true</active>\
         <stream>5</stream><encapsulation><r-tag/></encapsulation></sequence-identification></frer>",
    );
    refused(&mut talk, &replicated).is(
        "invalid-value",
        &format!(
            "{IDENTITY}/ieee802-dot1cb-stream-identification:out-facing/ieee802-dot1cb-stream-identification:output-port\
             [.='port7']"
        ),
        "stream-identity 1, output-port port7: the switch has no port port7; its ports are port0, port1",
    );
    // What was refused has changed nothing.
    talk.say(&(rpc("<get-config><source><candidate/></source></get-config>") + "]]>]]>"));
    let candidate = talk.hear();
    assert!(!candidate.contains("stream-identity") && !candidate.contains("frer"), "{candidate}");
    talk.ask(&format!(
        "<edit-config><target><candidate/></target><config>{}</config></edit-config>",
        frer(5, 64, "vector", "")
    ));
}

#[test]
fn the_kernel_s_data_plane_takes_no_several_paths() {
    let Some(bench) = bench() else { return };
    // One class needs nothing of the kernel but its bridge.
    let text = "[switch]\nname = \"cell\"\nplane = \"kernel\"\n[[class]]\nname = \"blue\"\nqueue = 0\n[[port]]\nname = \
                \"port0\"\n[[port]]\nname = \"port1\"\n";
    std::fs::write(bench.file(), text).unwrap();
    let applied = bench.switch(&["apply", &bench.file()]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    let mut talk = Talk::begin(&bench);
    refused(&mut talk, &frer(5, 64, "vector", "")).is(
        "operation-not-supported",
        "/ieee802-dot1cb-frer:frer",
        "frer: stream stream5: sequence generation and recovery are of the user data plane alone",
    );
}
