"""The wheel, installed elsewhere, is the whole product: program, schemas, ready rubrics and templates, grading."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from rubricgrade.version import __version__

ROOT = Path(__file__).parent.parent
EPISODE = ROOT / "examples" / "add"


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from the sdist alone."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    return out


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a fresh environment with the wheel in it; dependencies are lent by ours."""
    home = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    (wheel,) = built.glob("*.whl")
    python = home / "bin" / "python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        wheel,
        cwd=home,
    )
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).stdout.strip())
    # A path in a .pth file is searched last, and the .pth files inside it (ours is an editable install) are not read.
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def test_both_archives_hold_what_they_should(built: Path) -> None:
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "rubricgrade/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "examples/"))]
    with tarfile.open(sdist) as archive:
        tops = {Path(name).parts[1] for name in archive.getnames() if len(Path(name).parts) > 1}
    assert {
        "rubricgrade",
        "rubrics",
        "sandboxes",
        "tests",
        "examples",
        "README.md",
        "LICENSE",
        "pyproject.toml",
    } <= tops


def test_it_is_the_installed_one(installed: Path, tmp_path: Path) -> None:
    where = run(installed / "python", "-c", "import rubricgrade; print(rubricgrade.__file__)", cwd=tmp_path).stdout
    assert Path(where.strip()).is_relative_to(installed.parent)


def test_version_and_schema(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "rubricgrade", "--version", cwd=tmp_path).stdout == f"rubricgrade {__version__}\n"
    schema = json.loads(run(installed / "rubricgrade", "schema", "rubric", cwd=tmp_path).stdout)
    assert schema["type"] == "object"


@pytest.mark.parametrize("kind", ["rubrics", "sandboxes"])
def test_what_ships_is_found(installed: Path, tmp_path: Path, kind: str) -> None:
    code = f"from rubricgrade.library import ready; print(*[folder.name for folder in ready({kind!r})], sep='\\n')"
    found = run(installed / "python", "-c", code, cwd=tmp_path).stdout.split()
    assert found == sorted(folder.name for folder in (ROOT / kind).iterdir() if folder.is_dir())


def test_every_ready_rubric_loads_by_its_name(installed: Path, tmp_path: Path) -> None:
    code = "from rubricgrade.library import ready\nfrom rubricgrade.loading import load_rubric\n"
    code += "for folder in ready('rubrics'): print(load_rubric(folder.name, partial=True).id)"
    assert run(installed / "python", "-c", code, cwd=tmp_path).stdout.split()


def test_it_grades_an_example_from_another_folder(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(EPISODE, tmp_path / "add")
    done = run(installed / "rubricgrade", "grade", "add", "add/episodes", "--json", "-o", "grades", cwd=tmp_path)
    grades = {grade["trajectory"]["id"]: grade["score"] for grade in json.loads(done.stdout)["grades"]}
    assert sorted(grades.values()) == [0, 1]
    assert len(list((tmp_path / "grades").glob("*/grades/*.json"))) == 2
