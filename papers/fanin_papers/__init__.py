"""Experiments of four papers on congestion control, and their claims beside what was measured here."""

from __future__ import annotations

from pathlib import Path

SPECS = Path(__file__).parent / "specs"
"""The folder of the experiments' specs, one below it for each paper."""
