"""An office on each of the two databases, as the tests of sources have it."""

from __future__ import annotations

from tests.walk.conftest import bureau, sources_url  # noqa: F401  # fixtures are found by name
