"""The messages of the coordinator's API: requests, leases and other answers, with their fields.

Unknown fields of a request are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ..events.canonical import canonical
from ..outcome import Cause, Reason, loss_reason
from ..settings import Limits

TOKEN_HEADER = "X-Emufarm-Token"  # the secret of the sender: a worker's own, or the admins'
LEASE_HEADER = "X-Emufarm-Lease"  # a commit's fencing token
MANIFEST_HEADER = "X-Emufarm-Manifest"  # a commit's manifest digest

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]
Token = Annotated[str, Field(min_length=1, max_length=300)]
Text = Annotated[str, Field(max_length=4096)]


def slot_of(device: str) -> str:
    """A device is called <slot>.<n>: the n-th in its slot."""
    return device.rpartition(".")[0] or device


# Answers to a lease request.


@dataclass(frozen=True)
class Lease:
    """The exclusive, expiring, fenced right to one attempt."""

    token: str  # for fencing: <episode>/<attempt>/<nonce>
    episode: str
    attempt: int  # from 1
    seed: int
    variant: str
    case: dict[str, Any]  # cases.model.Case, as JSON
    site: dict[str, str]
    agent: str
    expires_s: float  # from now; renew well before
    limits: Limits  # the run's, which its manifest records
    proven: bool | None = None  # its controls passed on this image; None: not checked
    agent_ports: tuple[int, ...] = ()  # of the worker's loopback that a confined agent reaches


@dataclass(frozen=True)
class NothingToLease:
    """No episode can be leased to this device now; it may ask again after these seconds."""

    seconds: float


@dataclass(frozen=True)
class RunFinished:
    """Every episode is decided: the worker may leave."""


@dataclass(frozen=True)
class DeviceRetired:
    """This device gets no more leases: its worker may leave."""

    reason: str


LeaseAnswer = Lease | NothingToLease | RunFinished | DeviceRetired


# Agents in images: the fleet runs them, a new container for every attempt.

AgentCommand = Literal["start", "describe_end", "remove"]


@dataclass(frozen=True)
class AgentStatus:
    """Where an agent's container is reached, or how it ended; and whose fault that is."""

    url: str = ""
    text: str = ""
    fault: Literal["", "agent", "farm"] = ""


class AgentContainers(Protocol):
    """Implemented by a fleet that can run containers."""

    async def agent(self, device: str, command: AgentCommand) -> AgentStatus:
        """`start`: a new container for this device; an earlier one is removed. `describe_end`: how
        it ended, or that it runs. `remove`: nothing of it is left."""
        ...


# Requests.


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class LeaseRequest(Message):
    worker: Name
    request_id: Name  # the same request, repeated, gets the same lease
    wait: float = Field(default=0, ge=0, le=60)  # seconds to wait for a lease


class RenewRequest(Message):
    token: Token


class UnconfinedRequest(Message):
    token: Token


class ReturnRequest(Message):
    token: Token
    reason: Text


class AgentRequest(Message):
    command: AgentCommand


class DeviceStartReport(Message):
    """A device started or failed to start. Sent by its worker or its fleet."""

    report_id: Name  # the same report, repeated, is the same start
    event: Literal["started", "failed"]
    worker: Name | Literal[""] = ""
    phase: Literal["provision", "boot"] | None = None
    reason: Text = ""
    cause: Cause = Cause.UNKNOWN  # what the fleet saw of a failed start
    exit_code: int | None = None
    text: Text = ""
    boot_s: float | None = Field(default=None, ge=0)  # until a device was ready that started
    facts: dict[str, Any] = {}

    @field_validator("facts")
    @classmethod
    def can_be_journaled(cls, facts: dict[str, Any]) -> dict[str, Any]:
        canonical(facts)  # ValueError for NaN and infinities
        return facts

    @model_validator(mode="after")
    def has_a_phase_if_it_failed(self) -> DeviceStartReport:
        if (self.event == "failed") != (self.phase is not None):
            raise ValueError("phase says where a failed start failed, and only that")
        return self


class DeviceLoss(Message):
    """A backend saw that a device or its worker is gone, and so is the lease that it held."""

    device: Name
    lost: Literal["device", "worker"] = "device"
    cause: Cause = Cause.UNKNOWN
    exit_code: int | None = None
    text: Text = ""

    @property
    def reason(self) -> Reason:
        return Reason.WORKER_LOST if self.lost == "worker" else loss_reason(self.cause)
