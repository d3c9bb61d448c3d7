"""Response schemas: the JSON of every noun, shared by the command line and the HTTP API; docs/json.md describes it."""
