"""The engine's build messages, and what a user is shown of them."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.fleet.docker.images import ImageFailed
from orchestrator.image.build_progress import BuildResult, follow

STEPS = [
    {"stream": "Step 1/3 : FROM base\n"},
    {"stream": " ---> aaaaaaaaaaaa\n"},
    {"stream": "Step 2/3 : ARG NAME\n"},
    {"stream": " ---> Using cache\n"},
    {"stream": " ---> bbbbbbbbbbbb\n"},
    {"stream": "Step 3/3 : RUN python3   images/fetch.py\n"},
    {"stream": " ---> Running in cccccccccccc\n"},
]


def told(*pieces: dict[str, Any]) -> tuple[BuildResult, list[str]]:
    said: list[str] = []
    built = BuildResult(on_made=lambda made: None)

    follow(iter((*STEPS, *pieces)), "the image", said.append, built)
    return built, said


def test_each_step_that_works_is_told_with_its_number() -> None:
    built, said = told(
        {"stream": " ---> dddddddddddd\n"}, {"aux": {"ID": "sha256:dd"}}, {"stream": "Successfully"}
    )
    assert built.id == "sha256:dd"
    assert said == [
        "building the image: step 1/3: FROM base",
        "building the image: step 3/3: RUN python3 images/fetch.py",
    ]


def test_what_it_made_is_known_without_what_was_there_before() -> None:
    built, _ = told({"stream": " ---> dddddddddddd\n"}, {"aux": {"ID": "sha256:dd"}})
    assert built.made == ["dddddddddddd"]


def test_a_failed_program_has_the_last_word() -> None:
    """Without its colours; the engine only says that it failed."""
    with pytest.raises(ImageFailed, match=r"^the image was not built: fetch: it is wrong$"):
        told(
            {"stream": "\x1b[91mfetch: it is wrong\n\x1b[0m"},
            {"error": "The command '/bin/bash -c x' returned a non-zero code: 1"},
        )


def test_what_the_engine_itself_could_not_do_is_told_in_its_words() -> None:
    with pytest.raises(ImageFailed, match=r"not built: write /x: no space left on device$"):
        told({"stream": "unpacking\n"}, {"error": "write /x: no space\nleft on device"})


def test_a_build_that_ends_without_an_image_is_no_success() -> None:
    with pytest.raises(ImageFailed, match="gives no reason"):
        told()


def test_what_a_failed_build_says_is_read_to_its_end() -> None:
    """Its connection would else stay open."""
    pieces = iter([{"error": "no space left on device"}, {"stream": "\n"}])
    with pytest.raises(ImageFailed, match="no space left"):
        follow(pieces, "the image", lambda line: None, BuildResult(on_made=lambda made: None))
    assert list(pieces) == []
