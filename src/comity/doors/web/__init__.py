"""The HTTP API: admin routes and public search. Loaded only by `comity web`."""
