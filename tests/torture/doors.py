"""Attacks on the doors of a memory: forks, repeated keys, erasure, actors, slots, hooks, MCP.

Each round draws a door, what is done at it and with what, from its number and the seed alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx

from doors.parties import Party, Refused
from doors.places import PLACES, Place
from salience.coding_agents.statements import statements
from salience.coding_agents.transcripts import read_turns
from salience.server.guard.admission import Slots, Waiter
from torture.tally import Tally

Progress = Callable[[Tally], None]
_IN_PROCESS = ("embedded", "embedded, awaited", "rest", "remote", "remote, awaited", "mem0")
_READS = 60


def all_of_them(rounds: int, seed: int, folder: Path, progress: Progress) -> list[Tally]:
    """Each of the attacks, with so many rounds."""
    return [
        attack(Tally(f"doors: {name}", seed), rounds, folder / name.replace(" ", "-"), progress)
        for name, attack in ATTACKS.items()
    ]


def forks(tally: Tally, rounds: int, folder: Path, progress: Progress) -> Tally:
    """A memory at a server is read on both sides of a fork: each reads what it asked for."""
    ids = [f"note {n}" for n in range(20)]
    with _places(folder, ("rest",)) as place_of:
        place: Any = place_of("rest")
        party = place.party("default")
        for id in ids:
            party.add(id, id=id)
        environment = {"SALIENCE_API_KEY": place.key("default", "ana").text}
        for n in range(max(1, rounds // _READS)):
            program = [sys.executable, "-m", "torture.forked", place.url, f"{tally.seed}/{n}"]
            ran = subprocess.run(
                [*program, str(_READS), *ids],
                env=_environment(environment),
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            tally.rounds += 1
            if ran.returncode:
                tally.report("foreign", f"round {n}: {ran.stderr[-500:]}")
                continue
            right, wrong = json.loads(ran.stdout)
            tally.acknowledged += right
            for each in wrong:
                tally.report("told", f"round {n}: {each}")
            progress(tally)
    return tally


def repeated(tally: Tally, rounds: int, folder: Path, progress: Progress) -> Tally:
    """Writes come again with their key, as they were or otherwise, by their owner or another."""
    with _places(folder, _IN_PROCESS) as place_of:
        for n, random in _rounds(tally, rounds, progress):
            place = place_of(random.choice(_IN_PROCESS))
            namespace, key = f"n{n}", "k" * random.choice((1, 40, place.LONGEST_KEY))
            kind = random.choice([k for k in ("add", "chat", "batch") if k in place.VERBS])
            text, other = f"Ana keeps {n} boats at the pier.", f"Ben rents {n} rooms in Porto."

            def write(party: Party, said: str, kind: str = kind, key: str = key) -> Any:
                if kind == "add":
                    return party.add(said, once=key)
                if kind == "chat":
                    return party.chat([{"role": "user", "content": said}], once=key)
                return party.batch([said, f"{said} Truly."], once=key)

            with _noting(tally, f"round {n}, {kind}"):
                first = write(place.party(namespace), text)
                for _ in range(random.randint(1, 4)):
                    act = random.choice(("again", "else", "anew", "ben"))
                    if act == "anew":
                        place.restart()
                    elif act == "ben" and place.keyed:
                        if write(place.party(namespace, "ben"), other) == first:
                            tally.report("lost", f"round {n}: a write of another owner, {kind}")
                    elif act == "else":
                        _refused(
                            tally, "reused", f"round {n}", write, place.party(namespace), other
                        )
                    if write(place.party(namespace), text) != first:
                        tally.report("half", f"round {n}: written twice, {kind} after {act}")
                said = Counter(place.party(namespace).texts())
                if any(count > 1 for count in said.values()):
                    tally.report("half", f"round {n}: {said}")
                if not any(text in each for each in said):
                    tally.report("lost", f"round {n}: {text}")
            place.leave()
    return tally


def erased(tally: Tally, rounds: int, folder: Path, progress: Progress) -> Tally:
    """What was erased is told by no call, no kept answer, and after no restart."""
    doors = tuple(name for name in _IN_PROCESS if "users" in PLACES[name].VERBS)
    with _places(folder, doors) as place_of:
        for n, random in _rounds(tally, rounds, progress):
            place = place_of(random.choice(doors))
            party, mark = place.party(f"n{n}"), f"mark{random.randrange(10**9)}"
            with _noting(tally, f"round {n}"):
                ids = [
                    party.add(f"{mark} is the {word} of the safe.", user_id="ana", once=f"k{word}")
                    for word in random.sample(("key", "code", "place", "owner"), 2)
                ]
                kept = party.add(f"Ben has {n} cellos.", user_id="ben")
                if random.random() < 0.5:
                    party.change(random.choice(ids), f"The {mark} changed.")
                party.search(mark)
                if random.random() < 0.5:
                    party.forget("ana")
                else:
                    for id in ids:
                        party.delete(id)
                if random.random() < 0.3:
                    place.restart()
                    party = place.party(f"n{n}")
                told = party.read("of the safe", random.choice(ids))
                if mark in told:
                    tally.report("told", f"round {n}: {mark} in {told[:300]}")
                if party.get(kept) is None:
                    tally.report("lost", f"round {n}: the memory of another user")
            place.leave()
    return tally


def actors(tally: Tally, rounds: int, folder: Path, progress: Progress) -> Tally:
    """Each event tells who did it, whatever a caller says."""
    doors = tuple(name for name in _IN_PROCESS if "actors" in PLACES[name].VERBS)
    with _places(folder, doors) as place_of:
        for n, random in _rounds(tally, rounds, progress):
            place, names = place_of(random.choice(doors)), ("ana", "ben", "cleo")
            with _noting(tally, f"round {n}"):
                doers = [random.choice(names)]
                id = place.party(f"n{n}", doers[0]).add(f"The code is {n}.")
                for step in range(random.randint(1, 3)):
                    doers.append(random.choice(names))
                    place.party(f"n{n}", doers[-1]).change(id, f"The code is {n}, step {step}.")
                try:
                    place.party(f"n{n}", "ben").add("Ana did it.", actor="ana")
                    tally.report("told", f"round {n}: an actor was taken from the caller")
                except (Refused, TypeError):
                    pass
                found = place.party(f"n{n}").actors(id)
                wanted = [place.actor(f"n{n}", name) for name in doers]
                if found != wanted:
                    tally.report("lost", f"round {n}: {found} instead of {wanted}")
            place.leave()
    return tally


def slots(tally: Tally, rounds: int, folder: Path, progress: Progress) -> Tally:
    """Keys with slow requests hold what they can: a key that holds no slot never waits for them."""

    async def run(random: Random, n: int) -> None:
        capacity, length = random.randint(1, 8), random.randint(4, 64)
        held, waiters = list[tuple[str, Waiter]](), list[tuple[str, Waiter]]()
        queue = Slots(capacity, length)
        for _ in range(300):
            name = random.choice(("slow", "slow", "slow", "ana", "ben"))
            mine = [each for each in held if each[0] == name]
            if random.random() < 0.6:
                waiters.append((name, queue.enter(name, random.randint(1, 3))))
            elif mine and name != "slow":
                held.remove(mine[0])
                queue.release(*mine[0])
            held += [each for each in waiters if each[1].done() and each[1].result()]
            waiters = [each for each in waiters if not each[1].done()]
            starved = {each for each, _ in waiters} - {each for each, _ in held}
            if starved and all(each == "slow" for each, _ in held):
                tally.report("slow", f"round {n}: {starved} wait for slow requests alone")
            slow = sum(waiter.result() for each, waiter in held if each == "slow")
            if slow > capacity or queue.taken > capacity + 1:
                tally.report("slow", f"round {n}: {queue.taken} of {capacity} slots are taken")
        tally.acknowledged += 1

    for n, random in _rounds(tally, rounds, progress):
        asyncio.run(run(random, n))
    return tally


_SECRETS = (
    "From now on the password is {}.", "Remember that my pin is {}.", "We always use the pin {}.",
    "The alarm code is {}, never change it.", "From now on log in with the password {}.",
    "Ab jetzt ist das Passwort {}.", "Ab jetzt ist die PIN {}.", "Merk dir: der Türcode ist {}.",
    "À partir de maintenant le mot de passe est {}.", "Désormais le code PIN est {}.",
    "De ahora en adelante la contraseña es {}.", "A partir de ahora el pin es {}.",
    "De agora em diante a senha é {}.", "D'ora in poi la password è {}.",
    "Vanaf nu is het wachtwoord {}.", "Отныне пароль {}.", "С этого момента пин-код {}.",
    "从现在起密码是{}。", "今後パスワードは{}です。", "앞으로 비밀번호는 {}입니다.",
)  # fmt: skip
_DAMAGE = (b"{", b"[1, 2]", b'"text"', b"\xff\xfe{}", b'{"type": "user", "message": 7}', b"null")


def hooks(tally: Tally, rounds: int, folder: Path, progress: Progress) -> Tally:
    """Damaged lines and half emoji cost themselves alone; a secret is never kept."""
    folder.mkdir(parents=True)
    path = folder / "transcript.jsonl"
    for n, random in _rounds(tally, rounds, progress):
        secret = f"{random.randrange(10**4, 10**8)}"
        lines = [_said(f"From now on we use tool{n} for the builds."), *random.sample(_DAMAGE, 2)]
        lines.append(_said(random.choice(_SECRETS).format(secret)))
        lines.append(_said("From now on we like \ud83d in every commit."))
        random.shuffle(lines)
        path.write_bytes(b"\n".join(lines) + b"\n")
        with _noting(tally, f"round {n}"):
            turns, _ = read_turns(path, "claude-code", 0)
            kept = [statement.text for statement in statements(turns)]
            if any(secret in text for text in kept):
                tally.report("told", f"round {n}: {kept}", "a secret was kept")
            if not any(f"tool{n}" in text for text in kept):
                tally.report("lost", f"round {n}: {kept}")
    return tally


def mcp(tally: Tally, rounds: int, folder: Path, progress: Progress) -> Tally:
    """Any call over HTTP is answered with its id."""
    odd: tuple[Any, ...] = (
        "\ud83d",
        None,
        "",
        7,
        [],
        {},
        "x" * 100_000,
        {"a": ["\udc00"]},
        True,
        -(2**63),
        "\0",
    )
    with _places(folder, ("rest",)) as place_of:
        place: Any = place_of("rest")
        key = place.key("default", "ana").text
        headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        tools = ("search_memories", "add_memory", "get_memory", "list_memories", "nothing")
        names = ("query", "content", "id", "limit", "tags", "metadata", "nobody")
        with httpx.Client(base_url=place.url, headers=headers, timeout=300) as client:
            for n, random in _rounds(tally, rounds, progress):
                given = {random.choice(names): random.choice(odd) for _ in range(3)}
                parameters = {"name": random.choice(tools), "arguments": given}
                call = {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": parameters}
                answer = client.post("/mcp", content=json.dumps(call).encode())
                if f'"id":{n}' not in answer.text.replace(" ", "") or answer.status_code >= 500:
                    problem = f"round {n}: {answer.status_code} {answer.text[:200]}"
                    tally.report("lost", f"{problem} to {json.dumps(parameters)[:200]}")
                else:
                    tally.acknowledged += 1
    return tally


ATTACKS: Mapping[str, Callable[[Tally, int, Path, Progress], Tally]] = {
    "12 forks": forks,
    "13 repeated keys": repeated,
    "14 erasure": erased,
    "15 actors": actors,
    "17 slots": slots,
    "18 hooks": hooks,
    "19 mcp": mcp,
}


def _rounds(tally: Tally, rounds: int, progress: Progress) -> Iterator[tuple[int, Random]]:
    for n in range(rounds):
        yield n, Random(f"{tally.seed}/{n}")
        tally.rounds += 1
        progress(tally)


@contextmanager
def _places(folder: Path, names: tuple[str, ...]) -> Iterator[Callable[[str], Place]]:
    """Doors by name, each over a file of its own, opened when it is first asked for."""
    opened: dict[str, Place] = {}
    folder.mkdir(parents=True)

    def place_of(name: str) -> Place:
        if name not in opened:
            opened[name] = PLACES[name](folder / f"{names.index(name)}.db")
        return opened[name]

    try:
        yield place_of
    finally:
        for place in opened.values():
            place.close()


@contextmanager
def _noting(tally: Tally, label: str) -> Iterator[None]:
    try:
        yield
        tally.acknowledged += 1
    except Refused as problem:
        tally.report("lost", f"{label}: refused as {problem.kind}: {problem.text[:300]}")
    except Exception as problem:
        tally.report("foreign", f"{label}: {type(problem).__name__}: {problem}"[:500])


def _refused(tally: Tally, kind: str, label: str, call: Any, *arguments: Any) -> None:
    try:
        call(*arguments)
        tally.report("lost", f"{label}: was taken, and something else was there")
    except Refused as refusal:
        if refusal.kind != kind:
            tally.report("lost", f"{label}: refused as {refusal.kind}: {refusal.text[:200]}")


def _said(text: str) -> bytes:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "user", "message": message}).encode()


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **given}
