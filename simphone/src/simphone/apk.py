"""What is in an APK? A zip with a compiled AndroidManifest.xml, of which a few facts are read.

A compiled manifest is a list of chunks (type u16, header size u16, size u32): a pool of strings,
the resource ids of the first strings of that pool, and the elements with their attributes.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_MANIFEST = 8 << 20
XML, STRING_POOL, RESOURCE_MAP, START_ELEMENT = 0x0003, 0x0001, 0x0180, 0x0102
UTF8_POOL = 0x100
STRING, BOOLEAN = 0x03, 0x12
NONE = 0xFFFFFFFF
# Attributes of the android namespace by resource id: their names may be stripped.
ATTRIBUTES = {
    0x01010003: "name",
    0x0101021B: "versionCode",
    0x0101021C: "versionName",
    0x0101020C: "minSdkVersion",
    0x01010270: "targetSdkVersion",
}

Element = tuple[str, dict[str, str | int]]


class BadApk(Exception):
    """Not an APK; the text says what is wrong with it."""


@dataclass(frozen=True)
class Manifest:
    package: str
    version_code: int = 0
    version_name: str = ""
    min_sdk: int = 1
    permissions: tuple[str, ...] = ()
    split: str = ""  # empty for a base APK


def read(path: Path) -> Manifest:
    """The manifest of an APK on the host's disk; BadApk where there is none to be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            entry = archive.getinfo("AndroidManifest.xml")
            if entry.file_size > MAX_MANIFEST:
                raise BadApk("AndroidManifest.xml is too large")
            compiled = archive.read(entry)
    except KeyError:
        raise BadApk("AndroidManifest.xml") from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, OSError, EOFError, ValueError) as error:
        raise BadApk(f"Failed to open zip: {error}") from error
    except (NotImplementedError, RuntimeError) as error:  # unknown compression, encryption
        raise BadApk(str(error)) from error
    try:
        return manifest(list(elements(compiled)))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise BadApk("Corrupt XML binary file") from error


def manifest(found: list[Element]) -> Manifest:
    head = next((attributes for name, attributes in found if name == "manifest"), None)
    if head is None or not isinstance(head.get("package"), str):
        raise BadApk("<manifest> has no package")
    sdk = next((attributes for name, attributes in found if name == "uses-sdk"), {})
    return Manifest(
        package=str(head["package"]),
        version_code=number(head.get("versionCode"), 0),
        version_name=str(head.get("versionName", "")),
        min_sdk=number(sdk.get("minSdkVersion"), 1),
        permissions=tuple(
            str(attributes["name"])
            for name, attributes in found
            if name == "uses-permission" and "name" in attributes
        ),
        split=str(head.get("split", "")),
    )


def number(value: str | int | None, default: int) -> int:
    if isinstance(value, int):
        return value
    return int(value) if value and value.isascii() and value.isdigit() else default


def elements(data: bytes) -> Iterator[Element]:
    """Start tags in order; struct.error or IndexError where the file lies about itself."""
    kind, header, _ = struct.unpack_from("<HHI", data, 0)
    if kind != XML:
        raise BadApk("Corrupt XML binary file")
    strings: list[str] = []
    ids: tuple[int, ...] = ()
    at = header
    while at + 8 <= len(data):
        kind, header, size = struct.unpack_from("<HHI", data, at)
        if size < 8 or header < 8 or at + size > len(data):
            raise BadApk("Corrupt XML binary file")
        chunk = data[at : at + size]
        if kind == STRING_POOL:
            strings = pool(chunk)
        elif kind == RESOURCE_MAP:
            ids = struct.unpack_from(f"<{(size - header) // 4}I", chunk, header)
        elif kind == START_ELEMENT:
            yield element(chunk, header, strings, ids)
        at += size


def pool(chunk: bytes) -> list[str]:
    _, header, _, count, _, marks, start, _ = struct.unpack_from("<HHIIIIII", chunk, 0)
    if count > len(chunk) // 4:
        raise BadApk("Corrupt XML binary file")
    offsets = struct.unpack_from(f"<{count}I", chunk, header)
    read_one = utf8 if marks & UTF8_POOL else utf16
    return [read_one(chunk, start + offset) for offset in offsets]


def utf8(chunk: bytes, at: int) -> str:
    """Two lengths (characters, then bytes), each of one byte or two."""
    _, at = utf8_length(chunk, at)
    size, at = utf8_length(chunk, at)
    return chunk[at : at + size].decode("utf-8", "replace")


def utf8_length(chunk: bytes, at: int) -> tuple[int, int]:
    """The length, and where it ends."""
    size = chunk[at]
    if size & 0x80:
        return (size & 0x7F) << 8 | chunk[at + 1], at + 2
    return size, at + 1


def utf16(chunk: bytes, at: int) -> str:
    (size,) = struct.unpack_from("<H", chunk, at)
    at += 2
    if size & 0x8000:
        (low,) = struct.unpack_from("<H", chunk, at)
        size = (size & 0x7FFF) << 16 | low
        at += 2
    return chunk[at : at + 2 * size].decode("utf-16-le", "replace")


def element(chunk: bytes, header: int, strings: list[str], ids: tuple[int, ...]) -> Element:
    _, name, start, size, count = struct.unpack_from("<IIHHH", chunk, header)
    attributes: dict[str, str | int] = {}
    for index in range(count):
        at = header + start + index * size
        _, key, _, _, _, kind, value = struct.unpack_from("<IIIHBBI", chunk, at)
        known = ATTRIBUTES.get(ids[key]) if key < len(ids) else None
        text = strings[value] if kind == STRING and value != NONE else value
        attributes[known or strings[key]] = text
    return strings[name], attributes
