"""Draws figures as SVG: static, without scripts, the same for the same figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pygal
from pygal.style import Style

STYLE = Style(
    background="white",
    plot_background="white",
    font_family="sans-serif",
    opacity="1",
    stroke_opacity="1",
    stroke_width="2",
    guide_stroke_color="#cccccc",
    major_guide_stroke_color="#cccccc",
    title_font_size=15,
    label_font_size=12,
    major_label_font_size=12,
    legend_font_size=12,
    colors=("#b3261e", "#1f4e9c", "#1b7a4b", "#7a7a7a"),
)
Series = Mapping[str, Sequence[float | None]]


def draw(path: Path, title: str, x: tuple[str, Sequence[str]], y: str, series: Series, **more: Any) -> None:
    """Draws lines over the labels of the x axis, from zero."""
    highest = max((value for values in series.values() for value in values if value is not None), default=0)
    chart = pygal.Line(
        width=800,
        height=400,
        explicit_size=True,
        style=STYLE,
        js=(),
        no_prefix=True,
        title=title,
        x_title=x[0],
        y_title=y,
        x_labels=list(x[1]),
        range=(0, highest * 1.05 or 1),
        truncate_label=-1,
        truncate_legend=-1,
        legend_at_bottom=True,
        legend_at_bottom_columns=len(series),  # pygal reserves no room for a row with fewer.
        **more,
    )
    chart.value_formatter = lambda value: f"{value:,.10g}"
    for name, values in series.items():
        chart.add(name, [None if value is None else round(value, 3) for value in values])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(static(chart.render_tree()) + "\n")


def static(root: ElementTree.Element) -> str:
    """Leaves out scripts, what only scripts show, and comments, which have a date."""
    for parent in list(root.iter()):
        for child in list(parent):
            tag = child.tag if isinstance(child.tag, str) else "comment"
            hidden = child.get("class", "") in ("plot text-overlay", "plot tooltip-overlay")
            if tag in ("script", "comment", "desc") or hidden:
                parent.remove(child)
    for element in root.iter():
        for name in [name for name, value in element.attrib.items() if name == "id" or value == ""]:
            del element.attrib[name]
    return ElementTree.tostring(root, encoding="unicode")
