"""The compiler's profile is of nearly the present code."""

from pathlib import Path

from bench import profile


def test_the_profile_is_not_much_older_than_the_code_that_runs_for_each_packet(root: Path) -> None:
    share = profile.changed(profile.functions(root), (root / profile.RECORD).read_text(encoding="utf-8"))
    assert share <= profile.MOST_CHANGED, (
        f"{share:.0%} of the code that runs for each packet is in functions that have changed since "
        f"{profile.PROFILE} was made, and is compiled without it. To renew it: make profile"
    )


def test_comments_and_tests_are_no_change_and_code_is(tmp_path: Path) -> None:
    source = tmp_path / "crates" / "cc" / "src"
    (source / "tests").mkdir(parents=True)
    (source / "a.rs").write_text("//! One.\nuse b;\nfn f() {\n    g();\n}\n")
    (source / "b.rs").write_text("struct B;\npub(crate) fn g() {}\n")
    recorded = profile.record(profile.functions(tmp_path), "advance")
    assert profile.known(recorded) == "advance"
    (source / "tests" / "more.rs").write_text("fn t() {}\n")
    (source / "a.rs").write_text(
        "use b;\nfn f() {\n  // Two.\n\n  g();\n}\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n"
    )
    assert profile.changed(profile.functions(tmp_path), recorded) == 0
    (source / "b.rs").write_text("struct B;\npub(crate) fn g() { f() }\n")
    assert profile.changed(profile.functions(tmp_path), recorded) == 1 / 6
    (source / "c.rs").write_text("fn f() {\n    g();\n}\n")
    assert profile.changed(profile.functions(tmp_path), recorded) == 4 / 9, "a function in another file is another one"
