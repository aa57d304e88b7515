"""APKs for tests: a zip with a manifest compiled as aapt compiles it."""

from __future__ import annotations

import io
import struct
import zipfile

ANDROID = "http://schemas.android.com/apk/res/android"
RESOURCES = {
    "name": 0x01010003,
    "minSdkVersion": 0x0101020C,
    "versionCode": 0x0101021B,
    "versionName": 0x0101021C,
}
NONE = 0xFFFFFFFF
Value = str | int
Attributes = dict[str, Value]


def chunk(kind: int, head: bytes, body: bytes = b"") -> bytes:
    return struct.pack("<HHI", kind, 8 + len(head), 8 + len(head) + len(body)) + head + body


def utf8_string(text: str) -> bytes:
    data = text.encode()
    return bytes([len(text), len(data)]) + data + b"\0"


def utf16_string(text: str) -> bytes:
    return struct.pack("<H", len(text)) + text.encode("utf-16-le") + b"\0\0"


def string_pool(strings: list[str], *, utf8: bool) -> bytes:
    encoded = [(utf8_string if utf8 else utf16_string)(text) for text in strings]
    offsets = [sum(map(len, encoded[:index])) for index in range(len(encoded))]
    data = b"".join(encoded)
    data += bytes(-len(data) % 4)
    start = 28 + 4 * len(strings)
    head = struct.pack("<IIIII", len(strings), 0, 0x100 if utf8 else 0, start, 0)
    return chunk(0x0001, head, struct.pack(f"<{len(offsets)}I", *offsets) + data)


def compiled(elements: list[tuple[str, Attributes]], *, utf8: bool = True) -> bytes:
    """Binary XML of flat elements; known attributes are of the android namespace."""
    strings = list(RESOURCES)
    for name, attributes in elements:
        for text in (name, *attributes, *attributes.values()):
            if isinstance(text, str) and text not in strings:
                strings.append(text)
    strings.append(ANDROID)
    body = string_pool(strings, utf8=utf8)
    body += chunk(0x0180, b"", struct.pack(f"<{len(RESOURCES)}I", *RESOURCES.values()))
    for name, attributes in elements:
        rows = b""
        for key, value in attributes.items():
            space = strings.index(ANDROID) if key in RESOURCES else NONE
            if isinstance(value, str):
                index = strings.index(value)
                rows += struct.pack("<IIIHBBI", space, strings.index(key), index, 8, 0, 3, index)
            else:
                rows += struct.pack("<IIIHBBI", space, strings.index(key), NONE, 8, 0, 16, value)
        head = struct.pack("<II", 1, NONE)
        ext = struct.pack("<IIHHHHHH", NONE, strings.index(name), 20, 20, len(attributes), 0, 0, 0)
        body += chunk(0x0102, head, ext + rows)
        body += chunk(0x0103, head, struct.pack("<II", NONE, strings.index(name)))
    return struct.pack("<HHI", 0x0003, 8, 8 + len(body)) + body


def apk(
    package: str = "com.example.app",
    *,
    code: int = 7,
    name: str = "1.2",
    min_sdk: int = 24,
    permissions: tuple[str, ...] = ("android.permission.INTERNET", "android.permission.CAMERA"),
    split: str = "",
    utf8: bool = True,
    padding: int = 0,
) -> bytes:
    head: Attributes = {"versionCode": code, "versionName": name, "package": package}
    if split:
        head["split"] = split
    elements: list[tuple[str, Attributes]] = [
        ("manifest", head),
        ("uses-sdk", {"minSdkVersion": min_sdk}),
        ("application", {}),
    ]
    elements += [("uses-permission", {"name": permission}) for permission in permissions]
    return zipped({"AndroidManifest.xml": compiled(elements, utf8=utf8), "pad": bytes(padding)})


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # whose date is always the same
    return buffer.getvalue()
