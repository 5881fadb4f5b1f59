"""Many runs of one spec: a grid, distributed over processes or machines, saved in a folder that survives a kill."""
