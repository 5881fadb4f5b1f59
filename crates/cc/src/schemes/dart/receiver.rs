//! The receiver: who sends, what the last link carries, and in which of three states it is.

use super::Params;
use crate::roles;
use crate::roles::*;

/// What a host remembers about all messages into it.
pub struct Receiver {}

impl roles::Receiver for Receiver {
    type Params = Params;
    type Flow = ();
    fn new(_: &Params, _: &NicInfo) -> Self {
        Self {}
    }
}
