"""HTML, Markdown and JUnit: what they say is there, and what others wrote is text in each of them."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rubricgrade.report.collecting import Collected
from rubricgrade.report.html import html_report
from rubricgrade.report.junit import junit_report
from rubricgrade.report.markdown import markdown_report, plain
from rubricgrade.report.overview import overview
from rubricgrade.store.grades import write_grade
from tests.authoring.calling import run
from tests.report.made import criterion, grade
from tests.report.run_made import HOSTILE, entry, whole_run


class Page(HTMLParser):
    """Tags with their attributes, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_says_what_there_is() -> None:
    text = html_report(whole_run())
    page = Page(text)
    for said in (
        "mean score",
        "0.4167",
        "judge_failed",
        "0 to 0.75",
        "lost",
        "stopped",
        "1.5 + 1",
        "$0.50",
        "✗ not found",
    ):
        assert said in page.text or said == "1.5 + 1"
    assert [tag for tag, _ in page.tags].count("svg") == 2
    assert [tag for tag, _ in page.tags].count("details") == 4
    # The same run is the same file.
    assert text == html_report(whole_run())


def test_the_page_fetches_and_runs_nothing() -> None:
    page = Page(html_report(whole_run(HOSTILE)))
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "img", "iframe", "object", "embed", "a", "form", "base"}
    policy = next(attrs for tag, attrs in page.tags if tag == "meta" and "http-equiv" in attrs)
    assert "default-src 'none'" in str(policy["content"])
    for tag, attrs in page.tags:
        for name, value in attrs.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in {"src", "xlink:href"}
            assert name != "href" or value == "data:,"


def test_hostile_text_is_there_as_text() -> None:
    page = Page(html_report(whole_run(HOSTILE)))
    assert "</script><script>alert(1)</script>" in page.text
    assert r"\u{1b}[31m" in page.text
    assert r"\u{202e}gnp" in page.text
    html_report(whole_run(HOSTILE)).encode()


def test_one_harmless_and_one_hostile_run_have_the_same_page_around_the_text() -> None:
    plain, hostile = (Page(html_report(whole_run(text))) for text in ("harmless", HOSTILE))
    assert [tag for tag, _ in plain.tags] == [tag for tag, _ in hostile.tags]


def test_runs_without_scores_or_verdicts_have_a_page() -> None:
    unasked = entry("e", None, criterion("a", 1, None, cause="no_judge"), cause="no_judge", causes=("no_judge",))
    text = Page(html_report(overview(Collected("x", (unasked,))))).text
    assert "No episode has a score." in text


def test_drawing_leaves_the_way_of_imports_alone() -> None:
    html_report(whole_run())
    assert all(hasattr(finder, "find_spec") for finder in sys.meta_path)
    assert metadata.version("pytest")


def test_markdown_is_a_table_in_which_nothing_is_marked_up() -> None:
    text = markdown_report(whole_run(HOSTILE))
    assert "4 episodes: 2 graded, 1 stopped by a gate or veto, 1 ungraded" in text
    assert "| right | 3 | 1/2 | 4.5 | 1.5 | 1 judge_failed |" in text
    for row in text.splitlines():
        if row.startswith("|"):
            assert row.count("|") in {4, 7}
    for sign in ("<", ">", "![", "](", "`", "@", "http://", "\x1b", "\u202e"):
        assert sign not in text
    assert not re.search(r"(?<!&)#\d", text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("calc/0 (says_total): 50%, a.b -- c = d?", "calc/0 (says_total): 50%, a.b -- c = d?"),
        ("http://e.test", "http&#58;//e.test"),
        ("WWW.e.test", "WWW&#46;e.test"),
        (":tada:", "&#58;tada:"),
        ("_a_ *b*", "&#95;a&#95; &#42;b&#42;"),
        ("![x](y) @me #1 $m$", "&#33;&#91;x&#93;(y) &#64;me &#35;1 &#36;m&#36;"),
        ("<b> `c` | \\", "&#60;b&#62; &#96;c&#96; &#124; &#92;"),
    ],
)
def test_only_what_markdown_acts_on_is_spelled_out(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_junit_counts_failures_and_errors_apart() -> None:
    suites = ET.fromstring(junit_report(whole_run()))
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("5", "1", "2")
    cases = {case.get("name"): case for case in suites.iter("testcase")}
    assert cases["stopped"].find("failure") is not None
    error = cases["open"].find("error")
    assert error is not None
    assert error.get("message") == "ungraded (judge_failed): the score lies in 0 to 0.75"
    assert cases["lost"].find("error") is not None
    strict = ET.fromstring(junit_report(whole_run(), at_least=0.5))
    assert strict.get("failures") == "2"
    (failure,) = strict.iterfind(".//testcase[@name='harmless']/failure")
    assert failure.text is not None
    assert "right: partly_met" in failure.text
    assert '"harmless"' in failure.text


def test_junit_of_hostile_text_is_xml() -> None:
    text = junit_report(whole_run(HOSTILE), at_least=1.0)
    text.encode()
    names = [case.get("name", "") for case in ET.fromstring(text).iter("testcase")]
    assert any("</script><script>" in name and r"\u{0}" in name for name in names)


def test_the_command_writes_whole_files(tmp_path: Path) -> None:
    for name, score in (("a", 1.0), ("b", 0.5)):
        write_grade(grade(score, criteria=(criterion("c", 1, score),)), tmp_path / "run" / name)
    done = run("report", tmp_path / "run", cwd=tmp_path)
    assert (done.code, done.out) == (0, "")
    assert f"written to {tmp_path / 'run' / 'report.html'}" in done.err
    assert (tmp_path / "run" / "report.html").read_text().startswith("<!doctype html>")
    assert not (tmp_path / "report.html").exists()
    assert "mean score **0.75**" in run("report", tmp_path / "run", "--format", "md").out
    junit = run("report", tmp_path / "run", "--format", "junit", "--min-score", "0.8", "-o", tmp_path / "j" / "out.xml")
    assert junit.code == 1
    assert run("report", tmp_path / "run", "--format", "md", "--min-score", "0.75").code == 0
    assert ET.parse(tmp_path / "j" / "out.xml").getroot().get("failures") == "1"
    none = run("report", tmp_path / "none")
    assert (none.code, "no such file or folder" in none.err) == (2, True)


def test_a_page_about_a_file_needs_a_place(tmp_path: Path) -> None:
    file = write_grade(grade(1.0, criteria=(criterion("c", 1, 1.0),)), tmp_path)
    done = run("report", file, cwd=tmp_path)
    assert done.code == 2
    assert "say where the page goes with -o FILE" in done.err
    assert run("report", file, "-o", tmp_path / "one.html").code == 0
    assert (tmp_path / "one.html").read_text().startswith("<!doctype html>")
    assert "say where the page goes" in run("report", "s3://bucket/run").err
