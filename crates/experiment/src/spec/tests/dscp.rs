//! DSCPs of classes and CNPs: what a spec means, and what is refused.

use super::*;
use fanin_transport::frame::Dscps;

/// A network with these keys, in which a scheme may add a class.
fn spec(scheme: &str, lines: &str) -> String {
    format!(
        "spec_version = 1\nname = \"x\"\n[network]\ntopology = {{ kind = \"star\", hosts = 4, link = \"10 Gbps\", \
         delay = \"1 us\" }}\nbuffer = {{ policy = \"lossless\", per_port = \"400 KB\" }}\nmarking = {{ kind = \
         \"step\", above = \"20 KB\" }}\n{lines}\n[[traffic]]\nname = \"t\"\nscheme = \"{scheme}\"\nclass = \
         \"a\"\npattern = {{ kind = \"permutation\" }}\nsize = {{ fixed = \"1 MB\" }}\n[measure]\nwindow = \"1 \
         ms\"\n"
    )
}

#[test]
fn dscps_are_class_selectors_unless_they_are_set() {
    let of = |lines: &str| checked(&spec("none", lines)).unwrap().measure().dscps;
    let classes = |b: &str| format!("classes = [{{ name = \"a\" }}, {{ name = \"b\"{b} }}]");
    assert_eq!(of(&classes("")), Dscps::default());
    let own = of(&(classes(", dscp = 26") + "\npacket = { cnp_dscp = 48 }"));
    assert_eq!(own, Dscps { of_class: [0, 8, 26, 24, 32, 40, 48, 56], cnp: Some(48) });
    // Nothing else changes.
    let network = |lines: &str| format!("{:?}", checked(&spec("none", lines)).unwrap().network());
    assert_eq!(network(&classes("")), network(&(classes(", dscp = 26") + "\npacket = { cnp_dscp = 48 }")));
}

#[test]
fn a_dscp_that_tells_no_class_is_refused() {
    for (scheme, lines, says) in [
        (
            "none",
            "classes = [{ name = \"a\", dscp = 64 }]",
            "network.classes[0].dscp: 64 is not a possible DSCP; it has",
        ),
        (
            "none",
            "classes = [{ name = \"a\", dscp = 0 }]",
            "network.classes[0].dscp: ACKs and NACKs have the DSCP 0 too",
        ),
        (
            "none",
            "classes = [{ name = \"a\", dscp = 26 }, { name = \"b\", dscp = 26 }]",
            "network.classes[1].dscp: class \"a\" has the DSCP 26 too; give \"b\" one of its own",
        ),
        (
            "none",
            "classes = [{ name = \"a\", dscp = 16 }, { name = \"b\" }]",
            "network.classes[0].dscp: class \"b\" has the DSCP 16 too",
        ),
        // The lane that Dart adds is class 2.
        ("dart", "classes = [{ name = \"a\", dscp = 16 }]", "network.classes[0].dscp: class "),
        (
            "none",
            "classes = [{ name = \"a\" }]\npacket = { cnp_dscp = 8 }",
            "network.packet.cnp_dscp: class \"a\" has the DSCP 8 too; CNPs are control packets",
        ),
        (
            "none",
            "classes = [{ name = \"a\" }]\npacket = { cnp_dscp = 99 }",
            "network.packet.cnp_dscp: 99 is not a possible DSCP",
        ),
    ] {
        let shown = checked(&spec(scheme, lines)).unwrap_err().to_string();
        assert!(shown.contains(says), "{lines}: {shown}");
    }
}
