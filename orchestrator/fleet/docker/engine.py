"""How is the Docker engine asked? The only module that knows the SDK; everything else asks here.

A question is a function of the SDK's client. Whatever it raises comes out as one of three errors:
nobody answered, the engine said no, or there is no such thing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from os import environ
from typing import TypeVar

from docker import APIClient
from docker.errors import APIError, DockerException, NotFound
from docker.utils import kwargs_from_env

from ...errors import EmufarmError, UsageError

CONNECT_S = 5  # for an engine to say who it is
ANSWER_S = 60  # for anything else it is asked; building has its own
DEFAULT_HOST = "unix:///var/run/docker.sock"
START = (
    "start one (`systemctl start docker`, or `dockerd` as root), name another with DOCKER_HOST, or "
    "run with BACKEND=local"
)

_BAD_REQUEST = 400

T = TypeVar("T")


class EngineAbsent(UsageError):
    """There is none to work with."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}: {START}")
        self.why = why


class EngineAway(EmufarmError):
    """It answered before and does not now: ended, restarted, overloaded."""

    transient = True


class EngineRefused(EmufarmError):
    """It answered, and said no."""


class NotThere(EngineRefused):
    """It knows no such container, image, network or volume."""


class Impossible(EngineRefused):
    """What was asked for can never work: to start a program that is not in its image, say."""


class Engine:
    """One engine. Safe to use from several threads."""

    def __init__(self, client: APIClient, host: str, env: Mapping[str, str]) -> None:
        self._client = client
        self._env = env
        self.host = host

    def sooner(self, seconds: int) -> Engine:
        """The same engine, for somebody who gives it less time, and asks at its door each time: an
        engine on its way out still answers those who are inside."""
        hurried = connect(self._env, seconds)
        hurried._client.headers["Connection"] = "close"
        return hurried

    def ask(self, what: str, question: Callable[[APIClient], T]) -> T:
        """`what` completes the sentence "cannot ...", for the person who reads it."""
        try:
            return question(self._client)
        except NotFound as error:
            raise NotThere(_refusal(what, error)) from error
        except APIError as error:
            refused = Impossible if error.status_code == _BAD_REQUEST else EngineRefused
            raise refused(_refusal(what, error)) from error
        # What the SDK's own transport raises is an OSError, time-outs included.
        except (DockerException, OSError) as error:
            why = _first_cause(error)
            raise EngineAway(
                f"cannot {what}: the Docker engine at {self.host} does not answer: {why}"
            ) from error

    @cached_property
    def cpus(self) -> int:
        """How many it has; it refuses to bound a container to more."""
        return int(self.ask("learn the engine's facts", lambda client: client.info())["NCPU"])

    def answers(self) -> bool:
        try:
            self.ask("reach the engine", lambda client: client.ping())
        except (EngineAway, EngineRefused):
            return False
        return True

    def close(self) -> None:
        self._client.close()


def connect(env: Mapping[str, str] = environ, seconds: int = ANSWER_S) -> Engine:
    """The engine that DOCKER_HOST names, else the usual one; EngineAbsent, with the command that
    starts one, where none answers."""
    host = env.get("DOCKER_HOST") or DEFAULT_HOST
    try:
        tls = kwargs_from_env(dict(env)).get("tls", False)
        client = APIClient(base_url=host, version="auto", timeout=CONNECT_S, tls=tls)
    except (DockerException, OSError, ValueError) as error:
        raise EngineAbsent(f"no Docker engine answers at {host}: {_first_cause(error)}") from error
    client.timeout = seconds
    return Engine(client, host, env)


def _refusal(what: str, error: APIError) -> str:
    said = (error.explanation or str(error)).strip()
    return f"cannot {what}: the Docker engine says: {said}"


def _first_cause(error: BaseException) -> str:
    """The SDK wraps a socket's error several times; what it says itself is at the bottom."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return str(error) or repr(error)
