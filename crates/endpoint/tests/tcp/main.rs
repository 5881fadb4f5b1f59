//! TCP as stories: two ends, a wire with a delay, and a script of what the wire does to segments.

mod bulk;
mod handshake;
mod loss;
mod newreno;
mod offload;
mod random;
mod receive;
mod role;
mod timer;
mod wire;
