"""The named retry policies, composed from tenacity's strategies.

They are for queries and connections only. A touch or a write is never repeated: after an ambiguous
failure it is unknown whether it took effect.
"""

from __future__ import annotations

from tenacity import Retrying
from tenacity.retry import retry_if_exception
from tenacity.stop import stop_after_attempt, stop_after_delay
from tenacity.wait import wait_exponential

from ..errors import EmufarmError


def _is_transient(error: BaseException) -> bool:
    """The error has the attribute: DeviceFault here, CoordinatorAway in a room above."""
    return isinstance(error, EmufarmError) and getattr(error, "transient", False)


def _policy(tries: int, seconds: float, first_wait: float, longest_wait: float) -> Retrying:
    """Calls a question; returns its answer, or raises its last fault once the policy gives up."""
    return Retrying(
        retry=retry_if_exception(_is_transient),
        stop=stop_after_attempt(tries) | stop_after_delay(seconds),
        wait=wait_exponential(multiplier=first_wait, max=longest_wait),
        reraise=True,
    )


# A read-only query after a transport error: short, since the caller polls anyway.
QUERY = _policy(tries=3, seconds=5, first_wait=0.05, longest_wait=0.5)
# Rung 1 of the recovery ladder.
RECONNECT = _policy(tries=3, seconds=15, first_wait=0.5, longest_wait=4)


def coordinator_policy(seconds: float) -> Retrying:
    """For a coordinator that is being restarted or moved to another node: its workers wait for it
    instead of discarding a sealed bundle. Only for calls that may be repeated."""
    return _policy(tries=1 + int(seconds), seconds=seconds, first_wait=0.1, longest_wait=5)
