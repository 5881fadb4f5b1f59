//! The switch: the deflected flow table and its policies (Dart IV).

use super::{Deflect, Params};
use crate::roles::*;

/// The deflected flow table of a switch.
pub struct Table {}

impl SwitchProgram for Table {
    type Params = Params;
    fn active(params: &Params) -> bool {
        params.deflect != Deflect::Off
    }
    fn new(_: &Params, _: &SwitchInfo<'_>) -> Self {
        Self {}
    }
}
