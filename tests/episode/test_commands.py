"""What of a Dockerfile's RUN is carried out here, and what must be here in its place."""

from __future__ import annotations

import pytest

from rubricgrade.episode.commands import package_names, read_commands, script_packages


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("apt-get update && apt-get install -y python3-pip && rm -rf /var/lib/apt/lists/*", ""),
        ("apt-get update && python make.py && apt-get clean", "python make.py"),
        ("ln -s /usr/bin/python3 /usr/bin/python", ""),
        ("ln -s data/a data/b", "ln -s data/a data/b"),
        ("rm -rf /app/cache", "rm -rf /app/cache"),
        ("useradd -m agent && chown -R agent /app", ""),
        ("set -eux; pip install numpy; python make.py", "set -eux ; python make.py"),
        ("echo 'a && b; c' > note && git add install.py", "echo 'a && b; c' > note && git add install.py"),
        ("for n in 1 2; do echo $n > $n; done", "for n in 1 2; do echo $n > $n; done"),
        ("pip install numpy || true", ""),
        ("PIP_NO_CACHE=1 python3 -m pip install numpy", ""),
    ],
)
def test_installations_and_upkeep_of_the_system_are_left_out(text: str, run: str) -> None:
    assert read_commands(text, "/app").run == run


@pytest.mark.parametrize(
    ("text", "packages"),
    [
        ("pip3 install --no-cache-dir 'pandas>=2' scipy==1.16.1 uvicorn[standard]", ("pandas", "scipy", "uvicorn")),
        ("pip install -i https://index.example/simple torch -t /opt/libs .", ("torch",)),
        ("uv pip install --system pytest==8.4.1 pytest-json-ctrf==0.3.5", ("pytest",)),
        ("pip install --upgrade pip setuptools wheel git+https://code.example/x.git ./local", ()),
        ("apt-get install -y python3-numpy", ()),
    ],
)
def test_packages_are_known_by_their_names(text: str, packages: tuple[str, ...]) -> None:
    assert read_commands(text, "/app").packages == packages


def test_folders_and_lists_are_known() -> None:
    assert read_commands("mkdir -p /data/in out $HOME/x", "/app").folders == ("/data/in", "/app/out")
    assert read_commands("pip install -r requirements.txt", "/app").lists == ("requirements.txt",)
    assert package_names("# all of it\nnumpy==2.0  # fast\n\n-e .\npytest-json-ctrf\nrich\n") == ["numpy", "rich"]


def test_a_scripts_packages() -> None:
    script = "#!/bin/bash\n# pip install nothing\napt-get install -y curl\nuvx \\\n  --with pytest==8.4.1 --with numpy pytest x.py\npip install rich\n"
    assert script_packages(script) == ["rich", "pytest", "numpy"]
