"""The phone's screen: its size, complete screenshots and its elements."""

from __future__ import annotations

import io
import re
import struct
import zlib
from dataclasses import dataclass

from PIL import Image

from .faults import DeviceFault
from .shell import Shell
from .uitree import TreeReading, read_tree

_MAGIC = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Screenshot:
    png: bytes
    width: int
    height: int

    def uniform(self) -> bool:
        """Whether the picture has only one colour, as that of a display that draws nothing."""
        try:
            with Image.open(io.BytesIO(self.png)) as image:
                extrema = image.convert("RGB").getextrema()
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise DeviceFault("bad_screenshot", f"cannot be decoded: {error}") from error
        return all(low == high for low, high in extrema)  # type: ignore[misc]


def check_png(data: bytes) -> tuple[int, int]:
    """Checks a PNG from its magic to its IEND, checksums included; returns width and height."""
    if not data:
        raise DeviceFault("bad_screenshot", "screencap gave no data and no error")
    if not data.startswith(_MAGIC):
        raise DeviceFault("bad_screenshot", f"not a PNG: {data[:120]!r}")
    at, kind, size = len(_MAGIC), b"", (0, 0)
    while kind != b"IEND":
        if at + 12 > len(data):
            raise DeviceFault("bad_screenshot", f"cut off after {len(data)} bytes")
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + length]
        checksum = data[at + 8 + length : at + 12 + length]
        if len(checksum) < 4:
            raise DeviceFault("bad_screenshot", f"cut off after {len(data)} bytes")
        if zlib.crc32(kind + body).to_bytes(4, "big") != checksum:
            raise DeviceFault("bad_screenshot", f"damaged in {kind!r} at byte {at}")
        if kind == b"IHDR" and length >= 8:
            size = struct.unpack_from(">II", body)
        at += 12 + length
    if at != len(data):
        raise DeviceFault("bad_screenshot", f"{len(data) - at} bytes after the end")
    if 0 in size:
        raise DeviceFault("bad_screenshot", f"the size is {size[0]}x{size[1]}")
    return size


@dataclass(frozen=True)
class Display:
    """The display as apps see it: an override replaces the physical value."""

    width: int
    height: int
    density: int
    overridden: bool


def parse_display(size: str, density: str) -> Display:
    sizes = re.findall(r"^(Physical|Override) size: (\d+)x(\d+)\s*$", size, re.MULTILINE)
    densities = re.findall(r"^(Physical|Override) density: (\d+)\s*$", density, re.MULTILINE)
    if not sizes or not densities:
        raise DeviceFault("bad_answer", f"{size!r} {density!r}", during="wm size, wm density")
    # In alphabetical order, "Override" comes before "Physical".
    kind, width, height = min(sizes)
    density_kind, value = min(densities)
    overridden = "Override" in (kind, density_kind)
    return Display(int(width), int(height), int(value), overridden)


def display(shell: Shell) -> Display:
    return parse_display(shell.answer("wm", "size"), shell.answer("wm", "density"))


class Screen:
    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def capture(self) -> Screenshot:
        """Takes a complete picture or raises a fault; never returns a black substitute."""
        # Shell v2 separates stderr: a phone with two displays prints a warning first.
        result = self._shell.query("screencap", "-p")
        if not result.ok:
            text = f"exit code {result.exit_code}: {result.error_text.strip()}"
            raise DeviceFault("bad_screenshot", text, during="screencap")
        width, height = check_png(result.stdout)
        return Screenshot(result.stdout, width, height)

    def tree(self, *, tries: int = 2, timeout: float = 30.0) -> TreeReading:
        """The elements, or a warning with the reason: uiautomator refuses an animated screen."""
        return read_tree(self._shell, tries=tries, timeout=timeout)
