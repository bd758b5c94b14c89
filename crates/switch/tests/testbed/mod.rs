//! What tests of the user data plane need around it.

mod model;

use ontick_switch::verify::namespace::{Namespace, NamespaceError};

pub use model::switch;

/// Nothing where there are no namespaces to be had.
pub fn namespace() -> Option<Namespace> {
    match Namespace::new() {
        Ok(namespace) => Some(namespace),
        Err(NamespaceError::Privilege(what)) => {
            ontick_skip::skipped!("{what} needs root");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
