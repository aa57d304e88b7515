"""The system image's two hashes: the contract's recipe to the byte, and a portable one."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.pins import system_image as module
from orchestrator.pins.system_image import Unhashable, hash_system_image

RECIPE = 'find "$IMG_DIR" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum'
WORDS = ("a b", "zoë", "日本", "two\nlines", "back\\slash", "tab\t", "-dash", "'q\"", "cr\rlf", "Z")


def printed(folder: str) -> str:
    """What the contract's own shell pipeline prints."""
    env = {**os.environ, "LC_ALL": "C", "IMG_DIR": folder}
    done = subprocess.run(["sh", "-c", RECIPE], env=env, capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode()


@pytest.fixture
def image(tmp_path: Path) -> Path:
    folder = tmp_path / "x86_64"
    (folder / "data").mkdir(parents=True)
    (folder / "build.prop").write_text("ro.build.id=1")
    (folder / "data" / "system.img").write_bytes(bytes(3_000_000))
    (folder / "empty").touch()
    return folder


def test_the_recipe_is_what_the_shell_prints_for_2000_files_of_any_name(tmp_path: Path) -> None:
    draw, folder = random.Random(5), os.fsencode(tmp_path / "an image\\ of\nall names")
    for number in range(2000):
        words = [draw.choice(WORDS) for _ in range(draw.randrange(1, 4))]
        path = os.path.join(folder, *map(os.fsencode, words), b"\xff%d.img" % number)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(draw.randbytes(draw.randrange(3000)))
    told = hash_system_image(os.fsdecode(folder))
    assert told.files == 2000
    assert f"{told.recipe_sha256}  -\n" == printed(os.fsdecode(folder))


@pytest.mark.parametrize("end", ["", "/", "//"])
def test_the_folder_is_spelled_as_it_was_given(image: Path, end: str) -> None:
    told = hash_system_image(f"{image}{end}")
    assert f"{told.recipe_sha256}  -\n" == printed(f"{image}{end}")
    assert told.path == f"{image}{end}"
    assert (told.files, told.bytes) == (3, 3_000_013)


def test_a_moved_image_keeps_the_one_hash_and_not_the_other(image: Path, tmp_path: Path) -> None:
    here = hash_system_image(image)
    shutil.copytree(image, tmp_path / "elsewhere")
    there = hash_system_image(tmp_path / "elsewhere")
    assert there.relocatable_sha256 == here.relocatable_sha256
    assert there.recipe_sha256 != here.recipe_sha256
    (tmp_path / "elsewhere" / "empty").rename(tmp_path / "elsewhere" / "Empty")
    assert hash_system_image(tmp_path / "elsewhere").relocatable_sha256 != here.relocatable_sha256


def test_the_number_of_threads_is_no_part_of_it(image: Path) -> None:
    assert hash_system_image(image, threads=1) == hash_system_image(image, threads=7)


def nothing(folder: Path) -> None:
    shutil.rmtree(folder)
    (folder / "only" / "folders").mkdir(parents=True)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda folder: (folder / "link").symlink_to("build.prop"), "link is a symbolic link"),
        (lambda folder: (folder / "way").symlink_to("data"), "way is a symbolic link"),
        (lambda folder: os.mkfifo(folder / "data" / "pipe"), "pipe is not a regular file"),
        (nothing, "has no files"),
        (shutil.rmtree, "cannot list .*: No such file or directory"),
    ],
)
def test_what_has_no_hash_is_told_in_one_sentence(
    image: Path, damage: Callable[[Path], object], says: str
) -> None:
    damage(image)
    with pytest.raises(Unhashable, match=says) as caught:
        hash_system_image(image)
    assert "\n" not in str(caught.value)


def test_a_folder_behind_a_link_is_refused(image: Path, tmp_path: Path) -> None:
    """find would not enter it, and hash nothing."""
    (tmp_path / "link").symlink_to(image)
    with pytest.raises(Unhashable, match="name its target"):
        hash_system_image(tmp_path / "link")


def test_a_relative_folder_is_refused(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(image.parent)
    with pytest.raises(Unhashable, match="absolute path"):
        hash_system_image(image.name)


def test_a_file_that_cannot_be_read_is_named(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root reads every file, so the open itself is refused."""
    opened = os.open

    def refused(path: bytes, *rest: int) -> int:
        if path.endswith(b"build.prop"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest)

    monkeypatch.setattr("orchestrator.pins.system_image.os.open", refused)
    with pytest.raises(Unhashable, match=r"cannot read .*build.prop: Permission denied"):
        hash_system_image(image)


def grow(image: Path) -> None:
    with (image / "data" / "system.img").open("ab") as file:
        file.write(b"x")


def replaced(image: Path) -> None:
    """Same size, same time; another file."""
    path, new = image / "build.prop", image / "new"
    shutil.copy2(path, new)
    new.replace(path)


def rewritten(image: Path) -> None:
    path = image / "build.prop"
    told = path.stat()
    path.write_text("ro.build.id=2")
    os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "change",
    [grow, replaced, rewritten, lambda image: (image / "empty").unlink(),
     lambda image: (image / "more").touch()],
)  # fmt: skip
def test_an_image_that_changes_while_it_is_read_has_no_hash(
    image: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object], first: bool
) -> None:
    """Be it after a file was listed and before it is read, or after it was read."""
    read = module._digests

    def meanwhile(files: dict[bytes, module._FileState], threads: int) -> dict[bytes, str]:
        if first:
            change(image)
            return read(files, threads)
        digests = read(files, threads)
        change(image)
        return digests

    monkeypatch.setattr(module, "_digests", meanwhile)
    with pytest.raises(Unhashable, match=r"changed while|cannot read .*empty: No such"):
        hash_system_image(image)
