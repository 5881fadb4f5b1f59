"""The matrix: what each scheme gets on each ground, and how its numbers become tables and pictures."""

from typing import Any

import pytest

from fanin import _core, measures
from fanin.runs import Job
from fanin_papers import SPECS, matrix, matrix_causes, matrix_page
from fanin_papers.experiment import Measures, job
from fanin_papers.matrix import DART, GROUNDS, HADOOP, LEFT_OUT, RCC, Ground


def spec(ground: Ground, scheme: str, load: int = 0) -> Any:
    """The spec of a run, with its defaults."""
    changes = (*ground.changes(scheme), *ground.loads[load].set)
    return Job.of(SPECS / ground.spec, changes).using(scheme, 1).resolve()


def test_every_scheme_but_copies_is_there() -> None:
    assert {*matrix.schemes(), *LEFT_OUT} == {row["presets"][0] for row in _core.schemes()}
    assert {"dart", "hpcc", "rcc", "dctcp", "dcqcn", "timely", "expresspass"} < set(matrix.schemes())


@pytest.mark.parametrize("ground", GROUNDS, ids=lambda ground: ground.id)
def test_each_family_treats_losses_the_same_way_on_a_ground(ground: Ground) -> None:
    over_rdma, over_tcp = spec(ground, "dcqcn"), spec(ground, "newreno")
    policies = [each["network"]["buffer"]["policy"] for each in (over_rdma, over_tcp)]
    assert policies == (["lossless", "lossy"] if ground.lossless else ["lossy", "lossy"])
    for traffic in over_rdma["traffic"]:
        assert traffic["rdma"]["recovery"] == ("go-back-n" if ground.lossless else "irn")
    for traffic in over_tcp["traffic"]:
        assert traffic["transport"] == "tcp"
        assert traffic["tcp"]["min_rto"] == "10 ms"
        assert traffic["tcp"]["overhead"] == "0 ps"
    # Nothing else of the network differs.
    for each in (over_rdma, over_tcp):
        del each["network"]["buffer"]
        for one in each["network"]["classes"]:
            del one["lossless"]
    assert over_rdma["network"] == over_tcp["network"]


def test_schemes_of_dctcps_law_have_its_threshold_where_the_paper_gives_one() -> None:
    assert spec(HADOOP, "dctcp-rate")["network"]["marking"]["kind"] == "step"
    assert spec(HADOOP, "dcqcn")["network"]["marking"]["kind"] == "red"


def test_the_loads_are_the_titles() -> None:
    shares = [[traffic["load"]["share"] for traffic in spec(DART, "dart", load)["traffic"]] for load in (0, 1)]
    assert [sum(each) for each in shares] == pytest.approx([0.2, 0.6])
    for load, share in ((0, 0.6), (1, 0.9)):
        found = spec(RCC, "rcc", load)
        assert found["traffic"][1]["load"]["share"] == pytest.approx(share / 4)


def test_a_run_is_measured_by_size() -> None:
    key, change = next(
        (key, change) for key, change in matrix.sweep(RCC, quick=True).items() if key[:2] == ("rcc", "90 %")
    )
    result = job(Job.of(SPECS / RCC.spec), key, change).run(None, None)
    taken = matrix.measure(result)
    posted = measures.messages(result).drop_nulls("completion_ps")
    assert sum(taken[f"count-{number}"][0] for number in range(3)) == posted.height > 0
    assert taken["goodput_gbps"][0] > 0


def test_tables_show_means_with_intervals_and_a_dash_where_a_run_has_no_number() -> None:
    made: Measures = {
        ("dart", load.name, seed): {
            "slowdown-0-500": [2.0 + seed],
            "slowdown-0-990": [] if seed == 3 else [9.0],
            "goodput_gbps": [100.0],
            "drops": [0.0],
        }
        for load in DART.loads
        for seed in (1, 2, 3)
    }
    line = matrix_page.markdown(DART, made).splitlines()[4]
    # 3, 4, 5: the mean is 4, and 2.48 is t(2) / sqrt(3).
    assert line.startswith("| dart | 20 % | 4 ± 2.48 | - |")
    assert "100 Gb/s | - | 0 |" in line
    figure = matrix_page.draw_ground(DART, made)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["dart"]


def test_a_cause_changes_one_thing_of_a_run_of_the_matrix() -> None:
    for cause in matrix_causes.CAUSES:
        change = cause.change(quick=False)
        before = spec(cause.ground, cause.scheme, cause.ground.loads.index(cause.load))
        after: Any = Job.of(SPECS / cause.ground.spec, change.set).using(change.scheme, 1).resolve()
        differing = {key for key in before if before[key] != after[key]}
        assert len(differing) == 1, cause
        assert differing <= {"network", "traffic"}
        if "network" in differing:
            assert {key for key in before["network"] if before["network"][key] != after["network"][key]} <= {
                "buffer",
                "classes",
            }


def test_causes_are_shown_beside_the_unchanged_runs() -> None:
    cause = next(one for one in matrix_causes.CAUSES if one.scheme == "dart")
    seeds = (1, 2, 3)
    found: dict[str, Measures] = {ground.id: {} for ground in GROUNDS}
    found["hadoop"] = {("dart", cause.load.name, seed): {"slowdown-0-990": [1.0]} for seed in seeds}
    changed = {one: dict[Any, Any]() for one in found}
    changed["hadoop"] = {("dart", cause.load.name, cause.what, seed): {"slowdown-0-990": [300.0]} for seed in seeds}
    lines = matrix_page.causes(found, changed).splitlines()
    assert "| FB_Hadoop, 30 % | dart | one lane for all sizes | slowdown p99, up to 1 KB | 1 | 300 |" in lines
