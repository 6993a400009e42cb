"""`rubricgrade schema`: the JSON Schema of a file format, for editors and other programs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from rubricgrade.cli.output import print_json


class Format(StrEnum):
    """What has a schema."""

    RUBRIC = "rubric"
    GRADE = "grade"
    TRAJECTORY = "trajectory"
    VERDICT = "verdict"
    REVIEW = "review"


def schema(
    of: Annotated[Format, typer.Argument(metavar="[rubric|grade|trajectory|verdict|review]")] = Format.RUBRIC,
) -> None:
    """Print the JSON Schema of a file format."""
    print_json(_schema(of))


def _schema(of: Format) -> dict[str, Any]:
    match of:
        case Format.RUBRIC:
            from rubricgrade.loading import rubric_schema

            return rubric_schema()
        case Format.GRADE:
            from rubricgrade.result import Grade

            return Grade.model_json_schema(mode="serialization")
        case Format.TRAJECTORY:
            from rubricgrade.readers import trajectory_schema

            return trajectory_schema()
        case Format.VERDICT:
            from rubricgrade.store.recorded import Verdict

            return Verdict.model_json_schema(mode="serialization")
        case Format.REVIEW:
            from rubricgrade.review.records import record_schema

            return record_schema()
