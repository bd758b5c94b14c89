//! Which YANG modules there are, as `ietf-yang-library` says it: a server of modules of YANG 1.1 must (RFC 7950 section 5.6.4).

use serde_json::{Map, Value, json};

use super::schema::{IMPORTED, LIBRARY, MODULES, Module};

/// The one set of modules, and the one schema made of it.
const ALL: &str = "all";

/// The capability that leads a client here.
pub(super) fn capability() -> String {
    let revision = MODULES.iter().find(|module| module.name == LIBRARY).map_or("", |module| module.revision);
    format!("urn:ietf:params:netconf:capability:yang-library:1.0?revision={revision}&module-set-id={}", content())
}

/// The state, to stand beside that of the switch.
pub fn library() -> Map<String, Value> {
    let id = content();
    let all = |modules: &[Module]| modules.iter().map(entry).collect::<Vec<Value>>();
    let datastore = |name: &str| json!({ "name": format!("ietf-datastores:{name}"), "schema": ALL });
    let datastores = ["running", "candidate", "startup"].map(datastore);
    let library = json!({
        "module-set": [{ "name": ALL, "module": all(&MODULES), "import-only-module": all(&IMPORTED) }],
        "schema": [{ "name": ALL, "module-set": [ALL] }],
        "datastore": datastores,
        "content-id": id,
    });
    let conforming = |(modules, how): (&[Module], &str)| -> Vec<Value> {
        let mut entries = all(modules);
        entries.iter_mut().for_each(|entry| entry["conformance-type"] = how.into());
        entries
    };
    let modules = [(&MODULES[..], "implement"), (&IMPORTED[..], "import")].map(conforming).concat();
    let of = |name: &str, state: Value| (format!("{LIBRARY}:{name}"), state);
    Map::from_iter([
        of("yang-library", library),
        of("modules-state", json!({ "module-set-id": id, "module": modules })),
    ])
}

fn entry(module: &Module) -> Value {
    let mut entry = json!({ "name": module.name, "revision": module.revision, "namespace": module.namespace });
    if !module.features.is_empty() {
        entry["feature"] = module.features.into();
    }
    entry
}

/// Another one for other modules, revisions or features: FNV-1a over all of them.
fn content() -> String {
    let parts = MODULES.iter().chain(&IMPORTED).flat_map(|module| {
        [module.name, module.revision].into_iter().chain(module.features.iter().copied()).chain([""])
    });
    let octets = parts.flat_map(|part| part.bytes().chain([0]));
    let hash = octets
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}
