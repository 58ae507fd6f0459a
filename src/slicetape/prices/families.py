"""Which counter counts the text of a model."""

import re

_CLAUDE = "claude-est", "no Claude tokenizer is public: UTF-8 bytes / 3.3"
_DEEPSEEK = "deepseek", "the DeepSeek tokenizer"
_QWEN = "qwen3", "the Qwen tokenizer"
_O200K = "o200k", "the tokenizer of OpenAI models since gpt-4o"
_CL100K = "cl100k", "the tokenizer of gpt-4 and gpt-3.5"

# First match wins: a distilled model has the tokenizer of the model it was made from, and gpt-4o
# must be tried before gpt-4.
_FAMILIES: tuple[tuple[str, tuple[str, str]], ...] = (
    (r"distill-qwen|qwen|qwq|qvq", _QWEN),
    (r"distill-(?!qwen)", ("o200k", "")),
    (r"claude", _CLAUDE),
    (r"deepseek", _DEEPSEEK),
    (r"gpt-?4o|gpt-?4\.[15]|gpt-?oss|chatgpt-4o|codex", _O200K),
    (r"gpt-?4|gpt-?3", _CL100K),
    (r"gpt-?[5-9]|gpt-?[1-9][0-9]|\bo[1-9](?![0-9a-z])", _O200K),
)


def counter_for_model(model: str) -> tuple[str, str]:
    """Name the counter for a model, and say why, for people.

    Gateway prefixes and versions (`openrouter/anthropic/claude-…`, `us.anthropic.claude-…`) do not
    matter. A model of no known family is counted as o200k, and the reason says so.
    """
    name = model[:200].lower()
    for pattern, found in _FAMILIES:
        if found[1] and re.search(pattern, name):
            return found
        if re.search(pattern, name):
            break
    shown = repr(model[:60]) if model else "an unnamed model"
    return "o200k", f"no tokenizer for {shown} is known: counted as o200k"
