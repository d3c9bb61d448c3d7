"""Telemetry: what a process says of itself while it works, as numbers and as lines. It decides nothing."""
