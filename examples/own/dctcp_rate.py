"""The built-in scheme `dctcp-rate` (DCTCP for RDMA, as in HPCC 5.1) as a class of one's own."""

from dataclasses import dataclass, field
from math import floor

import fanin


@dataclass(frozen=True)
class Params:
    """Keys of the spec."""

    g: float = field(default=1 / 16, metadata={"doc": "gain of alpha"})
    initial_alpha: float = field(default=1.0, metadata={"doc": "alpha before the first ACK"})
    additive_increase: float = field(default=0.00615, metadata={"doc": "step once per window of data, share of C"})
    min_rate: float = field(default=0.01, metadata={"doc": "lower bound of the rate, share of C"})


class Flow(fanin.Sender):
    """A flow at its sender."""

    params: Params

    def open(self, path: fanin.PathInfo) -> None:
        """A flow opens at line rate: HPCC 5.1 has no slow start."""
        self.line = path.line_rate
        self.largest_window = path.network_bdp
        self.step = min(floor(self.params.additive_increase * self.line + 0.5), self.line)
        self.least = min(floor(self.params.min_rate * self.line + 0.5), self.line)
        self.alpha = self.params.initial_alpha
        self.acked = self.marked = self.window_end = 0
        self.cut_to: int | None = None
        self.set(self.line)

    def set(self, rate: int) -> None:
        """Sends at this rate, and with the window that belongs to it."""
        self.rate = rate
        self.window = max(self.largest_window * rate // self.line, 1)

    def on_ack(self, ack: fanin.Ack) -> None:
        """An ACK arrived."""
        newly, acked_to, echo = ack.newly_acked, ack.acked_to, ack.ecn_echo
        self.acked += newly
        if echo:
            self.marked += newly
        # RFC 8257 section 3.3: a window of data ends with the first ACK above its end.
        window_ended = acked_to > self.window_end and self.acked > 0
        if window_ended:
            # DCTCP eq. (1)
            self.alpha = (1 - self.params.g) * self.alpha + self.params.g * (self.marked / self.acked)
            if self.marked > 0:
                self.count("marked_windows")
            self.acked = self.marked = 0
            self.window_end = ack.sent_to
        if self.cut_to is not None:
            if acked_to <= self.cut_to:
                return
            self.cut_to = None
        before = self.rate
        if echo:
            # DCTCP eq. (2) on the rate, at most once per window of data
            rate = min(max(floor(before * (1 - self.alpha / 2) + 0.5), self.least), before)
            self.cut_to = ack.sent_to
            if rate < before:
                self.count("cuts")
        elif window_ended:
            rate = min(before + self.step, self.line)
            if rate > before:
                self.count("increases")
        else:
            return
        if rate != before:
            self.set(rate)

    def watch(self) -> dict[str, float]:
        """What a run can show over time, beside rate and window."""
        return {"alpha": self.alpha}


class DctcpRate(fanin.Scheme):
    """DCTCP on a rate, for RDMA."""

    id = "own-dctcp-rate"
    Params = Params
    Sender = Flow
    needs_marks = True
