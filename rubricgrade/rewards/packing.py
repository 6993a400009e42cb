"""Episodes and rubrics as a request to our reward server holds them: JSON, with files as base64 of a ``.tar.zst``."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import Any

from rubricgrade import tree
from rubricgrade.loading.yamltext import to_yaml
from rubricgrade.readers import native_document
from rubricgrade.rubric import Rubric
from rubricgrade.trajectory import Trajectory

REQUEST = "rubricgrade-request"
"""The header in which a client names a request, and the server's answer the request that it belongs to."""


def packed_rubric(rubric: Rubric) -> dict[str, str]:
    """All of a rubric, with its sealed files: ``{"yaml"}`` or ``{"archive"}``. Read again, it has the same hash."""
    # Its own examples lie in files that are not sealed, and don't matter for a grade.
    text = to_yaml(rubric.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"examples"}))
    if not rubric.sealed:
        return {"yaml": text}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "rubric")
        for path, data in {**rubric.sealed, "rubric.yaml": text.encode()}.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return {"archive": _packed(folder)}


def packed_episode(trajectory: Trajectory) -> dict[str, Any]:
    """A trajectory with its workspace and its world, if it has any."""
    fields: dict[str, Any] = {"trajectory": native_document(trajectory)}
    if (workspace := trajectory.workspace) is not None:
        fields["workspace"] = _packed(workspace)
        fields["workspace_as"] = "folder" if workspace.is_dir() else "archive"
    if (world := trajectory.world) is not None:
        fields["world"] = _packed(world)
    return fields


def _packed(place: Path) -> str:
    """A folder, or an archive as it is, as base64."""
    if not place.is_dir():
        return base64.b64encode(place.read_bytes()).decode()
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "packed.tar.zst")
        tree.pack(place, archive)
        return base64.b64encode(archive.read_bytes()).decode()
