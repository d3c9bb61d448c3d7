"""The SQL door under its public name, so that `import comity.sql` works as `comity.sql` does."""

from comity.doors.sql import SqlConnection, connect

__all__ = ["SqlConnection", "connect"]
