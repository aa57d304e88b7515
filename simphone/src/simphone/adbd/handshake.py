"""Who is at the other end, and may it come in? CNXN, then AUTH until the phone is content."""

from __future__ import annotations

import enum
from collections.abc import Callable

from . import packets
from .auth import RSAPUBLICKEY, SIGNATURE, TOKEN, Challenge
from .framing import Payload
from .packets import AUTH, CNXN, Header, Malformed

Answer = tuple[int, int, int, bytes]


class State(enum.Enum):
    UNKNOWN = "has not introduced itself"
    ASKED = "was sent a token"
    UNAUTHORIZED = "has shown a key that the phone does not know"
    ONLINE = "is served"


class Reception(enum.Enum):
    """How a host that connects is received, by the state in which adb lists the phone then."""

    DEVICE = "device"
    OFFLINE = "offline"  # not answered
    UNAUTHORIZED = "unauthorized"  # whatever its key


class Handshake:
    """Each packet of the peer changes the state and may have an answer."""

    def __init__(
        self, banner: Callable[[], bytes], challenge: Callable[[], Challenge | None]
    ) -> None:
        self.state = State.UNKNOWN
        self.max_payload = packets.MAX_PAYLOAD  # that the peer takes
        self.summed = False  # an old peer, which wants checksums
        self._banner = banner
        self._new_challenge = challenge
        self._challenge: Challenge | None = None

    @property
    def waiting(self) -> bool:
        """It is the peer's turn."""
        return self.state in (State.UNKNOWN, State.ASKED)

    @property
    def limit(self) -> int:
        """How large a payload the peer may send."""
        online = self.state is State.ONLINE
        return packets.MAX_PAYLOAD if online else packets.MAX_PAYLOAD_UNKNOWN_PEER

    def introduced(self, header: Header, payload: Payload) -> Answer:
        _, version, max_payload, *_ = header
        if version < packets.VERSION_MIN or max_payload < packets.MAX_PAYLOAD_UNKNOWN_PEER:
            raise Malformed(f"version {version:#x} with {max_payload} bytes is not offered")
        if not payload.startswith(b"host:"):
            raise Malformed("the peer is no host")
        self.summed = version < packets.VERSION
        self.max_payload = min(max_payload, packets.MAX_PAYLOAD)
        self._challenge = self._new_challenge()
        return self._welcome() if self._challenge is None else self._ask(self._challenge)

    def answered(self, header: Header, payload: Payload) -> Answer | None:
        if self.state is not State.ASKED or self._challenge is None:
            raise Malformed(f"AUTH from a peer that {self.state.value}")
        if header.arg0 == SIGNATURE:
            met = self._challenge.met(bytes(payload))
            # After a signature that is not ours the host may try another key.
            return self._welcome() if met else self._ask(self._challenge)
        if header.arg0 == RSAPUBLICKEY:
            # A person would be asked now. Nobody looks at this phone, so nobody agrees.
            self.state = State.UNAUTHORIZED
            return None
        raise Malformed(f"AUTH of kind {header.arg0}")

    def _ask(self, challenge: Challenge) -> Answer:
        self.state = State.ASKED
        return AUTH, TOKEN, 0, challenge.token()

    def _welcome(self) -> Answer:
        self.state = State.ONLINE
        return CNXN, packets.VERSION, packets.MAX_PAYLOAD, self._banner()
