"""A shell's standard input: taken by the line here, and by the programs it starts as it is left."""

from __future__ import annotations

from ..streams import CHUNK, Source


class Input:
    """Nothing that was read ahead for a line is lost to the next reader."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._held = bytearray()

    async def read(self, limit: int = CHUNK) -> bytes:
        if not self._held:
            return await self._source.read(limit)
        taken = bytes(self._held[:limit])
        del self._held[:limit]
        return taken

    async def line(self, limit: int, delimiter: bytes = b"\n") -> bytes:
        """One line with its newline; without it at the end, or past the limit."""
        searched = 0
        while True:
            at = self._held.find(delimiter, searched)
            if at < 0 and len(self._held) < limit:
                searched = len(self._held)
                chunk = await self._source.read()
                if chunk:
                    self._held += chunk
                    continue
            size = at + 1 if at >= 0 else min(len(self._held), limit)
            taken = bytes(self._held[:size])
            del self._held[:size]
            return taken
