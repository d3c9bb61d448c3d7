"""Real servers for the tests, started from binaries that come with the development lock."""
