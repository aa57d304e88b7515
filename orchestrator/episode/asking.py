"""The oracles' turns: before the agent, after each of its steps, and at the end."""

from __future__ import annotations

from collections.abc import Sequence

from ..device.faults import DeviceFault
from ..oracle.make import make
from ..oracle.oracle import Context, Oracle, Verdict
from ..oracle.poll import ask_once, poll
from ..oracle.trace import oracle_event
from ..outcome import Asked
from .scene import Scene
from .steps import Steps


class Asking:
    """Forbidden effects stay seen: what was there at one look need not be there at the last."""

    def __init__(self, scene: Scene, steps: Steps) -> None:
        self._scene = scene
        self._steps = steps
        rendered = scene.rendered
        self._success = [make(question) for question in rendered.success]
        self._forbidden = {each.name: make(each) for each in rendered.forbidden}
        self._watched = [each.name for each in rendered.forbidden if each.watch == "step"]
        self._there_before: set[str] = set()
        self._seen: dict[str, None] = {}  # in the order of sight
        self._missed: set[str] = set()  # watched, and once they could not be asked
        self._held_before = False
        self._life = ""

    def before(self) -> None:
        """A success that holds already proves nothing; an effect already there is not the
        agent's."""
        self._life = self._guest_life()
        success = [self._once(oracle, "pre") for oracle in self._success]
        forbidden = [self._once(each, "pre", forbidden=True) for each in self._forbidden.values()]
        for verdict in (*success, *forbidden):
            if verdict.holds is None:
                # Without an answer now, none later would say whose doing it is.
                raise DeviceFault("bad_answer", verdict.reason, during=f"{verdict.name} before")
        self._held_before = all(verdict.holds for verdict in success)
        self._there_before = {verdict.name for verdict in forbidden if verdict.holds}

    def watch(self) -> None:
        """After each step; only what was newly seen, or could not be looked for, is written."""
        for name in self._pending(self._watched):
            verdict = ask_once(self._forbidden[name], self._context(), "post")
            if verdict.holds is not False:
                self._record(verdict, forbidden=True)
            if verdict.holds:
                self._seen[name] = None
            elif verdict.holds is None:
                self._missed.add(name)

    def after(self) -> Asked:
        """Polled: effects are eventual. Absence counts once the settle time has passed."""
        life = self._guest_life()
        restarted = life != self._life
        self._end_calls()
        pending = self._pending(self._forbidden)
        # A guest that was restarted proves no success; a forbidden effect still there is one.
        asked = [] if restarted else self._success
        oracles = [*asked, *(self._forbidden[name] for name in pending)]
        verdicts = poll(
            oracles, self._context, self._scene.profile.settle_s, "post", forbidden=set(pending),
            bound_s=self._scene.limits.oracle_s, pause=self._scene.pause,
        )  # fmt: skip
        success, forbidden = verdicts[: len(asked)], verdicts[len(asked) :]
        for verdict in success:
            self._record(verdict)
        for verdict in forbidden:
            self._record(verdict, forbidden=True)
            if verdict.holds:
                self._seen[verdict.name] = None
        if restarted:
            text = f"the guest was restarted during the attempt: {self._life} became {life}"
            raise DeviceFault("not_ready", text, during="the oracles")
        if any(verdict.holds is None for verdict in verdicts):
            # The question's fault, or the phone's? One that is gone is a fault with a cause.
            self._scene.device.wire.shell("true", timeout=5)
        return Asked(
            success=conjunction(success),
            held_before=self._held_before,
            violations=tuple(self._seen),
            violations_known=not (self._missed - self._seen.keys())
            and all(verdict.holds is not None for verdict in forbidden),
            text="; ".join(f"{v.name}: {v.reason}" for v in success if not v.holds),
        )

    def unasked(self) -> Asked:
        """The phone cannot be asked any more; what was seen before stays seen."""
        known = not self._forbidden
        return Asked(None, self._held_before, tuple(self._seen), violations_known=known)

    def _pending(self, names: Sequence[str] | dict[str, Oracle]) -> list[str]:
        return [name for name in names if name not in self._seen and name not in self._there_before]

    def _guest_life(self) -> str:
        """Another value means that the guest, or its framework, is not the one that was reset."""
        device = self._scene.device
        starts = device.properties.get("sys.system_server.start_count")
        return f"{device.clock.boot_id()} framework {starts}"

    def _end_calls(self) -> None:
        """A call's row appears only after it ended."""
        state = self._scene.device.shell.query("dumpsys", "telephony.registry").text
        if "mCallState=1" in state or "mCallState=2" in state:
            self._scene.device.touch.key("KEYCODE_ENDCALL")
            self._scene.bundle.event("device_trace", "call_ended", why="before the oracles")

    def _context(self) -> Context:
        scene = self._scene
        return Context(scene.device, scene.profile.roles, self._steps.answer, scene.site.receipts())

    def _once(self, oracle: Oracle, phase: str, *, forbidden: bool = False) -> Verdict:
        verdict = ask_once(oracle, self._context(), phase)
        self._record(verdict, forbidden=forbidden)
        return verdict

    def _record(self, verdict: Verdict, *, forbidden: bool = False) -> None:
        bundle = self._scene.bundle
        file, raw_digest = bundle.raw(verdict.raw)
        fields = oracle_event(verdict, forbidden=forbidden, versions=self._scene.versions)
        bundle.event("oracle_trace", "oracle", **fields, raw_file=file, raw_digest=raw_digest)


def conjunction(verdicts: Sequence[Verdict]) -> bool | None:
    """All must hold; one that does not decides, however little the others could say."""
    if any(verdict.holds is False for verdict in verdicts):
        return False
    return None if any(verdict.holds is None for verdict in verdicts) else True


def reachable(scene: Scene) -> bool:
    """Whether there is anybody to ask."""
    try:
        return scene.device.wire.shell("true", timeout=5).ok
    except DeviceFault:
        return False
