"""Where does one packet end and the next begin, with as little copying as large files deserve."""

from __future__ import annotations

from collections.abc import Iterator

from .packets import HEADER_SIZE, MAX_PAYLOAD_UNKNOWN_PEER, Header, decode

SCRATCH = 64 * 1024
Payload = bytes | bytearray


class Assembler:
    """Small packets are cut out of one buffer; a large payload is received in place."""

    def __init__(self) -> None:
        self.limit = MAX_PAYLOAD_UNKNOWN_PEER
        self._scratch = bytearray(SCRATCH)
        self._filled = 0
        # A payload that has begun to arrive, and the header before it.
        self._header: Header | None = None
        self._payload = bytearray()
        self._received = 0

    def room(self) -> memoryview:
        """Where the next bytes go."""
        if self._header is not None:
            return memoryview(self._payload)[self._received :]
        return memoryview(self._scratch)[self._filled :]

    def packets(self, count: int) -> Iterator[tuple[Header, Payload]]:
        """What is whole now that `count` more bytes are in; Malformed where it makes no sense."""
        if self._header is None:
            yield from self._cut(self._filled + count)
            return
        self._received += count
        if self._received == len(self._payload):
            header, self._header = self._header, None
            payload, self._payload = self._payload, bytearray()
            yield header, payload

    def _cut(self, end: int) -> Iterator[tuple[Header, Payload]]:
        start, self._filled = 0, 0
        while end - start >= HEADER_SIZE:
            header = decode(self._scratch, start, self.limit)
            start += HEADER_SIZE
            if end - start < header.length:
                self._header = header
                self._payload = bytearray(header.length)
                self._received = end - start
                self._payload[: self._received] = self._scratch[start:end]
                return
            payload = bytes(memoryview(self._scratch)[start : start + header.length])
            start += header.length
            yield header, payload
        self._filled = end - start
        self._scratch[: self._filled] = self._scratch[start:end]
