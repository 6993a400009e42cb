"""A whole audit of the example run in the system's Chromium, and the screenshots of the docs."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.review.desk import Desk
from rubricgrade.review.tables import FORMS
from tests.cli.program import run as program
from tests.review.made import Made, Said, desk_of, steps, write_run
from tests.review.serving import served
from tests.review.test_security import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "travel-mis"
PICTURES = os.environ.get("RUBRICGRADE_PICTURES")
"""Where to put screenshots; without it they are taken all the same, and thrown away."""
STILL = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  for (let seen = -1, same = 0; same < 10; same = seen === window.scrollY + document.body.scrollHeight ? same + 1 : 0) {
    seen = window.scrollY + document.body.scrollHeight;
    await frame();
  }
}"""
"""Returns once neither place nor height of the page has changed for ten frames."""
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="needs playwright: make test-browser installs it")
    if CHROMIUM is None:
        pytest.skip("needs Chromium of the system: apt-get install chromium")
    with driver.sync_playwright() as playwright:
        # Chromium's own sandbox needs what root and containers lack; the pages are our own.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, graded with its recorded verdicts."""
    copy = shutil.copytree(
        EXAMPLE, tmp_path_factory.mktemp("example") / "travel-mis", ignore=shutil.ignore_patterns("grades")
    )
    cache = copy.parent / "cache.db"
    done = program("grade", copy / "rubric.yaml", copy / "episodes", "--offline", "--cache", cache)
    assert done.code == 0, done.err
    return copy


Judge = dict[tuple[str, str], dict[str, Any]]


class Reader:
    """A page that takes note of everything that its console says."""

    def __init__(self, browser: Any, address: str, **context: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1180, "height": 740}, **context)
        self.page = self.context.new_page()
        self.address = address
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))

    def go(self, path: str) -> str:
        self.page.goto(self.address.rstrip("/") + path)
        return self.page.content()

    def sit(self, name: str) -> None:
        self.go("/seat")
        self.page.fill("[name=name]", name)
        self.page.click("main button.primary")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def decide(self, key: str) -> None:
        """The next waiting item, with keys alone."""
        self.go("/review")
        assert not self.page.query_selector(".panel.open")
        self.press(key, "Control+Enter")
        self.page.wait_for_selector(".panel.open")

    def picture(self, name: str) -> None:
        # Steps that come into sight for the first time get their real height, and the page moves under the camera.
        self.page.evaluate(STILL)
        self.page.screenshot(path=Path(PICTURES) / f"{name}.png" if PICTURES else None, scale="css")


@pytest.fixture
def reader(chromium: Any, graded: Path) -> Generator[Reader]:
    with served(graded / "episodes", "--reviewer", "anna", "--cache", str(graded.parent / "cache.db")) as address:
        made = Reader(chromium, address)
        yield made
        made.context.close()
        assert made.said == []


def judge_said(run: Path) -> Judge:
    return {
        (file.parent.parent.name, result["id"]): result
        for file in run.rglob("grades/*.json")
        for result in json.loads(file.read_text())["criteria"]
    }


def test_a_whole_audit(reader: Reader, graded: Path, tmp_path: Path) -> None:
    run = graded / "episodes"
    judge = judge_said(run)
    review_first_item(reader, run, judge)
    decide_the_rest(reader, run, judge)
    override_and_undo(reader, run, judge)
    settle_first_dispute(reader)
    reader.go("/agreement")
    reader.picture("agreement")
    check_agreement(reader.page, desk_of(run), judge)
    check_export(reader, graded, tmp_path)
    reader.go("/")
    reader.picture("overview")
    reader.page.click("text=copied-the-team")
    assert "of 8 \u2192" in reader.page.inner_text(".sum")
    reader.picture("trajectory")
    for path in ("/queue", "/compare", "/export", "/seat", "/criterion/one-page"):
        reader.go(path)


def review_first_item(reader: Reader, run: Path, judge: Judge) -> None:
    """Blind, with keys alone; then the judge's verdict appears beside one's own, and the page stays where it was."""
    page = reader.page
    reader.go("/queue")
    reader.press("Enter")
    page.wait_for_url("**/review/*")
    item = next(item for item in desk_of(run).items.values() if item.id in page.url)
    told = judge[item.episode, item.criterion]
    assert told["reasoning"]
    assert told["reasoning"][:40] not in page.content()
    assert "<mark" not in page.content()
    reader.picture("review-blind")
    page.evaluate("window.scrollTo(0, 900)")
    reader.press("2", "c")
    page.keyboard.type("I looked at the mail and found neither.")
    reader.press("Control+Enter")
    page.wait_for_selector(".panel.open")
    assert page.evaluate("window.scrollY") == 900, "the place where one reads is kept"
    assert told["reasoning"][:40] in page.content()
    assert told["evidence"]
    reader.press("n")
    page.wait_for_selector("mark:target")
    reader.picture("review-open")


def decide_the_rest(reader: Reader, run: Path, judge: Judge) -> None:
    """Anna agrees with the judge but for what `one-page` asks; ben decides a part of it too."""
    while "/review/" in (reader.go("/review") and reader.page.url):
        item = next(item for item in desk_of(run).items.values() if item.id in reader.page.url)
        same = judge[item.episode, item.criterion]["verdict"] == "met"
        reader.decide("2" if item.criterion == "one-page" or not same else "1")
    reader.sit("ben")
    for _ in range(6):
        reader.decide("1")
    reader.sit("anna")


def override_and_undo(reader: Reader, run: Path, judge: Judge) -> None:
    page = reader.page
    disputed = next(
        item
        for item in desk_of(run).items.values()
        if item.criterion == "one-page" and judge[item.episode, item.criterion]["verdict"] == "met"
    )
    reader.go(f"/review/{disputed.id}")
    reader.press("c")
    page.keyboard.type("the second sheet is empty, it prints on one")
    reader.press("Escape", "a")
    page.wait_for_selector(".reason >> text=the second sheet")
    opinion = desk_of(run).opinion(disputed, "anna")
    assert opinion.first is not None
    assert opinion.final is not None
    assert (opinion.first.verdict, opinion.final.verdict) == ("not_met", "met")
    assert opinion.final.why.startswith("the second sheet")
    reader.press("u")
    page.wait_for_selector(".reason >> text=the second sheet", state="detached")
    assert desk_of(run).opinion(disputed, "anna").final == opinion.first
    reader.press("k")
    page.wait_for_selector(".htmx-request", state="detached")
    page.wait_for_selector(".again[open]")


def settle_first_dispute(reader: Reader) -> None:
    page = reader.page
    reader.go("/adjudicate")
    reader.press("Enter")
    page.wait_for_url("**/adjudicate/*")
    reader.picture("adjudicate")
    reader.press("1")
    page.select_option("#cause", "reviewer_wrong")
    page.fill("#why", "one page when printed")
    reader.press("Control+Enter")
    page.wait_for_url("**/adjudicate")
    assert "one page when printed" in page.content()


def check_export(reader: Reader, graded: Path, folder: Path) -> None:
    """What is taken out, read in elsewhere and taken out again, is the same."""
    for form in FORMS:
        with reader.page.expect_download() as download:
            reader.go("/export")
            reader.page.get_by_role("link", name=f"First verdicts as {form}", exact=True).click()
        file, again = folder / f"labels.{form}", folder / f"again.{form}"
        download.value.save_as(file)
        clean = shutil.copytree(graded / "episodes", folder / form, ignore=shutil.ignore_patterns("reviews"))
        for option, path in (("--labels-in", file), ("--labels-out", again)):
            assert program("review", clean, "--rubric", graded / "rubric.yaml", option, path).code == 0
        assert again.read_bytes() == file.read_bytes()


def check_agreement(page: Any, desk: Desk, judge: Judge) -> None:
    """The figures on the page are those of a recount from the records."""
    for criterion in {item.row for item in desk.items.values()}:
        equal: list[bool] = []
        for item in desk.items.values():
            firsts = [opinion.first.verdict for opinion in desk.opinions(item).values() if opinion.first]
            if item.row == criterion and firsts and 2 * max(map(firsts.count, firsts)) > len(firsts):
                equal.append(max(firsts, key=firsts.count) == judge[item.episode, criterion]["verdict"])
        row = page.locator(f"tr[data-criterion={criterion}]")
        assert row.locator("[data-figure=n]").inner_text() == str(len(equal))
        assert row.locator("[data-figure=accuracy]").inner_text().startswith(f"{sum(equal) / len(equal):.2f}")


def test_the_dark_page_and_the_small_one(chromium: Any, graded: Path) -> None:
    with served(graded / "episodes", "--reviewer", "carla") as address:
        reader = Reader(chromium, address, color_scheme="dark")
        reader.decide("1")
        reader.picture("review-dark")
        paper = reader.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert max(map(int, re.findall(r"\d+", paper)[:3])) < 60
        reader.page.set_viewport_size({"width": 390, "height": 800})
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390, "nothing runs off a small screen"
        assert reader.said == []
        reader.context.close()


def test_without_script(chromium: Any, graded: Path) -> None:
    with served(graded / "episodes", "--reviewer", "dora") as address:
        reader = Reader(chromium, address, java_script_enabled=False)
        reader.go("/review")
        reader.page.click("label.answer >> nth=1")
        with reader.page.expect_navigation():
            reader.page.click("button.primary")
        assert "before you saw the judge's" in reader.page.content()
        with reader.page.expect_navigation():
            reader.page.click("text=Next")
        assert "/review/" in reader.page.url
        reader.context.close()


def test_keys_do_nothing_where_they_would_harm(chromium: Any, graded: Path) -> None:
    with served(graded / "episodes", "--reviewer", "emil") as address:
        reader = Reader(chromium, address)
        page = reader.page
        chosen = "document.querySelector('[name=verdict]:checked')?.value ?? null"
        reader.go("/review")
        page.click("#why")
        reader.press("1", "j")
        assert page.input_value("#why") == "1j"
        assert page.evaluate(chosen) is None
        reader.press("Escape", "?", "1")
        assert page.evaluate(chosen) is None, "the sheet of keys is open"
        reader.press("?", "1")
        assert page.evaluate(chosen) == "met"
        page.evaluate("getSelection().selectAllChildren(document.querySelector('.step .text'))")
        reader.press("e")
        assert len(page.input_value("#quotes")) > 20
        reader.press("?")
        page.click("text=Switch keys off")
        page.wait_for_selector("[data-keys=off]")
        reader.go("/review")
        reader.press("1")
        assert page.evaluate(chosen) is None
        assert reader.said == []
        reader.context.close()


def test_hostile_trajectories_change_nothing_but_the_text(chromium: Any, tmp_path: Path) -> None:
    talk: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "do it"}]}]
    talk += [{"role": "assistant", "content": [{"type": "text", "text": text}]} for text in HOSTILE]
    said = {"polite": Said("met", "\n".join(text for text in HOSTILE if "pair" not in text), HOSTILE[:1])}
    run = write_run(tmp_path / "run", {"one": Made(talk, said), "two": Made(steps("do it", "done"), said)})
    with served(run, "--reviewer", "anna") as address:
        reader = Reader(chromium, address)
        shapes: dict[str, list[str]] = {}
        for episode in ("one", "two"):
            item = next(i for i in desk_of(run).items.values() if (i.episode, i.criterion) == (episode, "polite"))
            reader.go(f"/review/{item.id}")
            reader.press("1", "Control+Enter")
            reader.page.wait_for_selector(".panel.open")
            assert reader.page.title().startswith("polite of")
            assert reader.page.evaluate("document.documentElement.scrollWidth") <= 1180
            shapes[episode] = reader.page.evaluate(
                "[...document.querySelectorAll('*')].map(e => e.tagName).filter(n => !['ARTICLE','DIV','HEADER','SPAN','A','MARK','INPUT'].includes(n))"
            )
        assert len(set(shapes["one"])) == len(set(shapes["two"])), "no element that other pages lack"
        assert reader.said == []
        reader.context.close()


def test_later_steps_load_while_one_scrolls(chromium: Any, tmp_path: Path) -> None:
    many = steps(*(f"this is step {number}, " + "word " * 1000 for number in range(120)))
    run = write_run(tmp_path / "run", {"one": Made(many, {"polite": Said("met", quotes=["this is step 119"])})})
    with served(run, "--reviewer", "anna") as address:
        reader = Reader(chromium, address)
        page = reader.page
        item = next(item for item in desk_of(run).items.values() if item.criterion == "polite")
        reader.go(f"/review/{item.id}")
        assert page.locator("article").count() < 120
        for _ in range(20):
            page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
            page.wait_for_timeout(150)
            if page.locator("article").count() == 120:
                break
        assert page.locator("article").count() == 120
        reader.press("1", "Control+Enter")
        page.wait_for_selector(".panel.open")
        assert page.locator("mark").text_content() == "this is step 119", "marked although it was loaded later"
        assert reader.said == []
        reader.context.close()
