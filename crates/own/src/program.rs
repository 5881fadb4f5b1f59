//! A scheme of a library with its parameters.

use crate::calls::Inner;
use crate::receiver::CReceiver;
use crate::sender::CSender;
use crate::switch::CSwitch;
use fanin_cc::schemes::own::{About, Failure, OwnReceiver, OwnSender, OwnSwitch, Params, Program, Shared};
use fanin_cc::{Cx, NicInfo, PathInfo, SwitchInfo};
use std::sync::Arc;

/// The scheme.
#[derive(Debug)]
pub struct Made(pub Arc<Inner>);

impl Program for Made {
    fn about(&self) -> &About {
        &self.0.of.about
    }
    fn parameters(&self) -> String {
        self.0.parameters.clone()
    }
    fn sender(&self, path: &PathInfo, cx: &mut Cx<'_, Params, Shared>) -> Box<OwnSender> {
        Box::new(CSender::open(self.0.clone(), path, cx))
    }
    fn receiver(&self, nic: &NicInfo) -> Box<OwnReceiver> {
        Box::new(CReceiver::open(self.0.clone(), nic))
    }
    fn switch(&self, switch: &SwitchInfo<'_>) -> Box<OwnSwitch> {
        Box::new(CSwitch::open(self.0.clone(), switch))
    }
    fn failure(&self) -> Option<Failure> {
        self.0.failure()
    }
}
