"""A bundle is unpacked complete and unchanged, or not at all, for any sender."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.events.canonical import canonical
from orchestrator.evidence import archive, manifest
from orchestrator.evidence.archive import ArchiveContents, ArchiveLimits, BadArchive

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
    return archive.unpack(io.BytesIO(data), target, lambda found: found.digest, limits)


def contents(folder: Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path, _ in manifest.entries(folder)}


def test_what_is_packed_arrives(bundle: Path, tmp_path: Path) -> None:
    digest = arrive(packed(bundle), tmp_path / "there" / "attempt-1")
    assert contents(tmp_path / "there" / "attempt-1") == contents(bundle)
    assert digest == manifest.digest(bundle)
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["attempt-1"]


def test_what_a_killed_process_left_of_unpacking_is_removed(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing else, whatever it is called."""
    place, unfinished = tmp_path / "there", list[str]()

    def killed(folder: Path, files: object) -> None:
        unfinished.append(folder.name)

    with monkeypatch.context() as patched:
        patched.setattr(archive, "_sync", killed)
        arrive(packed(bundle), place / "attempt-1")
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
        assert tar.getnames() == sorted(contents(bundle), key=lambda path: path != manifest.NAME)


def seal_of(*files: tuple[str, bytes]) -> bytes:
    """A manifest that says so, whatever the paths are."""
    named = [
        {"path": path, "size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        for path, body in files
    ]
    return canonical({"schema_version": manifest.SCHEMA, "files": named}) + b"\n"


def header(name: str, size: int, **more: object) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = size
    for field, value in more.items():
        setattr(info, field, value)
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def plain(name: str, body: bytes) -> bytes:
    """An entry as pack writes it."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(body), 0o644
    return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict") + body + bytes(-len(body) % 512)


def raw(sealed: bytes, entries: bytes, end: bytes = bytes(1024)) -> bytes:
    """An archive that begins with this manifest, whatever follows."""
    return zstandard.compress(plain(manifest.NAME, sealed) + entries + end)


def place(*paths: str) -> bytes:
    """An archive whose manifest and headers agree on these paths."""
    return raw(seal_of(*((path, b"") for path in paths)), b"".join(plain(p, b"") for p in paths))


def entry(**more: object) -> bytes:
    """An archive whose manifest names a plain file, and whose header says more."""
    return raw(seal_of(("a", b"")), header("a", 0, **{"mode": 0o644, **more}))


ONE = seal_of(("a", b"abc"))
HOSTILE = {
    "up": place("../escape"),
    "up inside": place("a/../../escape"),
    "absolute": place("/tmp/escape"),
    "dot": place("./a"),
    "empty part": place("a//b"),
    "folder": place("a/"),
    "no name": place(""),
    "control sign": place("a\nb"),
    "deep": place("/".join("abcdefghi")),
    "twice": place("a", "a"),
    "out of order": place("b", "a"),
    "file and folder": place("a", "a/b"),
    "below the manifest": place("MANIFEST.json/a"),
    "the manifest itself": place(manifest.NAME),
    "symlink": entry(type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "hard link": entry(type=tarfile.LNKTYPE, linkname="MANIFEST.json"),
    "device": entry(type=tarfile.CHRTYPE),
    "pipe": entry(type=tarfile.FIFOTYPE),
    "directory": entry(type=tarfile.DIRTYPE),
    "sparse": entry(type=tarfile.GNUTYPE_SPARSE),
    "long name": entry(type=tarfile.GNUTYPE_LONGNAME),
    "pax": entry(type=tarfile.XHDTYPE),
    "set-uid": entry(mode=0o4755),
    "owner": entry(uid=1000),
    "another size": raw(ONE, plain("a", b"abcd")),
    "another content": raw(ONE, plain("a", b"abd")),
    "another file": raw(ONE, plain("b", b"abc")),
    "a file more": raw(ONE, plain("a", b"abc") + plain("b", b"")),
    "a file less": raw(ONE, b""),
    "not padded": raw(ONE, plain("a", b"abc")[:-1] + b"!"),
    "no manifest": zstandard.compress(plain("a", b"") + bytes(1024)),
    "manifest last": zstandard.compress(
        plain("a", b"abc") + plain(manifest.NAME, ONE) + bytes(1024)
    ),
    "not a manifest": raw(b"{}", b""),
    "half a letter": raw(seal_of(("a", b"")).replace(b'"a"', b'"\\ud800"'), plain("a", b"")),
    "nothing": zstandard.compress(bytes(1024)),
    "no end": raw(ONE, plain("a", b"abc"), end=b""),
    "bytes behind": raw(ONE, plain("a", b"abc"), end=bytes(1025)),
    "not zstd": b"PK\x03\x04" + bytes(100),
    "not tar": zstandard.compress(b"x" * 4096),
    "empty": b"",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_leaves_nothing(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadArchive):
        arrive(HOSTILE[name], tmp_path / "episode" / "attempt-1")
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (ArchiveLimits(bytes=4000), "larger than the limit"),
        (ArchiveLimits(files=4), "more than 4 files"),
        (ArchiveLimits(depth=1), "too deep or too long"),
        (ArchiveLimits(path_bytes=100), "too deep or too long"),
    ],
)
def test_limits_are_kept(bundle: Path, tmp_path: Path, limits: ArchiveLimits, words: str) -> None:
    with pytest.raises(BadArchive, match=words):
        arrive(packed(bundle), tmp_path / "there" / "attempt-1", limits)
    assert not (tmp_path / "there").exists()


MUCH = bytes(64 << 20)
BOMBS = {
    "more than its manifest says": raw(seal_of(("a", b"")), plain("a", MUCH)),
    "as long as its manifest says": raw(seal_of(("a", MUCH)), plain("a", MUCH[:-1] + b"!")),
    "a manifest": raw(MUCH, b""),
    "true, and then one file is missing": raw(seal_of(("a", MUCH), ("b", b"")), plain("a", MUCH)),
    "true, and then more": raw(seal_of(("a", MUCH)), plain("a", MUCH), end=MUCH),
}


def written() -> int:
    """Bytes that this process has written, to whatever."""
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["wchar"])


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_a_byte_of_it_is_written(name: str, tmp_path: Path) -> None:
    """A few kilobytes that become as much as they like."""
    assert len(BOMBS[name]) < 32 << 10
    before = written()
    with pytest.raises(BadArchive):
        arrive(BOMBS[name], tmp_path / "there")
    assert written() - before < 32 << 10
    assert list(tmp_path.iterdir()) == []


def test_what_is_too_much_by_its_manifest_is_not_even_read(tmp_path: Path) -> None:
    """Nor is there any of it."""
    sealed = seal_of(("bomb", b"")).replace(b'"size":0', b'"size":%d' % (7 << 30))
    with pytest.raises(BadArchive, match="larger than the limit"):
        arrive(raw(sealed, b"", end=b""), tmp_path / "there")


def test_a_bundle_that_is_not_wanted_is_not_written(bundle: Path, tmp_path: Path) -> None:
    """Whoever takes it decides by its digest, its size and attempt.json."""

    def refuse(found: ArchiveContents) -> None:
        size = sum(len(data) for data in contents(bundle).values())
        assert found == ArchiveContents(manifest.digest(bundle), size, b"{}")
        raise BadArchive("not wanted")

    with pytest.raises(BadArchive, match="not wanted"):
        archive.unpack(io.BytesIO(packed(bundle)), tmp_path / "there" / "attempt-1", refuse)
    assert not (tmp_path / "there").exists()


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
    with pytest.raises(BadArchive, match="does not match its manifest: empty: does not follow"):
        arrive(packed(bundle), tmp_path / "there" / "attempt-1")
    assert not (tmp_path / "there").exists()


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
