"""The public Python API. What is meant for users has its name in `comity` itself; see docs/python.md."""
