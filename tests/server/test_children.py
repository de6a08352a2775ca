"""Processes of tests end with the run that has started them, also when that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.children import await_end, end_child, runs, start_child

_HANG_SECONDS = 120.0
_PARENT = f"""
import subprocess, sys, time
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from support.children import start_child
start_child({{!r}})
time.sleep({_HANG_SECONDS})
"""
_CHILD = f"""
import os, subprocess, sys, time
worker = subprocess.Popen(["sleep", "{_HANG_SECONDS}"])
print(os.getpid(), worker.pid, flush=True)
time.sleep({_HANG_SECONDS})
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="/proc tells which processes there are")
@pytest.mark.parametrize("killed", ["run", "child"])
def test_a_child_and_its_workers_end_with_the_run(killed: str) -> None:
    if killed == "child":
        process = start_child(_CHILD, stdout=subprocess.PIPE)
    else:
        command = [sys.executable, "-c", _PARENT.format(_CHILD)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    child, worker = map(int, process.stdout.readline().split())
    assert runs(child)
    assert runs(worker)
    if killed == "child":
        end_child(process)
    else:
        os.kill(process.pid, 9)
        process.communicate()
    await_end(child)
    await_end(worker)
