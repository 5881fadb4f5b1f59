"""The tables of docs/papers/dart.md, from the rows of `fanin paper dart-headline`."""

import re

from fanin_papers.claims import measured
from pages.markdown import table

PAGE = "docs/papers/dart.md"

COLUMNS = ("TIMELY", "Pri-Q", "IOFD-only", "DASR w/o LA", "DASR-only", "Dart")
PAPER = (
    ("the paper", "20 %", "", "", "0", "31 %", "", "79 %", "84 %"),
    ("the paper", "60 %", "", "", "", "79 %", "", "77 %", "93 %"),
)
"""Fig. 14 and the text of section VI-C."""

NAMES = {
    "the text: a 1 GB flow from every server, from t = 0": "the text",
    "1: static groups on connections that stay open": "1, connections",
    "steady state: as many long flows as the load has line rates": "steady state",
    "6: long flows that carry their load: 100 KB pieces": "6, carried load",
    "1 and 6: static groups on connections, long flows of 100 KB pieces": "1 and 6",
    "the text and 1: static groups on connections, from t = 0": "the text and 1",
    "2: one long flow to every receiver": "2, one long flow each",
    "3: 64 receivers, one per rack": "3, 64 receivers",
    "5: PFC at 60 KB per port": "5, PFC at 60 KB",
    "6: 20 % of all host links (80 % of the uplinks)": "6, of host links",
}
"""The readings in a few words."""

SWITCHED = {
    "the text": (
        ("Dart in one lane, with deflection", "lanes", '`lanes = "one"`'),
        ("Dart without tokens: short messages in the long ones' lane", "", "`tokens = 0`: no lane of their own"),
        ("Dart in two lanes, without deflection", "deflection", "two lanes, threshold out of reach"),
        (
            "DCQCN in Dart's two lanes: no shares, no deflection",
            "DASR, deflection",
            "DCQCN in two lanes (`dart-iofd`, the same threshold)",
        ),
        ("after 5 ms of warm-up", "start-up", '`measure.warm_up = "5 ms"`'),
        ("after 25 ms of warm-up", "", '`measure.warm_up = "25 ms"` (5 ms counted)'),
        ("window of 30 ms from t = 0", "", "30 ms counted from t = 0"),
        ("no pauses: unlimited buffers", "pauses", '`network.buffer = { policy = "unlimited" }`'),
        ("4: alpha begins at 0.5", "alpha", "`initial_alpha = 0.5`"),
        ("4: R_AI of 40 Mb/s", "increase", '`additive_increase = "40 Mbps"`'),
    ),
    "1": (
        ("a queue pair per message", "inherited rates", "a queue pair per message"),
        ("4: alpha begins at 0.5", "DCQCN's parameters", "`initial_alpha = 0.5`"),
        ("4: R_AI of 40 Mb/s", "", '`additive_increase = "40 Mbps"`'),
        ("4: CNP at the interval's end", "", '`cnp = "interval-end"`'),
        ("Dart that answers no mark", "answered marks", "`full_rate = 0.01`: Dart answers none"),
        ("Dart that deflects connections (row D18)", "deflection", "`deflect_connections = true` (row D18)"),
        ("receivers at random hosts", "paths", "receivers at random hosts"),
        ("receivers at random hosts, a queue pair per message", "", "the same, a queue pair per message"),
    ),
}
"""Of each reading the single changes: as the rows call them, the cause, and the switch."""


def _rows() -> dict[str, str]:
    """What was measured, by what it is."""
    found = measured()["dart-headline"]["rows"]
    return {row["what"]: row["ours"] for row in found if not row["judged"]}


def readings() -> str:
    """DCQCN's p99 under each reading and load, and by how much the others cut it."""
    lines: list[tuple[str, ...]] = list(PAPER)
    for what, ours in _rows().items():
        found = re.fullmatch(r"reading (.+?)(?:, (\d+ %))?: p99 of DCQCN, and by how much the others cut it", what)
        if found is None:
            continue
        tail, _, cuts = ours.partition(" us; ")
        shares = dict(re.findall(r"(?:^|, )([^,]+?) (-?\d+ %)", cuts.partition(";")[0]))
        load = found[2] or "20 % of hosts' links"
        lines.append((NAMES[found[1]], load, f"{int(tail):,}", *(shares[column] for column in COLUMNS)))
    return table(("reading", "load", "DCQCN, us", *COLUMNS), lines)


def switches(reading: str) -> str:
    """p99 of DCQCN and Dart at 40 % with one change each."""
    rows = _rows()
    begin = f"reading {reading}, 40 %: "
    lines: list[tuple[str, str, str, str]] = []
    for what, cause, switch in SWITCHED[reading]:
        ours = rows[f"{begin}{what}: p99"]
        # DCQCN without shares and deflection is Dart's deflection alone in the rows.
        after = {
            "DCQCN" if name == "IOFD-only" else name: value
            for name, value in re.findall(r"(DCQCN|Dart|IOFD-only) (\d+) us", ours)
        }
        lines.append((cause, switch, after.get("DCQCN", ""), after.get("Dart", "")))
    whole = next(
        found
        for what, ours in rows.items()
        if what.startswith(begin)
        and (found := re.search(r"DCQCN \d+ us \(as it is (\d+)\), Dart \d+ us \(as it is (\d+)\)", ours))
    )
    return table(("cause", "switch", "DCQCN", "Dart"), [("as it is", "", whole[1], whole[2]), *lines])


def of_the_text() -> str:
    """Under the text's reading."""
    return switches("the text")


def of_connections() -> str:
    """Under reading 1."""
    return switches("1")
