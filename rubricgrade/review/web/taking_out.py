"""Labels and records as files to take away, and labels read in."""

from __future__ import annotations

import tempfile
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubricgrade.agreement import read_labels
from rubricgrade.errors import InputError
from rubricgrade.review.exporting import WHICH, import_labels, labels_file, labels_of, records_file
from rubricgrade.review.tables import FORMS, Form, has_parquet
from rubricgrade.review.web.front import desk_of, fault, form_of, front_of, message, page

KINDS: dict[Form, str] = {
    "jsonl": "application/jsonl; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


async def show(request: Request) -> Response:
    """What there is to take."""
    desk = desk_of(request)
    counts = {which: len(labels_of(desk, which)) for which in WHICH}
    return page(request, "export.html", counts=counts, forms=FORMS, parquet=has_parquet())


async def labels(request: Request) -> Response:
    """Labels that `rubricgrade agreement --labels` reads."""
    desk_of(request).require_whole()
    asked = request.query_params.get("which", "first")
    which = asked if asked in WHICH else "first"
    form = _form(request)
    return _file(
        f"labels-{which}", form, labels_file(labels_of(desk_of(request), which), form, redact=_redact(request))
    )


async def records(request: Request) -> Response:
    """Everything that people did."""
    desk_of(request).require_whole()
    form = _form(request)
    return _file("review-records", form, records_file(desk_of(request), form, redact=_redact(request)))


async def read_in(request: Request) -> Response:
    """Take labels that were pasted: JSON lines, or CSV with its header."""
    text = (await form_of(request)).text("labels").lstrip()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / ("pasted.jsonl" if text.startswith("{") else "pasted.csv")
        file.write_text(text, "utf-8", errors="replace")
        try:
            count = import_labels(desk_of(request), read_labels(file))
        except InputError as error:
            lines = [f"line {one.line}: {one.message}" if one.line else one.message for one in error.faults]
            return fault(request, InputError("\n".join(lines)))
    return message(request, 200, "Labels read in", [f"{count} were new. What was there already stayed."])


def _redact(request: Request) -> bool:
    return front_of(request).redact or request.query_params.get("redact") == "1"


def _form(request: Request) -> Form:
    form = request.path_params["form"]
    if form not in FORMS:
        raise HTTPException(404, f"one of {', '.join(FORMS)} can be taken out")
    return form


def _file(name: str, form: Form, data: bytes) -> Response:
    return Response(
        data,
        media_type=KINDS[form],
        headers={"content-disposition": f'attachment; filename="{name}.{form}"'},
    )


ROUTES: tuple[BaseRoute, ...] = (
    Route("/export", show),
    Route("/export", read_in, methods=["POST"]),
    Route("/export/labels.{form}", labels),
    Route("/export/records.{form}", records),
)
