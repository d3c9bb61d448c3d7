"""How long pulls and submits of bots hold their transaction: see `_bot_queue.py`, which this runs.

    python bench/queue.py [--rate 200] [--seconds 20] [--hosts 1000] [--jobs 100000] [--crowded 900000] [--no-fsync]
        [--http] [--repeat 1]

This name is also one of the standard library's. A script of this folder has the folder first on its path, so whatever
asks for `queue` there finds this file, and is given the standard library's instead.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from sysconfig import get_path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench._bot_queue import main

    main()
else:
    _found = spec_from_file_location(__name__, Path(get_path("stdlib")) / "queue.py")
    assert _found is not None
    assert _found.loader is not None
    sys.modules[__name__] = module_from_spec(_found)
    _found.loader.exec_module(sys.modules[__name__])
