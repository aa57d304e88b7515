"""Calls to the Docker engine: the only module that imports the Docker SDK.

A call is a function of the SDK's client. Whatever the SDK raises becomes one of three errors:
EngineAway (no answer), EngineRefused (the engine refused), NotThere (it knows no such object).
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

CONNECT_S = 5  # for the first answer
ANSWER_S = 60  # for any other answer; builds have their own limit
DEFAULT_HOST = "unix:///var/run/docker.sock"
START = (
    "start one (`systemctl start docker`, or `dockerd` as root), name another with DOCKER_HOST, or "
    "run with BACKEND=local"
)

_BAD_REQUEST = 400

T = TypeVar("T")


class EngineAbsent(UsageError):
    """No engine answers."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}: {START}")
        self.why = why


class EngineAway(EmufarmError):
    """The engine answered before and does not now: it ended, restarts, or is overloaded."""

    transient = True


class EngineRefused(EmufarmError):
    """The engine answered, and refused."""


class NotThere(EngineRefused):
    """The engine knows no such container, image, network or volume."""


class BadRequest(EngineRefused):
    """The request can never work, for example to start a program that is not in its image."""


class Engine:
    """One engine. Safe to use from several threads."""

    def __init__(self, client: APIClient, host: str, env: Mapping[str, str]) -> None:
        self._client = client
        self._env = env
        self.host = host

    def impatient(self, seconds: int) -> Engine:
        """The same engine with a shorter time limit, and a new connection for each call: an engine
        that is shutting down still answers on connections that are open."""
        other = connect(self._env, seconds)
        other._client.headers["Connection"] = "close"
        return other

    def ask(self, what: str, call: Callable[[APIClient], T]) -> T:
        """`what` completes the sentence "cannot ..." of an error's text."""
        try:
            return call(self._client)
        except NotFound as error:
            raise NotThere(_refusal(what, error)) from error
        except APIError as error:
            refused = BadRequest if error.status_code == _BAD_REQUEST else EngineRefused
            raise refused(_refusal(what, error)) from error
        # What the SDK's own transport raises is an OSError, time-outs included.
        except (DockerException, OSError) as error:
            why = _first_cause(error)
            raise EngineAway(
                f"cannot {what}: the Docker engine at {self.host} does not answer: {why}"
            ) from error

    @cached_property
    def cpus(self) -> int:
        """How many the engine has; it refuses a container limit above that."""
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
    """The engine that DOCKER_HOST names, else the default one. EngineAbsent where none answers;
    its text has the command that starts one."""
    host = env.get("DOCKER_HOST") or DEFAULT_HOST
    try:
        tls = kwargs_from_env(dict(env)).get("tls", False)
        client = APIClient(base_url=host, version="auto", timeout=CONNECT_S, tls=tls)
    except (DockerException, OSError, ValueError) as error:
        raise EngineAbsent(f"no Docker engine answers at {host}: {_first_cause(error)}") from error
    client.timeout = seconds
    return Engine(client, host, env)


def _refusal(what: str, error: APIError) -> str:
    explanation = (error.explanation or str(error)).strip()
    return f"cannot {what}: the Docker engine says: {explanation}"


def _first_cause(error: BaseException) -> str:
    """The SDK wraps a socket's error several times; the innermost has the useful text."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return str(error) or repr(error)
