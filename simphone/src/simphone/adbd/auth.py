"""Is this host one of ours? adb signs a random token with a key that the phone knows."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..disk import Disk

# The first argument of AUTH.
TOKEN, SIGNATURE, RSAPUBLICKEY = 1, 2, 3

KEYS_FILE = "/data/misc/adb/adb_keys"
TOKEN_SIZE = 20
MODULUS_SIZE = 256
# Words in the modulus, n0inv, modulus, R squared, exponent: the last two but one are for
# processors that multiply slowly and are not needed here.
KEY = struct.Struct(f"<II{MODULUS_SIZE}s{MODULUS_SIZE}sI")
# PKCS #1 v1.5 padding of a SHA-1 digest; adb signs the token as if it were one.
SHA1_PREFIX = bytes.fromhex("3021300906052b0e03021a05000414")


@dataclass(frozen=True)
class PublicKey:
    modulus: int
    exponent: int

    def signed(self, token: bytes, signature: bytes) -> bool:
        if len(signature) != MODULUS_SIZE:
            return False
        number = int.from_bytes(signature, "big")
        if number >= self.modulus:
            return False
        opened = pow(number, self.exponent, self.modulus).to_bytes(MODULUS_SIZE, "big")
        padding = b"\xff" * (MODULUS_SIZE - 3 - len(SHA1_PREFIX) - len(token))
        return hmac.compare_digest(opened, b"\0\1" + padding + b"\0" + SHA1_PREFIX + token)


def parse_key(line: str) -> PublicKey | None:
    """The key in one line of adb's form, `<base64> user@host`; None where it is none."""
    words = line.split()
    if not words:
        return None
    try:
        raw = base64.b64decode(words[0], validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(raw) != KEY.size:
        return None
    size_in_words, _, modulus, _, exponent = KEY.unpack(raw)
    number = int.from_bytes(modulus, "little")
    if size_in_words * 4 != MODULUS_SIZE or number.bit_length() != MODULUS_SIZE * 8:
        return None
    return PublicKey(number, exponent)


def known_keys(disk: Disk | None) -> Iterable[PublicKey]:
    """The keys in the guest's file, read anew: a snapshot load may have changed it."""
    if disk is None:
        return ()
    try:
        text = disk.read(KEYS_FILE, 0).decode("ascii", "replace")
    except FileNotFoundError:
        return ()
    return tuple(key for line in text.splitlines() if (key := parse_key(line)))


class Challenge:
    """The tokens of one connection: each is good for one answer."""

    def __init__(self, disk: Disk | None) -> None:
        self._disk = disk  # with the keys that are known; None: none is
        self._token = b""

    def token(self) -> bytes:
        self._token = secrets.token_bytes(TOKEN_SIZE)
        return self._token

    def met(self, signature: bytes) -> bool:
        token, self._token = self._token, b""
        return bool(token) and any(k.signed(token, signature) for k in known_keys(self._disk))
