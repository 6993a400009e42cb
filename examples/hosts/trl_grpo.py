"""TRL: two steps of GRPO on a tiny model made here, with a rubric as its reward.

One of the two tasks has a question for a judge, and there is none: its completions have no reward (None), and TRL
leaves them out. Needs torch and trl; no GPU, no network. Run: ``python examples/hosts/trl_grpo.py [sync|async]``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from rubricgrade.integrations.trl import async_reward_function, reward_function

HERE = Path(__file__).resolve().parent
END = "<|im_end|>"
CHAT = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "
GENERATIONS = 4


def tokenizer() -> PreTrainedTokenizerFast:
    """One token per byte, and an end."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: index for index, letter in enumerate([*letters, END])}
    inner = Tokenizer(models.BPE(vocabulary, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=END, pad_token=END)
    made.chat_template = CHAT
    return made


def model(words: int, end: int) -> Qwen2ForCausalLM:
    """A random one of a few thousand weights."""
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=words, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, eos_token_id=end, pad_token_id=end, bos_token_id=end,
        )
    )  # fmt: skip


def rubric_of(row: Any) -> Path:
    """Each task of the data set names its rubric."""
    return HERE / row["rubric"]


def main(kind: str) -> None:
    tasks = [("What is 2 + 2?", "4", "rubric.yaml"), ("What is 3 + 3, please?", "6", "judged.rubric.yaml")]
    data = Dataset.from_list(
        [
            {"prompt": [{"role": "user", "content": text}], "answer": answer, "rubric": rubric}
            for text, answer, rubric in tasks * 2
        ]
    )
    make = async_reward_function if kind == "async" else reward_function
    words = tokenizer()
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model(len(words), words.eos_token_id),
            processing_class=words,
            train_dataset=data,
            reward_funcs=make(rubric_of, timeout=60),
            args=GRPOConfig(
                output_dir=folder, max_steps=2, per_device_train_batch_size=2 * GENERATIONS,
                num_generations=GENERATIONS, max_completion_length=16, use_cpu=True, bf16=False, report_to=[],
                logging_steps=1, save_strategy="no", disable_tqdm=True,
            ),
        )  # fmt: skip
        trainer.train()
        logs = trainer.state.log_history
    wanted = ("loss", "reward", "rewards/rubricgrade/mean", "rubricgrade/graded")
    steps = [{name: float(log[name]) for name in wanted} for log in logs if "loss" in log]
    print(json.dumps({"host": "trl", "kind": kind, "steps": steps}))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "sync")
