"""Measurements of a checkout that are not part of the package: `python -m bench`.

`scenarios` lists the cases, `inputs` makes their files, `ours` and `peers` run them, `side_by_side` compares them,
`report` writes `results` into docs/performance.md.
"""
