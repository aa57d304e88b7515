"""The plain rule files as one PrometheusRule, for Prometheus's operator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[1]
OBJECT = FOLDER / "prometheus-rule.yaml"
HEAD = (
    "# The rules of rules/*.yaml for Prometheus's operator; `make dashboards` writes this file.\n"
)


def rule_files() -> list[Path]:
    return sorted((FOLDER / "rules").glob("*.yaml"))


def groups(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(file.read_text())["groups"]
    return found


def rule_object() -> str:
    """The text of the object; its groups are those of the files, in the order of their names."""
    found = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "emufarm"},
        "spec": {"groups": [group for file in rule_files() for group in groups(file)]},
    }
    return HEAD + yaml.safe_dump(found, sort_keys=False, width=108)
