"""The wheelhouse with a real pip and a small file index: filled once a lock, with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.image.wheelhouse import NoWheelhouse, require_locked, wheelhouse
from tests.fleet import a_lock

TINY = "tiny-1-py3-none-any.whl"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    a_lock.fill(tmp_path / "index")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    a_lock.lock(tmp_path, tmp_path / "index", TINY)
    return tmp_path / "index"


def test_the_locks_wheels_are_downloaded_once(tmp_path: Path, index: Path) -> None:
    said: list[str] = []
    first = wheelhouse(tmp_path / "cache", said.append, tmp_path)
    assert [path.name for path in first.iterdir()] == [TINY]
    (index / TINY).unlink()
    assert wheelhouse(tmp_path / "cache", said.append, tmp_path) == first
    assert len(said) == 1


def test_another_lock_is_another_wheelhouse(tmp_path: Path, index: Path) -> None:
    first = wheelhouse(tmp_path / "cache", print, tmp_path)
    lock = tmp_path / "requirements.txt"
    lock.write_text(f"# another\n{lock.read_text()}")
    assert wheelhouse(tmp_path / "cache", print, tmp_path) != first


def test_a_wheel_that_was_changed_in_the_cache_is_downloaded_again(
    tmp_path: Path, index: Path
) -> None:
    said: list[str] = []
    house = wheelhouse(tmp_path / "cache", said.append, tmp_path)
    (house / TINY).write_bytes(b"changed")
    assert wheelhouse(tmp_path / "cache", said.append, tmp_path) == house
    assert (house / TINY).read_bytes() == (index / TINY).read_bytes()
    assert f"{TINY} in the wheelhouse is not in the lock: downloading again" in said


def test_a_wheel_with_another_hash_than_the_locks_is_an_error_and_leaves_nothing(
    tmp_path: Path, index: Path
) -> None:
    (index / TINY).write_bytes((index / TINY).read_bytes() + b"\0")
    with pytest.raises(NoWheelhouse, match="pip could not download the locked wheels"):
        wheelhouse(tmp_path / "cache", print, tmp_path)
    assert not [path for path in (tmp_path / "cache/wheels").iterdir() if path.suffix == ""]


def test_without_locks_there_is_no_wheelhouse(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is missing, and images are built with it"):
        wheelhouse(tmp_path / "cache", print, tmp_path)


def test_somebody_elses_wheelhouse_must_be_the_locks(tmp_path: Path, index: Path) -> None:
    a_lock.lock(tmp_path, index)
    require_locked(index, tmp_path)
    (index / "evil-1-py3-none-any.whl").write_bytes(b"evil")
    with pytest.raises(UsageError, match=r"evil-1-py3-none-any\.whl is not in the lock"):
        require_locked(index, tmp_path)
