"""What travels between a worker and the coordinator, as both read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..settings import Limits


@dataclass(frozen=True)
class Lease:
    """The exclusive, expiring, fenced right to one attempt."""

    token: str  # fencing: <episode>/<attempt>/<nonce>
    episode: str
    attempt: int  # from 1
    seed: int
    variant: str
    case: dict[str, Any]  # cases.model.Case, as JSON
    site: dict[str, str]
    agent: str
    expires_s: float  # from now; renew well before
    limits: Limits  # the run's, which its manifest records
    proven: bool | None = None  # its controls passed on this image; None: nobody looked


@dataclass(frozen=True)
class Wait:
    """Nothing to lease now; ask again after so long, or when told."""

    seconds: float


@dataclass(frozen=True)
class Finished:
    """Every episode is decided: the worker may leave."""


@dataclass(frozen=True)
class Retired:
    """This device gets no more leases: its worker may leave."""

    reason: str


Answer = Lease | Wait | Finished | Retired
