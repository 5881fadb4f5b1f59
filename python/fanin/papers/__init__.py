"""The papers' experiments."""

from __future__ import annotations

from pathlib import Path

from fanin.papers import (
    dart_calibration,
    dart_causes,
    dart_convergence,
    dart_expresspass,
    dart_fig3,
    dart_fig6,
    dart_headline,
    dart_testbed,
    dart_testbed_incast,
    dart_typical,
    dctcp,
    dctcp_buffers,
    dctcp_convergence,
    dctcp_incast_event,
    dctcp_queries,
    dctcp_threshold,
    hpcc_design,
    hpcc_pauses,
    hpcc_starts,
    hpcc_testbed,
    hpcc_theory,
    hpcc_trade_offs,
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

SPECS = Path(__file__).parent / "specs"
"""The folder of the experiments' specs, one below it for each paper."""

_PARTS = (
    dart_fig3,
    dart_fig6,
    dart_calibration,
    dart_typical,
    dart_causes,
    dart_headline,
    dart_testbed,
    dart_testbed_incast,
    dart_convergence,
    dart_expresspass,
    dctcp_incast_event,
    sawtooth,
    dctcp_threshold,
    dctcp,
    dctcp_convergence,
    dctcp_queries,
    dctcp_buffers,
    hpcc_pauses,
    hpcc_trade_offs,
    hpcc_testbed,
    hpcc_design,
    hpcc_theory,
    hpcc_starts,
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
