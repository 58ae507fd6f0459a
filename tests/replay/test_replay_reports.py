"""Reported failures that only a replay shows; names carry their numbers."""

from replay_run import fresh, recorded
from slicetape.loop.estimate import estimate
from slicetape.prices.tokens import counter
from slicetape.replay.arms import arm
from slicetape.replay.run import Setting, run
from slicetape.surface import messages
from slicetape.wire.lint import CHAT
from story import Story

WINDOW = 20_000
PARAGRAPH = "缓存命中率下降的原因是前缀被改写，因此每次请求都要重新计费；请逐条核对日志里的字节。"


def chinese() -> Story:
    """Thirty turns of Chinese prose, larger than the window in all."""
    story = Story()
    for turn in range(30):
        story.start()
        story.human(f"第{turn}轮：继续核对")
        story.reads(f"第{turn}章.md", "\n".join(f"{at}、{PARAGRAPH}" for at in range(30)))
        story.says(f"第{turn}轮核对完毕。{PARAGRAPH}")
        story.end()
    return story


class TestReport23TokensOfChinese:
    def test_report_23_a_window_is_kept_in_tokens_of_a_real_tokenizer(self) -> None:
        count = counter("o200k").count
        told = chinese()
        talk = [message for _, message in messages(told.view)]
        real = sum(count(repr(message)) for message in talk)
        assert real > 2 * sum(map(estimate, talk)), "quarters of characters are far too few"
        done = run(recorded(told), arm("compact"), fresh(count), Setting(rules=CHAT, window=WINDOW))
        assert done.compactions > 0
        assert max(sent.request.total for sent in done.sent) <= WINDOW

    def test_report_23_the_offline_estimate_does_not_undercount(self) -> None:
        text = PARAGRAPH * 400
        real, estimated = (counter(name).count(text) for name in ("o200k", "claude-est"))
        assert real <= estimated <= 2 * real
        assert len(text) // 4 < real / 2
