"""A server that answers POSTs is an agent; anything else that it does is its own fault."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from annotated_types import Le

from orchestrator.agent.agent import AgentFault, AgentHostLost
from orchestrator.agent.command_agent import CommandAgent
from orchestrator.agent.http_agent import ContainerAgent, HttpAgent
from orchestrator.agent.protocol import MAX_REPLY
from orchestrator.cases.model import Budget
from orchestrator.evidence.archive import ArchiveLimits
from orchestrator.outcome import Reason
from tests.agent.raw_server import PATIENCE_S, Deed, Server, answer, said
from tests.agent.screens import element, seen
from tests.ports import even_port

READY = {"type": "ready", "name": "mine", "version": "2", "model": "m"}

Serve = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    made: list[Server] = []

    def start(*deeds: bytes | Deed, **options: Any) -> Server:
        made.append(Server(*deeds, **options))
        return made[-1]

    yield start
    for server in made:
        server.close()


def fault(call: Callable[[], object]) -> AgentFault:
    with pytest.raises(AgentFault) as error:
        call()
    return error.value


def started(server: Server) -> HttpAgent:
    agent = HttpAgent(server.url)
    agent.start("the goal", PATIENCE_S)
    return agent


def test_an_agent_says_who_it_is_and_answers_each_observation(serve: Serve) -> None:
    tap = {"action": "tap", "element": 0}
    server = serve(
        said(READY), said({**tap, "usage": {"tokens_in": 5, "tokens_out": 7}}), said(tap)
    )
    agent = started(server)
    info = agent.info
    assert (info.name, info.version, info.model_id) == ("mine", "2", "m")
    assert (info.provider, info.base_url, info.trusted) == ("http", server.url, False)
    reply = agent.act(seen(step=0), PATIENCE_S)
    assert (reply.raw, reply.tokens_in, reply.tokens_out) == (tap, 5, 7)
    assert agent.act(seen(step=1), PATIENCE_S).raw == tap
    hello, first, second = server.bodies
    assert (hello["type"], hello["protocol"], hello["goal"]) == ("hello", 1, "the goal")
    assert [first["step"], second["step"]] == [0, 1]
    assert hello["session"] == first["session"] == second["session"] != ""


def test_a_program_and_a_url_are_told_the_same_words(serve: Serve, tmp_path: Path) -> None:
    """But for the session's, which is drawn anew for each attempt."""
    program = """
        import json, sys
        told = []
        for line in sys.stdin:
            told.append(json.loads(line))
            print(json.dumps({"type": "ready", "told": told}), flush=True)
    """
    (tmp_path / "agent.py").write_text(dedent(program))
    screen = seen(element("Save", clickable=True))
    command = CommandAgent((sys.executable, str(tmp_path / "agent.py")))
    command.start("the goal", PATIENCE_S)
    by_pipe = command.act(screen, PATIENCE_S).raw["told"]
    command.close()
    server = serve(said(READY), said({}))
    started(server).act(screen, PATIENCE_S)
    sessions = {message.pop("session") for message in (*by_pipe, *server.bodies)}
    assert by_pipe == server.bodies
    assert len(sessions) == 2


def test_nothing_but_its_body_differs_between_two_requests(serve: Serve) -> None:
    """The agent is blind; and no connection outlives its answer."""
    server = serve(said(READY), said(READY))
    for _ in range(2):
        started(server)
    assert server.heads[0] == server.heads[1]
    assert server.heads[0].startswith("POST /act HTTP/1.1\r\n")
    assert "Connection: close" in server.heads[0]


def test_a_proxy_of_the_environment_is_not_asked(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{even_port()}")
    started(serve(said(READY)))


def test_an_agent_that_is_not_there_did_not_start() -> None:
    error = fault(lambda: HttpAgent(f"http://127.0.0.1:{even_port()}/").start("goal", PATIENCE_S))
    assert error.reason is Reason.AGENT_NOT_STARTED
    assert "Connection refused" in str(error)


@pytest.mark.parametrize("reply", [b"", answer(b"[]"), answer(b"", "503 Busy"), b"SSH-2.0\r\n"])
def test_an_agent_that_is_never_ready_did_not_start(serve: Serve, reply: bytes) -> None:
    error = fault(lambda: started(serve(reply)))
    assert error.reason is Reason.AGENT_NOT_STARTED


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"action"',
        CHUNKED + b"5\r\n{}",
        answer(b"no tokens left", "500 Internal Server Error"),
        answer(b"", "503 Busy"),
    ],
)
def test_an_agent_that_breaks_off_or_says_so_has_crashed(serve: Serve, reply: bytes) -> None:
    agent = started(serve(said(READY), reply))
    error = fault(lambda: agent.act(seen(), PATIENCE_S))
    assert error.reason is Reason.AGENT_CRASHED


def test_a_connection_that_is_reset_is_a_crash(serve: Serve) -> None:
    def reset(wire: socket.socket) -> None:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    agent = started(serve(said(READY), reset))
    assert fault(lambda: agent.act(seen(), PATIENCE_S)).reason is Reason.AGENT_CRASHED


LONG = b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n"


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200 OK\r\nX: ", CHUNKED, LONG])
def test_a_trickle_is_silence_once_its_time_is_over(serve: Serve, first: bytes) -> None:
    """In its headers or in its body, and though there is always one more byte."""
    server = serve(said(READY))
    agent = started(server)
    server.then(server.trickles(first) if first else server.silent)
    assert fault(lambda: agent.act(seen(), 0.5)).reason is Reason.AGENT_SILENT


@pytest.mark.parametrize(
    "body", [b"tap", b"", b'{"action": NaN}', b'{"seconds": 1e999}', b"[" * 200_000, b'"\xff"']
)
def test_what_is_not_json_is_invalid(serve: Serve, body: bytes) -> None:
    agent = started(serve(said(READY), answer(body)))
    error = fault(lambda: agent.act(seen(), PATIENCE_S))
    assert error.reason is Reason.AGENT_INVALID
    assert len(str(error)) < 300


@pytest.mark.parametrize("status", ["404 Not Found", "204 No Content", "400 Bad Request"])
def test_any_other_status_is_invalid(serve: Serve, status: str) -> None:
    agent = started(serve(said(READY), answer(b"", status)))
    assert fault(lambda: agent.act(seen(), PATIENCE_S)).reason is Reason.AGENT_INVALID


def test_a_redirect_is_not_followed(serve: Serve) -> None:
    elsewhere = serve(said({}))
    moved = answer(b"", "307 Temporary Redirect", f"Location: {elsewhere.url}")
    agent = started(serve(said(READY), moved))
    error = fault(lambda: agent.act(seen(), PATIENCE_S))
    assert (error.reason, elsewhere.bodies) == (Reason.AGENT_INVALID, [])
    assert "redirects are not followed" in str(error)


def test_no_agent_can_say_so_much_that_its_bundle_is_refused() -> None:
    """The attempt would be infrastructure's, and the agent have bought itself another."""
    steps = next(one.le for one in Budget.model_fields["steps"].metadata if isinstance(one, Le))
    assert isinstance(steps, int)
    assert steps * MAX_REPLY < ArchiveLimits().bytes / 4


def test_a_reply_without_bounds_is_invalid(serve: Serve) -> None:
    def endless(wire: socket.socket) -> None:
        wire.sendall(CHUNKED)
        while True:
            wire.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

    agent = started(serve(said(READY), endless))
    error = fault(lambda: agent.act(seen(), PATIENCE_S))
    assert error.reason is Reason.AGENT_INVALID
    assert "more than 1000000 bytes" in str(error)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of `localhost`, signed by nobody; its key is in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", "key", "-out", "cert",
            "-addext", "subjectAltName=DNS:localhost",
        ],
        cwd=folder, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    both = folder / "both.pem"
    both.write_text((folder / "cert").read_text() + (folder / "key").read_text())
    return both


def secured(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_over_https_the_same_is_said_and_the_same_time_is_given(
    serve: Serve, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    server = serve(said(READY), said({"action": "done"}), tls=secured(certificate))
    agent = started(server)
    assert agent.act(seen(*[element("x" * 1000)] * 300), PATIENCE_S).raw == {"action": "done"}
    server.then(server.trickles(LONG))
    assert fault(lambda: agent.act(seen(), 0.5)).reason is Reason.AGENT_SILENT


def test_a_host_that_cannot_prove_its_name_is_told_nothing(serve: Serve, certificate: Path) -> None:
    server = serve(said(READY), tls=secured(certificate))
    error = fault(lambda: started(server))
    assert error.reason is Reason.AGENT_NOT_STARTED
    assert "CERTIFICATE_VERIFY_FAILED" in str(error)
    assert server.bodies == []


class Cells:
    """Containers that are threads: `start` starts one on the same port each time."""

    def __init__(self, serve: Serve, *deeds: bytes | Deed) -> None:
        self._serve = serve
        self._deeds = deeds
        self._port = even_port()
        self.now: Server | None = None
        self.made = 0
        self.removed_by_somebody = False

    def start(self) -> str:
        self.remove()
        self.made += 1
        self.now = self._serve(*self._deeds, port=self._port)
        return self.now.url

    def describe_end(self) -> str:
        if self.removed_by_somebody:
            raise AgentHostLost("its container is gone")
        return "it ended with exit code 3"

    def remove(self) -> None:
        if self.now is not None:
            self.now.close()
        self.now = None


def test_an_image_is_one_container_for_one_attempt(serve: Serve) -> None:
    cells = Cells(serve, said(READY), said({"action": "done"}))
    for attempt in (1, 2):
        agent = ContainerAgent("my-agent:1", cells)
        agent.start("goal", PATIENCE_S)
        assert agent.act(seen(), PATIENCE_S).raw == {"action": "done"}
        agent.close()
        assert (cells.made, cells.now) == (attempt, None)
        info = agent.info
        assert (info.name, info.provider, info.trusted) == ("mine", "image", False)
        assert info.base_url is None


def test_a_container_that_is_on_its_way_is_waited_for(serve: Serve) -> None:
    class Slow(Cells):
        def start(self) -> str:
            threading.Timer(0.3, super().start).start()
            return f"http://127.0.0.1:{self._port}/"

    cells = Slow(serve, said(READY))
    ContainerAgent("my-agent:1", cells).start("goal", PATIENCE_S)
    assert cells.made == 1


@pytest.mark.parametrize(("deeds", "reason"), [
    ((b"",), Reason.AGENT_NOT_STARTED),
    ((said(READY), b""), Reason.AGENT_CRASHED),
])  # fmt: skip
def test_how_a_container_ended_is_told_with_its_fault(
    serve: Serve, deeds: tuple[bytes, ...], reason: Reason
) -> None:
    agent = ContainerAgent("my-agent:1", Cells(serve, *deeds))

    def play() -> None:
        agent.start("goal", PATIENCE_S)
        agent.act(seen(), PATIENCE_S)

    error = fault(play)
    agent.close()
    assert error.reason is reason
    assert "exit code 3" in str(error)


def test_a_container_that_somebody_took_away_is_not_the_agents_fault(serve: Serve) -> None:
    cells = Cells(serve, said(READY), b"")
    agent = ContainerAgent("my-agent:1", cells)
    agent.start("goal", PATIENCE_S)
    cells.removed_by_somebody = True
    with pytest.raises(AgentHostLost, match="its container is gone"):
        agent.act(seen(), PATIENCE_S)
    agent.close()


def test_no_answer_and_no_sense_need_no_container_to_be_looked_at(serve: Serve) -> None:
    cells = Cells(serve, said(READY), answer(b"tap"))
    agent = ContainerAgent("my-agent:1", cells)
    agent.start("goal", PATIENCE_S)
    cells.removed_by_somebody = True
    assert fault(lambda: agent.act(seen(), PATIENCE_S)).reason is Reason.AGENT_INVALID
    agent.close()
