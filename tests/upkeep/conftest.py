"""Sources to run."""

from tests.walk.conftest import bureau, sources_url, web  # noqa: F401  # fixtures are found by name
