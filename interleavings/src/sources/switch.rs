pub use crate::models::kernel::descriptors;

#[path = "../../../crates/switch/src/user/xdp/ring.rs"]
pub mod ring;
#[path = "../../../crates/switch/src/user/table.rs"]
pub mod table;
#[path = "../../../crates/switch/src/user/packet/turn.rs"]
pub mod turn;
