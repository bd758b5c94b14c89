//! Device trees as `dtc` writes them, for cards of boards that are not here.

/// The names of properties.
pub const STRINGS: &[u8] = b"model\0compatible\0device_type\0status\0";

/// The tree of a board with so many CPUs, the first `disabled` of which are not to be used.
pub fn board(model: &str, compatible: &str, cpus: u32, disabled: u32) -> Vec<u8> {
    let mut nodes = Vec::new();
    open(&mut nodes, "");
    set(&mut nodes, "model", model);
    set(&mut nodes, "compatible", compatible);
    token(&mut nodes, 4);
    // Not a CPU of the board, though it is called one.
    open(&mut nodes, "pmu");
    open(&mut nodes, "cpu@9");
    token(&mut nodes, 2);
    token(&mut nodes, 2);
    open(&mut nodes, "cpus");
    open(&mut nodes, "l2-cache");
    set(&mut nodes, "compatible", "cache");
    token(&mut nodes, 2);
    for n in 0..cpus {
        open(&mut nodes, &format!("cpu@{n}"));
        set(&mut nodes, "device_type", "cpu");
        set(&mut nodes, "compatible", "arm,cortex-a72");
        if n < disabled {
            set(&mut nodes, "status", "disabled");
        }
        token(&mut nodes, 2);
    }
    token(&mut nodes, 2);
    token(&mut nodes, 2);
    token(&mut nodes, 9);
    blob(&nodes)
}

fn blob(nodes: &[u8]) -> Vec<u8> {
    let (reserved, structure) = (40, 56);
    let strings = structure + nodes.len();
    let whole = strings + STRINGS.len();
    let header = [0xd00d_feed, whole, structure, strings, reserved, 17, 16, 0, STRINGS.len(), nodes.len()];
    let mut blob: Vec<u8> = header.iter().flat_map(|n| u32::try_from(*n).unwrap().to_be_bytes()).collect();
    blob.resize(structure, 0);
    blob.extend(nodes);
    blob.extend(STRINGS);
    blob
}

fn token(nodes: &mut Vec<u8>, number: u32) {
    nodes.extend(number.to_be_bytes());
}

fn text(nodes: &mut Vec<u8>, text: &str) {
    nodes.extend(text.as_bytes());
    nodes.push(0);
    nodes.resize(nodes.len().next_multiple_of(4), 0);
}

fn open(nodes: &mut Vec<u8>, name: &str) {
    token(nodes, 1);
    text(nodes, name);
}

fn set(nodes: &mut Vec<u8>, name: &str, value: &str) {
    let at = STRINGS.windows(name.len()).position(|w| w == name.as_bytes()).unwrap();
    token(nodes, 3);
    token(nodes, value.len() as u32 + 1);
    token(nodes, at as u32);
    text(nodes, value);
}
