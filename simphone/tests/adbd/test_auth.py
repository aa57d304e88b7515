"""Only a host whose key the phone knows is let in."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simphone.adbd import transport
from simphone.adbd.announce import announce
from simphone.adbd.auth import (
    KEY,
    KEYS_FILE,
    RSAPUBLICKEY,
    SHA1_PREFIX,
    SIGNATURE,
    TOKEN,
    PublicKey,
    known_keys,
    parse_key,
)
from simphone.adbd.packets import AUTH, CNXN
from tests.adbd.stand_in import AdbServer, Phone, raw_host, running_phone

# With the exponent 1 a signature is what it signs: only the padding check is left to pass.
OPEN_KEY = PublicKey(modulus=(1 << 2048) - 1, exponent=1)


def signed(token: bytes, padding: bytes) -> bytes:
    return b"\0\1" + padding + b"\0" + SHA1_PREFIX + token


async def test_the_host_whose_key_is_on_the_phone_is_let_in(
    tmp_path: Path, server: AdbServer
) -> None:
    async with running_phone(tmp_path, server, skip_auth=False) as phone:
        noise = "not a key\n\nQUFBQQ== too@short\n"
        phone.world.disk.own(KEYS_FILE).write_text(noise + server.public_key + "\n")
        await phone.connect()
        assert (await phone.adb("shell", "echo", "in")).out == b"in\n"


async def test_any_other_host_is_unauthorized(tmp_path: Path, server: AdbServer) -> None:
    raw = bytearray(base64.b64decode(server.public_key.split()[0]))
    raw[100] ^= 1
    async with running_phone(tmp_path, server, skip_auth=False) as phone:
        wrong = base64.b64encode(raw).decode()
        phone.world.disk.own(KEYS_FILE).write_text(f"{wrong} somebody@else\n")
        assert await announce(server.port, phone.adbd.port)
        async with asyncio.timeout(60):
            while "unauthorized" not in (await phone.adb("devices")).text:
                pass
        refused = await phone.adb("shell", "echo", "in")
        assert refused.code != 0
        assert "device unauthorized" in refused.text


async def test_a_phone_without_keys_knows_nobody(tmp_path: Path, server: AdbServer) -> None:
    async with running_phone(tmp_path, server, skip_auth=False) as phone:
        assert known_keys(phone.world.disk) == ()
        async with raw_host(phone.adbd.port) as host:
            header, first = await host.introduce()
            assert (header.command, header.arg0, len(first)) == (AUTH, TOKEN, 20)
            host.send(AUTH, SIGNATURE, 0, bytes(256))
            header, second = await host.receive()
            assert (header.command, header.arg0) == (AUTH, TOKEN)
            assert second != first
            host.send(AUTH, RSAPUBLICKEY, 0, server.public_key.encode() + b"\0")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(host.reader.read(1), 0.05)


async def test_a_host_that_never_answers_the_token_is_dropped(
    tmp_path: Path, server: AdbServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "HANDSHAKE_S", 1.0)
    running = running_phone(tmp_path, server, skip_auth=False)
    async with running as phone, raw_host(phone.adbd.port) as host:
        await host.introduce()
        assert await host.hung_up_on() == b""


async def test_without_auth_everybody_is_let_in(phone: Phone) -> None:
    async with raw_host(phone.adbd.port) as host:
        assert (await host.introduce())[0].command == CNXN


def test_a_key_is_read_from_adb_s_own_line(server: AdbServer) -> None:
    key = parse_key(server.public_key)
    assert key is not None
    assert key.exponent == 65537
    assert key.modulus.bit_length() == 2048


def test_only_the_whole_padding_counts_as_a_signature() -> None:
    token = bytes(range(20))
    full = b"\xff" * (256 - 3 - len(SHA1_PREFIX) - 20)
    assert OPEN_KEY.signed(token, signed(token, full))
    assert not OPEN_KEY.signed(bytes(20), signed(token, full))
    assert not OPEN_KEY.signed(token, signed(token, b"\xfe" + full[1:]))
    short = signed(token, full[:8])
    assert not OPEN_KEY.signed(token, short + bytes(256 - len(short)))
    assert not OPEN_KEY.signed(token, signed(token, full)[1:])
    assert not OPEN_KEY.signed(token, b"\xff" * 256)


@given(st.one_of(st.text(), st.binary(min_size=KEY.size, max_size=KEY.size)))
def test_no_line_breaks_the_reader(line: str | bytes) -> None:
    text = line if isinstance(line, str) else base64.b64encode(line).decode()
    key = parse_key(text)
    assert key is None or key.modulus.bit_length() == 2048
