"""Load balancing as users run it: the example, and a run that once did not end."""

import fanin


def test_spraying_with_selective_repeat_ends(root: object) -> None:
    # A queue pair that was done kept its turn at the NIC, and its slot, in use again, had two.
    selective = '{ recovery = "selective-repeat" }'
    changes = [
        'network.balancing="random"',
        'measure.window="1 ms"',
        *(f"traffic[{at}].rdma={selective}" for at in (0, 1)),
    ]
    found = fanin.run(f"{root}/examples/load-balancing.toml", set=changes, progress=False, max_time=600)
    assert [traffic["unfinished"] for traffic in found.summary()["traffics"]] == [0, 0]
    assert found.summary()["network"]["reordered"] > 0
