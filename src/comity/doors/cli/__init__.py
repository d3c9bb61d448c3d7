"""The command line: one file a command, tables for people and `--json` for programs."""
