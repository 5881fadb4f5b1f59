"""The papers' experiments."""

from __future__ import annotations

from fanin.papers import dart, dart_micro, dctcp, sawtooth
from fanin.papers.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.id: experiment for paper in (dart_micro, dart, sawtooth, dctcp) for experiment in paper.EXPERIMENTS
}
"""All experiments by id."""
