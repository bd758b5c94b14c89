//! What tests of the user data plane need around it.

mod model;
mod namespace;

use ontick_switch::verify::namespace::{Namespace, NamespaceError};

pub use model::switch;
pub use namespace::namespace;
