"""What may be said to the coordinator, field by field. Unknown fields are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ..events.canonical import canonical
from ..outcome import Cause, Reason, loss_reason
from .agents import Want

TOKEN_HEADER = "X-Emufarm-Token"  # who is speaking: the worker's or the admin's secret
LEASE_HEADER = "X-Emufarm-Lease"  # a commit's fencing token
MANIFEST_HEADER = "X-Emufarm-Manifest"  # a commit's manifest digest

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]
Token = Annotated[str, Field(min_length=1, max_length=300)]
Text = Annotated[str, Field(max_length=4096)]


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class LeaseAsk(Message):
    worker: Name
    device: Name
    ask: Name  # one per question; repeated, it gets the same answer
    wait: float = Field(default=0, ge=0, le=60)  # seconds it may be held until there is one


class Renew(Message):
    token: Token


class Return(Message):
    token: Token
    reason: Text


class AgentAsk(Message):
    device: Name
    want: Want


class DeviceNote(Message):
    """A device start, from its worker or its fleet."""

    device: Name
    note: Name  # one per start; repeated, it is the same start
    event: Literal["started", "failed"]
    worker: Name | Literal[""] = ""
    phase: Literal["provision", "boot"] | None = None
    reason: Text = ""
    cause: Cause = Cause.UNKNOWN  # what the fleet saw of a failed start
    exit_code: int | None = None
    text: Text = ""
    facts: dict[str, Any] = {}

    @field_validator("facts")
    @classmethod
    def can_be_journaled(cls, facts: dict[str, Any]) -> dict[str, Any]:
        canonical(facts)  # ValueError where a number is not one
        return facts

    @model_validator(mode="after")
    def failed_somewhere(self) -> DeviceNote:
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
