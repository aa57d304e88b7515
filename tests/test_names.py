"""Names in orchestrator/ are unambiguous, and its modules' first lines form an index."""

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "orchestrator").rglob("*.py"))
VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "base", "misc"}
LONGEST = 100  # characters of a first line


def name(source: Path) -> str:
    return source.relative_to(ROOT / "orchestrator").as_posix()


def parsed(source: Path) -> ast.Module:
    return ast.parse(source.read_text(encoding="utf-8"), source)


def test_a_class_name_is_used_once() -> None:
    """Private ones too, and by no type alias, so that a search for a class finds one."""
    modules = defaultdict(list)
    for source in MODULES:
        for node in ast.walk(parsed(source)):
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(name(source))
    for alias, places in aliases().items():
        if alias in modules:
            modules[alias] += places
    assert {each: places for each, places in modules.items() if len(places) > 1} == {}


def aliases() -> dict[str, list[str]]:
    """Names that a module assigns at its top level and that are written like a class."""
    found = defaultdict(list)
    for source in MODULES:
        for node in parsed(source).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", 0)]
            for target in targets:
                if isinstance(target, ast.Name) and target.id.strip("_")[:1].isupper():
                    found[target.id].append(name(source))
    return found


def test_the_first_line_of_a_module_is_one_plain_sentence() -> None:
    lines = {
        name(source): (ast.get_docstring(parsed(source)) or "").partition("\n")[0]
        for source in MODULES
    }
    wrong = {
        module: line
        for module, line in lines.items()
        if not line.endswith(".") or "?" in line or len(line) > LONGEST
    }
    assert wrong == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [name(source) for source in MODULES if source.stem in VAGUE] == []


def test_the_index_at_the_end_of_the_architecture_document_is_fresh() -> None:
    """`make index WRITE=1` writes it again."""
    program = [sys.executable, str(ROOT / "docs" / "index.py")]
    done = subprocess.run(program, check=True, capture_output=True, text=True, timeout=60)
    document = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert f"-->\n```\n{done.stdout}```\n<!--" in document
