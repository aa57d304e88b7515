"""The packed SDK: the vendor's layout, the same bytes every time, an emulator that starts."""

from __future__ import annotations

import importlib.metadata
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from simphone.avd import EMBEDDED, create_avd
from simphone.sdk import LIBRARIES, SdkError, pack
from tests.booted import WAIT_S
from tests.ports import even_port

HERE = Path(__file__).parents[1]
packed_for_3_11 = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="it is packed for Python 3.11"
)


def wheel(folder: Path, project: str) -> None:
    """The installed project as the wheel that it came from, near enough."""
    found = importlib.metadata.distribution(project)
    name = f"{project.replace('-', '_')}-{found.version}-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(folder / name, "w") as archive:
        for file in found.files or ():
            path = Path(str(file.locate()))
            if ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
                archive.write(path, str(file))


def source_archive(folder: Path, project: str) -> None:
    """A project as it is published where it has no wheel."""
    found = importlib.metadata.distribution(project)
    with tarfile.open(folder / f"{project}-{found.version}.tar.gz", "w:gz") as archive:
        for file in found.files or ():
            path = Path(str(file.locate()))
            if ".." not in file.parts and path.suffix in (".py", ".ttf"):
                archive.add(path, f"{project}-{found.version}/{file}")
        entry = tarfile.TarInfo(f"{project}-{found.version}/setup.cfg")
        archive.addfile(entry, io.BytesIO(b""))


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for project in ("adbutils", *LIBRARIES):
        (source_archive if project == "font-roboto" else wheel)(folder, project)
    return folder


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory, wheelhouse: Path) -> Path:
    """The folder of the three zips."""
    folder = tmp_path_factory.mktemp("sdk")
    pack(folder, wheelhouse)
    return folder


def names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def test_it_carries_every_library_that_the_phone_needs() -> None:
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    assert sorted(project["dependencies"]) == list(LIBRARIES)


def test_two_packings_give_the_same_bytes(tmp_path: Path, wheelhouse: Path, sdk: Path) -> None:
    pack(tmp_path / "again", wheelhouse)
    for path in sdk.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_the_command_prints_path_size_and_digest_of_each_zip(
    tmp_path: Path, wheelhouse: Path, sdk: Path
) -> None:
    command = [sys.executable, "-m", "simphone", "sdk", "--wheelhouse", str(wheelhouse)]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)], capture_output=True, timeout=WAIT_S, check=True
    )
    made = json.loads(done.stdout)
    assert set(made) == {"emulator", "platform_tools", "system_image"}
    assert made["emulator"]["path"] == str(tmp_path / "emulator.zip")
    assert made["emulator"]["size"] == (sdk / "emulator.zip").stat().st_size
    assert made == {**pack(tmp_path, wheelhouse)}


def test_the_layout_is_the_vendors(sdk: Path) -> None:
    emulator = names(sdk / "emulator.zip")
    assert {"emulator/emulator", "emulator/source.properties"} <= set(emulator)
    assert "emulator/lib/font_roboto/files/Roboto-Bold.ttf" in emulator
    assert "emulator/lib/simphone/emulator.py" in emulator
    assert emulator == sorted(emulator)
    assert set(names(sdk / "platform-tools.zip")) > {"platform-tools/adb"}
    system = set(names(sdk / "system-image.zip"))
    assert {"x86_64/build.prop", "x86_64/source.properties"} <= system


def test_nothing_but_the_phone_and_its_libraries_is_in_it(sdk: Path) -> None:
    emulator = names(sdk / "emulator.zip")
    assert not [name for name in emulator if "pycache" in name or "-info/" in name]
    assert not [name for name in emulator if "/simphone/system_image/" in name]
    assert not [name for name in emulator if name.endswith("setup.cfg")]


def test_only_programs_may_be_executed(sdk: Path) -> None:
    for path in sdk.iterdir():
        with zipfile.ZipFile(path) as archive:
            executable = [e.filename for e in archive.infolist() if e.external_attr >> 16 & 0o111]
        assert executable in (["emulator/emulator"], ["platform-tools/adb"], [])


def test_a_wheelhouse_without_a_needed_wheel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fonticon-1-py3-none-any.whl").write_bytes(b"")
    with pytest.raises(SdkError, match="holds no wheel of font-roboto"):
        pack(tmp_path / "out", tmp_path)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def unpacked(tmp_path: Path, sdk: Path) -> list[str]:
    """The packed emulator's command, with no other package in reach."""
    shutil.unpack_archive(sdk / "emulator.zip", tmp_path / "sdk")
    return [sys.executable, "-S", "-B", str(tmp_path / "sdk/emulator/emulator")]


def answer(tmp_path: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env={"ANDROID_AVD_HOME": str(tmp_path / "avd")}, cwd="/",
        capture_output=True, text=True, timeout=WAIT_S, check=False,
    )  # fmt: skip


@packed_for_3_11
def test_the_emulator_answers_with_nothing_but_what_is_beside_it(
    tmp_path: Path, unpacked: list[str]
) -> None:
    create_avd(tmp_path / "avd", "one")
    assert answer(tmp_path, *unpacked, "-version").stdout.startswith("Android emulator version")
    assert answer(tmp_path, *unpacked, "-list-avds").stdout == "one\n"


@packed_for_3_11
def test_the_packed_phone_boots_with_its_system_image(
    tmp_path: Path, sdk: Path, unpacked: list[str]
) -> None:
    avd = create_avd(tmp_path / "avd", "one")
    place = tmp_path / "sdk" / avd.config["image.sysdir.1"]
    place.parent.mkdir(parents=True)
    shutil.unpack_archive(sdk / "system-image.zip", place.parent)
    assert (place / "build.prop").read_bytes() == (EMBEDDED / "build.prop").read_bytes()
    env = {"ANDROID_AVD_HOME": str(tmp_path / "avd"), "HOME": str(tmp_path)}
    env["ANDROID_ADB_SERVER_PORT"] = str(even_port())
    command = [*unpacked, "-avd", "one", "-port", str(even_port()), "-no-window"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, cwd="/") as process:
        try:
            assert process.stdout is not None
            assert any(b"Boot completed" in line for line in process.stdout)
        finally:
            process.terminate()


@packed_for_3_11
def test_an_emulator_without_its_system_image_says_what_the_real_one_does(
    tmp_path: Path, unpacked: list[str]
) -> None:
    """It looks in the SDK that it stands in, where no other is named."""
    create_avd(tmp_path / "avd", "one")
    done = answer(tmp_path, *unpacked, "-avd", "one")
    assert done.returncode == 1
    sdk = tmp_path / "sdk"
    assert f"Broken AVD system path. Check your ANDROID_SDK_ROOT value [{sdk}]!" in done.stderr
