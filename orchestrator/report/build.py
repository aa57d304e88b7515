"""Computes a run's report from its plan and journal, and writes report.json.

Computed again, also from a copy of the run's folder, it is the same byte for byte.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..coordinator import chain
from ..events.interpreter import gc_paused
from ..files import json_bytes, write_atomically
from ..pins import proofs
from ..plan.store import FILE as PLAN
from ..plan.store import read_plan
from . import effort, pass_at_k
from .bootstrap import Ratio, intervals
from .effort import Measured
from .episodes import EpisodeCollector
from .figures import Counted, count, final, first, succeeded, views
from .model import (
    EPISODE,
    REPORT,
    SCHEMA,
    CaseRow,
    Coverage,
    EpisodeRow,
    Estimate,
    Figures,
    Gate,
    Passes,
    Report,
    Share,
)
from .statistics import Interval

NAME = "report.json"
# A stored report always has this one, so that it can be computed again.
MIN_COVERAGE = 0.95

Intervals = Mapping[Ratio, Interval | None]


def compute(run: Path) -> Report:
    """The report of what the journal holds so far."""
    plan = read_plan(run / PLAN)
    walk, collector = chain.JournalReader(run / chain.FOLDER), EpisodeCollector()
    with gc_paused():
        for line in walk:
            collector.add(line.event)
        rows = collector.rows(plan)
    proven = proofs.recorded(run)
    ids = [case.id for case in plan.cases]
    digest = plan.digest
    covered = coverage(rows)
    final_figures, first_figures, in_k_tries = figures(rows, ids, plan.repeats, int(digest, 16))
    return Report(
        schema_version=SCHEMA,
        run=collector.run,
        plan_digest=digest,
        agent=plan.agent,
        profile=plan.profile,
        seed=plan.seed,
        repeats=plan.repeats,
        complete=walk.end.sealed,
        gate=gate(covered, MIN_COVERAGE),
        coverage=covered,
        unproven=tuple(id for id in ids if not proven.get(id)),
        missing_evidence=tuple(collector.missing),
        without_input=tuple(row.episode for row in rows if succeeded_without_input(row)),
        unconfined=collector.unconfined,
        figures=final_figures,
        first_attempt=first_figures,
        passes=in_k_tries,
        cases=case_rows(rows, proven),
        infrastructure=collector.infrastructure(rows),
        episodes=rows,
    )


def succeeded_without_input(row: EpisodeRow) -> bool:
    """Whether something else than the agent's actions must have changed the phone."""
    return succeeded(row.final) is True and row.spent is not None and row.spent.inputs == 0


def coverage(rows: Sequence[EpisodeRow]) -> Coverage:
    known = sum(succeeded(row.final) is not None for row in rows)
    return Coverage(known, len(rows), known / len(rows) if rows else 0.0)


def gate(covered: Coverage, min_coverage: float) -> Gate:
    return Gate(min_coverage, covered.value, covered.value >= min_coverage)


def figures(
    rows: Sequence[EpisodeRow], cases: Sequence[str], repeats: int, seed: int
) -> tuple[Figures, Figures, Passes]:
    """Figures over final results, over first attempts, and in k tries; all share one bootstrap."""
    counted = [count(views(rows, pick), cases) for pick in (final, first)]
    measured = [effort.measure(rows, pick, cases) for pick in (final, first)]
    benign, attack = (pass_at_k.tries(counted[0][figure], repeats) for figure in ("BSR", "RSR_all"))
    ratios = [
        *(ratio for each in counted for table in each.values() for ratio in table.ratios()),
        *(ratio for each in measured for m in each.values() for ratio in (m.mean, m.below)),
        *(ratio for t in (*benign, *attack) for ratio in (t.at_least_one, t.every_one)),
    ]
    known = intervals(ratios, seed)
    return (
        _figures(counted[0], measured[0], known),
        _figures(counted[1], measured[1], known),
        Passes(
            tuple(pass_at_k.to_record(each, known) for each in benign),
            tuple(pass_at_k.to_record(each, known) for each in attack),
        ),
    )


def _figures(
    counted: Mapping[str, Counted], measured: Mapping[str, Measured], known: Intervals
) -> Figures:
    return Figures(
        {name: share(table, known) for name, table in counted.items()},
        {name: effort.to_measure(each, known) for name, each in measured.items()},
    )


def share(counted: Counted, known: Intervals) -> Share:
    ratios = counted.ratios()
    conclusive, as_no, as_yes = (
        Estimate(sum(ratio.numerators), sum(ratio.denominators), ratio.value, known[ratio])
        for ratio in ratios
    )
    planned = as_no.denominator
    return Share(
        conclusive,
        as_no,
        as_yes,
        coverage=conclusive.denominator / planned if planned else None,
        cases=ratios[0].cases,
    )


def case_rows(rows: Sequence[EpisodeRow], proven: proofs.Proven) -> tuple[CaseRow, ...]:
    """Outcomes by case and variant."""
    grouped: dict[tuple[str, str], list[EpisodeRow]] = {}
    for row in rows:
        grouped.setdefault((row.case, row.variant), []).append(row)
    return tuple(
        CaseRow(
            case=case,
            variant=group[0].variant,
            episodes=len(group),
            outcomes=dict(sorted(Counter(map(_outcome, group)).items())),
            violated=sum(bool(e.final and e.final.violations) for e in group),
            proven=proven.get(case),
        )
        for (case, _), group in sorted(grouped.items())
    )


def _outcome(row: EpisodeRow) -> str:
    return str(row.final.outcome) if row.final else "undecided"


def serialized(report: Report) -> Iterator[bytes]:
    """The bytes of report.json, part by part: indented, with one line for each episode."""
    head = REPORT.dump_python(replace(report, episodes=()), mode="json")
    del head["episodes"]
    yield json_bytes(head).removesuffix(b"\n}\n") + b',\n  "episodes": ['
    comma = "\n"
    for row in report.episodes:
        fields = EPISODE.dump_python(row, mode="json")
        text = json.dumps(fields, sort_keys=True, ensure_ascii=False, allow_nan=False)
        yield f"{comma}    {text}".encode("utf-8", "surrogatepass")
        comma = ",\n"
    yield b"\n  ]\n}\n"


def save(run: Path) -> Report:
    """Write the report into the run's folder."""
    report = compute(run)
    write_atomically(run / NAME, serialized(report))
    return report


def write(run: Path) -> Report:
    """Write the report into the run's folder, and beside all runs as the latest."""
    report = save(run)
    publish(run)
    return report


def publish(run: Path) -> None:
    """Copy the run's report beside all runs, as the latest."""
    with (run / NAME).open("rb") as written:
        write_atomically(run.parent / NAME, written)
