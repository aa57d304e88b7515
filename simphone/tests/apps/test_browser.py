"""The web, as a person meets it: pages of the host, forms, downloads, and pages that fight back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from simphone.adbd.network import Wire
from simphone.providers import downloads
from simphone.ui import draw
from simphone.ui.screen import Intent
from simphone.web.cookies import HISTORY
from simphone.world import World
from tests.apps.person import Person
from tests.web.site import Answer, Site, saying, serving

ADDRESS = "Search or type web address"
VIEW = "android.intent.action.VIEW"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


async def go(person: Person, url: str) -> None:
    person.fill(ADDRESS, url)
    person.enter()
    await person.world.background.settled()


async def visit(person: Person, url: str) -> None:
    person.open("Browser")
    await go(person, url)


async def test_a_page_of_the_host_is_opened_and_links_and_back_walk_its_history(
    person: Person, world: World, site: Site
) -> None:
    site.page("/", "<title>Shop</title><h1>Boats</h1><p>See <a href=/red>red ones</a>")
    site.page("/red", "<title>Red</title><p>Only red. <a href=#end>Down</a>" + "<p>x" * 90
              + "<p id=end>The end")  # fmt: skip
    person.open("Browser")
    person.fill(ADDRESS, f"10.0.2.2:{site.port}/")
    person.enter()
    assert person.sees("Loading"), "the tap has returned, the page is still to come"
    await world.background.settled()
    assert person.sees("Boats")
    assert person.find(ADDRESS).text == f"10.0.2.2:{site.port}/"
    assert person.activity() == "com.android.chrome/com.google.android.apps.chrome.Main"
    person.tap("red ones")
    await world.background.settled()
    assert person.sees("Only red.")
    assert not person.sees("The end")
    person.tap("Down")
    assert person.sees("The end")
    person.back()
    assert person.sees("Boats"), "the page before is shown as it was"
    assert [asked.path for asked in site.asked] == ["/", "/red"]
    person.back()
    assert person.sees("New tab")
    visits = world.databases.query(HISTORY, "SELECT title, visit_count FROM urls ORDER BY id")
    assert [(row["title"], row["visit_count"]) for row in visits] == [("Shop", 1), ("Red", 1)]


async def test_a_form_is_filled_in_and_sent(person: Person, world: World, site: Site) -> None:
    site.page("/", """<form method=post action=/order>
        <label for=n>Name</label><input id=n name=name placeholder="Your name">
        <label>Secret <input type=password name=pw></label>
        <label for=c>Colour</label><select id=c name=colour><option>Red<option>Blue</select>
        <label><input type=checkbox name=ok value=yes> I agree</label>
        <input type=radio name=speed value=1 checked> Slow
        <input type=radio name=speed value=2> Fast
        <textarea name=msg aria-label=Message></textarea>
        <input type=submit value="Place order"></form>""")  # fmt: skip
    site.page("/order", "<p>Thank you")
    await visit(person, site.url)
    person.fill("Name", "Ann Lee")
    person.fill("Secret", "s3cret")
    assert "s3cret" not in person.dump()
    person.back()
    person.tap("Colour")
    person.tap("Blue")
    assert person.find("Colour").text == "Blue"
    person.tap("I agree")
    person.tap("Fast")
    assert person.find("I agree").checked
    assert person.find("Fast").checked
    assert not person.find("Slow").checked
    person.fill("Message", "two lines")
    person.back()
    person.tap("Place order")
    await world.background.settled()
    assert person.sees("Thank you")
    assert site.asked[-1].method == "POST"
    assert site.asked[-1].body == (
        "name=Ann+Lee&pw=s3cret&colour=Blue&ok=yes&speed=2&msg=two+lines"
    )
    person.tap("Refresh")
    assert person.sees("Confirm form resubmission")
    person.tap("Cancel")
    assert len(site.asked) == 2, "a form is not sent again without a word"


async def test_enter_in_a_field_sends_its_form(person: Person, world: World, site: Site) -> None:
    site.page("/", "<p>x</p>" * 40 + "<form action=/s><input name=q aria-label=Find></form>")
    site.page("/s", "<p>Found")
    await visit(person, site.url)
    person.scroll_to("Find")
    person.tap("Find")
    assert person.find("Find").focused, "the keyboard does not cover the field it writes to"
    person.type("boats")
    person.enter()
    await world.background.settled()
    assert site.asked[-1].path == "/s?q=boats"


async def test_refresh_asks_the_host_again(person: Person, world: World, site: Site) -> None:
    site.page("/", "<p>first")
    await visit(person, site.url)
    site.page("/", "<p>second")
    person.tap("Refresh")
    await world.background.settled()
    assert person.sees("second")


@pytest.mark.parametrize(
    ("url", "heading", "code"),
    [
        ("example.com", "This site can’t be reached", "ERR_NAME_NOT_RESOLVED"),
        ("10.0.2.2:1", "This site can’t be reached", "ERR_CONNECTION_REFUSED"),
        ("https://bank.example/", "This site can’t be reached", "ERR_NAME_NOT_RESOLVED"),
        ("what is a boat", "This site can’t be reached", "ERR_NAME_NOT_RESOLVED"),
        ("ftp://10.0.2.2/", "This site can’t be reached", "ERR_UNKNOWN_URL_SCHEME"),
    ],
)
async def test_a_page_that_cannot_be_had_says_why(
    person: Person, url: str, heading: str, code: str
) -> None:
    await visit(person, url)
    assert person.sees(heading)
    assert person.sees(code)
    person.back()
    assert person.sees("New tab")


async def test_without_a_network_there_is_a_button_to_try_again(
    person: Person, world: World, site: Site
) -> None:
    site.page("/", "<p>hello")
    world.settings.put("global", "airplane_mode_on", "1")
    await visit(person, site.url)
    assert person.sees("No internet")
    world.settings.put("global", "airplane_mode_on", "0")
    person.tap("Reload")
    await world.background.settled()
    assert person.sees("hello")


async def test_https_on_the_host_is_not_private(person: Person, site: Site) -> None:
    await visit(person, site.url.replace("http:", "https:"))
    assert person.sees("Your connection is not private")
    assert person.sees("NET::ERR_CERT_AUTHORITY_INVALID")


async def test_a_port_that_adb_reversed_is_a_page_on_localhost(
    person: Person, world: World
) -> None:
    async def serve(wire: Wire) -> None:
        await wire.read()
        await wire.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>from the host")
        wire.close()

    port = world.network.listen(0, serve)
    await visit(person, f"localhost:{port}")
    assert person.sees("from the host")


async def test_an_intent_opens_a_page_once(person: Person, world: World, site: Site) -> None:
    site.page("/a", "<p>by intent")
    intent = Intent(VIEW, data=f"{site.url}/a")
    world.apps["com.android.chrome"].open(world, intent)
    assert world.windows.launch(intent) is not None
    await world.background.settled()
    assert person.sees("by intent")
    assert len(site.asked) == 1, "asking who answers an intent fetches nothing"


async def test_a_file_is_downloaded_after_a_word_and_opened_from_files(
    person: Person, world: World, site: Site
) -> None:
    site.page("/", "<a href=/get>Report</a>")
    header = ("Content-Disposition", 'attachment; filename="../report.txt"')
    site.pages["/get"] = Answer(b"the figures", mime="text/plain", headers=(header,))
    await visit(person, site.url)
    for answer in ("Cancel", "Download"):
        person.tap("Report")
        await world.background.settled()
        assert person.sees("Download file?")
        assert downloads.downloads(world) == []
        person.tap(answer)
        assert person.sees("Report"), "the page is still there"
    [kept] = downloads.downloads(world)
    assert kept.status == downloads.SUCCESS
    assert world.disk.read(kept.path, 0) == b"the figures"
    assert kept.path.startswith("/storage/emulated/0/Download/")
    assert not any(world.disk.own("/data/data/com.android.chrome/cache/downloads").iterdir())
    person.pull_shade()
    person.tap("Download complete")
    person.tap(kept.title)
    assert person.sees("the figures")


async def test_a_page_that_never_rests_is_marked_and_one_after_it_is_not(
    person: Person, world: World, site: Site
) -> None:
    site.page("/", "<marquee>news</marquee><a href=/calm>calm</a>")
    site.page("/calm", "<p>quiet")
    await visit(person, site.url)
    assert world.windows.idle_in_s() == float("inf")
    person.tap("calm")
    await world.background.settled()
    assert world.windows.idle_in_s() < 10


async def test_a_load_caught_by_a_snapshot_is_interrupted_and_not_sent_again(
    person: Person, world: World
) -> None:
    async with saying(b"", hold=True) as port:
        person.open("Browser")
        person.fill(ADDRESS, f"10.0.2.2:{port}")
        person.enter()
        memory = json.loads(json.dumps(world.save_memory()))
        world.load_memory(memory)
        assert person.sees("Your connection was interrupted")
        assert person.sees("Reload")
        await world.background.settled()


async def test_a_loaded_page_comes_back_with_a_snapshot(
    person: Person, world: World, site: Site
) -> None:
    site.page("/", "<p>kept</p><input aria-label=Word>")
    await visit(person, site.url)
    person.fill("Word", "typed")
    memory = json.loads(json.dumps(world.save_memory()))
    person.home()
    world.load_memory(memory)
    assert person.sees("kept")
    assert person.find("Word").text == "typed"
    assert len(site.asked) == 1


async def test_a_page_left_before_it_came_changes_nothing(
    person: Person, world: World, site: Site
) -> None:
    site.page("/", "<p>late")
    person.open("Browser")
    person.fill(ADDRESS, site.url)
    person.enter()
    person.back()
    await world.background.settled()
    assert person.sees("New tab")
    assert world.databases.query(HISTORY, "SELECT * FROM urls") == []


async def test_a_huge_hostile_page_is_shown_in_part_and_stays_small(
    person: Person, world: World, site: Site
) -> None:
    site.page("/", "<div>" * 20_000 + "<p>top</p>" + "<p>filler <a href=/x>x</a>" * 30_000)
    await visit(person, site.url)
    assert person.sees("top")
    assert len(json.dumps(world.windows.save())) < 2_000_000
    assert draw.png(world.windows.roots())


async def test_the_back_stack_does_not_grow_for_ever(
    person: Person, world: World, site: Site
) -> None:
    site.page("/", "<a href=/>again</a>")
    await visit(person, site.url)
    for _ in range(20):
        person.tap("again")
        await world.background.settled()
    assert len(world.windows.tasks[-1].screens) <= 14


async def test_a_link_for_another_app_goes_to_it(person: Person, site: Site) -> None:
    site.page("/", "<a href='tel:5551234'>Call us</a> <a href='javascript:x()'>Nothing</a>")
    await visit(person, site.url)
    person.tap("Nothing")
    assert person.sees("Call us")
    person.tap("Call us")
    assert person.sees("5551234") or person.sees("555-1234") or "dialer" in person.activity()


async def test_a_long_list_of_choices_scrolls_in_its_dialog(person: Person, site: Site) -> None:
    options = "".join(f"<option value={n}>Item {n}" for n in range(40))
    site.page("/", f"<select name=s aria-label=Choice>{options}</select>")
    await visit(person, site.url)
    person.tap("Choice")
    assert not person.sees("Item 39")
    person.scroll_to("Item 39")
    person.tap("Item 39")
    assert person.find("Choice").text == "Item 39"
