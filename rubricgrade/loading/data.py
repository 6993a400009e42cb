"""Data files beside a rubric: JSON or YAML, read as strictly as the rubric itself."""

from __future__ import annotations

import json
import math
from typing import Any

from rubricgrade import twice
from rubricgrade.errors import Fault, RubricError
from rubricgrade.loading import codes
from rubricgrade.loading.document import Document, Spot, read_document

MAX_BYTES = 64 << 20


def read_data(source: bytes, file: str) -> Any:
    """The value of a ``.json`` file, or of a YAML file under any other name.

    Raises:
        RubricError: It can't be read, or would be read as something else than it says (equal keys, NaN, dates...).
    """
    document = data_document(source, file)
    if document.faults:
        raise RubricError(document.faults)
    return document.data


def data_document(source: bytes, file: str) -> Document:
    """The same with faults instead of an exception; a JSON file has only one, and no places."""
    if not file.lower().endswith(".json"):
        return read_document(source, file, max_bytes=MAX_BYTES)
    document = Document(file)
    document.spots[()] = Spot(1, 1, 1, 1)
    try:
        document.data = json.loads(
            source, object_pairs_hook=twice.unique, parse_constant=_no_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        document.faults.append(Fault(f"is no JSON: {error.msg}", file, error.lineno, error.colno, codes.CONTENT))
    except twice.KeyTwice:
        found = twice.find(source.decode(json.detect_encoding(source), "surrogatepass"))
        message = f"key {found.key!r} stands twice in one object"
        document.faults.append(Fault(message, file, found.line, found.column, codes.CONTENT))
    except RecursionError:
        document.faults.append(Fault("is nested too deeply", file, 1, 1, codes.CONTENT))
    except ValueError as error:  # also UnicodeDecodeError, and numbers of thousands of digits
        document.faults.append(Fault(f"can't be read: {error}", file, 1, 1, codes.CONTENT))
    return document


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no finite number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number
