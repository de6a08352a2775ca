"""The project of a folder: what shares memories, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding_agents.conftest import git, repository
from salience.access.principal import matches
from salience.coding_agents import project as projects
from salience.coding_agents.project import OFF_FILE, PROJECT_FILE, find_project
from salience.errors import InvalidInput
from salience.records.validation import MAX_NAMESPACE_CHARACTERS


def namespaces(folder: Path, **environment: str) -> tuple[str, ...]:
    return find_project(str(folder), environment).namespaces


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user of whom nothing is known yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def worktree(root: Path, place: Path) -> Path:
    git(root, "commit", "--allow-empty", "--quiet", "-m", "first")
    git(root, "worktree", "add", "--quiet", str(place))
    return place


def test_a_repository_is_its_folder_whatever_remote_it_names(tmp_path: Path) -> None:
    roots = [
        repository(tmp_path / "a/shop", "git@github.com:ana/shop.git"),
        repository(tmp_path / "b/shop", "git@github.com:ana/shop.git"),
        repository(tmp_path / "c/shop", "../shop"),
    ]
    assert len({namespaces(root) for root in roots}) == 3
    (roots[0] / "src").mkdir()
    assert namespaces(roots[0]) == namespaces(roots[0] / "src")
    assert "github" not in namespaces(roots[0])[0]


def test_clones_share_their_memories_where_the_user_says_so(tmp_path: Path) -> None:
    one, other = (repository(tmp_path / name / "shop", "git@x.org:a.git") for name in "ab")
    tree = worktree(other, tmp_path / "tree")
    (tree / "src").mkdir()
    own = namespaces(other)
    projects.share(str(tree / "src"), namespaces(one)[0])
    assert namespaces(one) == namespaces(other) == namespaces(tree) != own
    projects.share(str(other), None)
    assert namespaces(other) == own
    with pytest.raises(InvalidInput, match="namespace"):
        projects.share(str(other), "x" * 300)


def test_worktrees_share_their_memories(tmp_path: Path) -> None:
    for name, remote in (("a", "git@example.org:team/a.git"), ("b", None)):
        root = repository(tmp_path / name, remote)
        assert namespaces(worktree(root, tmp_path / f"{name}-tree")) == namespaces(root)


def test_a_folder_that_claims_to_be_of_a_repository_is_none_of_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "shop")
    tree = worktree(root, tmp_path / "tree")
    claims = {"copied": (tree / ".git").read_text(), "whole": f"gitdir: {root / '.git'}\n"}
    for name, claim in claims.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").write_text(claim)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".git").symlink_to(root / ".git")
    (tmp_path / "linked-tree").mkdir()
    (tmp_path / "linked-tree" / ".git").symlink_to(tree / ".git")
    for name in (*claims, "linked", "linked-tree"):
        assert namespaces(tmp_path / name) != namespaces(root), name


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
    [whole] = namespaces(project)
    assert namespaces(part) == (whole,)
    (part / PROJECT_FILE).touch()
    inner = (f"{whole}//services/api", whole)
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
