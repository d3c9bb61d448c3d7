"""The Python API. Its public names are in `comity` itself; see docs/python.md."""
