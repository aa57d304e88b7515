"""The stand-in SDK: the vendor's layout, the same bytes every time, an emulator that answers."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.image.standin import StandIn, stand_in
from orchestrator.pins.code_version import ROOT
from tests.fleet import a_lock


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """Beside a lock that names it and the real code."""
    a_lock.fill(tmp_path / "house")
    a_lock.lock(tmp_path, tmp_path / "house")
    (tmp_path / "simphone").symlink_to(ROOT / "simphone")
    return tmp_path / "house"


@pytest.fixture
def made(tmp_path: Path, house: Path) -> StandIn:
    return stand_in(tmp_path / "out", house, tmp_path)


def names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def test_two_makings_give_the_same_bytes(tmp_path: Path, house: Path, made: StandIn) -> None:
    again = stand_in(tmp_path / "again", house, tmp_path)
    for name in ("emulator", "platform_tools", "system_image"):
        first, second = getattr(made, name), getattr(again, name)
        assert (first.size, first.sha256) == (second.size, second.sha256)
        assert first.path.read_bytes() == second.path.read_bytes()


def test_the_layout_is_the_vendors(made: StandIn) -> None:
    emulator = names(made.emulator.path)
    assert {"emulator/emulator", "emulator/source.properties"} <= set(emulator)
    assert "emulator/lib/font_roboto/files/Roboto-Bold.ttf" in emulator
    assert "emulator/lib/simphone/emulator.py" in emulator
    assert emulator == sorted(emulator)
    assert set(names(made.platform_tools.path)) > {"platform-tools/adb"}
    assert {"x86_64/build.prop", "x86_64/source.properties"} <= set(names(made.system_image.path))


def test_nothing_but_the_phone_and_what_it_draws_with_is_in_it(made: StandIn) -> None:
    emulator = names(made.emulator.path)
    assert not [name for name in emulator if "pycache" in name or "-info/" in name]
    assert not [name for name in emulator if "/simphone/system_image/" in name]
    assert not [name for name in emulator if name.startswith("emulator/lib/orchestrator/")]


def test_only_programs_may_be_executed(made: StandIn) -> None:
    for path in (made.emulator.path, made.platform_tools.path, made.system_image.path):
        with zipfile.ZipFile(path) as archive:
            executable = [e.filename for e in archive.infolist() if e.external_attr >> 16 & 0o111]
        assert executable in (["emulator/emulator"], ["platform-tools/adb"], [])


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="it is packed for Python 3.11")
def test_the_emulator_answers_with_nothing_but_what_is_beside_it(
    tmp_path: Path, made: StandIn
) -> None:
    with zipfile.ZipFile(made.emulator.path) as archive:
        archive.extractall(tmp_path / "sdk")
    (tmp_path / "avd").mkdir()
    (tmp_path / "avd/one.ini").touch()
    emulator = [sys.executable, "-S", "-B", str(tmp_path / "sdk/emulator/emulator")]

    def said(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*emulator, *words], env={"ANDROID_AVD_HOME": str(tmp_path / "avd")}, cwd="/",
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    assert said("-version").stdout.startswith("Android emulator version")
    assert said("-list-avds").stdout == "one\n"


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="it is packed for Python 3.11")
def test_an_emulator_without_its_system_image_says_what_the_real_one_does(
    tmp_path: Path, made: StandIn
) -> None:
    """It looks in the SDK that it stands in, where no other is named."""
    with zipfile.ZipFile(made.emulator.path) as archive:
        archive.extractall(tmp_path / "sdk")
    folder = tmp_path / "avd/one.avd"
    folder.mkdir(parents=True)
    (tmp_path / "avd/one.ini").write_text(f"path={folder}\n")
    (folder / "config.ini").write_text("image.sysdir.1=system-images/none/\n")
    done = subprocess.run(
        [sys.executable, "-S", "-B", str(tmp_path / "sdk/emulator/emulator"), "-avd", "one"],
        env={"ANDROID_AVD_HOME": str(tmp_path / "avd")},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    sdk = tmp_path / "sdk"
    assert f"Broken AVD system path. Check your ANDROID_SDK_ROOT value [{sdk}]!" in done.stderr


def test_a_wheelhouse_that_is_not_the_locks_is_refused(tmp_path: Path, house: Path) -> None:
    (house / "tiny-1-py3-none-any.whl").write_bytes(b"other")
    with pytest.raises(UsageError, match="is not what the lock names"):
        stand_in(tmp_path / "out", house, tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_wheelhouse_without_a_needed_wheel_is_refused(tmp_path: Path, house: Path) -> None:
    (house / "pillow-1-py3-none-any.whl").unlink()
    with pytest.raises(UsageError, match="holds no wheel of pillow"):
        stand_in(tmp_path / "out", house, tmp_path)
