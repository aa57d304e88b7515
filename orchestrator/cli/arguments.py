"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CasesFolder = Annotated[Path, typer.Argument(help="Folder of cases.")]
RunName = Annotated[str, typer.Argument(help="A run's name or its folder.", metavar="RUN")]
RunOrBundle = Annotated[
    str, typer.Argument(help="A run's name or folder, or a bundle's.", metavar="RUN|BUNDLE")
]
Runs = Annotated[Path, typer.Option(help="Where runs are kept.")]
Devices = Annotated[int, typer.Option(help="Phones at once; 0: twice the cores, at most 8.")]
Noise = Annotated[int | None, typer.Option(help="Seed of the phones' noise.")]
Selection = Annotated[
    str, typer.Option("-k", help="Only what matches it: and, or, not, parentheses.")
]
BackendName = Annotated[str, typer.Option(help="auto, local, docker or kubernetes.")]
AgentAgain = Annotated[
    str, typer.Option("--agent", help="As it was given, where the run has masked words of it.")
]
AgentCardFile = Annotated[
    Path | None, typer.Option(help="Describes the agent: YAML (docs/pins.md).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and only that.")]
Namespace = Annotated[
    str, typer.Option(help="Of the cluster [default: the context's, or emufarm].")
]
MetricsPortNumber = Annotated[
    int | None,
    typer.Option(
        "--metrics-port",
        min=0,
        max=65535,
        help="Serve /metrics on loopback for Prometheus; 0: any.",
    ),
]
MetricsLinger = Annotated[
    float,
    typer.Option(
        "--metrics-linger", min=0, help="Seconds they stay after the end, or for two scrapes."
    ),
]
Context = Annotated[str, typer.Option(help="Of the kubeconfig [default: the current one].")]
WithoutEvidence = Annotated[
    bool,
    typer.Option(
        "--without-evidence",
        help="Go on where bundles that were committed are gone; the report names them.",
    ),
]
