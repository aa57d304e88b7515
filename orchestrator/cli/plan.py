"""`emufarm plan`: shows the episodes that a run would consist of."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ..farm.runner import PUBLIC_CASES, make_plan
from ..folders import find_cases
from ..plan.plan import Plan
from ..settings import RunSettings
from .arguments import CasesFolder, Selection
from .output import say, table

HEAD = ("episode", "seed", "seconds")


def plan(
    folder: CasesFolder = PUBLIC_CASES,
    seed: Annotated[int, typer.Option(help="The global seed.")] = RunSettings.seed,
    repeats: Annotated[int, typer.Option(help="How often each episode.")] = RunSettings.repeats,
    agent: Annotated[str, typer.Option(help="Who is under test.")] = RunSettings.agent,
    profile: Annotated[str, typer.Option(help="Of which image.")] = RunSettings.profile,
    k: Selection = "",
    as_json: Annotated[bool, typer.Option("--json", help="The plan itself.")] = False,
) -> None:
    """Show the frozen plan that `emufarm run` would execute.

    The same arguments always make the same plan, on every machine.

    Example: emufarm plan --seed 7 --repeats 3 -k "messages and attack"
    """
    settings = RunSettings(seed=seed, repeats=repeats, agent=agent, profile=profile)
    made = make_plan(find_cases(folder), settings, k)
    if as_json:
        typer.echo(json.dumps(made.as_json(), indent=1, sort_keys=True, ensure_ascii=False))
    else:
        show(made)


def show(plan: Plan) -> None:
    rows = [(each.id, each.seed, f"{each.expected_s:g}") for each in plan.episodes]
    say(table(HEAD, rows))
    attacks = sum(each.variant == "attack" for each in plan.episodes)
    say(
        f"{len(plan.episodes)} episodes, cases: {len(plan.cases)}, under attack: {attacks}, "
        f"seed {plan.seed}, agent {plan.agent}, profile {plan.profile}"
    )
    say(f"digest {plan.digest}")
