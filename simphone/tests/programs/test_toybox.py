"""The programs answer these scripts as toybox does: output, errors and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guest import Guest
from tests.reference import check, scripts


@pytest.mark.parametrize("script", scripts(Path(__file__).with_name("toybox.txt").read_text()))
async def test_a_script_answers_as_with_toybox(tmp_path: Path, script: str) -> None:
    await check(Guest(tmp_path / "guest"), script)
