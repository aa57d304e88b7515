"""The contract of the HTTP API on a real socket: access, size limits and messages."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from orchestrator.coordinator import http_body, server
from orchestrator.coordinator.messages import LEASE_HEADER, MANIFEST_HEADER, TOKEN_HEADER
from orchestrator.coordinator.transitions import AttemptLost, DeviceFailed, DeviceLost, Event
from tests.coordinator.conftest import SECRETS, Served

WORKERS = [
    "/v1/lease", "/v1/renew", "/v1/unconfined", "/v1/commit", "/v1/return", "/v1/device",
    "/v1/agent",
]  # fmt: skip
ASK: dict[str, Any] = {"worker": "w", "request_id": "1"}
A = SECRETS.workers.secret("a")


def of(device: str) -> dict[str, str]:
    """The headers of this device's worker."""
    return {TOKEN_HEADER: SECRETS.workers.secret(device)}


async def heard(served: Served, device: str) -> None:
    """The coordinator has this device's request."""
    async with served.http(SECRETS.admin) as http:
        while device not in (await http.get("/v1/state")).json()["devices"]:
            pass


async def test_a_request_needs_its_own_secret(served: Served) -> None:
    async with served.http("") as http:
        for path in (*WORKERS, "/v1/device_lost"):
            others = {"/v1/device_lost": [A], "/v1/commit": []}.get(path, [SECRETS.admin])
            for secret in ("", "wrong", "é", ":", A[1:], f"b{A[1:]}", A[:-1], *others):
                headers = {TOKEN_HEADER.encode(): secret.encode()}
                answer = await http.post(path, headers=headers, json=ASK)
                assert answer.status_code == 401, (path, secret)
                assert list(answer.json()) == ["error"]


async def test_the_state_is_the_admins(served: Served) -> None:
    async with served.http(A) as http:
        assert (await http.get("/v1/state")).status_code == 401
    async with served.http(SECRETS.admin) as http:
        told = (await http.get("/v1/state")).json()
    assert (told["total"], told["decided"], told["pending"], told["stuck"]) == (3, 0, 3, False)


async def test_anybody_may_ask_for_health(served: Served) -> None:
    async with served.http("") as http:
        assert (await http.get("/healthz")).json() == {"ok": True}


REFUSED: list[tuple[str, object, str]] = [
    ("/v1/lease", {"worker": "w"}, "request_id: Field required"),
    ("/v1/lease", {**ASK, "more": 1}, "more: Extra inputs"),
    ("/v1/lease", {**ASK, "wait": "1"}, "wait: Input should be a valid number"),
    ("/v1/lease", {**ASK, "wait": 1e9}, "wait: Input should be less"),
    ("/v1/lease", {**ASK, "device": "b"}, "device: Extra inputs"),
    ("/v1/lease", {**ASK, "worker": "../a"}, "worker: String should match"),
    ("/v1/lease", [], "Input should be an object"),
    ("/v1/return", {"token": "t"}, "reason: Field required"),
    ("/v1/device", {"report_id": "1", "event": "failed"}, "phase says where"),
    ("/v1/device", {"report_id": "1", "event": "burnt"}, "event: Input should be"),
]


async def test_a_body_is_strict(served: Served) -> None:
    async with served.http(A) as http:
        for path, body, words in REFUSED:
            answer = await http.post(path, json=body)
            assert answer.status_code == 400
            assert words in answer.json()["error"]
            assert "\n" not in answer.json()["error"]


async def test_what_is_not_json_is_refused(served: Served) -> None:
    async with served.http(A) as http:
        for data in (b"", b"{", b'{"token": NaN}', b"\xff"):
            answer = await http.post("/v1/renew", content=data)
            assert answer.status_code == 400
        note = b'{"report_id": "1", "event": "started", "facts": {"load": NaN}}'
        assert (await http.post("/v1/device", content=note)).status_code == 400


async def test_a_long_body_is_refused_whether_or_not_it_says_so(served: Served) -> None:
    async def pieces() -> Any:
        for _ in range(20):
            yield b" " * 8192

    async with served.http(A) as http:
        announced = await http.post("/v1/renew", content=bytes(http_body.JSON_LIMIT + 1))
        streamed = await http.post("/v1/renew", content=pieces())
    assert [announced.status_code, streamed.status_code] == [413, 413]
    assert announced.json() == {"error": f"the body is longer than {http_body.JSON_LIMIT} bytes"}


async def test_a_bundle_is_bounded_while_it_streams(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "BUNDLE_LIMIT", 3 << 20)

    async def pieces() -> Any:
        for _ in range(64):
            yield bytes(1 << 16)

    async with served.http(A) as http:
        lease = (await http.post("/v1/lease", json=ASK)).json()
    headers = {LEASE_HEADER: lease["token"], MANIFEST_HEADER: "0" * 64}
    async with served.http(A) as http:
        streamed = await http.post("/v1/commit", content=pieces(), headers=headers)
        small = await http.post("/v1/commit", content=bytes(2 << 20), headers=headers)
    assert streamed.status_code == 413
    assert small.status_code == 422  # read whole, and then it is no archive
    assert list((served.run / "incoming" / "1").iterdir()) == []


async def test_errors_of_the_road_are_sentences_too(served: Served) -> None:
    async with served.http(A) as http:
        answers = [await http.get("/v1/lease"), await http.post("/v1/elsewhere")]
        answers.append(await http.post("/v1/commit", content=b""))
        answers.append(await http.post("/v1/renew", json={"token": "never/1/granted"}))
    assert [answer.status_code for answer in answers] == [405, 404, 400, 404]
    assert all(list(answer.json()) == ["error"] for answer in answers)


async def test_a_lease_carries_the_case_and_asked_again_is_the_same(served: Served) -> None:
    async with served.http(A) as http:
        first = (await http.post("/v1/lease", json=ASK)).json()
        again = (await http.post("/v1/lease", json=ASK)).json()
    assert first["answer"] == "Lease"
    assert first == again
    assert first["case"] == {"id": "case_0", "goal": "Do it"}
    assert first["token"].startswith(f"{first['episode']}/1/")
    assert len(served.coordinator.state.leases) == 1


async def test_a_worker_that_asks_anew_has_lost_its_lease(served: Served) -> None:
    async with served.http(A) as http:
        first = (await http.post("/v1/lease", json=ASK)).json()
        await http.post("/v1/lease", json={**ASK, "request_id": "2"})
        renewed = await http.post("/v1/renew", json={"token": first["token"]})
    assert renewed.status_code == 410
    (ended,) = served.coordinator.state.progress[first["episode"]].ended
    assert (ended.judgement.reason, ended.judgement.outcome) == ("worker_lost", "infra_failed")


async def test_a_worker_cannot_touch_a_lease_of_another_slot(served: Served) -> None:
    """It does not learn tokens of others; if it did, they would be of no use to it."""
    async with served.http(SECRETS.workers.secret("slot-00.1")) as http:
        token = (await http.post("/v1/lease", json=ASK)).json()["token"]
    upload = {LEASE_HEADER: token, MANIFEST_HEADER: "0" * 64}
    for device, codes in (("slot-01.1", [403, 403, 403]), ("slot-00.2", [403, 403, 422])):
        async with served.http(SECRETS.workers.secret(device)) as http:
            await http.post("/v1/lease", json={**ASK, "request_id": "another"})
            answers = [
                await http.post("/v1/renew", json={"token": token}),
                await http.post("/v1/return", json={"token": token, "reason": "mine"}),
                await http.post("/v1/commit", content=b"no archive", headers=upload),
            ]
        assert [answer.status_code for answer in answers] == codes
    assert served.coordinator.state.leases[token].granted.device == "slot-00.1"


async def test_a_long_poll_answers_as_soon_as_something_can_be_leased(served: Served) -> None:
    async with served.http(A) as http:
        leases = []
        for device in ("a", "b", "c"):
            asked = await http.post("/v1/lease", json=ASK, headers=of(device))
            leases.append(asked.json())
        at_once = (await http.post("/v1/lease", json=ASK, headers=of("d"))).json()
        assert at_once == {"answer": "NothingToLease", "seconds": 1.0}
        ask = {"worker": "w", "request_id": "2", "wait": 10}
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(http.post("/v1/lease", json=ask, headers=of("d")))
            await heard(served, "d")
            given = {"token": leases[1]["token"], "reason": "SIGTERM"}
            await http.post("/v1/return", json=given, headers=of("b"))
    told = waiting.result().json()
    assert (told["episode"], told["attempt"]) == (leases[1]["episode"], 1)


async def test_a_poll_that_nobody_reads_gets_no_lease(served: Served) -> None:
    """Its lease would run out, and cost an attempt."""
    async with served.http(A) as http:
        for device in ("a", "b", "c"):
            await http.post("/v1/lease", json=ASK, headers=of(device))
        port = int(served.url.rsplit(":", 1)[1])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        body = json.dumps({"worker": "w", "request_id": "1", "wait": 20}).encode()
        secret = SECRETS.workers.secret("d")
        head = f"POST /v1/lease HTTP/1.1\r\nHost: x\r\nX-Emufarm-Token: {secret}\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        await heard(served, "d")
        writer.close()
        await writer.wait_closed()
        async with served.http(SECRETS.admin) as admin:
            await admin.get("/v1/state")  # by now the server has read the end of that connection
            await admin.post(
                "/v1/device_lost", json={"device": "a", "text": "container OOM-killed"}
            )
        await http.post("/v1/lease", json={**ASK, "wait": 1}, headers=of("e"))
    holders = {held.granted.device for held in served.coordinator.state.leases.values()}
    assert holders == {"b", "c", "e"}


async def test_a_fact_ends_the_lease_of_a_pair_at_once(served: Served) -> None:
    async with served.http(A) as http:
        lease = (await http.post("/v1/lease", json=ASK)).json()
    async with served.http(SECRETS.admin) as http:
        fact = {"device": "a", "cause": "evicted", "text": "Pod evicted: node pressure"}
        assert (await http.post("/v1/device_lost", json=fact)).status_code == 200
    (ended,) = served.coordinator.state.progress[lease["episode"]].ended
    assert (ended.judgement.reason, ended.judgement.text) == (
        "host_lost",
        "Pod evicted: node pressure",
    )
    assert served.coordinator.view()["devices"]["a"]["state"] == "away"


@pytest.mark.parametrize(
    ("lost", "cause", "code", "reason"),
    [
        ("device", "out_of_memory", 137, "emulator_killed"),
        ("device", "crashed", 139, "emulator_crashed"),
        ("device", "node_lost", None, "host_lost"),
        ("worker", "out_of_memory", 137, "worker_lost"),
    ],
)
async def test_a_loss_is_journaled_with_its_cause_which_decides_the_attempts_reason(
    served: Served, lost: str, cause: str, code: int | None, reason: str
) -> None:
    events: list[Event] = []
    served.coordinator.subscribe(events.append)
    async with served.http(A) as http:
        await http.post("/v1/lease", json=ASK)
    async with served.http(SECRETS.admin) as http:
        loss = {"device": "a", "lost": lost, "cause": cause, "exit_code": code}
        assert (await http.post("/v1/device_lost", json=loss)).status_code == 200
    (gone,) = [event for event in events if isinstance(event, DeviceLost)]
    assert (gone.cause, gone.exit_code, gone.reason) == (cause, code, reason)
    (attempt,) = [event for event in events if isinstance(event, AttemptLost)]
    assert attempt.judgement.reason == reason


async def test_a_failed_start_is_journaled_with_its_cause(served: Served) -> None:
    events: list[Event] = []
    served.coordinator.subscribe(events.append)
    note = {
        "report_id": "1", "event": "failed", "phase": "provision",
        "reason": "timeout", "cause": "image_error", "exit_code": 127,
    }  # fmt: skip
    async with served.http(A) as http:
        assert (await http.post("/v1/device", json=note)).status_code == 200
    (failed,) = [event for event in events if isinstance(event, DeviceFailed)]
    assert (failed.cause, failed.exit_code) == ("image_error", 127)


async def test_a_device_start_is_journaled_once_however_often_it_is_said(served: Served) -> None:
    started = {"report_id": "1", "event": "started", "facts": {"emulator": "34.1"}}
    failed = {"report_id": "2", "event": "failed", "phase": "boot", "reason": "timeout"}
    async with served.http(A) as http:
        for note in (failed, failed, started, started):
            assert (await http.post("/v1/device", json=note)).status_code == 200
    told = served.coordinator.view()["devices"]["a"]
    assert (told["starts"], told["failed_starts"], told["attempts"]) == (1, 1, 0)


async def test_no_answer_waits_for_an_acknowledgement(served: Served) -> None:
    """Nagle's algorithm and a delayed ACK together would cost 40 ms an answer."""
    async with served.http(A) as http:
        note = {"report_id": "1", "event": "started"}
        # The connection of a known sender is kept, so the server has its end of it.
        assert (await http.post("/v1/device", json=note)).status_code == 200
        port = httpx.URL(served.url).port
        undelayed = [
            end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
            for end in our_sockets()
            if end.getsockname()[1] == port
        ]
        assert undelayed == [True, True], "the one that listens, and the connection"


def our_sockets() -> Iterator[socket.socket]:
    for name in os.listdir("/proc/self/fd"):
        try:
            end = socket.fromfd(int(name), socket.AF_INET, socket.SOCK_STREAM)
        except OSError:  # closed since it was listed
            continue
        with end:
            try:
                family = end.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN)
            except OSError:  # not a socket
                continue
            if family == socket.AF_INET:
                yield end
