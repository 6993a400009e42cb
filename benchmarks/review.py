"""How fast a 12 MB transcript opens in the review app, against a static HTML file with the same text.

    python benchmarks/review.py [--runs 5] [--megabytes 12]

Both are opened by the system's Chromium in turn, each in a fresh context, and timed from the request until the page has
loaded and its first step is drawn. The app is asked twice: right after it started (it reads and checks the trajectory)
and again. Needs `make test-browser` to have installed playwright.
"""

from __future__ import annotations

import argparse
import html
import importlib.util
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from rubricgrade.grading.assembly import assemble
from rubricgrade.loading import parse_rubric
from rubricgrade.readers import load_trajectory
from rubricgrade.result import CriterionResult, Isolation, JudgeRecord
from rubricgrade.store.grades import write_grade

RUBRIC = "id: long\ncriteria:\n  - {id: done, points: 1, description: the task is done, judge: {}}\n"
STEP = 4000


def write_run(folder: Path, size: int) -> list[str]:
    """One graded episode of about so many characters; its texts."""
    line = "2026-11-30T01:36:36Z worker-7 <info> copied part %d of the archive, 4096 bytes, checksum ok\n"
    texts = ["Copy the archive."]
    texts += [
        "".join(line % (number * 100 + row) for row in range(STEP // len(line))) for number in range(size // STEP)
    ]
    steps: list[dict[str, Any]] = [
        {"role": "assistant" if number % 2 else "user", "content": [{"type": "text", "text": text}]}
        for number, text in enumerate(texts)
    ]
    place = folder / "one"
    place.mkdir(parents=True)
    (folder / "rubric.yaml").write_text(RUBRIC)
    (place / "trajectory.json").write_text(
        json.dumps({"schema": "rubricgrade.trajectory/1", "id": "one", "steps": steps})
    )
    rubric = parse_rubric(RUBRIC)
    result = CriterionResult(
        id="done",
        description="the task is done",
        verdict="met",
        value=1.0,
        by="judge",
        points=1,
        judge=JudgeRecord(model="x"),
    )
    trajectory = load_trajectory(place)
    grade = assemble(rubric, trajectory, [], [result], judge=None, workspace=None, isolation=Isolation(), seconds=0)
    write_grade(grade, place)
    return texts


def static_page(texts: list[str]) -> str:
    """The same text as plainly as can be."""
    steps = "".join(f"<article><pre>{html.escape(text)}</pre></article>" for text in texts)
    return f"<!doctype html><meta charset=utf-8><title>static</title><link rel=icon href='data:,'>{steps}"


def seconds_to_open(browser: Any, address: str) -> float:
    """From the request until everything has loaded and something was drawn."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    started = time.perf_counter()
    page.goto(address, wait_until="load")
    page.locator("article").first.wait_for(state="visible")
    # Two frames: the first one may be drawn without the page.
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    spent = time.perf_counter() - started
    context.close()
    return spent


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=12)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        print("not measured: needs playwright (make test-browser) and the system's Chromium (apt-get install chromium)")
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only `make test-browser` installs it

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        texts = write_run(folder / "run", int(arguments.megabytes * 1e6))
        static = folder / "static.html"
        static.write_text(static_page(texts))
        command = [
            Path(sys.executable).with_name("rubricgrade"),
            "review",
            folder / "run",
            "--port",
            "0",
            "--reviewer",
            "a",
        ]
        server = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            found = next(match for line in server.stderr if (match := re.search(r"http://\S+", line)))
            item = re.search(r"/review/\w+", urlopen(found[0] + "queue").read().decode())
            assert item is not None
            address = found[0].rstrip("/") + item[0]
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            seconds_to_open(browser, "data:text/html,<article>warm</article>")
            first = seconds_to_open(browser, address)
            pairs = [
                (seconds_to_open(browser, static.as_uri()), seconds_to_open(browser, address))
                for _ in range(arguments.runs)
            ]
            browser.close()
        finally:
            server.terminate()
            server.wait()
        plain = statistics.median(one for one, _ in pairs)
        ours = statistics.median(other for _, other in pairs)
        print(f"text: {sum(map(len, texts)) / 1e6:.1f} MB in {len(texts)} steps; {arguments.runs} runs each")
        print(f"static file: median {plain:.2f} s ({min(p for p, _ in pairs):.2f} to {max(p for p, _ in pairs):.2f})")
        print(f"review app:  median {ours:.2f} s ({min(o for _, o in pairs):.2f} to {max(o for _, o in pairs):.2f})")
        print(f"review app, first time: {first:.2f} s")
        print(f"ratio: {ours / plain:.2f}; first time {first / plain:.2f} (at most 2)")


if __name__ == "__main__":
    main()
