"""How does the adb server learn of this phone? The phone tells it its adb port."""

from __future__ import annotations

import asyncio

PATIENCE_S = 5.0


async def announce(server_port: int, adb_port: int) -> bool:
    """Tell the adb server on loopback; False where none listens, which is no error: a server
    that starts later looks for phones itself."""
    request = f"host:emulator:{adb_port}"
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", server_port)
            try:
                writer.write(f"{len(request):04x}{request}".encode())
                # The server answers nothing; it closes once it has begun to connect.
                await reader.read()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
    return True
