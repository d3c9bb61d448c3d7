"""The web door: the admin's API and public search over HTTP. Loaded by `comity web` alone."""
