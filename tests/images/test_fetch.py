"""images/fetch.py reports a mismatch with the pins in one sentence, and unpacks nothing of it."""

from __future__ import annotations

import hashlib
import io
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.images.scripts import IMAGES


def zipped(*entries: tuple[str, bytes, int]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, content, mode in entries:
            info = zipfile.ZipInfo(name, (2008, 1, 1, 0, 0, 0))
            info.external_attr = mode << 16
            archive.writestr(info, content)
    return whole.getvalue()


GOOD = zipped(
    ("emulator/emulator", b"#!/bin/sh\n", 0o100755),
    ("emulator/lib/data", b"data", 0o100600),
    ("emulator/lib/link", b"data", 0o120777),
)


class _Handler(SimpleHTTPRequestHandler):
    """Files; a name that begins with `cut` ends in the middle."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if not self.path.startswith("/cut"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(GOOD)))
        self.end_headers()
        self.wfile.write(GOOD[:100])


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "good.zip").write_bytes(GOOD)
    handler = partial(_Handler, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(5)


def fetch(into: Path, url: str, content: bytes = GOOD, **pins: str) -> tuple[int, str]:
    wanted = {"size": str(len(content)), "sha256": hashlib.sha256(content).hexdigest(), **pins}
    words = [word for name, value in wanted.items() for word in (f"--{name}", value)]
    command = [sys.executable, str(IMAGES / "fetch.py"), "--name", "emulator", "--url", url]
    done = subprocess.run(
        [*command, *words, "--into", str(into)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


def refused(tmp_path: Path, url: str, content: bytes = GOOD, **pins: str) -> str:
    """The one sentence; nothing was unpacked."""
    code, said = fetch(tmp_path / "sdk", url, content, **pins)
    assert code == 1
    assert not (tmp_path / "sdk").exists()
    assert said.count("\n") == 1
    return said


def test_a_zip_as_pinned_is_unpacked_with_its_programs_and_links(
    tmp_path: Path, served: str
) -> None:
    assert fetch(tmp_path / "sdk", f"{served}/good.zip") == (0, "")
    folder = tmp_path / "sdk" / "emulator"
    assert stat.S_IMODE((folder / "emulator").stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "lib/data").stat().st_mode) == 0o644
    assert (folder / "lib/link").readlink() == Path("data")
    assert (folder / "emulator").stat().st_mtime == 1199145600


def test_a_package_stands_where_the_sdk_looks_for_it(tmp_path: Path) -> None:
    content = zipped(("x86_64/build.prop", b"", 0o100644))
    (tmp_path / "image.zip").write_bytes(content)
    package = "system-images;android-34;google_apis;x86_64"
    url = f"file://{tmp_path}/image.zip"
    assert fetch(tmp_path / "sdk", url, content, package=package) == (0, "")
    image = tmp_path / "sdk/system-images/android-34/google_apis/x86_64"
    assert (image / "build.prop").is_file()


def test_a_zip_with_one_byte_changed_is_refused(tmp_path: Path, served: str) -> None:
    broken = bytearray(GOOD)
    broken[40] ^= 1
    (tmp_path / "served" / "good.zip").write_bytes(bytes(broken))
    assert "has the sha256 " in refused(tmp_path, f"{served}/good.zip")


@pytest.mark.parametrize(("kind", "length"), [("sha1", 40), ("sha256", 64)])
def test_a_wrong_checksum_names_both(tmp_path: Path, served: str, kind: str, length: int) -> None:
    said = refused(tmp_path, f"{served}/good.zip", GOOD, **{kind: "0" * length})
    found = hashlib.new(kind, GOOD).hexdigest()
    assert f"has the {kind} {found}, pinned is {'0' * length}" in said


def test_a_truncated_download_says_how_far_it_came(tmp_path: Path, served: str) -> None:
    said = refused(tmp_path, f"{served}/cut.zip")
    assert f"ended after 100 of its {len(GOOD)} bytes" in said


def test_a_wrong_size_is_refused(tmp_path: Path, served: str) -> None:
    url = f"{served}/good.zip"
    assert f"pinned are {len(GOOD) + 1}" in refused(tmp_path, url, size=str(len(GOOD) + 1))
    assert "is larger than the 10 bytes pinned" in refused(tmp_path, url, size="10")


def test_what_cannot_be_fetched_is_one_sentence(tmp_path: Path, served: str) -> None:
    assert "HTTP Error 404" in refused(tmp_path, f"{served}/none.zip")
    assert "cannot fetch" in refused(tmp_path, "http://127.0.0.1:9/good.zip")
    assert "cannot fetch" in refused(tmp_path, f"file://{tmp_path}/none.zip")
    assert "is no http, https or file address" in refused(tmp_path, "ftp://host/x.zip")


def test_a_zip_that_nobody_can_check_is_not_even_fetched(tmp_path: Path) -> None:
    assert "neither a sha1 nor a sha256" in refused(tmp_path, "http://127.0.0.1:9/", sha256="")


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([("../outside", b"", 0o100644)], "outside its folder"),
        ([("/etc/passwd", b"", 0o100644)], "outside its folder"),
        ([("a/../../b", b"", 0o100644)], "outside its folder"),
        ([("link", b"/etc", 0o120777)], "leads to '/etc', outside"),
        ([("a/link", b"../../etc", 0o120777)], "outside"),
        ([("link", b"a", 0o120777), ("link/file", b"", 0o100644)], "through the link 'link'"),
    ],
)
def test_a_name_that_leads_out_stops_all_of_it(
    tmp_path: Path, entries: list[tuple[str, bytes, int]], sentence: str
) -> None:
    """Though its checksum is right, and though good names come before."""
    content = zipped(("first", b"", 0o100644), *entries)
    (tmp_path / "bad.zip").write_bytes(content)
    assert sentence in refused(tmp_path, f"file://{tmp_path}/bad.zip", content)


def test_what_is_no_zip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.zip").write_bytes(b"<html>")
    said = refused(tmp_path, f"file://{tmp_path}/page.zip", b"<html>")
    assert "not a zip that can be read" in said
