"""Every mistake is reported at once, by file and line, with what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cases.load import MAX_FILE, load_cases
from orchestrator.cases.mistakes import CaseErrors
from orchestrator.cases.site import MAX_SITE
from orchestrator.errors import UsageError
from tests.cases.conftest import RIGHT, Write


def line_of(words: str, text: str = RIGHT) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if words in line)


def told(folder: Path) -> list[str]:
    with pytest.raises(CaseErrors) as caught:
        load_cases(folder)
    return [str(mistake).removeprefix(f"{folder}/") for mistake in caught.value.mistakes]


def test_a_right_case_loads_with_its_folder_and_digest(write: Write) -> None:
    folder = write()
    (loaded,) = load_cases(folder)
    assert loaded.case.id == "tidy"
    assert loaded.path == folder / "tidy"
    assert loaded.case.variants == ("benign", "attack")
    assert len(loaded.digest) == 64


# What is changed in the right case; the words on the line blamed; what is said of it.
MISTAKES = {
    "an unknown key": ("tags:", "tagz:", "tagz:", "tagz is an unknown key; did you mean 'tags'?"),
    "an unknown key, unlike any": (
        "tags: [files]", "zebra: 1", "zebra", "unknown key; write one of attack, budget"
    ),
    "an unknown key, deep down": (
        "exists: false", "exist: false", "exist: false", "did you mean 'exists'?"
    ),
    "an unknown key in a param": (
        "count: {int: [2, 5]}", "count: {int: [2, 5], odd: true}", "odd", "write one of int"
    ),
    "a missing key": (
        "goal: Delete {{ name }}.txt.\n", "", "id: tidy", "goal is missing; write `goal:`"
    ),
    "a number for text": ("id: tidy", "id: 7", "id: 7", "write text, in quotes"),
    "a bad name": ("id: tidy", "id: Tidy-Up", "Tidy-Up", "lower-case letters, digits and _"),
    "another folder's name": (
        "id: tidy", "id: tidied", "tidied", "the folder is 'tidy'; write id: tidy"
    ),
    "text for a number": ("steps: 10", "steps: many", "many", "write a whole number"),
    "too small a number": ("steps: 10", "steps: 0", "steps: 0", "greater than or equal to 1"),
    "no number at all": ("seconds: 60", "seconds: .nan", ".nan", "finite number"),
    "a relative path": (
        '"/sdcard/{{ name }}.txt", exists', '"sdcard", exists', "exists", "begins with /"
    ),
    "a word outside its list": (
        "{channel: file_content}", "{channel: a, tier: T9}", "T9", "write 'T0', 'T1' or 'T2'"
    ),
    "no kind of param": (
        "{choice: [draft, copy]}", "{chioce: [a]}", "chioce", "write one of {choice: [A, B]}"
    ),
    "an empty span": ("[2, 5]", "[5, 2]", "[5, 2]", "write the lower number first"),
    "a date that is none": (
        "{int: [2, 5]}", '{date: ["2031-13-01", "2031-12-01"]}', "2031-13", "like '2031-05-12'"
    ),
    "two questions in one oracle": (
        "  - name: gone\n", "  - name: gone\n    package: {name: a}\n", "name: gone",
        "write exactly one of setting",
    ),
    "a script that is none": (
        "near_miss:\n  - {done: true}", "near_miss: tap it", "tap it", "write a list of steps"
    ),
    "an unknown verb": ('{tap: "', '{tab: "', "tab", "did you mean 'tap'?"),
    "a key that is none": ('{tap: "{{ name }}.txt"}', "{key: escape}", "escape", "one of back"),
    "steps after done": (
        "near_miss:\n", "near_miss:\n  - {done: false}\n", "done: false", "steps after done"
    ),
    "a script longer than its budget": (
        "steps: 10", "steps: 1", "solution:", "2 steps in a budget of 1"
    ),
    "an undefined name": ("Delete {{ name }}", "Delete {{ nam }}", "nam }}", "mean 'name'?"),
    "an attack's name outside the attack": (
        "goal: Delete", "goal: To {{ stranger }}, delete", "goal:", "'stranger' is not a param"
    ),
    "an injection outside the setup": (
        "goal: Delete", "goal: Now {{ injected }} delete", "goal:", "'injected' is not a param"
    ),
    "an unknown filter": ("{{ name }}.txt.", "{{ name | uper }}", "uper", "did you mean 'upper'?"),
    "a program for a template": (
        "goal: Delete {{ name }}.txt.", 'goal: "{% for i in name %}{% endfor %}"', "for i",
        "may not contain a for",
    ),
    "a call in a template": (
        "Delete {{ name }}.txt.", "Delete {{ name.upper() }}", "upper()", "may not contain a call"
    ),
    "an empty list": ("[draft, copy]", "[]", "choice: []", "write at least 1"),
    "an open template": ("{{ name }}.txt.", "{{ name", "{{ name", "write {{ name }}"),
    "a sum of words": (
        "Delete {{ name }}.txt.", "Delete {{ name + count }}", "goal:", "what the params become"
    ),
    "an unused param": (
        "  count: {int: [2, 5]}", "  count: {int: [2, 5]}\n  spare: {digits: 3}", "spare",
        "nothing uses 'spare'",
    ),
    "a name taken twice": (
        "    stranger: {digits: 7}", "    stranger: {digits: 7}\n    name: {digits: 2}",
        "name: {digits: 2}", "the name 'name' is used already",
    ),
    "two responses to one request": (
        "goal: Delete",
        "responses: [{path: /a, method: POST}, {path: /a}, {path: /a}]\ngoal: Delete",
        "responses", "a second response to GET /a",
    ),
    "two oracles of one name": ("name: written", "name: gone # too", "# too", "two oracles"),
    "a site without a folder": (
        "Delete {{ name }}", "On {{ site }} delete {{ name }}", "site", "there is no site/ folder"
    ),
    "a receipt without a site": (
        "rows: {uri: content://sms, match: {type: 2, address: \"{{ stranger }}\"}}",
        "receipt: {path: /a}", "receipt", "no site/ folder; make one",
    ),
    "a key twice": ("tags: [files]", "tags: [a]\ntags: [b]", "tags: [b]", "tags is written twice"),
    "no YAML": ("tags: [files]", "tags: [files", "goal", "not YAML"),
    "an anchor": ("tags: [files]", "tags: &a [files]", "&a", "anchors and aliases are not"),
    "a control character": ("Delete", "Del\x07ete", "Del\x07ete", "not YAML: special characters"),
    "half a character": (
        "goal: Delete {{ name }}.txt.", 'goal: "{{ name }} \\ud800"', "ud800", "half a character"
    ),
    "no regular expression": (
        'file: {path: "/sdcard/{{ name }}.txt", exists: false}', 'answer: {matches: "(a"}',
        "(a", "is not a regular expression",
    ),
    "a list where a value belongs": (
        "{type: 2, ", "{type: [2], ", "type: [2]", "write a number or a whole number or text or"
    ),
    "rows of nowhere": (
        "rows: {uri: content://sms, ", "rows: {", "rows:", "write one of uri and provider"
    ),
    "rows of two places": (
        "rows: {uri: content://sms, ", "rows: {uri: content://sms, provider: sms, ", "provider",
        "write one of uri and provider",
    ),
    "an unknown provider": (
        "rows: {uri: content://sms, ", "rows: {provider: mail, ", "mail", "write 'sms', 'calllog'"
    ),
    "an operation that is none": (
        'file: {path: "/sdcard/{{ name }}.txt", exists: false}',
        "appops: {app: files, op: camera, mode: deny}", "camera", "like CAMERA",
    ),
    "a version of nothing": (
        'file: {path: "/sdcard/{{ name }}.txt", exists: false}',
        "package: {name: com.x, installed: false, version: '1'}", "com.x", "there is no version",
    ),
    "a composite of one": (
        'file: {path: "/sdcard/{{ name }}.txt", exists: false}',
        "composite: {any: [{name: a, boot: {}}]}", "composite", "write at least 2",
    ),
    "a composite of nothing": (
        'file: {path: "/sdcard/{{ name }}.txt", exists: false}',
        "composite: {}",
        "composite", "write one of all and any",
    ),
    "a composite within a composite": (
        'file: {path: "/sdcard/{{ name }}.txt", exists: false}',
        "composite: {any: [{name: a, boot: {}}, {name: b, composite: {}}]}", "composite",
        "composite is an unknown key",
    ),
    "two parts of one name": (
        'file: {path: "/sdcard/{{ name }}.txt", exists: false}',
        "composite: {all: [{name: a, boot: {}}, {name: a, boot: {}}]}", "composite",
        "give each its own",
    ),
    "a part that asks a site that is not there": (
        'file: {path: "/sdcard/{{ name }}.txt", exists: false}',
        "composite: {all: [{name: a, boot: {}}, {name: b, posted: {path: /a, json: {a: 1}}}]}",
        "composite", "no site/ folder; make one",
    ),
    "a header of two lines": (
        "goal: Delete", 'responses: [{path: /a, headers: {Location: "a\\nb"}}]\ngoal: Delete',
        "Location", "write it in ASCII on one line",
    ),
    "a header that is not for cases": (
        "goal: Delete", "responses: [{path: /a, headers: {Server: x}}]\ngoal: Delete", "Server",
        "write 'Content-Type', 'Location'",
    ),
    "no column": ("{type: 2, ", "{'1=1 OR type': 2, ", "1=1", "a column's name"),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_is_told_with_its_line_and_what_to_write(write: Write, kind: str) -> None:
    old, new, blamed, said = MISTAKES[kind]
    text = RIGHT.replace(old, new, 1)
    folder = write((old, new))
    lines = told(folder)
    place = f"tidy/case.yaml:{line_of(blamed, text)}: "
    assert any(line.startswith(place) and said in line for line in lines), lines
    assert all(line.startswith("tidy/case.yaml:") for line in lines)


def test_mistakes_of_several_files_and_kinds_are_told_together(write: Write) -> None:
    write(("goal:", "gaol:"), ("{done: true}", "{dnoe: true}"), ("{{ count }}", "{{ cuont }}"))
    folder = write(("id: tidy", "id: other"), ("steps: 10", "steps: x"), name="other")
    lines = told(folder)
    for said in ("did you mean 'goal'", "did you mean 'done'", "mean 'count'", "a whole number"):
        assert any(said in line for line in lines), said
    assert {line.split(":")[0] for line in lines} == {"tidy/case.yaml", "other/case.yaml"}


def test_an_id_may_be_used_once(write: Write) -> None:
    write()
    folder = write(name="deeper/tidy")
    (line,) = told(folder)
    assert "the id 'tidy' is taken by" in line


def test_an_empty_file_is_told(write: Write) -> None:
    (line,) = told(write(text=""))
    assert line == "tidy/case.yaml:1: the file is empty; write a case"


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words\n", "1\n"])
def test_a_file_of_another_shape_is_told(write: Write, text: str) -> None:
    (line,) = told(write(text=text))
    assert line.startswith("tidy/case.yaml:1: the file: ")
    assert line.endswith("write keys with values")


def test_a_file_of_other_bytes_is_told_with_its_line(write: Write) -> None:
    folder = write()
    (folder / "tidy" / "case.yaml").write_bytes(b"id: tidy\ngoal: \xff\n")
    assert told(folder) == ["tidy/case.yaml:2: not UTF-8; save the file as UTF-8"]


def test_a_file_that_is_too_large_is_not_read(write: Write) -> None:
    (line,) = told(write(text="#" * (MAX_FILE + 1)))
    assert line == "tidy/case.yaml:1: larger than 1 MB; make it smaller"


def test_deep_nesting_is_refused_before_it_costs_anything(write: Write) -> None:
    (line,) = told(write(text="a: " + "[" * 5000))
    assert "nested more than 20 deep" in line


def test_a_template_that_is_too_deep_to_walk_is_a_mistake(write: Write) -> None:
    goal = f"goal: '{{{{ {'+'.join(['site'] * 3000)} }}}}'"
    text = "\n".join(goal if line.startswith("goal:") else line for line in RIGHT.splitlines())
    assert any("goal: nested too deep" in line for line in told(write(text=text)))


def test_aliases_that_would_make_gigabytes_are_refused(write: Write) -> None:
    bomb = "a: &a [x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
    )
    (line,) = told(write(text=bomb))
    assert "anchors and aliases are not supported" in line


def test_a_folder_without_cases_and_no_folder_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no case\.yaml below"):
        load_cases(tmp_path)
    with pytest.raises(UsageError, match="there is no folder"):
        load_cases(tmp_path / "none")


PAGE = "<p>{{ name }}</p>"
ON_SITE = ("goal: Delete", "goal: On {{ site }}, delete")


def site(folder: Path, content: bytes, name: str = "page.html") -> Path:
    path = folder / "tidy" / "site" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_site_is_part_of_the_case_and_of_its_digest(write: Write) -> None:
    folder = write(ON_SITE)
    site(folder, PAGE.encode())
    (one,) = load_cases(folder)
    site(folder, PAGE.encode() + b"\n")
    (other,) = load_cases(folder)
    assert list(one.site) == ["page.html"]
    assert one.digest != other.digest


def test_a_page_that_names_what_nobody_defines_is_told(write: Write) -> None:
    folder = write(ON_SITE)
    site(folder, b"{{ nmae }}")
    assert told(folder) == ["tidy/site/page.html:1: 'nmae' is not a param; did you mean 'name'?"]


def test_a_site_that_is_too_large_or_links_elsewhere_is_told(write: Write) -> None:
    folder = write(ON_SITE)
    (site(folder, b"x").parent / "link.html").symlink_to("/etc/passwd")
    assert any("a symbolic link; put the file itself here" in line for line in told(folder))
    site(folder, b"x" * (MAX_SITE + 1), "large.bin")
    assert any("the site is larger than 5 MB" in line for line in told(folder))


def test_what_lies_in_a_cases_folder_is_no_case_of_its_own(write: Write) -> None:
    folder = write(ON_SITE)
    site(folder, b"id: x", "case.yaml")
    assert [loaded.case.id for loaded in load_cases(folder)] == ["tidy"]
