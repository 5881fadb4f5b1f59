"""Measurements of a checkout that are not part of the package: `python -m bench`.

`scenarios` says what is simulated, `inputs` makes the files of it, `ours` and `peers` run it, `side_by_side` puts them
beside each other, `report` writes what `results` holds into docs/performance.md.
"""
