"""The pages of `docs` that are made from the code: the spec reference, manuals, Python API, commands, columns.

`make docs` writes them, `tests/test_docs.py` compares them with what is committed.
"""
