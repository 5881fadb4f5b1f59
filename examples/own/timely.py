"""The built-in scheme `timely` (TIMELY, algorithm 1) as a class of one's own."""

from dataclasses import dataclass, field
from math import floor

import fanin

US = 1_000_000
"""Picoseconds in a microsecond: all times of a scheme are picoseconds."""


@dataclass(frozen=True)
class Params:
    """Keys of the spec."""

    ewma: float = field(default=0.875, metadata={"doc": "weight of the newest difference of round-trip times"})
    beta: float = field(default=0.8, metadata={"doc": "factor of a cut"})
    t_low: int = field(default=50 * US, metadata={"doc": "ps; below it the rate rises whatever the gradient"})
    t_high: int = field(default=500 * US, metadata={"doc": "ps; above it the rate falls whatever the gradient"})
    min_rtt: int = field(default=20 * US, metadata={"doc": "ps; unit of the gradient"})
    additive_increase: float = field(default=0.001, metadata={"doc": "step of the rate, share of C"})
    min_rate: float = field(default=0.01, metadata={"doc": "lower bound of the rate, share of C"})
    hai: int = field(default=5, metadata={"doc": "steps at once in hyperactive increase"})
    segment: int = field(default=64_000, metadata={"doc": "bytes of payload that leave at line rate"})


class Flow(fanin.Sender):
    """A flow at its sender. It sends segments at line rate, with pauses that make their mean rate R."""

    params: Params

    def open(self, path: fanin.PathInfo) -> None:
        """A flow opens."""
        self.line = self.rate = self.paced = path.line_rate
        self.step = min(floor(self.params.additive_increase * self.line + 0.5), self.line)
        self.least = min(floor(self.params.min_rate * self.line + 0.5), self.line)
        self.packet = fanin.tx_time(path.line_rate, path.wire)
        self.decide_at = self.params.segment
        self.last_rtt: int | None = None
        self.difference = 0.0
        self.in_a_row = 0
        self.began = self.wire = self.left = 0

    def on_send(self, sent: fanin.Sent) -> None:
        """A packet left."""
        if self.left == 0:
            self.began, self.wire, self.left = self.now, 0, self.params.segment
        self.wire += sent.wire
        self.left = max(self.left - sent.payload, 0)
        self.space()

    def space(self) -> None:
        """Sets the time of the next segment, if one has left completely."""
        if self.left == 0:
            self.not_before = self.began + fanin.tx_time(self.paced, self.wire)

    def on_ack(self, ack: fanin.Ack) -> None:
        """An ACK arrived; that of a whole segment decides."""
        if ack.seq < self.decide_at:
            return
        segment = self.params.segment
        self.decide_at = ack.seq - ack.seq % segment + segment
        # TIMELY 4.1: less the time of serialisation
        self.decide(max(ack.rtt - self.packet, 0))
        self.space()

    def decide(self, rtt: int) -> None:
        """TIMELY 4.3, algorithm 1."""
        p = self.params
        last, self.last_rtt = self.last_rtt, rtt
        change = 0.0 if last is None else float(rtt) - float(last)
        self.difference = (1 - p.ewma) * self.difference + p.ewma * change
        gradient = self.difference / p.min_rtt
        before = self.paced
        if rtt < p.t_low:
            rate = before + self.step
        elif rtt > p.t_high:
            self.in_a_row = 0
            rate = floor(before * (1 - p.beta * (1 - p.t_high / rtt)) + 0.5)
        elif gradient <= 0:
            self.in_a_row += 1
            rate = before + self.step * (p.hai if self.in_a_row >= 5 else 1)
        else:
            self.in_a_row = 0
            rate = floor(before * max(1 - p.beta * gradient, 0.0) + 0.5)
        self.paced = min(max(rate, self.least), self.line)
        if self.paced < before:
            self.count("cuts")
        elif self.paced > before:
            self.count("increases")

    def watch(self) -> dict[str, float]:
        """What a run can show over time, beside rate and window."""
        return {"gradient": self.difference / self.params.min_rtt, "paced_rate_bps": float(self.paced)}


class Timely(fanin.Scheme):
    """TIMELY: the gradient of the round-trip time sets the rate."""

    id = "own-timely"
    Params = Params
    Sender = Flow
    wants_ecn = False
