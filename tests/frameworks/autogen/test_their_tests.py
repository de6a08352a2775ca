"""AutoGen's own tests of a memory, with `SalienceMemory` in the place of `ListMemory`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support.suites import source_of

HERE = Path(__file__).resolve().parent
OTHERWISE = {
    "test_memory_component_load_config_from_base_model": "a list is loaded with its contents",
    "test_memory_component_dump_config_to_base_model": "a list is dumped with its contents",
    "test_list_memory_content_types": "a list gives what it holds in order, not the best first",
}
"""The tests that cannot pass, with the reason."""


def test_all_pass_but_those_that_need_a_list(tmp_path: Path) -> None:
    their_tests = source_of("autogen-core") / "tests" / "test_memory.py"
    command = [sys.executable, "-m", "pytest", "-rA", "-q", "-p", "no:cacheprovider"]
    options = ["-c", os.devnull, "--rootdir", str(tmp_path), "-p", "their_tests_plugin"]
    ran = subprocess.run(
        [*command, *options, str(their_tests)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parents[1])])},
    )
    said = re.findall(r"^(PASSED|FAILED|ERROR) \S*::(\w+)", ran.stdout, re.MULTILINE)
    failed = {name for outcome, name in said if outcome != "PASSED"}
    assert failed == set(OTHERWISE), ran.stdout
    assert len(said) == 10
