"""Sources under their public name, so that `import comity.sources` works as `comity.sources` does."""

from comity.doors.python.sources import *  # noqa: F403 -- every public name, and no list of them to keep in step
from comity.doors.python.sources import __all__ as __all__
