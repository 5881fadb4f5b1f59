//! What theory says of schemes, on the code of the schemes: a file per statement, with its source, what it assumes, and
//! how far the code may be from it and why. The same in the packet simulator is in `crates/fabric/tests/theory`.

mod hpcc_lemma;
mod timely;
