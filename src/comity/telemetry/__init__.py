"""Telemetry: metrics, logs and health of a process. It decides nothing."""
