"""A check's workspace is the template's files with the agent's changes over them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rubricgrade.checks import Bench
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import BubblewrapProvider, Layer, base_template
from rubricgrade.trajectory import Step, Text, Trajectory

EXISTS = [{"exists": name} for name in ("kept.txt", "changed.txt", "added.txt", "deleted.txt", "linked.txt")]
CHANGED = {"contains": {"path": "changed.txt", "text": "by the agent"}}


def test_the_agents_changes_lie_over_the_template(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    for name in ("kept.txt", "changed.txt", "deleted.txt", "linked.txt"):
        (before / name).write_text("as it was")
    rubric = Rubric.model_validate(
        {
            "id": "r",
            "gates": [{"id": f"g{n}", "description": "d", "check": c} for n, c in enumerate([*EXISTS, CHANGED])],
        }
    )

    async def found() -> list[float | None]:
        provider = BubblewrapProvider()
        async with provider.stage(before) as folder:
            template = base_template(layers=(Layer(folder, "/work", "overlay"),))
            agent = await provider.open(template)
            script = "echo by the agent > changed.txt; echo new > added.txt; rm deleted.txt; ln -sf kept.txt linked.txt"
            assert (await agent.exec(["sh", "-c", script])).ok
            await agent.snapshot(tmp_path / "workspace.tar.zst")
            await agent.close()
            episode = Trajectory(id="t", steps=(Step(role="user", content=(Text(text="go"),)),))
            episode = episode.located(workspace=tmp_path / "workspace.tar.zst")
            async with Bench(episode, rubric, provider, template) as bench:
                outcomes = [await bench.run(check) for gate in rubric.gates if (check := rubric.check_of(gate))]
        return [outcome.value if outcome.fault is None else 0.0 for outcome in outcomes]

    assert asyncio.run(found()) == [1.0, 1.0, 1.0, 0.0, 0.0, 1.0]
