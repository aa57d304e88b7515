"""A bundle is unpacked complete and unchanged, or not at all, for any sender."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.evidence import archive, manifest
from orchestrator.evidence.archive import ArchiveLimits, BadArchive

GENEROUS = ArchiveLimits()


def sealed(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    manifest.seal(folder)
    return folder


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    long = "a" * 90 + "/" + "b" * 90 + ".txt"
    files = {"attempt.json": b"{}", "shots/é.png": bytes(3000), "empty": b"", long: b"x" * 512}
    return sealed(tmp_path / "bundle", files)


def packed(bundle: Path) -> bytes:
    target = bundle.with_suffix(".tar.zst")
    archive.pack(bundle, target)
    return target.read_bytes()


def arrive(data: bytes, target: Path, limits: ArchiveLimits = GENEROUS) -> str:
    return archive.unpack(io.BytesIO(data), target, manifest.digest, limits)


def contents(folder: Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path, _ in manifest.entries(folder)}


def test_what_is_packed_arrives(bundle: Path, tmp_path: Path) -> None:
    digest = arrive(packed(bundle), tmp_path / "there" / "attempt-1")
    assert contents(tmp_path / "there" / "attempt-1") == contents(bundle)
    assert digest == manifest.digest(bundle)
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["attempt-1"]


def test_what_a_killed_process_left_of_unpacking_is_removed(bundle: Path, tmp_path: Path) -> None:
    """And nothing else, whatever it is called."""
    place, unfinished = tmp_path / "there", list[str]()

    def accept(folder: Path) -> None:
        unfinished.append(folder.name)

    archive.unpack(io.BytesIO(packed(bundle)), place / "attempt-1", accept)
    (place / unfinished[0] / "shots").mkdir(parents=True)
    kept = [place / name for name in (".part", ".mine.part", "attempt-1")]
    for folder in kept:
        folder.mkdir(exist_ok=True)
    archive.remove_unfinished(place)
    assert sorted(place.iterdir()) == sorted(kept)


def test_equal_bundles_are_equal_archives(bundle: Path, tmp_path: Path) -> None:
    arrive(packed(bundle), tmp_path / "copy")
    assert packed(tmp_path / "copy") == packed(bundle)


def test_any_tar_reads_it(bundle: Path) -> None:
    data = zstandard.ZstdDecompressor().decompressobj().decompress(packed(bundle))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert tar.getnames() == list(contents(bundle))


def raw(entries: list[tuple[tarfile.TarInfo, bytes]], end: bytes = bytes(1024)) -> bytes:
    """An archive of any headers."""
    data = b""
    for entry, body in entries:
        data += entry.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape") + body
        data += bytes(-len(body) % 512)
    return zstandard.compress(data + end)


def entry(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, **more: object) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    for field, value in more.items():
        setattr(info, field, value)
    return raw([(info, bytes(size))])


HOSTILE = {
    "up": entry("../escape"),
    "up inside": entry("a/../../escape"),
    "absolute": entry("/tmp/escape"),
    "dot": entry("./a"),
    "empty part": entry("a//b"),
    "folder": entry("a/"),
    "control sign": entry("a\nb"),
    "deep": entry("/".join("abcdefghi")),
    "symlink": entry("a", tarfile.SYMTYPE, linkname="/etc/passwd"),
    "hard link": entry("a", tarfile.LNKTYPE, linkname="MANIFEST.json"),
    "device": entry("a", tarfile.CHRTYPE),
    "pipe": entry("a", tarfile.FIFOTYPE),
    "directory": entry("a", tarfile.DIRTYPE),
    "sparse": entry("a", tarfile.GNUTYPE_SPARSE),
    "long name": entry("a", tarfile.GNUTYPE_LONGNAME, 4),
    "pax": entry("a", tarfile.XHDTYPE, 4),
    "set-uid": entry("a", mode=0o4755),
    "owner": entry("a", uid=1000),
    "twice": raw([(tarfile.TarInfo("a"), b""), (tarfile.TarInfo("a"), b"")]),
    "file and folder": raw([(tarfile.TarInfo("a"), b""), (tarfile.TarInfo("a/b"), b"")]),
    "no manifest": entry("a", mode=0o644),
    "nothing": raw([]),
    "no end": raw([], end=b""),
    "bytes behind": raw([], end=bytes(1025)),
    "not zstd": b"PK\x03\x04" + bytes(100),
    "not tar": zstandard.compress(b"x" * 4096),
    "empty": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_leaves_nothing(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "episode"
    with pytest.raises(BadArchive):
        arrive(HOSTILE[name], folder / "attempt-1")
    assert list(tmp_path.rglob("*")) == [folder]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (ArchiveLimits(bytes=4000), "larger than the limit"),
        (ArchiveLimits(files=3), "more than 3 files"),
        (ArchiveLimits(depth=1), "too deep or too long"),
        (ArchiveLimits(path_bytes=100), "too deep or too long"),
    ],
)
def test_limits_are_kept_while_it_streams(
    bundle: Path, tmp_path: Path, limits: ArchiveLimits, words: str
) -> None:
    with pytest.raises(BadArchive, match=words):
        arrive(packed(bundle), tmp_path / "there" / "attempt-1", limits)
    assert not list((tmp_path / "there").iterdir())


def test_a_bomb_is_refused_by_its_header(tmp_path: Path) -> None:
    """Its gigabytes are not even read."""
    info = tarfile.TarInfo("bomb")
    info.size = 7 << 30
    bomb = zstandard.compress(info.tobuf(tarfile.USTAR_FORMAT) + bytes(1 << 20))
    with pytest.raises(BadArchive, match="larger than the limit"):
        arrive(bomb, tmp_path / "there")


def test_a_frame_that_wants_much_memory_is_refused(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = compressor.compress(bytes(1024)) + compressor.flush()
    with pytest.raises(BadArchive, match="not a zstd stream"):
        arrive(data, tmp_path / "there")


def change(bundle: Path) -> None:
    (bundle / "empty").write_bytes(b"!")


def drop(bundle: Path) -> None:
    (bundle / "empty").unlink()


@pytest.mark.parametrize("harm", [change, drop])
def test_a_bundle_that_does_not_match_its_manifest_is_refused(
    bundle: Path, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    harm(bundle)
    with pytest.raises(BadArchive, match="does not match its manifest: empty: is"):
        arrive(packed(bundle), tmp_path / "there" / "attempt-1")
    assert not list((tmp_path / "there").iterdir())


def test_a_place_that_is_taken_stays_as_it_is(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "first").touch()
    with pytest.raises(FileExistsError):
        arrive(packed(bundle), tmp_path / "there")
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["first"]


def test_a_link_does_not_travel(bundle: Path, tmp_path: Path) -> None:
    (bundle / "link").symlink_to("empty")
    with pytest.raises(BadArchive, match="not a plain file"):
        archive.pack(bundle, tmp_path / "out")


@settings(deadline=None, max_examples=60)  # a shared disk keeps no deadline
@given(st.data())
def test_no_flipped_byte_is_taken_for_the_bundle(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Either it is refused, or the bundle that arrives is the one that was sent."""
    tmp_path = tmp_path_factory.mktemp("flip")
    bundle = sealed(tmp_path / "bundle", {"attempt.json": b"{}", "a": b"abc" * 100})
    sent = bytearray(packed(bundle))
    at = data.draw(st.integers(0, len(sent) - 1))
    sent[at] ^= data.draw(st.integers(1, 255))
    try:
        arrive(bytes(sent), tmp_path / "there")
    except BadArchive:
        assert not (tmp_path / "there").exists()
    else:
        assert contents(tmp_path / "there") == contents(bundle)
