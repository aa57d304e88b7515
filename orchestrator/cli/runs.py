"""`emufarm runs`: lists runs wherever they are; follows, pulls and cancels those on a cluster."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ..errors import EmufarmError
from ..farm.cluster import commands
from ..farm.cluster.listing import cluster_runs, local_runs
from ..farm.cluster.options import ClusterOptions
from ..farm.runs import RUNS
from .arguments import AsJson, Context, Namespace, Runs
from .output import notify, print_json, say, table
from .progress import ProgressDisplay
from .run import MinSuccess, conclude

app = typer.Typer(help="Runs wherever they are: list, watch, pull, cancel.", no_args_is_help=True,
                  context_settings={"help_option_names": ["-h", "--help"]},
                  pretty_exceptions_enable=False, rich_markup_mode=None)  # fmt: skip

ClusterRunName = Annotated[
    str, typer.Argument(help="The name of a run on a cluster, or its folder.", metavar="RUN")
]
COLUMNS = ("run", "where", "phase", "done", "success", "infra", "devices", "pulled")


@app.command("list")
def listed(
    runs: Runs = RUNS,
    namespace: Namespace = "",
    context: Context = "",
    local: Annotated[bool, typer.Option("--local", help="Ask no cluster.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the runs of the cluster's namespace and of this machine, the latest first.

    Example: emufarm runs list
    """
    found = []
    if not local:
        try:
            found += cluster_runs(ClusterOptions(namespace, context))
        except EmufarmError as error:
            if namespace or context:
                raise
            notify(f"no cluster is listed: {error}")
    found += local_runs(runs)
    if as_json:
        print_json([asdict(one) for one in found])
        return
    rows = [
        (one.name, one.place, one.phase, one.done, one.success, one.infra, one.devices,
         "yes" if one.pulled else "no")
        for one in found
    ]  # fmt: skip
    say(table(COLUMNS, rows))


@app.command()
def watch(
    run: ClusterRunName,
    runs: Runs = RUNS,
    namespace: Namespace = "",
    context: Context = "",
    min_success: MinSuccess = None,
    as_json: AsJson = False,
) -> None:
    """Follow a run on a cluster to its end, pull it, and report.

    Ctrl-C stops following; the run goes on. Exit codes are those of `emufarm run`.

    Example: emufarm runs watch nightly-7
    """
    (name, runs), cluster = commands.named(run, runs), ClusterOptions(namespace, context)
    with ProgressDisplay(quiet=as_json) as progress:
        done = commands.watch(name, options=cluster, runs=runs, on_event=progress)
    conclude(done, min_success, as_json, cluster)


@app.command()
def pull(
    run: ClusterRunName, runs: Runs = RUNS, namespace: Namespace = "", context: Context = ""
) -> None:
    """Bring what a run on a cluster has committed by now to this machine, verified.

    A pull that was broken off goes on. Of a run that has ended it brings everything, and the
    FarmRun then says that it is pulled: `kubectl delete fr` destroys what was not.

    Example: emufarm runs pull nightly-7
    """
    (name, runs), cluster = commands.named(run, runs), ClusterOptions(namespace, context)
    with ProgressDisplay() as progress:
        done = commands.watch(name, options=cluster, runs=runs, on_event=progress, now=True)
    whole = "all of it" if done.complete else "what is committed by now"
    say(f"{done.folder} has {whole}")


@app.command()
def cancel(
    run: ClusterRunName, runs: Runs = RUNS, namespace: Namespace = "", context: Context = ""
) -> None:
    """End a run on a cluster; what is sealed by then stays there and can be pulled.

    Example: emufarm runs cancel nightly-7
    """
    name, runs = commands.named(run, runs)
    follow = commands.cancel(name, options=ClusterOptions(namespace, context), runs=runs)
    say(f"{name} is being cancelled; `{follow}` shows its end")
