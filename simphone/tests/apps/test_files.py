"""The shared storage, as a person handles it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from simphone.apps.file_kinds import shown, size
from simphone.ui import draw
from simphone.ui.screen import Intent
from simphone.world import World
from tests.apks import apk
from tests.apps.person import Person


@pytest.fixture
def downloads(world: World) -> Path:
    return world.disk.own("/sdcard/Download/x").parent


def open_downloads(person: Person) -> None:
    person.open("Files")
    person.scroll_to("Download")
    person.tap("Download")


async def test_folders_come_first_and_a_file_says_its_size(person: Person, downloads: Path) -> None:
    (downloads / "b.txt").write_text("x" * 1500)
    (downloads / "zoo").mkdir()
    (downloads / ".hidden").write_text("x")
    open_downloads(person)
    said = person.words()
    assert said.index("zoo") < said.index("b.txt")
    assert person.sees("1.5 kB, ")
    assert not person.sees(".hidden")
    person.back()
    assert person.sees("Internal storage")
    person.back()
    assert "Launcher" in person.activity()


async def test_a_file_is_renamed_and_a_name_in_use_is_refused(
    person: Person, downloads: Path
) -> None:
    for name in ("old.txt", "other.txt"):
        (downloads / name).write_text(name)
    open_downloads(person)
    person.hold("old.txt")
    person.tap("Rename")
    person.fill("Name", "other.txt")
    person.tap("OK")
    assert person.sees("File exists")
    person.fill("Name", "a/b")
    person.enter()
    assert person.sees("Invalid argument")
    person.fill("Name", "report.txt")
    person.tap("OK")
    assert sorted(os.listdir(downloads)) == ["other.txt", "report.txt"]
    assert person.sees("report.txt")
    assert (downloads / "report.txt").read_text() == "old.txt"


async def test_delete_asks_first(person: Person, downloads: Path) -> None:
    (downloads / "trip").mkdir()
    (downloads / "trip" / "a.txt").write_text("x")
    open_downloads(person)
    for answer, left in (("Cancel", ["trip"]), ("Delete", [])):
        person.hold("trip")
        person.tap("Delete")
        assert person.sees("permanently deleted")
        person.tap(answer)
        assert os.listdir(downloads) == left
    assert person.sees("No items")


async def test_a_file_is_moved_and_copied_into_a_new_folder(
    person: Person, downloads: Path
) -> None:
    (downloads / "a.txt").write_text("A")
    open_downloads(person)
    person.tap("New folder")
    person.type("Trip")
    person.enter()
    person.hold("a.txt")
    person.tap("Move")
    assert person.sees("Move “a.txt”")
    person.tap("Trip")
    person.tap("Paste here")
    assert (downloads / "Trip" / "a.txt").read_text() == "A"
    assert not (downloads / "a.txt").exists()
    assert not person.sees("Paste here")
    person.hold("a.txt")
    person.tap("Copy")
    person.tap("Paste here")
    assert sorted(os.listdir(downloads / "Trip")) == ["a (1).txt", "a.txt"]
    person.back()
    person.hold("Trip")
    person.tap("Move")
    person.tap("Trip")
    person.tap("Paste here")
    assert person.sees("Invalid argument"), "no folder goes into itself"
    person.tap("OK")
    assert (downloads / "Trip").is_dir()


async def test_a_text_is_read_by_scrolling(person: Person, downloads: Path) -> None:
    (downloads / "log.txt").write_text("\n".join(f"line {n}" for n in range(400)))
    open_downloads(person)
    person.tap("log.txt")
    assert person.sees("line 0")
    assert not person.sees("line 399")
    person.scroll_to("line 399")
    person.back()
    assert person.sees("log.txt")


async def test_pictures_are_boxes_and_what_nothing_opens_says_so(
    person: Person, downloads: Path
) -> None:
    (downloads / "cat.png").write_bytes(b"\x89PNG")
    (downloads / "data.bin").write_bytes(b"\0")
    open_downloads(person)
    person.tap("cat.png")
    assert person.find("cat.png (4 B)").kind == "android.widget.Image"
    person.back()
    person.tap("data.bin")
    assert person.sees("No app can open this file")
    person.tap("OK")
    person.hold("data.bin")
    person.tap("Details")
    assert person.sees("Size: 1 B (1 bytes)")
    person.tap("OK")


async def test_search_looks_below_and_does_not_follow_links(
    person: Person, downloads: Path
) -> None:
    (downloads / "deep" / "er").mkdir(parents=True)
    (downloads / "deep" / "er" / "Invoice.pdf").write_text("x")
    (downloads / "deep" / "loop").symlink_to("/sdcard/Download")
    person.open("Files")
    person.tap("Search")
    person.type("invoice")
    assert sum(each.text == "Invoice.pdf" for each in person.elements()) == 1
    person.fill("Search files", "nothing like it")
    assert person.sees("No matches")
    person.tap("Close search")
    assert person.sees("Alarms")


HOSTILE = {
    b"new\nline.txt": "new\ufffdline.txt",
    b"caf\xe9.txt": "caf\ufffd.txt",
    b"\xe2\x80\xaegpj.exe": "\ufffdgpj.exe",
    b"n" * 250 + b".txt": "n" * 250 + ".txt",
    b"<b>&'\"": "<b>&'\"",
    b" ": " ",
}


def make(folder: Path, names: Iterable[bytes]) -> None:
    for name in names:
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(b"x")


async def test_hostile_names_are_shown_on_one_line_and_can_be_handled(
    person: Person, world: World, downloads: Path
) -> None:
    make(downloads, HOSTILE)
    open_downloads(person)
    for readable in HOSTILE.values():
        assert person.sees(readable)
    assert draw.png(world.windows.roots())
    person.tap("caf\ufffd.txt")
    assert person.sees("x")
    assert json.loads(json.dumps(world.windows.save())) == world.windows.save()
    person.back()
    person.hold("new\ufffdline.txt")
    person.tap("Rename")
    person.fill("Name", "plain.txt")
    person.tap("OK")
    assert (downloads / "plain.txt").exists()
    person.hold("caf\ufffd.txt")
    person.tap("Delete")
    person.tap("Delete")
    assert len(os.listdir(downloads)) == len(HOSTILE) - 1


async def test_a_link_out_of_the_storage_leads_nowhere(
    person: Person, world: World, downloads: Path
) -> None:
    secret = world.disk.own("/data/data/com.android.chrome/secret.txt")
    secret.write_text("secret")
    (downloads / "way.txt").symlink_to("/data/data/com.android.chrome/secret.txt")
    (downloads / "host.txt").symlink_to(str(secret))
    open_downloads(person)
    assert person.sees("No items")
    data = "file:///data/data/com.android.chrome/secret.txt"
    assert world.windows.launch(Intent("android.intent.action.VIEW", data=data)) is None


async def test_a_folder_that_went_away_says_so_and_back_leads_out(
    person: Person, downloads: Path
) -> None:
    (downloads / "trip").mkdir()
    open_downloads(person)
    person.tap("trip")
    (downloads / "trip").rmdir()
    assert person.sees("Can’t open this folder")
    person.back()
    assert person.sees("No items")


async def test_a_broken_package_is_not_installed(
    person: Person, world: World, downloads: Path
) -> None:
    (downloads / "app.apk").write_bytes(b"PK no zip")
    before = len(world.packages.all())
    open_downloads(person)
    person.tap("app.apk")
    assert person.sees("There was a problem parsing the package.")
    person.tap("OK")
    assert person.sees("app.apk")
    assert len(world.packages.all()) == before


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (123_456_789, "123 MB")]
)
def test_sizes_are_in_powers_of_a_thousand(count: int, words: str) -> None:
    assert size(count) == words


def test_a_readable_name_is_shown_as_it_is() -> None:
    assert shown("Ünïcödé 写真 (1).jpg") == "Ünïcödé 写真 (1).jpg"


async def test_a_package_is_installed_only_where_unknown_apps_are_allowed(
    person: Person, world: World, downloads: Path
) -> None:
    (downloads / "game.apk").write_bytes(apk(package="org.example.game"))
    open_downloads(person)
    person.tap("game.apk")
    assert person.sees("isn’t allowed to install unknown apps")
    person.tap("Settings")
    person.tap("Allow from this source")
    person.tap("Allow")
    person.back()
    assert person.sees("Do you want to install this app?")
    assert person.sees("org.example.game")
    person.tap("Cancel")
    assert world.packages.get("org.example.game") is None
    person.tap("game.apk")
    person.tap("Install")
    assert person.sees("Installing…")
    await world.background.settled()
    assert person.sees("App installed.")
    installed = world.packages.get("org.example.game")
    assert installed is not None
    assert installed.installer == "com.android.packageinstaller"
    person.tap("Done")
    assert person.sees("game.apk")
