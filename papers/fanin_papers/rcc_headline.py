"""RCC's abstract: its mean queue 47.5 % and its 99th percentile 51.2 % below TCP's, with one open choice changed at a
time (figures 5a and 7a). Both schemes have the change; it says what the paper leaves open or says in passing."""

from __future__ import annotations

from matplotlib.figure import Figure

from fanin import Result
from fanin.plot import label_axes
from fanin.style import COLOURS
from fanin_papers.common import mean, picture, pooled, quantile, seeds
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, gain_band
from fanin_papers.rcc_incast import SENDERS, queue_packets, span_ps

AS_ASSUMED = "as in Figs. 5 and 7"
_ETHERNET = (
    "network.packet.header=78 B",
    "network.packet.ack=84 B",
    "network.buffer.per_port=123040 B",
    "network.marking.above=61520 B",
)
"""With 38 B of preamble, Ethernet and gap in each packet, 80 and 40 packets are more bytes."""
_PLAIN = {
    "newreno": '{ id = "newreno", initial_window = 1 }',
    "rcc": '{ id = "rcc", newreno = { initial_window = 1 } }',
}


def _window(segments: int) -> dict[str, str]:
    sender = f"initial_window = {segments}"
    return {"newreno": f'{{ id = "newreno", {sender} }}', "rcc": f'{{ id = "rcc", newreno = {{ {sender} }} }}'}


def _rcc(parameters: str) -> dict[str, str]:
    return _PLAIN | {"rcc": f'{{ id = "rcc", newreno = {{ initial_window = 1 }}, {parameters} }}'}


CASES: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    AS_ASSUMED: (_PLAIN, ()),
    "initial window of 2": (_window(2), ()),
    "initial window of 10": (_window(10), ()),
    "starts within 1 ms": (_PLAIN, ("traffic.senders.pattern.jitter=1 ms",)),
    "starts within 10 ms": (_PLAIN, ("traffic.senders.pattern.jitter=10 ms",)),
    "smallest timeout of 200 ms": (
        _PLAIN,
        ("traffic.senders.tcp.min_rto=200 ms", "traffic.senders.tcp.initial_rto=200 ms"),
    ),
    "delayed ACKs": (_PLAIN, ("traffic.senders.tcp.ack_every=2",)),
    "SACK": (_PLAIN, ("traffic.senders.tcp.sack=true",)),
    "128 KB of buffer, not 80 packets": (_PLAIN, ("network.buffer.per_port=131072 B",)),
    "Ethernet's overhead counts": (_PLAIN, _ETHERNET),
    "RTT of 40 us": (_PLAIN, ("network.topology.delay=10 us",)),
    "RCC: no priority": (_rcc('priority = "none"'), ()),
    "RCC: priority by what remains": (_rcc('priority = "remaining"'), ()),
    "RCC: queue_maxsize of 53": (_rcc("queue_maxsize = 53"), ()),
    "RCC: as its authors' code": (_PLAIN | {"rcc": '"rcc-ns3"'}, ()),
}
"""The schemes, and changes to the spec."""

SCHEMES = ("newreno", "rcc")
MEAN, WAITING, TAIL = "mean", "waiting", "p99"


def sweep(quick: bool) -> dict[Key, Change]:
    """Each case with each number of senders."""
    return {
        (f"{scheme}, {case}", n, seed): Change(
            None, (f"traffic.senders.scheme={schemes[scheme]}", f"traffic.senders.pattern.degree={n}", *changes)
        )
        for case, (schemes, changes) in CASES.items()
        for scheme in SCHEMES
        for n in (SENDERS[::3] if quick else SENDERS)
        for seed in seeds(quick)
    }


def measure(result: Result) -> Measured:
    """The mean queue in packets from the first SYN to the last byte and while packets wait, and completion times."""
    time_ps, queue = queue_packets(result)
    first_ps, last_ps = span_ps(result)
    inside = queue[(time_ps >= first_ps) & (time_ps <= last_ps)]
    times = (result.flows()["completion_ps"].to_numpy() / 1e9).tolist()
    return {MEAN: [float(inside.mean())], WAITING: [float(inside[inside > 0].mean())], "fct_ms": times}


def cut(measures: Measures, case: str, what: str) -> float:
    """How far RCC is below TCP in per cent: of the sum of mean queues over the numbers of senders, as Fig. 5 is judged,
    or of the 99th percentile, averaged over them, as Fig. 7 is."""
    found = {scheme: f"{scheme}, {case}" for scheme in SCHEMES}
    numbers = sorted({int(key[1]) for key in measures})
    if what == TAIL:
        tails = {s: [quantile(pooled(measures, (found[s], n), "fct_ms"), 0.99) for n in numbers] for s in SCHEMES}
        return 100 * mean([1 - rcc / tcp for tcp, rcc in zip(*tails.values(), strict=True)])
    means = {s: sum(mean(pooled(measures, (found[s], n), what)) for n in numbers) for s in SCHEMES}
    return 100 * (1 - means["rcc"] / means["newreno"])


def draw(measures: Measures) -> Figure:
    """A bar for each case, with the paper's number as a line; one bar ends outside."""
    figure = picture(13, 9, "RCC's abstract, one open choice changed at a time: 32 KB from each sender, 1 Gb/s")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, shown, paper, title in (
        (panels[0], {WAITING: COLOURS[0], MEAN: COLOURS[4]}, 47.5, "mean queue"),
        (panels[1], {TAIL: COLOURS[0]}, 51.2, "99th percentile of completion times"),
    ):
        names = {WAITING: "while packets wait", MEAN: "first SYN to last byte", TAIL: None}
        for side, (what, colour) in enumerate(shown.items()):
            for place, case in enumerate(CASES):
                at, value = place + (side - (len(shown) - 1) / 2) * 0.38, cut(measures, case, what)
                axes.barh(at, value, height=0.36, color=colour, label=names[what] if place == 0 else None)
                axes.annotate(
                    f"{value:.1f}",
                    (max(value, 0), at),
                    (4, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=9,
                    bbox={"boxstyle": "square,pad=0.02", "color": "white"},
                )
        axes.axvline(paper, color="black", linewidth=1.2, linestyle=":", zorder=0.9, label=f"the paper: {paper} %")
        axes.set_yticks(range(len(CASES)), list(CASES))
        axes.set_xlim(*((-30, 75) if axes is panels[0] else (0, 100)))
        label_axes(axes, f"{title}: RCC below TCP", "per cent, over 10 to 100 senders", "", legend=False)
        axes.legend(frameon=False, fontsize=10, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)
    panels[0].invert_yaxis()
    return figure


def rows(measures: Measures) -> list[Row]:
    """Beside the claims `rcc-fig5a-mean` and `rcc-fig7a-p99`."""
    found = []
    for case in CASES:
        waiting, whole, tail = (cut(measures, case, what) for what in (WAITING, MEAN, TAIL))
        found += Row.table(f"""
            rcc-fig5a-mean
            {case}: mean queue of rcc below that of newreno, while packets wait (first SYN to last byte) | 47.5 %
                | {waiting:.1f} % ({whole:.1f} %) | 30 to 65 % | ({gain_band(waiting, 30, 65)})
            rcc-fig7a-p99
            {case}: 99th percentile of rcc below that of newreno | 51.2 % | {tail:.1f} % | 30 to 75 %
                | ({gain_band(tail, 30, 75)})
        """)
    return found


EXPERIMENTS = (
    Experiment(
        "rcc-headline",
        "the abstract's numbers, one open choice at a time",
        "rcc/fig5-incast.toml",
        sweep,
        measure,
        draw,
        rows,
        ("5a", "7a"),
    ),
)
