"""What costs much is made once in a run of tests, by one of its processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.once import once, shared_folder
from support.waiting import HANG_SECONDS

PROGRAM = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from support.once import once

def make(folder):
    with (folder / "made").open("a") as file:
        file.write("x")
    time.sleep(0.2)
    (folder / "whole").touch()

assert (once(Path({folder!r}), "thing", make) / "whole").exists()
"""


def test_processes_wait_for_the_one_that_makes_it(tmp_path: Path) -> None:
    program = PROGRAM.format(tests=str(Path(__file__).parents[1]), folder=str(tmp_path))
    started = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(3)]
    assert [process.wait(HANG_SECONDS) for process in started] == [0, 0, 0]
    assert (tmp_path / "thing" / "made").read_text() == "x"


def test_what_cannot_be_made_is_skipped_and_not_tried_again(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(pytest.skip.Exception, match="no Node"):
            once(tmp_path, "thing", lambda made: "no Node" if not [*made.iterdir()] else None)


def test_workers_share_the_folder_of_the_run(tmp_path: Path) -> None:
    one, other = tmp_path / "popen-gw0", tmp_path / "popen-gw1"
    assert shared_folder(one, "gw0") == shared_folder(other, "gw1") == tmp_path
    assert shared_folder(one, "master") == one
