"""Where and how a run is executed on a cluster, and the ways out that its agent is given."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from ...agent.http_post import parse_url
from ...agent.spec import URLS, image_of
from ...errors import UsageError
from ...fleet.kubernetes.run_objects import Opening

PENDING_S = 600.0
STORAGE = "20Gi"
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


DEFAULTS = ClusterOptions()


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
