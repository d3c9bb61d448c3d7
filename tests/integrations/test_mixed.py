"""A spider, a worker and bots on the same hosts keep one pace, also when the server is killed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.integrations.mixed import Trial, run
from tests.sizes import LONG


@pytest.mark.roomy
def test_a_spider_a_worker_and_bots_share_hosts_over_a_kill(migrated_sqlite_file: Path, tmp_path: Path) -> None:
    """Takes as long as its requests must be apart. COMITY_TEST_LONG=1: 20 hosts and 10 bots with a delay of 1 s."""
    path = tmp_path / "state.db"
    shutil.copy(migrated_sqlite_file, path)
    size = {} if LONG else {"sites": 3, "bots": 2, "pages": 2, "delay_s": 0.4}
    trial = Trial(tmp_path, f"sqlite:///{path}", **size)
    outcome = run(trial)
    assert outcome.missing == []
    assert outcome.jobs_open == 0
    assert outcome.smallest_gap_s >= trial.delay_s
    assert outcome.violations == []
