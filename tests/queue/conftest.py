"""Fixtures of the crawl service."""

from __future__ import annotations

from tests.queue.service import service  # noqa: F401  # fixtures are found by name
