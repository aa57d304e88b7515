"""The farm gets AVDs and a stand-in SDK from the `simphone` executable."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.image.simphone import Simphone, StandInSdk, simphone
from tests.fleet import a_lock


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A wheelhouse beside a lock that names every file in it."""
    a_lock.fill(tmp_path / "house")
    a_lock.lock(tmp_path, tmp_path / "house")
    return tmp_path / "house"


def pack(tmp_path: Path, house: Path) -> StandInSdk:
    return simphone().pack_sdk(tmp_path / "out", house, tmp_path)


def test_the_sdks_zips_are_what_the_program_says_they_are(tmp_path: Path, house: Path) -> None:
    made = pack(tmp_path, house)
    for part, name in (
        (made.emulator, "emulator.zip"),
        (made.platform_tools, "platform-tools.zip"),
        (made.system_image, "system-image.zip"),
    ):
        assert part.path == tmp_path / "out" / name
        data = part.path.read_bytes()
        assert (part.size, part.sha256) == (len(data), hashlib.sha256(data).hexdigest())


def test_the_same_wheels_give_the_same_sdk(tmp_path: Path, house: Path) -> None:
    assert pack(tmp_path, house) == pack(tmp_path, house)


def test_a_wheelhouse_that_is_not_the_locks_is_refused(tmp_path: Path, house: Path) -> None:
    (house / "tiny-1-py3-none-any.whl").write_bytes(b"other")
    with pytest.raises(UsageError, match="is not in the lock"):
        pack(tmp_path, house)
    assert not (tmp_path / "out").exists()


def test_the_programs_refusal_is_a_usage_error_in_its_own_words(
    tmp_path: Path, house: Path
) -> None:
    (house / "pillow-1-py3-none-any.whl").unlink()
    with pytest.raises(UsageError, match=r"simphone sdk: .* holds no wheel of pillow"):
        pack(tmp_path, house)
    with pytest.raises(UsageError, match="simphone create-avd: an AVD's name is made of"):
        simphone().create_avd(tmp_path, "two words")


def test_a_program_that_cannot_be_run_is_a_usage_error(tmp_path: Path) -> None:
    program = tmp_path / "simphone"
    program.write_text("#!/nonexistent\n")
    program.chmod(stat.S_IRWXU)
    with pytest.raises(UsageError, match="create-avd did not answer"):
        Simphone(str(program), "0", tmp_path, tmp_path).create_avd(tmp_path, "x")
