"""Where and how a run is executed on a cluster, and the ways out that its agent is given."""

from __future__ import annotations

import ipaddress
import re
import shlex
import socket
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

from ...agent.http_post import parse_url
from ...agent.spec import URLS, image_of
from ...errors import UsageError
from ...fleet.kubernetes.run_objects import Opening
from ..runs import RUNS

PENDING_S = 600.0
STORAGE = "20Gi"
_FLAGS = (  # of the fields of ClusterOptions, in their order
    "--namespace", "--context", "--detach", "--pending-timeout", "--storage", "--storage-class",
    "--keep", "--agent-egress", "--agent-secret", "--shared-storage",
)  # fmt: skip
_QUANTITY = re.compile(r"[1-9]\d*(\.\d+)?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?")
_SECRET_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


@dataclass(frozen=True)
class ClusterOptions:
    """What `emufarm run` is told about a cluster beside the run itself."""

    namespace: str = ""  # "": the context's own, or `emufarm`
    context: str = ""  # of the kubeconfig; "": the current one
    detach: bool = False  # return once the coordinator has the run
    pending_s: float = PENDING_S  # for a Pod to start, while no device is at work
    storage: str = STORAGE  # the size of the run's volume
    storage_class: str = ""  # "": the cluster's default
    keep_s: int | None = None  # how long the volume stays after a pull; None: until the run goes
    agent_egress: tuple[str, ...] = ()  # HOST:PORT that the agent may reach
    agent_secret: str = ""  # a Secret whose keys are variables of an agent in an image
    shared_storage: bool = False  # a volume that several nodes can mount (ReadWriteMany)

    def check(self, agent: str) -> None:
        """UsageError where they cannot work with this agent."""
        if not _QUANTITY.fullmatch(self.storage):
            raise UsageError(f"{self.storage!r} is no size of a volume: write for example 20Gi")
        if self.pending_s <= 0:
            raise UsageError(f"--pending-timeout {self.pending_s:g} leaves no time to start")
        if self.keep_s is not None and self.keep_s < 0:
            raise UsageError(f"--keep {self.keep_s} is in the past: give seconds, 0 or more")
        if self.agent_secret and not image_of(agent):
            raise UsageError(
                f"--agent-secret gives variables to an agent in an image, and {agent!r} is none"
            )
        if self.agent_secret and not _SECRET_NAME.fullmatch(self.agent_secret):
            raise UsageError(f"{self.agent_secret!r} is no name of a Secret")
        if self.agent_egress and not (image_of(agent) or agent.startswith(URLS)):
            raise UsageError(
                f"--agent-egress opens a way for an agent's Pod, and {agent!r} has none"
            )

    @property
    def flags(self) -> str:
        """As a command has them behind its other words, to reach the same cluster."""
        return cluster_flags(self.namespace, self.context)

    def given(self) -> list[str]:
        """The options that are not left as they are by default."""
        values = zip(_FLAGS, astuple(self), astuple(DEFAULTS), strict=True)
        return [flag for flag, value, default in values if value != default]


DEFAULTS = ClusterOptions()


def require_no_cluster(options: ClusterOptions, backend: str) -> None:
    """UsageError where there are options that this backend knows nothing of."""
    if given := options.given():
        raise UsageError(
            f"{', '.join(given)}: only for a run on a cluster, and this one is on {backend}: add "
            "--backend kubernetes, or leave them out"
        )


def run_command(words: str, name: str, runs: Path, flags: str = "") -> str:
    """`emufarm` with these words, for the run of this name in this folder of runs."""
    place = "" if runs == RUNS else f" --runs {shlex.quote(str(runs))}"
    return f"emufarm {words} {name}{place}{flags}"


def cluster_flags(namespace: str, context: str) -> str:
    named = (("--namespace", namespace), ("--context", context))
    return "".join(f" {flag} {shlex.quote(value)}" for flag, value in named if value)


def openings(agent: str, wanted: Iterable[str]) -> tuple[Opening, ...]:
    """Where the agent's messages and its model's may go. Names are resolved here and now: there is
    no name server in the farm's Pods. An agent that is a URL is opened without being asked for."""
    places = [_place(text) for text in wanted]
    if agent.startswith(URLS):
        url = parse_url(agent)
        places.insert(0, (url.host, url.port))
    return tuple(
        Opening(host, port, _addresses(host, port)) for host, port in dict.fromkeys(places)
    )


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise UsageError(f"--agent-egress {text!r} is no HOST:PORT")
    return host, int(port)


def _addresses(host: str, port: int) -> tuple[str, ...]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"{host!r}, which the agent shall reach, has no address: {error}"
        ) from error
    addresses = dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found)
    return tuple(sorted(addresses, key=lambda each: ipaddress.ip_address(each).version))
