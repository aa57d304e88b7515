"""Agents behind a URL (`http://...`) and in a container (`image:NAME`): one POST per message.

Such an agent is untrusted: it gets the messages of protocol.py, and can reach neither the phone nor
this machine.
"""

from __future__ import annotations

from contextlib import suppress
from http.client import HTTPException
from typing import Any, Protocol

from ..device.deadline import Deadline
from ..outcome import Reason
from . import protocol
from .agent import AgentFault, AgentHostLost, AgentInfo, AgentReply, Observation
from .http_post import HttpAnswer, HttpUrl, parse_url, post

_OK, _REDIRECTS, _SERVER_ERRORS = 200, range(300, 400), range(500, 600)


class HttpAgent:
    """One session with an agent at a URL. `starting`: it may not listen yet, so wait for it."""

    def __init__(self, url: str, *, starting: bool = False) -> None:
        self._to: HttpUrl = parse_url(url)
        self._starting = starting
        self._session = protocol.new_session()
        self.info = AgentInfo(
            f"{self._to.host}:{self._to.port}", provider="http", base_url=url, trusted=False
        )

    def start(self, goal: str, seconds: float) -> None:
        try:
            ready = self._ask(protocol.hello(self._session, goal), seconds, self._starting)
        except AgentFault as fault:
            raise AgentFault(Reason.AGENT_NOT_STARTED, str(fault)) from fault
        self.info = protocol.with_introduction(self.info, ready)

    def act(self, observation: Observation, seconds: float) -> AgentReply:
        return protocol.reply(self._ask(protocol.observation(self._session, observation), seconds))

    def close(self) -> None:
        """Nothing was started, and every connection is closed after its answer."""

    def _ask(self, body: bytes, seconds: float, starting: bool = False) -> Any:
        deadline = Deadline(seconds)
        try:
            answer = post(self._to, body, protocol.MAX_REPLY, deadline, starting=starting)
        except TimeoutError:
            text = f"no answer from {self._to.url} within {seconds:.1f} s"
            raise AgentFault(Reason.AGENT_SILENT, text) from None
        except OSError as error:
            raise AgentFault(Reason.AGENT_CRASHED, f"{self._to.url}: {error}") from error
        except HTTPException as error:
            text = f"{self._to.url} does not speak HTTP: {error!r:.200}"
            raise AgentFault(Reason.AGENT_INVALID, text) from error
        if (fault := _fault(answer)) is not None:
            raise fault
        return protocol.parse_reply(answer.body)


class AgentHost(Protocol):
    """Runs the agent's container, a new one for every attempt."""

    def start(self) -> str:
        """Starts a container and returns its URL. Raises AgentFault where the agent does not start,
        AgentHostLost where the farm fails."""
        ...

    def describe_end(self) -> str:
        """How the container ended, or that it still runs. Raises AgentHostLost where that is
        unknown, or where something else ended it."""
        ...

    def remove(self) -> None:
        """Removes the container. Raises AgentHostLost where it cannot."""
        ...


class ContainerAgent:
    """An agent in an image: one container for one attempt, called over HTTP."""

    def __init__(self, image: str, host: AgentHost) -> None:
        self.info = AgentInfo(image, provider="image", trusted=False)
        self._host = host
        self._agent: HttpAgent | None = None

    def start(self, goal: str, seconds: float) -> None:
        agent = self._agent = HttpAgent(self._host.start(), starting=True)
        agent.info = self.info
        try:
            agent.start(goal, seconds)
        except AgentFault as fault:
            raise AgentFault(fault.reason, f"{fault}; {self._host.describe_end()}") from fault
        self.info = agent.info

    def act(self, observation: Observation, seconds: float) -> AgentReply:
        if self._agent is None:
            raise AgentFault(Reason.AGENT_NOT_STARTED, "the agent was not started")
        try:
            return self._agent.act(observation, seconds)
        except AgentFault as fault:
            if fault.reason is not Reason.AGENT_CRASHED:
                raise
            raise AgentFault(fault.reason, f"{fault}; {self._host.describe_end()}") from fault

    def close(self) -> None:
        agent, self._agent = self._agent, None
        if agent is not None:
            with suppress(AgentHostLost):  # the next attempt removes what is left
                self._host.remove()


def _fault(answer: HttpAnswer) -> AgentFault | None:
    if not answer.complete:
        return AgentFault(Reason.AGENT_CRASHED, "it closed the connection in mid-answer")
    if answer.status in _SERVER_ERRORS:
        text = answer.body[: protocol.MAX_QUOTED].decode("utf-8", "replace")
        return AgentFault(Reason.AGENT_CRASHED, f"it answered {answer.status}: {text!r}")
    if answer.status in _REDIRECTS:
        text = f"it answered {answer.status}, and redirects are not followed"
        return AgentFault(Reason.AGENT_INVALID, text)
    if answer.status != _OK:
        return AgentFault(Reason.AGENT_INVALID, f"it answered {answer.status}, not 200")
    return protocol.too_long() if len(answer.body) > protocol.MAX_REPLY else None
