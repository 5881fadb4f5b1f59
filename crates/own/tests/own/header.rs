//! The header.

use crate::made;
use std::process::Command;

#[test]
fn it_is_short() {
    assert!(fanin_own::HEADER.lines().count() < 250, "{} lines", fanin_own::HEADER.lines().count());
}

#[test]
fn it_compiles_as_c_and_as_cpp_without_a_warning() {
    let text = "#include \"fanin_scheme.h\"\nint count(fanin_cx *cx);\n\
                int count(fanin_cx *cx) { fanin_count(cx, FANIN_CUTS); return 0; }\n";
    let compilers = [("cc", "header.c", "-std=c99"), ("c++", "header.cpp", "-std=c++11")];
    for (compiler, name, standard) in compilers {
        let source = made(name);
        std::fs::write(&source, text).unwrap();
        let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
        let mut command = Command::new(compiler);
        command.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I", include]);
        match command.arg(&source).output() {
            Ok(done) => assert!(done.status.success(), "{compiler}: {}", String::from_utf8_lossy(&done.stderr)),
            Err(error) => assert!(compiler == "c++", "no C compiler: {error}"),
        }
    }
}
