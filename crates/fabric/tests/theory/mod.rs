//! What theory says of schemes, in the packet simulator: a file per statement, with its source, what it assumes, and
//! how far packets may be from it and why.

mod lots;

mod alpha_fair;
mod dcqcn;
mod joining;
mod max_min;
mod rcp;
mod sum_dd1;
