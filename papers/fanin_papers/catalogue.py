"""All experiments of the papers."""

from __future__ import annotations

from importlib import import_module

from fanin_papers.experiment import Experiment

_PARTS = """
    dart_fig3 dart_fig6 dart_calibration dart_typical dart_causes dart_fig11 dart_sensitivity dart_headline
    dart_testbed dart_testbed_incast dart_convergence dart_expresspass dctcp_incast_event sawtooth
    dctcp_threshold dctcp dctcp_convergence dctcp_queries dctcp_buffers dctcp_benchmark dctcp_benchmark_load
    hpcc_pauses hpcc_trade_offs hpcc_testbed hpcc_fig10 hpcc_scale hpcc_settings hpcc_design hpcc_theory
    hpcc_starts rcc_motivation rcc_incast rcc_completion rcc_headline rcc_scheduler rcc_equations rcc_datacenter
    rcc_flows rcc_multihop rcc_fairness on_wire dart_headroom
"""
"""The modules of experiments, in the order in which they are listed and run."""

EXPERIMENTS: dict[str, Experiment] = {
    experiment.id: experiment
    for part in _PARTS.split()
    for experiment in import_module(f"fanin_papers.{part}").EXPERIMENTS
}
"""All experiments by id."""
