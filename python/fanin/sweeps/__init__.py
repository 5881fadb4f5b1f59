"""Many runs of one spec: a grid of them, spread over processes or machines, kept in a folder that survives being killed."""
