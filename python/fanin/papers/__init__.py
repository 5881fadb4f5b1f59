"""The papers' experiments."""

from __future__ import annotations

from fanin.papers import (
    dart_calibration,
    dart_causes,
    dart_convergence,
    dart_expresspass,
    dart_fig3,
    dart_fig6,
    dart_testbed,
    dart_testbed_incast,
    dart_typical,
    dctcp,
    dctcp_queries,
    hpcc_pauses,
    rcc_completion,
    rcc_equations,
    rcc_fairness,
    rcc_flows,
    rcc_incast,
    rcc_motivation,
    rcc_multihop,
    rcc_scheduler,
    sawtooth,
)
from fanin.papers.experiment import Experiment

_PARTS = (
    dart_fig3,
    dart_fig6,
    dart_calibration,
    dart_typical,
    dart_causes,
    dart_testbed,
    dart_testbed_incast,
    dart_convergence,
    dart_expresspass,
    sawtooth,
    dctcp,
    dctcp_queries,
    hpcc_pauses,
    rcc_motivation,
    rcc_incast,
    rcc_completion,
    rcc_scheduler,
    rcc_equations,
    rcc_flows,
    rcc_multihop,
    rcc_fairness,
)

EXPERIMENTS: dict[str, Experiment] = {experiment.id: experiment for part in _PARTS for experiment in part.EXPERIMENTS}
"""All experiments by id."""
