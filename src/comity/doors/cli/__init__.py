"""The command line: a module or package per command, tables for people and `--json` for programs."""
