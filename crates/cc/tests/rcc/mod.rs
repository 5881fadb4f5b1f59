//! RCC's receiver on a virtual clock, rule by rule, with numbers worked out by hand. A segment is 1000 bytes.

mod acks;
mod assignment;
mod ecn;
mod random;
mod reno;
mod sender;
mod timeout;
mod windows;
mod world;
