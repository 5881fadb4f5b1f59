//! The sender: DCQCN under a share of the line that all messages of a host to one receiver have together.

use super::Params;
use crate::roles::*;
use crate::schemes::dcqcn;

/// A message at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    dcqcn: dcqcn::Flow,
}

/// What a host's messages to one receiver share.
#[derive(Clone, Debug, Default)]
pub struct Pair {
    /// Messages that are open.
    pub open: u32,
}

impl Sender for Flow {
    type Params = Params;
    type Shared = Pair;
    fn open(path: &PathInfo, cx: &mut Cx<'_, Params, Pair>) -> Self {
        let params = cx.params;
        Self { dcqcn: dcqcn::Flow::open(path, &mut cx.inner(&params.dcqcn, &mut ())) }
    }
    fn control(&self, _cx: &Cx<'_, Params, Pair>) -> Control {
        todo!("{:?}", self.dcqcn)
    }
}
