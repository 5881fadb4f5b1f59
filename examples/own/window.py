"""The built-in scheme `fixed-window` as a class of one's own: the least that a scheme needs."""

from dataclasses import dataclass, field

import fanin


@dataclass(frozen=True)
class Params:
    """Keys of the spec: `scheme = { id = "window", packets = 20 }`."""

    packets: int = field(default=50, metadata={"doc": "full-size packets in flight"})

    def __post_init__(self) -> None:
        if self.packets < 1:
            raise ValueError("packets must be at least 1: a window of 0 never sends")


class Flow(fanin.Sender):
    """A flow at its sender."""

    params: Params

    def open(self, path: fanin.PathInfo) -> None:
        """A flow opens. It may send at once, at most so many packets in flight."""
        self.limit = self.window = self.params.packets * path.payload
        self.rate = path.line_rate
        self.sent_to = 0
        self.acked_to = 0

    def on_send(self, sent: fanin.Sent) -> None:
        """A packet left."""
        self.sent_to = sent.sent_to
        if self.sent_to - min(self.acked_to, self.sent_to) >= self.limit:
            self.count("window_limited")

    def on_ack(self, ack: fanin.Ack) -> None:
        """An ACK arrived."""
        self.acked_to = ack.acked_to


class Window(fanin.Scheme):
    """A constant number of packets in flight."""

    Params = Params
    Sender = Flow
