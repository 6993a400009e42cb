"""The one way to call a model: limits, retries, budgets and costs are here, whatever the provider.

reply = await connect(options).ask(Request("openai/gpt-5-mini", ({"role": "user", "content": "Hello"},)))
"""

from rubricgrade.chat.budget import Budget
from rubricgrade.chat.connecting import Options, connect, preload
from rubricgrade.chat.contract import AskFailed, Chat, Finish, Kind, Reply, Request, ToolCall
from rubricgrade.chat.retrying import Retry
from rubricgrade.chat.sharing import Ask, Shared

__all__ = [
    "Ask",
    "AskFailed",
    "Budget",
    "Chat",
    "Finish",
    "Kind",
    "Options",
    "Reply",
    "Request",
    "Retry",
    "Shared",
    "ToolCall",
    "connect",
    "preload",
]
