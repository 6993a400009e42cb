"""SkyRL: a text environment whose last step carries the reward.

class Env(text_environment("rubric.yaml", ungraded=0.0)): ...

skyrl_gym.register(id="mine", entry_point="my_module:Env")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rubricgrade.integrations.hosts import host
from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.rewards.blocking import wait_for
from rubricgrade.rewards.conversation import from_messages
from rubricgrade.rewards.rewarded import Rewarded, fallback
from rubricgrade.rewards.rubrics import RubricSource

Respond = Callable[[list[dict[str, Any]], Mapping[str, Any]], str | None]


def text_environment(
    rubric: RubricSource, *, ungraded: float, respond: Respond | None = None, **options: Any
) -> type[Any]:
    """A class of environments.

    Args:
        rubric: As in `Rewarder`; a row is the data set's row (``extras``).
        ungraded: The reward of an episode that could not be graded; ``metadata`` and the metrics tell.
        respond: Gives the next user message from all messages so far and the row; None ends the episode. Default:
            one turn.
        **options: Further arguments of `Rewarder`.

    Raises:
        InputError: The rubric or an option can't be used.
        MissingExtraError: skyrl-gym is not installed.
    """
    base = host("skyrl_gym.envs.base_text_env", "skyrl")
    rewarder = Rewarder(rubric, **options)
    instead = fallback(ungraded)

    class TextEnvironment(base.BaseTextEnv):
        """One episode at a time: the policy's text, answered by `respond`, graded at the end."""

        def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - SkyRL's signature
            super().__init__()  # pyright: ignore[reportUnknownMemberType] - the host has no types here
            self.turns = 0
            self._row = dict(extras or {})
            self._messages: list[dict[str, Any]] = []
            self._rewarded: Rewarded | None = None

        def init(self, prompt: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
            self._messages = list(prompt)
            self._rewarded = None
            return prompt, {}

        def step(self, action: str) -> dict[str, Any]:
            self.turns += 1
            self._messages.append({"role": "assistant", "content": action})
            said = respond(self._messages, self._row) if respond is not None else None
            if said is not None:
                observation = {"role": "user", "content": said}
                self._messages.append(observation)
                return {"observations": [observation], "reward": 0.0, "done": False, "metadata": {}}
            found = wait_for(lambda: rewarder.one(lambda: from_messages(self._messages), self._row))
            self._rewarded = found
            return {"observations": [], "reward": found.or_else(instead), "done": True, "metadata": found.facts()}

        def get_metrics(self) -> dict[str, Any]:
            facts = self._rewarded.facts() if self._rewarded is not None else {}
            return {"turns": self.turns, **facts}

    return TextEnvironment
