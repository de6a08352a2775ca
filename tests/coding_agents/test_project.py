"""The project of a folder: what shares memories, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_agents.conftest import git, repository
from salience.access.namespaces import matches
from salience.coding_agents import project as projects
from salience.coding_agents.project import OFF_FILE, PROJECT_FILE, find_project
from salience.errors import InvalidInput
from salience.records.validation import MAX_NAMESPACE_CHARACTERS


def namespaces(folder: Path, **environment: str) -> tuple[str, ...]:
    return find_project(str(folder), environment).namespaces


@pytest.mark.parametrize(
    "remote",
    [
        "git@github.com:ana/shop.git",
        "ssh://git@github.com:22/ana/shop",
        "https://github.com/ana/shop.git",
        "https://ana:secret@GitHub.com/ana/shop/",
    ],
)
def test_clones_of_one_remote_share_their_memories(tmp_path: Path, remote: str) -> None:
    root = repository(tmp_path / "anything", remote)
    (root / "src").mkdir()
    assert namespaces(root) == namespaces(root / "src") == ("code/github.com/ana/shop",)


def test_worktrees_share_their_memories_with_and_without_a_remote(tmp_path: Path) -> None:
    for name, remote in (("a", "git@example.org:team/a.git"), ("b", None)):
        root = repository(tmp_path / name, remote)
        git(root, "commit", "--allow-empty", "--quiet", "-m", "first")
        git(root, "worktree", "add", "--quiet", str(tmp_path / f"{name}-tree"))
        assert namespaces(tmp_path / f"{name}-tree") == namespaces(root)


def test_origin_goes_before_other_remotes(tmp_path: Path) -> None:
    root = repository(tmp_path / "fork")
    git(root, "remote", "add", "fork", "git@example.org:eve/shop.git")
    assert namespaces(root) == ("code/example.org/eve/shop",)
    git(root, "remote", "add", "origin", "git@example.org:ana/shop.git")
    assert namespaces(root) == ("code/example.org/ana/shop",)


def test_folders_of_one_name_without_a_remote_are_apart(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    found = {
        namespaces(repository(tmp_path / "a/shop")),
        namespaces(repository(tmp_path / "b/shop")),
        namespaces(tmp_path / "plain"),
    }
    assert len(found) == 3
    assert all(name.startswith("code/local/") for (name,) in found)


def test_a_marked_folder_of_a_monorepo_is_a_project_that_recalls_the_whole_as_well(
    project: Path,
) -> None:
    part = project / "services" / "api"
    (part / "src").mkdir(parents=True)
    assert namespaces(part) == ("code/github.com/ana/shop",)
    (part / PROJECT_FILE).touch()
    inner = ("code/github.com/ana/shop//services/api", "code/github.com/ana/shop")
    assert namespaces(part) == namespaces(part / "src") == inner
    assert namespaces(project) == inner[1:]


def test_a_file_switches_a_folder_off(project: Path) -> None:
    (project / "private").mkdir()
    (project / "private" / OFF_FILE).touch()
    assert find_project(str(project / "private"), {}).is_off
    assert not find_project(str(project), {}).is_off


def test_a_given_namespace_goes_first(project: Path) -> None:
    assert namespaces(project, SALIENCE_NAMESPACE="team/ana") == ("team/ana",)
    with pytest.raises(InvalidInput, match="SALIENCE_NAMESPACE"):
        namespaces(project, SALIENCE_NAMESPACE="x" * 300)


LABELS = st.lists(st.text("abAB./*%- é\n", min_size=1, max_size=40), min_size=1, max_size=8)


@given(LABELS, LABELS)
def test_different_paths_give_different_namespaces_that_keys_can_cover(
    one: list[str], other: list[str]
) -> None:
    first, second = (projects._bounded(f"code/{projects._labels(each)}") for each in (one, other))
    assert (first == second) == (one == other)
    assert len(first) <= MAX_NAMESPACE_CHARACTERS
    assert matches("code/*", first)
