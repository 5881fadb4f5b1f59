"""Dart's headline: the readings of section VI-A under which Fig. 14 is run, and what switches their causes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanin_papers.common import SEEDS, seeds
from fanin_papers.dart_mix import LOADS, SHORT_SHARE
from fanin_papers.experiment import Change, Key

DCQCN, TIMELY, PRIQ = "dcqcn", "timely-dart", "dcqcn-priq"
IOFD, DASR, DASR_LA, DART = "dart-iofd", "dart-dasr", "dart-dasr-lookahead", "dart"
BARS = (DCQCN, TIMELY, PRIQ, IOFD, DASR, DASR_LA, DART)
"""Fig. 14's bars from left to right, and TIMELY."""

TEXT = "the text: a 1 GB flow from every server, from t = 0"
STEADY = "steady state: as many long flows as the load has line rates"
CONNECTIONS = "1: static groups on connections that stay open"
BOTH = "the text and 1: static groups on connections, from t = 0"
LIMITED = "6: long flows that carry their load: 100 KB pieces"
PIECES = "1 and 6: static groups on connections, long flows of 100 KB pieces"
ONE_LANE = f"{LIMITED} | Dart in one lane"
"""Run at all loads, for Tables I and II."""
FULL = (TEXT, CONNECTIONS, STEADY, LIMITED, PIECES)
"""Readings that are run with all bars at all loads."""

ALONE = "2: one long flow to every receiver"
SKEWED = "3: 64 receivers, one per rack"
LOW = "5: PFC at 60 KB per port"
HOST_LINKS = "6: 20 % of all host links (80 % of the uplinks)"
SINGLE = (BOTH, ALONE, SKEWED, LOW, HOST_LINKS)
"""Readings that are run with all bars at 40 %."""

THREE_SEEDS = (TEXT, CONNECTIONS, PIECES)
"""The others have one seed, and so have the switches: they are beside what is judged, and all runs are many."""


@dataclass(frozen=True)
class Size:
    """A network of the spec's shape."""

    pods: int
    hosts: int

    @property
    def uplinks_bps(self) -> float:
        """What all ToR uplinks carry: 4 of 10 Gb/s for 16 hosts."""
        return self.hosts / 16 * 40e9


WHOLE, SMALL = Size(16, 1024), Size(2, 128)


def small(size: Size) -> tuple[str, ...]:
    """The network of the short version."""
    return () if size == WHOLE else (f"network.topology.pods={size.pods}", f"traffic.long.pattern.count={size.hosts}")


def short_load(percent: float) -> tuple[str, ...]:
    """The incasts at a load of the whole mix."""
    return (f'traffic.short.load={{ share = {SHORT_SHARE * percent / 100:.4f}, of = "tor-uplinks" }}',)


def measured(warm_up_ms: int, window_ms: int) -> tuple[str, ...]:
    """Warm-up and window."""
    return (f"measure.warm_up={warm_up_ms} ms", f"measure.window={window_ms} ms")


STEADY_MS = measured(3, 5)
"""Of all readings but the text's; Fig. 11(a) has 5 and 50 ms. Short, as there are many runs."""


def snapshot(percent: float) -> str:
    """Row E15: as many endless flows as the load has line rates."""
    share = (1 - SHORT_SHARE) * percent / 100
    return f'pattern = {{ kind = "long", spread = "1 ms" }}, load = {{ share = {share:.4f}, of = "tor-uplinks" }}'


def pieces(percent: float) -> str:
    """Reading 6: messages of 100 KB that carry the long flows' load."""
    share = (1 - SHORT_SHARE) * percent / 100
    return (
        f'pattern = {{ kind = "poisson", inter_rack_only = true }}, size = {{ fixed = "100 KB" }}, '
        f'load = {{ share = {share:.4f}, of = "tor-uplinks" }}'
    )


def long_flows(body: str, scheme: str = '"dart"') -> str:
    """The traffic of long flows."""
    return f'{{ name = "long", scheme = {scheme}, {body} }}'


def incasts(percent: float, body: str = "") -> str:
    """The traffic of short messages; `body` has what else its pattern says."""
    return (
        f'{{ name = "short", scheme = "dart", size = {{ uniform_of = ["2 KB", "4 KB", "8 KB"] }}, '
        f'pattern = {{ kind = "incast", degree = 16, jitter = "40 us"{body} }}, '
        f'load = {{ share = {SHORT_SHARE * percent / 100:.4f}, of = "tor-uplinks" }} }}'
    )


def traffics(*each: str) -> tuple[str, ...]:
    """Replaces all traffics of the spec."""
    return (f"traffic=[{', '.join(each)}]",)


def one_per_rack(size: Size) -> list[int]:
    """The first host of each rack."""
    return list(range(0, size.hosts, 16))


def names(hosts: list[int]) -> str:
    """A list of hosts in a spec."""
    return ", ".join(f'"h{host}"' for host in hosts)


def groups(
    size: Size,
    percent: float,
    seed: int,
    *,
    scheme: str = '"dart"',
    persistent: bool = True,
    anywhere: bool = False,
    long: str | None = None,
) -> tuple[str, ...]:
    """Reading 1: each receiver has the same 16 senders in every incast, and each pair one connection. Receivers are
    one in each rack, or `anywhere`; their senders are in other racks. Long flows are those of the steady state, or
    `long`."""
    draw = np.random.default_rng(seed)
    racks = one_per_rack(size)
    receivers = draw.choice(size.hosts, len(racks), replace=False).tolist() if anywhere else racks
    share = SHORT_SHARE * percent / 100 / len(receivers)
    each = []
    for number, receiver in enumerate(receivers):
        outside = [host for host in range(size.hosts) if host // 16 != receiver // 16]
        senders = draw.choice(outside, 16, replace=False).tolist()
        each.append(
            f'{{ name = "short{number}", scheme = {scheme}, size = {{ uniform_of = ["2 KB", "4 KB", "8 KB"] }}, '
            f'pattern = {{ kind = "incast", degree = 16, jitter = "40 us", receivers = ["h{receiver}"], '
            f"senders = [{names(senders)}] }}, "
            f'load = {{ share = {share:.8f}, of = "tor-uplinks" }}, '
            f"rdma = {{ persistent = {str(persistent).lower()} }} }}"
        )
    return traffics(*each, long_flows(snapshot(percent) if long is None else long, scheme))


def reading(name: str, size: Size, percent: int, seed: int) -> tuple[str, ...]:
    """What a reading changes in the spec."""
    steady = STEADY_MS
    if name == TEXT:
        return (*short_load(percent), *small(size))
    if name == CONNECTIONS:
        return (*small(size), *groups(size, percent, seed), *steady)
    if name == BOTH:
        every = f'pattern = {{ kind = "long", count = {size.hosts}, spread = "1 ms" }}'
        return (*small(size), *groups(size, percent, seed, long=every))
    if name == PIECES:
        return (*small(size), *groups(size, percent, seed, long=pieces(percent)), *steady)
    if name == ALONE:
        draw = np.random.default_rng(seed)
        order = draw.permutation(size.hosts).tolist()
        after = order[1:] + order[:1]
        body = (
            f'size = "endless", pattern = {{ kind = "long", spread = "1 ms", '
            f'pairs = "one-to-one", senders = [{names(order)}], receivers = [{names(after)}] }}'
        )
        return (*small(size), *traffics(incasts(percent), long_flows(body)), *steady)
    mix = traffics(incasts(percent), long_flows(snapshot(percent)))
    if name == SKEWED:
        body = f", receivers = [{names(one_per_rack(size))}]"
        mix = traffics(incasts(percent, body=body), long_flows(snapshot(percent)))
    if name == LIMITED:
        mix = traffics(incasts(percent), long_flows(pieces(percent)))
    if name == HOST_LINKS:
        # 10.24 Tb/s of host links over 2.56 Tb/s of uplinks
        mix = traffics(incasts(80), long_flows(snapshot(80)))
    buffer = ('network.buffer={ policy = "lossless", per_port = "60 KB" }',) if name == LOW else ()
    return (*small(size), *mix, *buffer, *steady)


def table(**parameters: str) -> str:
    """A scheme with parameters, as a spec writes it."""
    return "{ " + ", ".join(f"{name} = {value}" for name, value in parameters.items()) + " }"


def dart_with(preset: str = DART, **parameters: str) -> str:
    """A preset of Dart with other parameters."""
    return table(id=f'"{preset}"', **parameters)


def with_scheme(scheme: str) -> tuple[str, ...]:
    """A scheme with parameters for the two traffics."""
    return tuple(f"traffic.{name}.scheme={scheme}" for name in ("short", "long"))


UNLIMITED = 'network.buffer={ policy = "unlimited" }'
NO_DEFLECTION = {"threshold": '"220 KB"', "force_threshold": "true"}
"""Queues that reach it are rare, so that two lanes remain without deflection."""

ALPHA, STEP_40 = {"initial_alpha": "0.5"}, {"additive_increase": '"40 Mbps"'}
INTERVAL = {"cnp": '"interval-end"'}
PARAMETERS = {"alpha begins at 0.5": ALPHA, "R_AI of 40 Mb/s": STEP_40, "CNP at the interval's end": INTERVAL}
"""Reading 4: what DCQCN leaves open, for DCQCN and for Dart's DCQCN alike."""


def switches_of_text(size: Size, percent: int) -> dict[tuple[str, str], tuple[str | None, tuple[str, ...]]]:
    """Under the text's reading: each cause of Dart's advantage by itself, by row of the picture and scheme."""
    text = reading(TEXT, size, percent, 1)
    found: dict[tuple[str, str], tuple[str | None, tuple[str, ...]]] = {
        ("Dart in one lane, with deflection", DART): (None, (*text, *with_scheme(dart_with(lanes='"one"')))),
        ("Dart without tokens: short messages in the long ones' lane", DART): (
            None,
            (*text, *with_scheme(dart_with(tokens="0"))),
        ),
        ("Dart in two lanes, without deflection", DART): (None, (*text, *with_scheme(dart_with(**NO_DEFLECTION)))),
        ("DCQCN in Dart's two lanes: no shares, no deflection", IOFD): (
            None,
            (*text, *with_scheme(dart_with(IOFD, **NO_DEFLECTION))),
        ),
    }
    for scheme in (DCQCN, DART):
        found["no pauses: unlimited buffers", scheme] = (scheme, (*text, UNLIMITED))
        found["window of 30 ms from t = 0", scheme] = (scheme, (*text, *measured(0, 30)))
        found["after 5 ms of warm-up", scheme] = (scheme, (*text, *measured(5, 10)))
        found["after 25 ms of warm-up", scheme] = (scheme, (*text, *measured(25, 5)))
    for name, changed in PARAMETERS.items():
        if changed is INTERVAL:
            continue  # That is about CNPs of one flow, and here a message ends before the second.
        found[f"4: {name}", DCQCN] = (None, (*text, *with_scheme(table(id='"dcqcn"', **changed))))
        found[f"4: {name}", DART] = (None, (*text, *with_scheme(dart_with(dcqcn=table(**changed)))))
    return found


def switches_of_connections(
    size: Size, percent: int, seed: int
) -> dict[tuple[str, str], tuple[str | None, tuple[str, ...]]]:
    """Under reading 1: what makes connections slow."""
    rest = (*small(size), *STEADY_MS)
    found: dict[tuple[str, str], tuple[str | None, tuple[str, ...]]] = {}
    for scheme in (DCQCN, DART):
        for what, persistent, anywhere in (
            ("a queue pair per message", False, False),
            ("receivers at random hosts", True, True),
            ("receivers at random hosts, a queue pair per message", False, True),
        ):
            found[what, scheme] = (
                scheme,
                (*rest, *groups(size, percent, seed, persistent=persistent, anywhere=anywhere)),
            )
    for name, changed in PARAMETERS.items():
        own = table(id='"dcqcn"', **changed)
        found[f"4: {name}", DCQCN] = (None, (*rest, *groups(size, percent, seed, scheme=own)))
        own = dart_with(dcqcn=table(**changed))
        found[f"4: {name}", DART] = (None, (*rest, *groups(size, percent, seed, scheme=own)))
    for what, changed in (
        ("Dart that answers no mark", {"full_rate": "0.01"}),
        ("Dart that deflects connections (row D18)", {"deflect_connections": "true"}),
    ):
        found[what, DART] = (None, (*rest, *groups(size, percent, seed, scheme=dart_with(**changed))))
    return found


def sweep(quick: bool) -> dict[Key, Change]:
    """Keys are the reading, the scheme, the load and the seed; switches are named by their reading and themselves."""
    size = SMALL if quick else WHOLE
    runs: dict[Key, Change] = {}
    for name in (TEXT, CONNECTIONS) if quick else (*FULL, *SINGLE):
        for percent in LOADS if name in FULL and not quick else (40,):
            for scheme in BARS:
                for seed in seeds(quick) if name in THREE_SEEDS else SEEDS[:1]:
                    runs[name, scheme, percent, seed] = Change(scheme, reading(name, size, percent, seed))
    seed = SEEDS[0]
    for base, switches in ((TEXT, switches_of_text(size, 40)), (CONNECTIONS, switches_of_connections(size, 40, seed))):
        for (what, scheme), (preset, changes) in switches.items() if not quick else ():
            runs[f"{base} | {what}", scheme, 40, seed] = Change(preset, changes)
    for percent in LOADS if not quick else ():
        changes = (*reading(LIMITED, size, percent, seed), *with_scheme(dart_with(lanes='"one"')))
        runs[ONE_LANE, DART, percent, seed] = Change(None, changes)
    return runs
