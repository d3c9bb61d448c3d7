"""Decisions: pure functions. Time and chance are arguments; nothing here reads a clock, a file or a socket."""
