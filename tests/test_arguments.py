"""Errors of Python functions name the argument, what was given and what is right."""

from pathlib import Path
from typing import Any

import pytest

import fanin


@pytest.mark.parametrize(
    ("function", "given", "told"),
    [
        (
            "run",
            {"scheme": lambda _: 0},
            'scheme: the function <lambda> is no scheme; give the id of one, like "dcqcn"',
        ),
        ("run", {"balancing": 5}, "balancing: the int 5 is no load balancing; give the id of one"),
        ("run", {"discipline": 5}, "discipline: the int 5 is no queue discipline; give a class that derives from"),
        ("run", {"seed": "1"}, "seed: the str '1' is not a whole number, like seed=1"),
        ("run", {"set": "a.b=1"}, "set: the str 'a.b=1' is not a list; write [\"measure.window=10 ms\"]"),
        ("run", {"max_memory": "8 GB"}, "max_memory: the str '8 GB' is not a number of bytes, like 8_000_000_000"),
        ("compare", {"schemes": [lambda: 0]}, "scheme: the function <lambda> is no scheme"),
        ("compare", {"seeds": "3"}, "seeds: the str '3' is neither; give how many, like seeds=5, or a list"),
        ("compare", {"seeds": 0}, "seeds: 0 is no number of runs; give how many"),
        ("compare", {"schemes": "dcqcn"}, 'neither a list of schemes nor "all"; write ["dcqcn"]'),
        ("sweep", {"schemes": "dcqcn"}, 'schemes: the str \'dcqcn\' is not a list; write ["dcqcn", "hpcc"]'),
        ("sweep", {"loads": 0.3}, "loads: the float 0.3 is not a list; write [0.3, 0.5]"),
        ("sweep", {"vary": ["a"]}, "vary: the list ['a'] is not a dictionary; write {"),
        ("sweep", {"vary": {"a": "1"}}, "vary['a']: the str '1' is not a list; write {"),
        ("tune", {"vary": {"a": ["1"]}, "goal": 5}, "goal: the int 5 is not the name of a number"),
    ],
)
def test_a_wrong_argument_is_named(function: str, given: dict[str, Any], told: str, tiny: Path, tmp_path: Path) -> None:
    more = {"out": tmp_path / "out"} if function in ("sweep", "tune") else {}
    with pytest.raises((TypeError, fanin.SpecError)) as caught:
        getattr(fanin, function)(tiny, **more, **given)
    assert told in str(caught.value)


def test_what_is_no_spec_and_no_folder_is_told() -> None:
    with pytest.raises(
        TypeError, match=r"spec: the int 5 is not a spec: the path of a \.toml or \.json file, or a dict"
    ):
        fanin.run(5)  # type: ignore[arg-type]
    with pytest.raises(fanin.SpecError, match="is no value of a spec"):
        fanin.run({"name": object()})
    with pytest.raises(TypeError, match="folder: the int 3 is not the path of a run folder"):
        fanin.load(3)  # type: ignore[arg-type]
