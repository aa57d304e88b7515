"""Calls and text messages, with the delays of a real radio.

A message that is sent goes queued -> outbox -> sent; one that arrives is a row and a
notification a moment later; a call is in the call log only after it ended.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from .. import crash
from ..effects import Handler
from ..providers import calllog, contacts, sms
from ..providers.numbers import same
from ..state import Json
from ..ui.screen import Intent

if TYPE_CHECKING:
    from ..world import World

MESSAGING = "com.android.messaging"
DIALER = "com.android.dialer"
IN_CALL = "com.android.incallui.InCallActivity"  # the dialer's, in a Java package of its own
INCOMING_ID, MISSED_ID = 10, 11  # of the dialer's notifications
IDLE, RINGING, OFFHOOK = 0, 1, 2
RADIO_OFF = 2  # error_code of a message that found no radio

QUEUE_S, SEND_S, RECEIVE_S, ANSWER_S, LOG_S = 0.1, 0.2, 0.1, 0.4, 0.2
RETRY_S = 1.0


@dataclass
class ActiveCall:
    number: str
    incoming: bool
    state: str  # ringing | dialing | active
    since_ms: int  # when it began to ring or dial
    answered_ms: int = 0


class Telephony:
    def __init__(self, world: World) -> None:
        self._world = world
        self.call: ActiveCall | None = None

    @property
    def call_state(self) -> int:
        """As telephony.registry tells it: IDLE, RINGING or OFFHOOK."""
        if self.call is None:
            return IDLE
        return RINGING if self.call.state == "ringing" else OFFHOOK

    @property
    def radio_on(self) -> bool:
        return not self._world.settings.on("global", "airplane_mode_on")

    def send_sms(self, number: str, body: str) -> int:
        """A message on its way: the row's id. It is queued now and sent, or failed, soon."""
        row = sms.add(self._world, number, body, sms.QUEUED)
        _log(self._world, "SmsDispatchersController", f"sendText: id={row} queued")
        self._later(QUEUE_S, "sms.outbox", id=row)
        return row

    def receive_sms(self, number: str, text: str) -> None:
        """The network delivers a message: a row and a notification, in a moment."""
        self._later(RECEIVE_S, "sms.received", number=number, text=text)

    def dial(self, number: str) -> bool:
        """Call somebody; False where the line is taken or the radio is off."""
        if self.call is not None or not self.radio_on or not number.strip():
            return False
        self.call = ActiveCall(number.strip(), False, "dialing", self._world.clock.now_ms())
        self._show()
        _log(self._world, "Telecom", "CallsManager: setCallState CONNECTING -> DIALING")
        self._later(ANSWER_S, "call.answered", since_ms=self.call.since_ms)
        return True

    def ring(self, number: str) -> bool:
        """Somebody calls; False where the line is taken or the radio is off."""
        if self.call is not None or not self.radio_on:
            return False
        self.call = ActiveCall(number, True, "ringing", self._world.clock.now_ms())
        name = _caller(self._world, number)
        _notify(self._world, DIALER, name, "Incoming call", INCOMING_ID, ".InCallActivity", {})
        self._show()
        _log(self._world, "Telecom", "CallsManager: setCallState NEW -> RINGING")
        return True

    def accept(self, number: str = "") -> bool:
        """The called side answers, here or at the far end; False where nothing waits for it."""
        call = self._matching(number)
        if call is None or call.state == "active":
            return False
        call.state, call.answered_ms = "active", self._world.clock.now_ms()
        self._silence()
        _log(self._world, "Telecom", "CallsManager: setCallState -> ACTIVE")
        return True

    def cancel(self, number: str = "") -> bool:
        """The far end hangs up: a call that still rang here was missed."""
        call = self._matching(number)
        if call is None:
            return False
        self._end(call, calllog.MISSED if call.state == "ringing" else None)
        return True

    def busy(self, number: str = "") -> bool:
        """The far end is busy: ends a call that we are dialing."""
        call = self._matching(number)
        if call is None or call.state != "dialing":
            return False
        self._end(call)
        return True

    def hang_up(self) -> bool:
        """The phone's user ends the call; one that still rang was rejected."""
        if self.call is None:
            return False
        self._end(self.call, calllog.REJECTED if self.call.state == "ringing" else None)
        return True

    def _matching(self, number: str) -> ActiveCall | None:
        return self.call if self.call and number in ("", self.call.number) else None

    def _end(self, call: ActiveCall, kind: int | None = None) -> None:
        now = self._world.clock.now_ms()
        duration = (now - call.answered_ms) // 1000 if call.answered_ms else 0
        self.call = None
        self._silence()
        self._world.windows.close(DIALER, IN_CALL)
        _log(self._world, "Telecom", "CallsManager: setCallState -> DISCONNECTED")
        if kind is None:
            kind = calllog.INCOMING if call.incoming else calllog.OUTGOING
        self._later(
            LOG_S,
            "call.logged",
            number=call.number,
            kind=kind,
            date_ms=call.since_ms,
            # A clock that was set back during the call must not give a negative length.
            duration_s=max(0, duration),
        )

    def _show(self) -> None:
        """A call wakes the screen and stands in front of whatever is there."""
        windows = self._world.windows
        if windows.tasks:
            windows.awake = True
            windows.launch(Intent(package=DIALER, activity=IN_CALL))

    def _silence(self) -> None:
        for posted in self._world.notifications.all():
            if posted.package == DIALER and posted.id == INCOMING_ID:
                self._world.notifications.cancel(posted.key)

    def _later(self, delay_s: float, name: str, **args: Json) -> None:
        self._world.effects.later(self._world.noise.stretch(delay_s), name, **args)

    def save(self) -> Json:
        return asdict(self.call) if self.call else None

    def load(self, state: Json) -> None:
        self.call = ActiveCall(**state) if state else None


def _log(world: World, tag: str, text: str) -> None:
    phone = world.processes.find("com.android.phone")
    world.logcat.write(tag, text, pid=phone.pid if phone else 1)


def _caller(world: World, number: str) -> str:
    """A number's owner; the call or message is told of even where nobody can be looked up."""
    with crash.contained(world, "android.process.acore"):
        return contacts.name_of(world, number)
    return number


def _notify(
    world: World,
    package: str,
    title: str,
    text: str,
    id: int,
    activity: str,
    args: dict[str, Json],
) -> None:
    installed = world.packages.get(package)
    world.notifications.post(
        package,
        title,
        text,
        id=id,
        uid=installed.uid if installed else 1000,
        activity=activity,
        args=json.dumps(args),
    )


def _outbox(world: World, args: dict[str, Json]) -> None:
    if not world.telephony.radio_on:
        sms.set_type(world, args["id"], sms.FAILED, error_code=RADIO_OFF)
        return
    sms.set_type(world, args["id"], sms.OUTBOX)
    world.effects.later(world.noise.stretch(SEND_S), "sms.sent", id=args["id"])


def _sent(world: World, args: dict[str, Json]) -> None:
    sms.set_type(world, args["id"], sms.SENT, error_code=0)
    _log(world, "SmsDispatchersController", f"sendText: id={args['id']} sent")


def _being_read(world: World, number: str) -> bool:
    """Whether the conversation with this number is what the person looks at."""
    windows, front = world.windows, world.windows.front()
    if front is None or not windows.awake or windows.shade or front[0] != MESSAGING:
        return False
    return same(str(front[1].args.get("number") or ""), number)


def _received(world: World, args: dict[str, Json]) -> None:
    number, text = str(args["number"]), str(args["text"])
    if not world.telephony.radio_on:
        # The network keeps it until the phone can be reached.
        world.effects.later(RETRY_S, "sms.received", **args)
        return
    read = _being_read(world, number)
    row = sms.add(world, number, text, sms.INBOX, read=read)
    _log(world, "GsmInboundSmsHandler", f"delivered SMS id={row}")
    if read:
        return
    arrived = sms.message(world, row)
    thread = arrived.thread_id if arrived else 0
    name = _caller(world, number)
    _notify(
        world,
        MESSAGING,
        name,
        text,
        1000 + thread,
        ".ConversationActivity",
        {"thread_id": thread},
    )


def _answered(world: World, args: dict[str, Json]) -> None:
    call = world.telephony.call
    if call and call.state == "dialing" and call.since_ms == args["since_ms"]:
        world.telephony.accept()


def _logged(world: World, args: dict[str, Json]) -> None:
    number = str(args["number"])
    calllog.add(world, number, args["kind"], args["date_ms"], args["duration_s"])
    if args["kind"] == calllog.MISSED:
        name = _caller(world, number)
        _notify(world, DIALER, name, "Missed call", MISSED_ID, ".MainActivity", {"tab": "recents"})


EFFECTS: dict[str, Handler] = {
    "sms.outbox": _outbox,
    "sms.sent": _sent,
    "sms.received": _received,
    "call.answered": _answered,
    "call.logged": _logged,
}
