"""Labels and records as files to take away, and labels read in."""

from __future__ import annotations

import tempfile
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubricgrade.agreement import read_labels
from rubricgrade.errors import InputError
from rubricgrade.review.exporting import WHICH, import_labels, label_lines, labels_of, record_lines
from rubricgrade.review.web.front import desk_of, fault, form_of, front_of, message, page

KIND = "application/jsonl; charset=utf-8"


async def show(request: Request) -> Response:
    """What there is to take."""
    desk = desk_of(request)
    return page(request, "export.html", counts={which: len(labels_of(desk, which)) for which in WHICH})


async def labels(request: Request) -> Response:
    """Labels that `rubricgrade agreement --labels` reads."""
    asked = request.query_params.get("which", "first")
    which = asked if asked in WHICH else "first"
    text = label_lines(labels_of(desk_of(request), which), redact=_redact(request))
    return _file(f"labels-{which}.jsonl", text)


async def records(request: Request) -> Response:
    """Everything that people did."""
    return _file("review-records.jsonl", record_lines(desk_of(request), redact=_redact(request)))


async def read_in(request: Request) -> Response:
    """Take labels that were pasted."""
    form = await form_of(request)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pasted labels"
        file.write_text(form.text("labels"), "utf-8", errors="replace")
        try:
            count = import_labels(desk_of(request), read_labels(file))
        except InputError as error:
            lines = [f"line {one.line}: {one.message}" if one.line else one.message for one in error.faults]
            return fault(request, InputError("\n".join(lines)))
    return message(request, 200, "Labels read in", [f"{count} were new. What was there already stayed."])


def _redact(request: Request) -> bool:
    return front_of(request).redact or request.query_params.get("redact") == "1"


def _file(name: str, text: str) -> Response:
    return Response(
        text.encode(errors="replace"),
        media_type=KIND,
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


ROUTES: tuple[BaseRoute, ...] = (
    Route("/export", show),
    Route("/export", read_in, methods=["POST"]),
    Route("/export/labels.jsonl", labels),
    Route("/export/records.jsonl", records),
)
