"""No file of the Python package, and none within a crate, depends on itself through others."""

from pathlib import Path

import pytest

import fanin
from modules import Graph, circles, python_graph, read_python, read_rust, report, rust_graph

ROOT = Path(__file__).resolve().parent.parent
CRATES = sorted(manifest.parent.name for manifest in (ROOT / "crates").glob("*/Cargo.toml"))


FLOORS = {
    "specs": "_core arguments spec spec_types run_folder run_files files quantities own_checks own_schemes",
    "numbers": "run_tables measures over_seeds over_time pause_trees by_traffic parts ideals rows sweeps "
    "sweeps.columns sweeps.means sweeps.goals sweeps.frame shown delay_breakdown oitcp packets",
    "pictures": "style side_by_side traffic_table table tuned_text plot hpcc_plot",
    "results": "result comparison htsim",
    "running": "limits progress stopping runs graphs jobs explanation comparing hpcc uec sweeps.display sweeps.grid "
    "sweeps.pools sweeps.running sweeps.store sweeps.sweeping sweeps.work tuning",
    "uses": "reporting causes slow_collectives validate watching scheme_check new_schemes bench _bench_case "
    "_bench_scheme wire wire_machine wire_parity wire_tcp verifying certifying dissector drawing",
    "commands": "cli __main__",
}
"""The floors of ARCHITECTURE.md from the ground up, with their modules; a package has those of its modules that are not
named elsewhere."""


def floor_of(module: str) -> int:
    """The floor of a module, that of the longest name that it begins with."""
    parts = module.split(".")[1:]
    for end in range(len(parts), 0, -1):
        for floor, names in enumerate(FLOORS.values()):
            if ".".join(parts[:end]) in names.split():
                return floor
    raise AssertionError(f"{module} is on no floor: draw it in ARCHITECTURE.md and here")


@pytest.fixture(scope="module")
def package() -> Graph:
    return python_graph(read_python(ROOT / "python" / "fanin"), "fanin", fanin._HOME)


def test_no_circle_of_imports_in_the_package(package: Graph) -> None:
    assert {"fanin.plot", "fanin._core"} <= package["fanin.result"], "imports in functions count"
    assert "fanin.run_tables" in package["fanin.measures"], "those for type checkers count"
    assert not circles(package), report(package)


def test_no_import_goes_up_a_floor(package: Graph) -> None:
    inner = package.keys() - {"fanin"}  # the package itself loads what people use
    up = [f"{one} -> {other}" for one in inner for other in package[one] if floor_of(other) > floor_of(one)]
    assert not up, "\n".join(sorted(up))


@pytest.mark.parametrize("crate", CRATES)
def test_no_circle_of_modules_in_a_crate(crate: str) -> None:
    graph = rust_graph(read_rust(ROOT / "crates" / crate))
    assert not circles(graph), report(graph)


def test_circles_are_the_groups_that_reach_each_other() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    found = circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}})
    assert found == [["a", "b", "c"], ["d", "e"]]


def test_imports_in_functions_and_those_for_type_checkers_count() -> None:
    sources = {
        "p": "",
        "p.a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import b\nelse:\n    from p import d\n",
        "p.b": "def f():\n    from p import a\n    import json\n",
        "p.c": "from p import late\n",
        "p.d": "from p.q.deep import x\n",
        "p.q": "import p.b\n",
        "p.q.deep": "import p.q.other\n",
        "p.q.other": "",
    }
    assert python_graph(sources, "p", {"late": "d"}) == {
        "p": {"p.d"},
        "p.a": {"p.b", "p.d"},
        "p.b": {"p.a"},
        "p.c": {"p.d"},
        "p.d": {"p.q", "p.q.deep"},
        "p.q": {"p.b"},
        "p.q.deep": {"p.q.other"},
        "p.q.other": set(),
    }


def test_a_path_leads_to_the_file_that_defines_the_item() -> None:
    sources = {
        "lib.rs": "mod a;\nmod b;\npub use b::{deep::Deep, Thing as Other};\npub struct Root;\n",
        "a.rs": "use crate::{Deep, Root};\nfn f() { let x = crate::Other::new(); }\n",
        "b/mod.rs": "pub mod deep;\npub struct Thing;\n",
        "b/deep.rs": "use super::super::Root;\npub struct Deep;\nfn f() -> super::Thing {}\n",
    }
    assert rust_graph(sources) == {
        "lib.rs": set(),
        "a.rs": {"lib.rs", "b/mod.rs", "b/deep.rs"},
        "b/mod.rs": set(),
        "b/deep.rs": {"lib.rs", "b/mod.rs"},
    }


def test_a_parent_that_uses_what_it_declares_depends_on_it() -> None:
    child = {"a/child.rs": "use super::Thing;\npub fn make() -> Thing {}\npub struct Own;\n"}
    for body in ("use child::Own;", "fn f() { child::make(); }", "pub use child::Own;\nfn f(own: Own) {}"):
        sources = {"lib.rs": "mod a;", "a.rs": f"mod child;\npub struct Thing;\n{body}\n", **child}
        assert circles(rust_graph(sources)) == [["a.rs", "a/child.rs"]], body
    for body in ("", "pub use child::Own;", "pub(crate) use child::{Own, make};"):
        sources = {"lib.rs": "mod a;", "a.rs": f"mod child;\npub struct Thing;\n{body}\n", **child}
        assert circles(rust_graph(sources)) == [], body


def test_tests_comments_and_strings_do_not_count() -> None:
    sources = {
        "lib.rs": "mod a;\nmod b;\n",
        "a.rs": (
            '//! See [`crate::b::B`].\n/* crate::b::B */\npub struct A;\nconst S: &str = "crate::b::B";\n'
            "fn f<'a>(x: &'a str) -> char { '\"' }\n#[cfg(test)]\nmod tests;\n"
            "#[cfg(test)]\nuse crate::b::B;\n#[cfg(all(test, unix))]\nmod more { use crate::b::B; }\n"
        ),
        "a/tests.rs": "use crate::b::B;\n",
        "b.rs": "use crate::a::A;\npub struct B;\n",
    }
    assert rust_graph(sources) == {"lib.rs": set(), "a.rs": set(), "b.rs": {"a.rs"}}


def test_all_that_a_glob_brings_and_the_code_names() -> None:
    sources = {
        "lib.rs": "mod a;\nmod b;\nmod c;\n",
        "a.rs": "use crate::b::*;\nfn f(b: B) {}\n",
        "b.rs": "pub use crate::c::*;\npub struct B;\n",
        "c.rs": "pub struct C;\n",
    }
    assert rust_graph(sources)["a.rs"] == {"b.rs"}
    sources["a.rs"] = "use crate::b::*;\nfn f(c: C) {}\n"
    assert rust_graph(sources)["a.rs"] == {"c.rs"}


def test_a_method_in_another_file_is_a_dependency() -> None:
    sources = {
        "lib.rs": "mod state;\nmod one;\nmod two;\n",
        "state.rs": "pub struct State;\nimpl State { pub fn new() -> Self { State } }\n",
        "one.rs": "use crate::state::State;\nimpl State { fn one(&mut self) { self.two(); self.x.three() } }\n",
        "two.rs": "impl crate::state::State { fn two(&self) {} fn three(&self) {} }\n",
    }
    assert rust_graph(sources) == {
        "lib.rs": set(),
        "state.rs": set(),
        "one.rs": {"state.rs", "two.rs"},
        "two.rs": {"state.rs"},
    }
    sources["two.rs"] = "impl crate::state::State { fn two(&self) { if true { Self::one(self) } } }\n"
    assert circles(rust_graph(sources)) == [["one.rs", "two.rs"]]
    sources["state.rs"] = "pub struct State;\nimpl Clone for State { fn clone(&self) -> Self { self.one() } }\n"
    assert circles(rust_graph(sources)) == [["one.rs", "state.rs", "two.rs"]]
