"""A vault of two hundred notes is found by the names of its files."""

from pathlib import Path

from salience import Memory
from salience.importers import read
from support.vaults import vault


def test_a_note_is_found_by_the_name_of_its_file(tmp_path: Path) -> None:
    made = vault(tmp_path)
    with Memory.open("ram://") as memory:
        memory.add_many(read(tmp_path, left_out=lambda problem: None))
        sought = made.paths[::4]
        first = [memory.search(Path(path).stem, limit=1, touch=False)[0] for path in sought]
    right = sum(
        hit.record.metadata["path"] == path for hit, path in zip(first, sought, strict=True)
    )
    assert right / len(sought) >= 0.8
