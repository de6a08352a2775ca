"""The files of deploy/ name options, settings and paths that the server has, and are what they say.

Neither an image is built here nor a cluster asked: each file is read by the schema of its format
where a program for that is installed, and its commands and probes are tried on a real server.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

from salience.server.guard import GuardSettings
from salience.server.problems import KINDS
from salience.server.settings import ServerSettings
from salience.stores.index_reader import index_bytes
from salience.write.items import SECRETS_VARIABLE, secret_policy
from support.pages import ROOT, page

yaml = pytest.importorskip("yaml", reason="the extra 'import' is not installed")

PAGE = "docs/deploying.md"
FILES = ("Dockerfile", "compose.yaml", "kubernetes.yaml", "salience.service")
SETTINGS = {f"SALIENCE_{field.name.upper()}" for field in fields(ServerSettings)}
INSTALL = "pip install '.[deploy]'"


def text(name: str) -> str:
    return (ROOT / "deploy" / name).read_text("utf-8")


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all(text(name)))


def pod() -> Any:
    [deployment] = [d for d in documents("kubernetes.yaml") if d["kind"] == "Deployment"]
    return deployment["spec"]["template"]["spec"]


def commands() -> Iterator[list[str]]:
    """The arguments of `salience` in every file, and in what the files and the page tell to run."""
    dockerfile = text("Dockerfile")
    [default] = re.findall(r"^CMD (\[.*\])$", dockerfile, re.MULTILINE)
    yield yaml.safe_load(default)
    for service in documents("compose.yaml")[0]["services"].values():
        if "command" in service:
            yield service["command"]
    for container in (*pod()["initContainers"], *pod()["containers"]):
        yield container["args"]
    [started] = re.findall(r"^ExecStart=(.*)$", text("salience.service"), re.MULTILINE)
    python, salience, *arguments = shlex.split(started)
    assert (python, salience) == ("/opt/salience/bin/python", "/opt/salience/bin/salience")
    yield arguments
    told = re.sub(r"\\\n#?", " ", "".join(map(text, FILES)) + page(PAGE))
    for line in re.findall(r"(?<!`)\b(keys create .*?)(?:`|>|$)", told, re.MULTILINE):
        yield shlex.split(line)


def test_every_command_is_one_that_salience_has_with_options_that_it_knows() -> None:
    from salience.cli.app import app

    tried = list(commands())
    assert {arguments[0] for arguments in tried} == {"serve", "migrate", "keys"}
    for arguments in tried:
        command: Any = typer.main.get_command(app)
        options = list(arguments)
        while hasattr(command, "commands"):
            command = command.commands[options.pop(0)]
        command.make_context("salience", options)  # refuses what it does not know


@pytest.mark.parametrize("name", FILES)
def test_every_variable_is_a_setting_of_the_server(name: str) -> None:
    named = set(re.findall(r"\bSALIENCE_[A-Z_]+", text(name)))
    assert named
    assert named <= SETTINGS | {"SALIENCE_POSTGRES_MEMORY_MB", "SALIENCE_POSTGRES_WAIT_SECONDS"}


def test_the_page_lists_every_setting_with_its_option_and_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from salience.cli.app import app

    rows = re.findall(r"^\| (`SALIENCE_.*?) \| (.*?) \| (.*?) \|", page(PAGE), re.MULTILINE)
    said = {
        name: (option.strip("`"), default.strip("`"))
        for names, option, default in rows
        for name in names.replace("`", "").split(", ")
    }
    group: Any = typer.main.get_command(app)
    command = group.commands["serve"]
    options = {option for param in command.params for option in param.opts} | {"none"}
    defaults = {"SALIENCE_DB": "memory.db"}
    for name in ("SALIENCE_INDEX_BYTES", SECRETS_VARIABLE):  # of every process with a store
        monkeypatch.delenv(name, raising=False)
    defaults["SALIENCE_INDEX_BYTES"] = f"{index_bytes() >> 30} GiB"
    defaults[SECRETS_VARIABLE] = secret_policy(None)
    defaults["SALIENCE_TIME_ZONE"] = "the system's"
    for field in fields(ServerSettings):
        defaults.setdefault(f"SALIENCE_{field.name.upper()}", str(field.default or "none"))
    assert {name: default for name, (_, default) in said.items()} == defaults
    assert {option for option, _ in said.values()} <= options


def test_the_limits_that_are_told_are_those_of_the_guard() -> None:
    rows = re.findall(
        r"^\| (\w[^|]*?) \| ([^|]+?) \| [^|]* \| (\d{3}) \|$",
        page("docs/security.md"),
        re.MULTILINE,
    )
    guard = GuardSettings()
    assert guard.key_rate is not None
    assert guard.refusal_rate is not None
    key, refusal = guard.key_rate, guard.refusal_rate
    limits = {
        "bytes of a body": (f"{guard.body_bytes >> 20} MiB", "BodyTooLarge"),
        "bytes of an upload to `/v1/load`": (f"{guard.import_bytes >> 20} MiB", "BodyTooLarge"),
        "levels of JSON": (f"{guard.json_depth}", "InvalidInput"),
        "seconds until a body has arrived; of an upload, each part": (
            f"{guard.body_seconds:.0f}",
            "BodyTimeout",
        ),
        "seconds until an answer begins": (f"{guard.handling_seconds:.0f}", "TimeLimit"),
        "seconds until a long operation has ended": (f"{guard.long_seconds:,.0f}", "TimeLimit"),
        "requests of a key at once, and in each window": (
            f"{key.quota:,} in {key.window_seconds:.0f} s",
            "RateLimited",
        ),
        "wrong keys of an address": (
            f"{refusal.quota} in {refusal.window_seconds:.0f} s",
            "RateLimited",
        ),
        "requests that wait": (f"{guard.queue_length} of each sort", "Busy"),
        "seconds that one waits": (f"{guard.queue_seconds:.0f}", "Busy"),
    }
    said = {name: (limit, answer) for name, limit, answer in rows if name in limits}
    assert said == {
        name: (limit, str(KINDS[kind].status)) for name, (limit, kind) in limits.items()
    }


def test_the_dockerfile_follows_the_rules_of_hadolint() -> None:
    hadolint = program("hadolint")
    ran = subprocess.run(
        [hadolint, str(ROOT / "deploy" / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_image_is_built_from_all_that_the_package_needs() -> None:
    """The build reads the files that pyproject.toml names, and no process of it is root."""
    import tomllib

    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text("Dockerfile"), re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    package = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project = package["project"]
    hatch = package["tool"]["hatch"]
    readme = [part["path"] for part in hatch["metadata"]["hooks"]["fancy-pypi-readme"]["fragments"]]
    needed = {"pyproject.toml", "hatch_build.py", *readme}  # hatch_build: the hook of the wheel
    paths = [*project["license-files"], *hatch["build"]["targets"]["wheel"]["packages"]]
    needed |= {Path(path).parts[0] for path in paths}
    assert names == needed
    [extras] = re.findall(r'"\.\[(.*?)\]"', text("Dockerfile"))
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    users = re.findall(r"^USER (\S+)$", text("Dockerfile"), re.MULTILINE)
    security = pod()["securityContext"]
    assert users == [f"{security['runAsUser']}:{security['runAsGroup']}"]
    assert security["runAsUser"] > 0


def test_the_compose_file_is_one_by_its_specification() -> None:
    compose_spec = pytest.importorskip("compose_spec", reason=f"{INSTALL} has its schema")
    compose_spec.PyCompose.from_yaml(text("compose.yaml"))


def test_the_manifest_is_one_by_the_schemas_of_kubernetes() -> None:
    kubernetes_validate = pytest.importorskip(
        "kubernetes_validate", reason=f"{INSTALL} has its schemas"
    )
    for document in documents("kubernetes.yaml"):
        kubernetes_validate.validate(document, "1.30", strict=True)


def test_the_unit_is_one_by_systemd(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "salience.service"
    there = str(Path(sys.executable).parent)
    unit.write_text(text("salience.service").replace("/opt/salience/bin", there))
    verified = subprocess.run(
        [analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    exposure = subprocess.run(
        [analyze, "security", "--offline=yes", "--no-pager", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    [level] = re.findall(r"exposure level for \S+: ([\d.]+)", exposure.stdout)
    assert float(level) < 2  # as the page says


def program(name: str) -> str:
    """A program beside this Python."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        pytest.skip(f"{INSTALL} has {name}")
    return str(path)
