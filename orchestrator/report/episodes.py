"""Reads a run's plan and journal in one pass: one row for each planned episode."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..coordinator import chain
from ..coordinator.transitions import (
    AttemptCommitted,
    AttemptFenced,
    AttemptLost,
    DeviceFailed,
    DeviceStarted,
    EpisodeDecided,
    Event,
    EvidenceMissing,
    RunOpened,
    UnconfinedAgent,
)
from ..outcome import Judgement, Outcome
from ..plan.plan import Episode, Plan
from ..plan.store import FILE, read_plan
from .figures import negated, succeeded
from .model import EpisodeRow, Infrastructure, MissingBundle, ReportedResult, Spent
from .wear import WearCounts

AttemptEnded = AttemptCommitted | AttemptLost


@dataclass(frozen=True)
class RunResults:
    """The results of a run, finished or not."""

    run: str  # its name
    plan: Plan
    complete: bool  # the journal's last line seals it
    rows: tuple[EpisodeRow, ...]  # in the plan's order
    devices: dict[str, str]  # episode -> the device of its last attempt
    texts: dict[str, str]  # episode -> the text of its final judgement

    @property
    def episodes(self) -> Iterator[tuple[Episode, EpisodeRow]]:
        return zip(self.plan.episodes, self.rows, strict=True)


def read_results(run: Path) -> RunResults:
    """UsageError if there is no plan; JournalBroken if the journal was changed."""
    plan = read_plan(run / FILE)
    collector = EpisodeCollector()
    devices: dict[str, str] = {}
    texts: dict[str, str] = {}
    walk = chain.JournalReader(run / chain.FOLDER)
    for line in walk:
        collector.add(line.event)
        if isinstance(line.event, AttemptEnded):
            devices[line.event.episode] = line.event.device
        elif isinstance(line.event, EpisodeDecided):
            texts[line.event.episode] = line.event.judgement.text
    name = collector.run or run.resolve().name
    return RunResults(name, plan, walk.end.sealed, collector.rows(plan), devices, texts)


@dataclass(slots=True)
class _EpisodeHistory:
    """What the events read so far say about one episode."""

    attempts: int = 0
    first: ReportedResult | None = None
    first_spent: Spent | None = None
    last_spent: Spent | None = None  # of the last attempt that ended, which is the deciding one
    # Attempts with violations; None for a late (fenced) bundle, which never decides.
    violating: tuple[tuple[int | None, tuple[str, ...]], ...] = ()
    final: ReportedResult | None = None
    deciding: int | None = None
    bundle: str = ""


class EpisodeCollector:
    """Takes every event of a journal in order and keeps only what the rows need."""

    def __init__(self) -> None:
        self.run = ""
        self.missing: list[MissingBundle] = []
        self.unconfined = 0
        self._histories: defaultdict[str, _EpisodeHistory] = defaultdict(_EpisodeHistory)
        self._results: dict[ReportedResult, ReportedResult] = {}  # equal results are kept once
        self._reasons: Counter[str] = Counter()
        self._attempts = 0
        self._starts = 0
        self._start_reasons: Counter[str] = Counter()
        self._wear = WearCounts()

    def add(self, event: Event) -> None:
        self._wear.add(event)
        match event:
            case UnconfinedAgent():
                self.unconfined += 1
            case AttemptCommitted() | AttemptLost():
                self._add_attempt(event)
            case AttemptFenced():
                self._add_violations(event, None)
            case EpisodeDecided():
                history = self._histories[event.episode]
                history.final, history.deciding = self._result(event.judgement), event.attempt
                history.bundle = event.bundle
            case DeviceStarted() | DeviceFailed():
                self._starts += 1
                if isinstance(event, DeviceFailed):
                    self._start_reasons[event.reason] += 1
            case EvidenceMissing():
                self.missing.append(
                    MissingBundle(event.episode, event.attempt, event.bundle, event.problem)
                )
            case RunOpened():
                self.run = event.run

    def _add_attempt(self, event: AttemptEnded) -> None:
        history = self._histories[event.episode]
        self._attempts += 1
        judgement = event.judgement
        if judgement.outcome is Outcome.INFRA_FAILED:
            self._reasons[str(judgement.reason)] += 1
        history.last_spent = spent(event)
        if history.attempts == 0:
            history.first, history.first_spent = self._result(judgement), history.last_spent
        history.attempts += 1
        self._add_violations(event, event.attempt)

    def _add_violations(self, event: AttemptEnded | AttemptFenced, attempt: int | None) -> None:
        if violations := event.judgement.violations:
            self._histories[event.episode].violating += ((attempt, violations),)

    def _result(self, judged: Judgement) -> ReportedResult:
        result = ReportedResult(
            judged.outcome, judged.blame, judged.phase, judged.reason, judged.violations,
            judged.violations_known,
        )  # fmt: skip
        return self._results.setdefault(result, result)

    def rows(self, plan: Plan) -> tuple[EpisodeRow, ...]:
        """Every planned episode, decided or not, in the plan's order."""
        labels = {
            case.id: (case.case.get("attack") or {}).get("labels") or {} for case in plan.cases
        }
        twin_failed = {
            (episode.case, episode.repeat): negated(succeeded(self._histories[episode.id].final))
            for episode in plan.episodes
            if episode.variant == "benign"
        }
        return tuple(
            self._row(each, labels[each.case], twin_failed.get((each.case, each.repeat)))
            if each.variant == "attack"
            else self._row(each, {}, None)
            for each in plan.episodes
        )

    def _row(
        self, episode: Episode, labels: dict[str, str], twin_failed: bool | None
    ) -> EpisodeRow:
        history = self._histories[episode.id]
        return EpisodeRow(
            episode=episode.id,
            case=episode.case,
            variant="attack" if episode.variant == "attack" else "benign",
            repeat=episode.repeat,
            attack_type=labels.get("type", ""),
            impact=labels.get("impact", ""),
            final=history.final,
            first=history.first,
            spent=history.last_spent if history.final else None,
            first_spent=history.first_spent,
            attempts=history.attempts,
            voided_violations=voided(history.violating, history.deciding),
            BF=twin_failed,
            bundle=history.bundle,
        )

    def infrastructure(self, rows: Sequence[EpisodeRow]) -> Infrastructure:
        finals = (row.final for row in rows if row.final)
        return Infrastructure(
            attempts=self._attempts,
            attempts_failed=self._reasons.total(),
            reasons=dict(sorted(self._reasons.items())),
            episodes_failed=sum(final.outcome is Outcome.INFRA_FAILED for final in finals),
            voided_violations=sum(bool(row.voided_violations) for row in rows),
            device_starts=self._starts,
            device_starts_failed=self._start_reasons.total(),
            device_start_reasons=dict(sorted(self._start_reasons.items())),
            by_loads=self._wear.by_loads(),
            by_seconds=self._wear.by_seconds(),
        )


def spent(event: AttemptEnded) -> Spent | None:
    """What an attempt spent; None if it left no bundle, since then nothing is known."""
    if isinstance(event, AttemptLost):
        return None
    effort = event.effort
    seconds = round(sum(event.durations.values()), 3)
    return Spent(
        effort.steps,
        effort.agent_s,
        seconds,
        effort.asks,
        effort.confirms,
        effort.refusals,
        effort.inputs,
    )


def voided(
    violating: Iterable[tuple[int | None, tuple[str, ...]]], deciding: int | None
) -> tuple[str, ...]:
    """The violations in attempts, given by their numbers, that did not decide their episode."""
    names = (
        name
        for attempt, violations in violating
        if attempt is None or attempt != deciding
        for name in violations
    )
    return tuple(dict.fromkeys(names))
