//! Frames from any network through header and rules.
#![no_main]

use ontick_tsn::frame::Header;
use ontick_tsn::model::{Class, Rule};
use ontick_tsn::rules::Rules;

libfuzzer_sys::fuzz_target!(|frame: &[u8]| {
    let Some(header) = Header::read(frame) else { return assert!(frame.len() < 28) };
    assert!(header.sdu(frame.len()) as usize <= frame.len() - 14);
    let ports = header.ip.and_then(|ip| ip.ports);
    let rule = Rule { to_port: ports.map(|ports| ports.1), pcp: header.tag.map(|tag| tag.pcp), ..Rule::default() };
    let class = |queue, rules| Class { name: String::new(), queue, rules, limit: 1 };
    let rules = Rules::new(&[class(1, vec![rule]), class(0, vec![])]);
    assert_eq!(rules.queue(&header), 1, "a frame fits what was read from it");
});
