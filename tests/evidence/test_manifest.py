"""A seal covers every byte of a bundle, and verification finds every change."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.evidence import manifest


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    (folder / "screenshots").mkdir(parents=True)
    (folder / "attempt.json").write_text("{}\n")
    (folder / "screenshots" / "é 1.png").write_bytes(bytes(range(256)))
    (folder / "empty.jsonl").touch()
    return folder


def test_a_seal_names_every_file_and_is_named_by_its_digest(bundle: Path) -> None:
    digest = manifest.seal(bundle)
    data = (bundle / manifest.NAME).read_bytes()
    assert digest == hashlib.sha256(data).hexdigest() == manifest.digest(bundle)
    told = json.loads(data)
    assert [file["path"] for file in told["files"]] == [
        "attempt.json",
        "empty.jsonl",
        "screenshots/é 1.png",
    ]
    assert manifest.verify(bundle) == []


def test_sealing_again_gives_the_same_digest(bundle: Path) -> None:
    assert manifest.seal(bundle) == manifest.seal(bundle)


def remove(bundle: Path) -> None:
    (bundle / "empty.jsonl").unlink()


def add(bundle: Path) -> None:
    (bundle / "screenshots" / "extra.png").touch()


def change(bundle: Path) -> None:
    path = bundle / "screenshots" / "é 1.png"
    path.write_bytes(b"\x01" + path.read_bytes()[1:])


def link(bundle: Path) -> None:
    (bundle / "empty.jsonl").unlink()
    (bundle / "empty.jsonl").symlink_to("attempt.json")


def link_a_folder(bundle: Path) -> None:
    (bundle / "elsewhere").symlink_to("screenshots")


def pipe(bundle: Path) -> None:
    os.mkfifo(bundle / "pipe")


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (remove, "empty.jsonl: is missing"),
        (add, "screenshots/extra.png: is not in the manifest"),
        (change, "screenshots/é 1.png: is not what was sealed"),
        (link, "empty.jsonl: is a link"),
        (link_a_folder, "elsewhere: is a link"),
        (pipe, "pipe: is not a plain file"),
    ],
)
def test_every_harm_has_its_sentence(
    bundle: Path, harm: Callable[[Path], None], problem: str
) -> None:
    manifest.seal(bundle)
    harm(bundle)
    assert manifest.verify(bundle) == [problem]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"files":[]}',
        '{"files":[],"schema_version":2}',
        '{"files":[],"schema_version":1,"more":1}',
        '{"files": [], "schema_version": 1}\n',
    ],
)
def test_a_manifest_has_one_spelling(bundle: Path, text: str) -> None:
    (bundle / manifest.NAME).write_text(text)
    (problem,) = manifest.verify(bundle)
    assert problem.startswith("MANIFEST.json: ")


def test_a_folder_without_a_manifest_is_not_sealed(bundle: Path) -> None:
    assert not manifest.sealed(bundle)
    assert manifest.verify(bundle) == ["MANIFEST.json: No such file or directory"]


def test_a_link_cannot_be_sealed(bundle: Path) -> None:
    link(bundle)
    with pytest.raises(manifest.NotSealable, match=r"empty\.jsonl is not a plain file"):
        manifest.seal(bundle)
