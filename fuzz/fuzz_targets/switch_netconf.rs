//! What a NETCONF client sends: messages in both framings, requests, configuration and filters.
#![no_main]

use ontick_tsn::netconf::framing::{Decoder, Framing, encode};
use ontick_tsn::netconf::{self, Hello, Reply, Request, Rpc};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    let Some((first, octets)) = octets.split_first() else { return };
    let framing = if first % 2 == 0 { Framing::EndOfMessage } else { Framing::Chunked };
    let (mut whole, mut parts) = (Decoder::new(), Decoder::new());
    whole.set_framing(framing);
    parts.set_framing(framing);
    whole.push(octets);
    let mut cut = octets.chunks(usize::from(first / 2) + 1);
    let mut data = serde_json::Value::Null;
    while let Ok(Some(message)) = whole.message() {
        // However it is cut, the same messages come.
        let again = loop {
            match parts.message() {
                Ok(Some(message)) => break message,
                Ok(None) => parts.push(cut.next().expect("there is another part")),
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(message, again);
        let Ok(document) = netconf::read(&message) else { continue };
        let _ = Hello::of(&document);
        let rpc = Rpc::of(&document);
        let reply = match rpc.request {
            Ok(Request::EditConfig(edit)) => netconf::edited(&data, edit.config, edit.default).map(|edited| {
                data = edited;
                Reply::Ok
            }),
            Ok(Request::GetConfig { filter: Some(filter), .. }) => {
                Ok(Reply::Data(netconf::data_xml(&netconf::selected(&data, filter))))
            }
            Ok(_) => Ok(Reply::Data(netconf::data_xml(&data))),
            Err(error) => Err(error),
        };
        let reply = Reply::xml(&reply, &rpc.attributes);
        assert!(netconf::read(reply.as_bytes()).is_ok(), "{reply}");
        assert!(!encode(framing, &reply).is_empty());
    }
});
