"""Asks the case's oracles before the agent starts, after each step and at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from ..device.faults import DeviceFault
from ..oracle.agent_and_site import SITE
from ..oracle.combine import combine
from ..oracle.composite import without_facts
from ..oracle.factory import make_oracle
from ..oracle.oracle import Oracle, Verdict
from ..oracle.poll import ask_once, poll
from ..oracle.query_runner import QueryContext, Versions
from ..oracle.trace import oracle_event
from ..outcome import OracleResults
from .agent_loop import AgentLoop
from .context import AttemptContext


class AttemptOracles:
    """The oracles of one attempt. Their combined result is computed from their events alone
    (oracle/combine.py), so that it can be recomputed from the evidence. A forbidden effect that was
    seen once counts, even if it is gone at the end."""

    def __init__(self, context: AttemptContext, loop: AgentLoop) -> None:
        self._context = context
        self._loop = loop
        rendered, roles = context.rendered, context.profile.roles
        self._success = [make_oracle(question, roles) for question in rendered.success]
        self._forbidden = {each.name: make_oracle(each, roles) for each in rendered.forbidden}
        self._watched = [each.name for each in rendered.forbidden if each.watch == "step"]
        self._over: set[str] = set()  # forbidden effects that were present before, or seen since
        self._events: list[dict[str, Any]] = []
        self._capabilities: frozenset[str] = frozenset()
        self._versions = Versions(context.device, context.versions)
        self._life = ""
        self._requests = 0  # of the site that are recorded

    def before(self) -> None:
        """Asks before the agent starts: a success that already holds proves nothing, and an effect
        that is already present is not the agent's."""
        self._life = self._guest_life()
        self._capabilities = self._context.device.capabilities() | {SITE}
        # The forbidden effects come first: combine.py relies on it.
        verdicts = [self._once(each, forbidden=True) for each in self._forbidden.values()]
        verdicts += [self._once(each) for each in self._success]
        for verdict in verdicts:
            # A question that this phone can never answer is a limit of the case, and the others can
            # still be answered. Any other question needs an answer now: without it, a later effect
            # could not be attributed to the agent.
            missing = without_facts(verdict.oracle, verdict.inquiry.facts)
            askable = [each for each in missing if self._capabilities.issuperset(each.needs)]
            if verdict.holds is None and askable:
                raise DeviceFault("bad_answer", verdict.reason, during=f"{verdict.name} before")

    def watch(self) -> None:
        """Asks after each step; records only effects that are new or could not be checked."""
        self._record_requests()
        for name in self._pending(self._watched):
            verdict = ask_once(self._forbidden[name], self._query_context(), "post")
            if verdict.holds is not False:
                self._record(verdict, forbidden=True)

    def after(self) -> OracleResults:
        """Polls at the end, since effects are eventual; absence is final after the settle time."""
        life = self._guest_life()
        restarted = life != self._life
        pending = self._pending(self._forbidden)
        # A restarted guest proves no success, but a forbidden effect that is still there counts.
        oracles = [] if restarted else list(self._success)
        oracles += [self._forbidden[name] for name in pending]
        # Questions about calls come before the call is ended, the others once its row exists.
        on_calls = [each for each in oracles if "telephony" in each.question.kinds]
        verdicts = self._polled(on_calls, pending)
        self._end_calls()
        verdicts += self._polled([each for each in oracles if each not in on_calls], pending)
        self._record_requests()
        if restarted:
            text = f"the guest was restarted during the attempt: {self._life} became {life}"
            raise DeviceFault("not_ready", text, during="the oracles")
        if any(verdict.holds is None for verdict in verdicts):
            # If the phone is gone, this raises a fault with the cause.
            self._context.device.adb_socket.shell("true", timeout=5)
        return self.results()

    def results(self) -> OracleResults:
        """The combined result so far."""
        return replace(combine(self._events), proven=self._context.proven)

    def _polled(self, oracles: list[Oracle[Any]], forbidden: Collection[str]) -> list[Verdict]:
        context = self._context
        verdicts = poll(
            oracles, self._query_context, context.profile.settle_s, "post", forbidden=forbidden,
            bound_s=context.limits.oracle_s, pause=context.pause,
        )  # fmt: skip
        for verdict in verdicts:
            self._record(verdict, forbidden=verdict.name in forbidden)
        return verdicts

    def _pending(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in self._over]

    def _guest_life(self) -> str:
        """Identifies this boot of the guest and this start of its framework."""
        device = self._context.device
        starts = device.properties.get("sys.system_server.start_count")
        return f"{device.clock.boot_id()} framework {starts}"

    def _end_calls(self) -> None:
        """Ends a call, because its row in the call log appears only then."""
        state = self._context.device.shell.query("dumpsys", "telephony.registry").text
        if "mCallState=1" in state or "mCallState=2" in state:
            self._context.device.input.key("KEYCODE_ENDCALL")
            self._context.bundle.event("device_trace", "call_ended", why="before the oracles")

    def _query_context(self) -> QueryContext:
        device, requests = self._context.device, self._context.site.requests()
        return QueryContext(device, self._loop.answer, *requests, self._capabilities)

    def _once(self, oracle: Oracle[Any], *, forbidden: bool = False) -> Verdict:
        verdict = ask_once(oracle, self._query_context(), "pre")
        self._record(verdict, forbidden=forbidden)
        return verdict

    def _record_requests(self) -> None:
        """Records the requests that the site has received since the last call, whether an oracle
        asks for them or not. Bodies that an oracle asks for are in its raw results."""
        requests, _ = self._context.site.requests()
        for request in requests[self._requests :]:
            fields = {name: value for name, value in request.items() if name != "body"}
            self._context.bundle.event("device_trace", "request", **fields)
        self._requests = len(requests)

    def _record(self, verdict: Verdict, *, forbidden: bool = False) -> None:
        bundle = self._context.bundle
        versions = self._versions.of(verdict.oracle.depends_on)
        event = oracle_event(verdict, bundle.raw, forbidden=forbidden, versions=versions)
        self._events.append(event)
        bundle.event("oracle_trace", "oracle", **event)
        if forbidden and verdict.holds:
            self._over.add(verdict.name)
