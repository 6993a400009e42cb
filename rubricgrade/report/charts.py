"""Charts as SVG to be put into a page: drawn by pygal, with nothing in them that runs or points elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from xml.etree import ElementTree as ET

from rubricgrade.errors import MissingExtraError
from rubricgrade.report.overview import Bin, ItemRate
from rubricgrade.report.visible import one_line

SVG = "{http://www.w3.org/2000/svg}"
WIDTH = 720
ROW = 26
LABEL = 40
BLUE, GREEN, RED = "#3b6fb6", "#3a8a4f", "#b5483a"


def scores_chart(bins: Sequence[Bin]) -> str:
    """How many episodes have a score in each range, as a bar chart."""
    chart = _chart("Bar", "scores", BLUE, height=240)
    chart.x_labels = [each.label for each in bins]
    chart.y_labels = _whole(max((each.count for each in bins), default=0))
    chart.add("episodes", [each.count or None for each in bins])
    return _drawn(chart)


def rates_chart(items: Sequence[ItemRate]) -> str:
    """Share of decided episodes that meet each item: green where that earns something, red where it costs."""
    known = [item for item in reversed(items) if item.rate is not None]
    chart = _chart("HorizontalBar", "rates", GREEN, height=60 + ROW * len(known))
    chart.x_labels = [one_line(item.label, LABEL) for item in known]
    chart.range, chart.y_labels = (0, 1), (0, 0.2, 0.4, 0.6, 0.8, 1)
    chart.value_formatter = _percent
    bars = [{"value": item.rate, "color": RED if item.costs else GREEN} for item in known]
    chart.add("met", bars)
    return _drawn(chart)


def bars(title: str, counts: Mapping[str, int]) -> str:
    """A picture of its own: a title, and one bar with its number for each name, in the order given.

    Raises:
        MissingExtraError: The library for charts is not installed.
    """
    rows = list(counts.items())[::-1]
    chart = _chart("HorizontalBar", "bars", BLUE, height=70 + ROW * len(rows))
    chart.title = title
    chart.x_labels = [one_line(name, LABEL) for name, _ in rows]
    chart.y_labels = _whole(max(counts.values(), default=0))
    chart.add(title, [count for _, count in rows])
    return _drawn(chart)


def _whole(most: int) -> range:
    """Labels of an axis that counts: whole numbers, about six of them."""
    return range(0, most + 1, max(1, -(-most // 6)))


def _percent(value: float) -> str:
    return f"{value:.0%}"


def _chart(kind: str, name: str, color: str, *, height: int) -> Any:
    pygal, style = _pygal()
    look = style.Style(
        background="transparent",
        plot_background="transparent",
        foreground="#777",
        foreground_strong="#777",
        foreground_subtle="#777",
        guide_stroke_color="#8885",
        major_guide_stroke_color="#8885",
        font_family="sans-serif",
        label_font_size=11,
        major_label_font_size=11,
        value_font_size=11,
        value_colors=("#777",),
        colors=(color,),
    )
    chart = getattr(pygal, kind)(
        style=look,
        js=[],
        width=WIDTH,
        height=height,
        show_legend=False,
        print_values=True,
        margin=8,
        truncate_label=-1,
        print_values_position="top",
    )
    # The name is the prefix of its rules of style; a random one would make every report another file.
    chart.uuid = name
    return chart


def _pygal() -> tuple[Any, Any]:
    if find_spec("pygal") is None:
        raise MissingExtraError("A chart", "report")
    found = import_module("pygal"), import_module("pygal.style")
    # On import pygal puts a finder of an old kind into everybody's way, for maps that are not drawn here: Python 3.11
    # warns at each import that comes by it. Finders that other packages put there on the way are needed by them.
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "pygal"]
    return found


def _drawn(chart: Any) -> str:
    """The chart as text, without pygal's script and comments."""
    root: ET.Element = chart.render_tree()
    # The list is made first: where lxml is installed pygal takes it, and its walk ends at what is removed under way.
    for parent in list(root.iter()):
        for child in list(parent):
            # A comment's tag is a function.
            if callable(child.tag) or child.tag.removeprefix(SVG) == "script":
                parent.remove(child)
    ET.register_namespace("", SVG.strip("{}"))
    return ET.tostring(root, encoding="unicode")
