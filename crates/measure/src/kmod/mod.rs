//! The kernel module `ontick` (`kmod/`), which makes pulses and answers edges in the kernel: the requests it takes through
//! `/dev/ontick`, and what it tells (`kmod/uapi/ontick.h`).

mod abi;
mod call;
mod device;
mod line;
mod load;
mod placement;
mod response;
mod result;
mod train;

pub use crate::error::kmod::Error;
pub use device::{Device, usable};
pub use response::{Context, Response};
pub use result::Summary;
pub use train::{KernelPulse, Timer, Train, TrainRequest, Undisturbed};
