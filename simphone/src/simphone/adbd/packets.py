"""How adb's packets look on the wire: a header of six little-endian words, then the payload."""

from __future__ import annotations

import struct
from typing import NamedTuple

CNXN = 0x4E584E43
AUTH = 0x48545541
OPEN = 0x4E45504F
OKAY = 0x59414B4F
WRTE = 0x45545257
CLSE = 0x45534C43
STLS = 0x534C5453
NAMES = {
    CNXN: "CNXN",
    AUTH: "AUTH",
    OPEN: "OPEN",
    OKAY: "OKAY",
    WRTE: "WRTE",
    CLSE: "CLSE",
    STLS: "STLS",
}

# From this version on neither side looks at the checksum; older peers want the bytes' sum.
VERSION = 0x01000001
VERSION_MIN = 0x01000000

MAX_PAYLOAD = 1024 * 1024
# Until the peer is known, it may send no more than the first adb could.
MAX_PAYLOAD_UNKNOWN_PEER = 4096

WORD = 0xFFFFFFFF
HEADER = struct.Struct("<6I")
HEADER_SIZE = HEADER.size


class Malformed(Exception):
    """The bytes are not adb's, or not allowed at this point; the connection cannot go on."""


class Header(NamedTuple):
    command: int
    arg0: int
    arg1: int
    length: int
    checksum: int
    magic: int

    @property
    def name(self) -> str:
        return NAMES.get(self.command, f"{self.command:#010x}")


def checksum(payload: bytes | bytearray) -> int:
    return sum(payload) & WORD


def decode(data: bytes | bytearray, offset: int, limit: int) -> Header:
    """The header at this offset; Malformed unless it is a known one with a payload in bounds."""
    header = Header._make(HEADER.unpack_from(data, offset))
    if header.magic != header.command ^ WORD:
        raise Malformed("not an adb header")
    if header.command not in NAMES:
        raise Malformed(f"unknown command {header.name}")
    if header.length > limit:
        raise Malformed(f"{header.name} announces {header.length} bytes, {limit} are allowed")
    return header


def encode_header(
    command: int, arg0: int, arg1: int, payload: bytes | bytearray, *, summed: bool
) -> bytes:
    total = checksum(payload) if summed else 0
    return HEADER.pack(command, arg0, arg1, len(payload), total, command ^ WORD)


def encode(
    command: int, arg0: int, arg1: int, payload: bytes | bytearray = b"", *, summed: bool = True
) -> bytes:
    return encode_header(command, arg0, arg1, payload, summed=summed) + payload
