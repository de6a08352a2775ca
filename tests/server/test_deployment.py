"""A server as it is deployed: asked by the probes of deploy/, replaced and stopped under load."""

from __future__ import annotations

import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

import salience
from salience import Memory
from salience.access import Keyring
from support.pages import ROOT, page
from support.real_server import RealServer, free_port, real_server
from support.waiting import until
from support.workers import workers

yaml = pytest.importorskip("yaml", reason="the extra 'import' is not installed")


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A server that listens at all addresses, as in a container, and knows a key."""
    db = tmp_path_factory.mktemp("exposed") / "memory.db"
    with Keyring.open(str(db)) as keys:
        keys.create(["ana"], ["memories:read"])
    with real_server(db, "--host", "0.0.0.0") as running:
        yield running


def health_check(port: int) -> int:
    """The exit code of the health check of the image, asked of another port."""
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    [command] = re.findall(r"^    CMD (\[.*\])$", dockerfile, re.MULTILINE)
    python, *arguments = (part.replace("8420", str(port)) for part in yaml.safe_load(command))
    assert python == "python"
    return subprocess.call([sys.executable, *arguments], stderr=subprocess.DEVNULL)


def test_the_health_check_of_the_image_tells_a_server_that_is_ready(exposed: RealServer) -> None:
    assert health_check(exposed.port) == 0
    assert health_check(free_port()) == 1


def test_the_probes_of_the_pod_are_answered_under_the_address_of_the_pod(
    exposed: RealServer,
) -> None:
    manifest = (ROOT / "deploy" / "kubernetes.yaml").read_text("utf-8")
    [deployment] = [d for d in yaml.safe_load_all(manifest) if d["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    pod = {"Host": "10.0.0.7:8420"}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container[probe]["httpGet"]
        headers = {header["name"]: header["value"] for header in asked["httpHeaders"]}
        assert httpx.get(exposed.url + asked["path"], headers=pod | headers).status_code == 200
        # Which they would not be without that header field.
        assert httpx.get(exposed.url + asked["path"], headers=pod).status_code == 421


def test_a_proxy_that_names_itself_is_not_taken_for_a_local_program(server: RealServer) -> None:
    stats = f"{server.url}/v1/stats"
    assert httpx.get(stats).status_code == 200
    assert httpx.get(stats, headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 401


class Clients:
    """Clients that search and write without pause, each request over a new connection."""

    def __init__(self, server: RealServer) -> None:
        self.server = server
        self.accepted: list[str] = []
        self.failures: list[str] = []
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(3)]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, client: int) -> None:
        number = 0
        while not self._is_over.is_set():
            number += 1
            body = {"id": f"{client}-{number}", "content": f"Note {number} of client {client}."}
            for path, request in (("memories", body), ("search", {"query": "note"})):
                try:
                    answer = httpx.post(f"{self.server.url}/v1/{path}", json=request, timeout=300)
                    answer.raise_for_status()
                except httpx.HTTPError as error:
                    self.failures.append(f"{path}: {error!r}")
                else:
                    if path == "memories":
                        self.accepted.append(body["id"])


def environment(folder: Path, version: str) -> Path:
    """A Python environment with a salience that says it has a version, and else as this one."""
    own = Path(sys.prefix)
    here = Path(sysconfig.get_path("purelib"))
    packages = folder / here.relative_to(own)
    packages.mkdir(parents=True)
    for entry in here.iterdir():
        if "salience" not in entry.name:
            (packages / entry.name).symlink_to(entry)
    shutil.copytree(Path(salience.__file__).parent, packages / "salience")
    package = packages / "salience" / "__init__.py"
    text = package.read_text("utf-8")
    package.write_text(text.replace(f'"{salience.__version__}"', f'"{version}"'))
    shutil.copy(own / "pyvenv.cfg", folder)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    return folder


@pytest.mark.deep
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="workers are counted in /proc")
@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="this Python is in no environment")
def test_a_reload_brings_a_new_version_and_no_request_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = tmp_path / "current"
    current.symlink_to(environment(tmp_path / "old", "1.0.0"))
    monkeypatch.setattr(sys, "executable", str(current / "bin" / "python"))
    with real_server(tmp_path / "memory.db", "--workers", "2", cold=True) as server:
        before = workers(server)
        assert len(before) == 2
        assert version(server) == "1.0.0"
        environment(tmp_path / "new", "2.0.0")
        current.unlink()
        current.symlink_to(tmp_path / "new")
        with Clients(server) as clients:
            server.process.send_signal(signal.SIGHUP)
            until(lambda: not workers(server) & before)
            so_far = len(clients.accepted)
            until(lambda: len(clients.accepted) >= so_far + 10)
        after = workers(server)
        assert len(after) == 2
        assert not after & before
        assert version(server) == "2.0.0"
        assert clients.failures == []
        assert server.stop() == 0
    with Memory.open(str(tmp_path / "memory.db")) as memory:
        assert None not in memory.get_many(clients.accepted)
        assert len(memory) == len(clients.accepted)


def test_a_backup_by_sqlite_holds_what_was_accepted_before_it(tmp_path: Path) -> None:
    with real_server(tmp_path / "memory.db") as server, Clients(server) as clients:
        until(lambda: len(clients.accepted) >= 10)
        accepted = list(clients.accepted)
        source, copy = (sqlite3.connect(tmp_path / name) for name in ("memory.db", "backup.db"))
        with closing(source), closing(copy):
            source.backup(copy)
    assert clients.failures == []
    with Memory.open(str(tmp_path / "backup.db")) as memory:
        assert len(accepted) >= 10
        assert None not in memory.get_many(accepted)
        assert memory.upkeep.verify()


def version(server: RealServer) -> str:
    told: str = httpx.get(f"{server.url}/version").json()["version"]
    return told


@pytest.mark.deep
def test_servers_go_on_when_a_migration_comes_and_old_ones_do_not_start_again(
    tmp_path: Path,
) -> None:
    psycopg = pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    pytest.importorskip("pg0", reason="the extra 'testing' is not installed")
    from salience.testing.postgres import PostgresServer

    log = tmp_path / "log"
    with PostgresServer() as database, real_server(database.url, log=log) as running:
        with psycopg.connect(database.url) as connection:  # a later version has a later schema
            connection.execute(
                "UPDATE salience.meta SET value = (value::int + 1)::text WHERE key = 'schema'"
            )
        with running.client() as client:
            client.post("/memories", json={"id": "tea", "content": "Ana likes green tea."})
            assert client.post("/search", json={"query": "tea"}).json()["hits"][0]["id"] == "tea"
        with pytest.raises(AssertionError, match=r"has the newer schema .* upgrade salience"):
            RealServer(database.url, log=tmp_path / "second")


def test_every_metric_of_the_page_is_one_of_the_server(server: RealServer) -> None:
    httpx.post(f"{server.url}/v1/search", json={"query": "tea"}).raise_for_status()
    told = httpx.get(f"{server.url}/metrics").text
    there = set(re.findall(r"^# TYPE (\w+) ", told, re.MULTILINE))
    named = set(re.findall(r"\bsalience_\w+", page("docs/deploying.md")))
    assert {name.removesuffix("_bucket") for name in named} <= there
    assert 'route="/v1/search"' in told  # by which a rule asks
    held, most = (
        float(re.findall(rf"^salience_index_{name} (\S+)$", told, re.MULTILINE)[0])
        for name in ("bytes", "limit_bytes")
    )
    assert 0 < held < most


def test_a_search_says_how_long_its_steps_took(server: RealServer) -> None:
    answer = httpx.post(f"{server.url}/v1/search", json={"query": "tea"})
    steps = dict(re.findall(r"(\w+);dur=([\d.]+)", answer.headers["Server-Timing"]))
    timings_ms = {name: float(ms) for name, ms in steps.items()}
    assert timings_ms.pop("search") >= timings_ms["total"] > 0
    assert timings_ms == answer.json()["timings_ms"]
