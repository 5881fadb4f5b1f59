//! Libraries that cannot be loaded, or whose description is impossible.

use crate::{compile, made, of_tests, root};
use fanin_cc::own::Program;
use fanin_experiment::loaded;
use std::path::Path;

fn problem(path: &Path) -> String {
    let error = fanin_own::load(path).expect_err("it should be refused");
    assert_eq!(error.path, path);
    assert_eq!(error.to_string(), format!("{}: {}", path.display(), error.problem));
    error.problem
}

#[test]
fn what_is_no_library_of_a_scheme_is_refused() {
    let refused = |name: &str, flags: &[&str]| problem(&compile(&of_tests("refused.c"), name, flags));
    assert!(problem(Path::new("/nowhere/libmine.so")).starts_with("it cannot be read: No such file"));
    assert_eq!(problem(&root().join("crates")), "it is a folder: name the shared library in it");
    let text = made("text.so");
    std::fs::write(&text, "no library").unwrap();
    assert!(problem(&text).starts_with("it is no shared library that can be loaded here: "));
    let whole = std::fs::read(compile(&of_tests("wrong.c"), "whole.so", &[])).unwrap();
    for length in (64..whole.len()).step_by(500) {
        let cut = made("cut.so");
        std::fs::write(&cut, &whole[..length]).unwrap();
        assert_eq!(problem(&cut), "it is cut short: build or copy it again", "{length}");
    }
    let undefined =
        "-DENTRY=void missing(void); const struct fanin_scheme *fanin_scheme(void) { missing(); return 0; }";
    assert!(refused("undefined.so", &[undefined]).contains("undefined symbol: missing"));
    let none = refused("none.so", &["-DENTRY=extern int nothing;"]);
    assert!(none.starts_with("it exports no function fanin_scheme, fanin_balancer, fanin_selector or "));
    let null = "-DENTRY=const struct fanin_scheme *fanin_scheme(void) { return 0; }";
    assert!(refused("null.so", &[null]).starts_with("its fanin_scheme() returned no struct fanin_scheme: "));
    assert_eq!(
        refused("version.so", &["-DBUT=.version = 1"]),
        "it was built for version 1 of fanin_scheme.h, and this Fanin reads version 3: build it with the \
         fanin_scheme.h of this Fanin"
    );
    let small = refused("small.so", &["-DBUT=.struct_size = 100"]);
    assert!(small.starts_with("its struct fanin_scheme says that it has 100 bytes instead of "), "{small}");
}

#[test]
fn an_impossible_description_is_refused() {
    let cases = [
        ("BUT=.id = \"dctcp\"", "there is a built-in scheme \"dctcp\": give yours an id of its own"),
        ("BUT=.id = \"Mine\"", "\"Mine\" is no id of a scheme: "),
        ("BUT=.id = 0", "its id is no text: "),
        ("BUT=.sender = {.size = 8}", "sender.open is NULL: every scheme needs it"),
        ("BUT=.receiver = {.host_size = 1u << 30}", "receiver.host_size is 1073741824: at most 16777216 bytes"),
        ("BUT=.transport = 7", "transport is 7: write FANIN_RDMA or FANIN_TCP"),
        ("BUT=.transport = FANIN_TCP, .telemetry = 1", "it asks for telemetry over TCP"),
        ("BUT=.sharing = FANIN_SHARE_HOST", "shared_size is 0, but flows share state: "),
        ("BUT=.shared_size = 8", "shared_size is 8, but sharing is FANIN_SHARE_NOTHING: "),
        ("BUT=.ack_header = 70000", "ack_header is 70000: a scheme adds at most 1000 bytes to a packet"),
        ("BUT=.credit = 84", "credits of 84 bytes with credit_burst 0 and credit_limit 0: "),
        ("BUT=.parameters = 0", "it says that it has 2 parameters: point `parameters` at a table"),
        ("PARAMETER=\"Big\", \"x\", 1, 0, 2, 0", "\"Big\" is no name of a parameter: "),
        ("PARAMETER=\"two\", \"x\", 1, 0, 2, 0", "it has two parameters two: "),
        ("PARAMETER=\"one\", 0, 1, 0, 2, 0", "the doc of parameter one is no line: "),
        ("PARAMETER=\"one\", \"x\", 3, 0, 2, 0", "parameter one begins at 3, which is not between its limits 0 and 2"),
        ("PARAMETER=\"one\", \"x\", 0.5, 0, 2, 1", "parameter one begins at 0.5, between 0 and 2: a boolean is 0 or 1"),
        ("PARAMETER=\"one\", \"x\", 1, 0, 2, 9", "the kind of parameter one is 9: "),
    ];
    for (at, (change, expected)) in cases.into_iter().enumerate() {
        let library = compile(&of_tests("refused.c"), &format!("refused-{at}.so"), &[&format!("-D{change}")]);
        let problem = problem(&library);
        assert!(problem.starts_with(expected), "{change}: {problem}");
    }
    assert!(loaded::find::<dyn Program>("refused").is_none(), "what is refused is not known");
}

#[test]
fn a_library_that_has_changed_is_loaded_again() {
    let load = |flags: &[&str]| {
        let library = compile(&of_tests("refused.c"), "changed.so", flags);
        let id = fanin_own::load(&library).unwrap().scheme.unwrap();
        (id, loaded::find::<dyn Program>(id).unwrap())
    };
    let (first, scheme) = load(&["-DBUT=.id = \"changed\", .manual = \"The first.\""]);
    assert_eq!((first, scheme.id), ("changed", "changed"));
    assert_eq!(
        scheme.manual,
        "# changed\n\nThe first.\n\n## Parameters\n| name | meaning | kind | default | limits |\n\
         |---|---|---|---|---|\n| `one` | a number | number | 1.0 | 0 to 2 |\n\
         | `two` | a number | number | 1.0 | 0 to 2 |\n"
    );
    let (_, again) = load(&["-DBUT=.id = \"changed\", .manual = \"# The second\""]);
    assert!(again.manual.starts_with("# The second\n"), "{}", again.manual);
    assert!(scheme.manual.contains("The first."), "who has the old one keeps it");
}
