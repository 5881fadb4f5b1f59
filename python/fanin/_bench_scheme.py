"""The scheme of the benchmark's case `python`: what a scheme in Python has to do at least, at both ends."""

from __future__ import annotations

from fanin import Ack as Arrived
from fanin import AckFields, Data, PathInfo
from fanin import Receiver as Host
from fanin import Scheme as Base
from fanin import Sender as Flow


class Window(Flow):
    """A window of a bandwidth-delay product that falls by a share of the marked bytes, once per window of data."""

    def open(self, path: PathInfo) -> None:
        """A flow opens."""
        self.payload = path.payload
        self.most = self.size = max(path.network_bdp, path.payload)
        self.window = self.size
        self.acked = self.marked = self.window_end = 0

    def on_ack(self, ack: Arrived) -> None:
        """An ACK arrived."""
        newly = ack.newly_acked
        self.acked += newly
        if ack.ecn_echo:
            self.marked += newly
        if ack.acked_to <= self.window_end or self.acked == 0:
            return
        if self.marked:
            self.size = max(int(self.size * (1 - self.marked / self.acked / 2)), self.payload)
            self.count("cuts")
        else:
            self.size = min(self.size + self.payload, self.most)
            self.count("increases")
        self.window = self.size
        self.acked = self.marked = 0
        self.window_end = ack.sent_to


class Echo(Host):
    """Every ACK echoes its packet's mark."""

    def on_data(self, data: Data) -> AckFields | None:
        """Data arrived."""
        return AckFields(ecn_echo=data.ce) if data.ack_due else None


class InPython(Base):
    """A window by marks, with a sender and a receiver in Python."""

    id = "bench-python"
    Sender = Window
    Receiver = Echo
