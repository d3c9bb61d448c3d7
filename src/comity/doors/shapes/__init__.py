"""The JSON of every noun, once for the command line and the HTTP API; docs/json.md describes it."""
