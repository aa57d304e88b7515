"""The secrets of the coordinator's API: the admins', and one of each worker, bound to its device.

A worker's secret is `<device>:<code>`. The code is an HMAC of the device's name under a key that
only the coordinator and its fleet have: nothing has to be stored, and a coordinator that was
restarted with the same key knows the workers of its predecessor.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from typing import Self

from ..errors import UsageError


@dataclass(frozen=True)
class WorkerKey:
    """The key of all workers' secrets; no worker has it."""

    key: str

    def __post_init__(self) -> None:
        if not self.key:
            raise UsageError("the key of the workers' secrets is empty")

    def secret(self, device: str) -> str:
        code = hmac.new(self.key.encode(), device.encode(), "sha256").hexdigest()
        return f"{device}:{code}"

    def device(self, given: str) -> str | None:
        """The device whose secret this is; None if it is nobody's."""
        device = given.rpartition(":")[0]
        known = device and hmac.compare_digest(given.encode(), self.secret(device).encode())
        return device if known else None


@dataclass(frozen=True)
class Secrets:
    workers: WorkerKey
    admin: str

    def __post_init__(self) -> None:
        if not self.admin:
            raise UsageError("the admins' secret is empty")

    @classmethod
    def new(cls) -> Self:
        return cls(WorkerKey(secrets.token_urlsafe(24)), secrets.token_urlsafe(24))

    def is_admin(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.admin.encode())
