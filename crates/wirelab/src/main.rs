//! `fanin-wire`: one part of a network on a wire, as the process that started it says over its standard input.
#![forbid(unsafe_code)]

fn main() {
    fanin_wirelab::member::serve(std::io::stdin(), std::io::stdout());
}
