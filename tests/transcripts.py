"""The same talk as a transcript of every format, for cases that all importers meet."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imported import written
from slicetape.formats.detect import open_sessions
from slicetape.log.codec import encode_event, encode_header


@dataclass(frozen=True)
class Call:
    """A shell call; `output` is None for one that was never answered."""

    id: str
    command: str = "ls"
    output: str | None = "a.py"

    @property
    def arguments(self) -> dict[str, str]:
        return {"command": self.command}


@dataclass(frozen=True)
class Said:
    """A response of `model`."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    model: str = "m1"


@dataclass(frozen=True)
class Turn:
    """What a person wrote, None where nobody did, and the responses to it."""

    user: str | None
    steps: tuple[Said, ...] = ()


Talk = Sequence[Turn]


def transcript(folder: Path, format: str, talk: Talk) -> Path:
    """A file of `format` that holds `talk`."""
    name, body = WRITERS[format](talk)
    return written(folder, body, name)


def _lines(rows: Iterable[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _document(value: Any) -> tuple[str, bytes]:
    return "t.json", json.dumps(value).encode()


def _answers(calls: Iterable[Call]) -> list[Call]:
    """The answered calls, latest first: results of parallel calls come in any order."""
    return [call for call in calls if call.output is not None][::-1]


def claude_code(talk: Talk) -> tuple[str, bytes]:
    rows: list[dict[str, Any]] = []

    def record(type: str, message: dict[str, Any]) -> None:
        rows.append({"type": type, "uuid": f"u{len(rows)}", "sessionId": "s", "message": message})

    for turn in talk:
        if turn.user is not None:
            record("user", {"role": "user", "content": turn.user})
        for said in turn.steps:
            blocks: list[dict[str, Any]] = [{"type": "text", "text": said.text}] * bool(said.text)
            blocks += [
                {"type": "tool_use", "id": call.id, "name": "Bash", "input": call.arguments}
                for call in said.calls
            ]
            id = f"msg{len(rows)}"
            for block in blocks or [{"type": "text", "text": ""}]:
                record("assistant", {"id": id, "model": said.model, "content": [block]})
            for call in _answers(said.calls):
                result = {"type": "tool_result", "tool_use_id": call.id, "content": call.output}
                record("user", {"role": "user", "content": [result]})
    return "t.jsonl", _lines(rows)


def codex(talk: Talk) -> tuple[str, bytes]:
    rows: list[dict[str, Any]] = [
        {"type": "session_meta", "timestamp": "2025-01-01T00:00:00Z", "payload": {"cwd": "/w"}}
    ]

    def item(type: str, **payload: Any) -> None:
        rows.append({"type": "response_item", "payload": {"type": type, **payload}})

    for turn in talk:
        if turn.user is not None:
            payload = {"type": "user_message", "message": turn.user}
            rows.append({"type": "event_msg", "payload": payload})
        for said in turn.steps:
            rows.append({"type": "turn_context", "payload": {"model": said.model}})
            content = [{"type": "output_text", "text": said.text}]
            if said.text or not said.calls:
                item("message", role="assistant", content=content)
            for call in said.calls:
                given = json.dumps(call.arguments)
                item("function_call", name="shell", call_id=call.id, arguments=given)
            for call in _answers(said.calls):
                item("function_call_output", call_id=call.id, output=call.output)
            rows.append({"type": "event_msg", "payload": {"type": "token_count", "info": None}})
    return "t.jsonl", _lines(rows)


def copilot(talk: Talk) -> tuple[str, bytes]:
    rows: list[dict[str, Any]] = [{"type": "session.start", "data": {"sessionId": "s"}}]
    for turn in talk:
        if turn.user is not None:
            rows.append({"type": "user.message", "data": {"content": turn.user}})
        for said in turn.steps:
            requests = [
                {"toolCallId": call.id, "name": "bash", "arguments": call.arguments}
                for call in said.calls
            ]
            data = {"model": said.model, "content": said.text, "toolRequests": requests}
            rows.append({"type": "assistant.message", "data": data})
            for call in _answers(said.calls):
                data = {"toolCallId": call.id, "success": True, "result": {"content": call.output}}
                rows.append({"type": "tool.execution_complete", "data": data})
    return "t.jsonl", _lines(rows)


def opencode(talk: Talk) -> tuple[str, bytes]:
    messages: list[dict[str, Any]] = []
    for turn in talk:
        if turn.user is not None:
            part = {"type": "text", "text": turn.user}
            messages.append({"info": {"role": "user"}, "parts": [part]})
        for said in turn.steps:
            parts: list[dict[str, Any]] = [{"type": "text", "text": said.text}] * bool(said.text)
            for call in said.calls:
                state = {"status": "running", "input": call.arguments}
                if call.output is not None:
                    state |= {"status": "completed", "output": call.output}
                parts.append({"type": "tool", "callID": call.id, "tool": "bash", "state": state})
            info = {"role": "assistant", "modelID": said.model}
            messages.append({"info": info, "parts": parts})
    return _document({"info": {"id": "s", "projectID": "p", "slug": "s"}, "messages": messages})


def gemini(talk: Talk) -> tuple[str, bytes]:
    messages: list[dict[str, Any]] = []
    for turn in talk:
        if turn.user is not None:
            messages.append({"type": "user", "content": turn.user})
        for said in turn.steps:
            calls = []
            for call in said.calls:
                row: dict[str, Any] = {"id": call.id, "name": "bash", "args": call.arguments}
                if call.output is not None:
                    response = {"response": {"output": call.output}}
                    row["result"] = [{"functionResponse": response}]
                calls.append(row)
            message = {"type": "gemini", "content": said.text, "toolCalls": calls}
            messages.append(message | {"model": said.model})
    return _document({"sessionId": "s", "projectHash": "p", "messages": messages})


def pi(talk: Talk) -> tuple[str, bytes]:
    rows: list[dict[str, Any]] = [{"type": "session", "id": "s", "timestamp": "2025-01-01"}]
    for turn in talk:
        if turn.user is not None:
            rows.append({"type": "message", "message": {"role": "user", "content": turn.user}})
        for said in turn.steps:
            content: list[dict[str, Any]] = [{"type": "text", "text": said.text}] * bool(said.text)
            content += [
                {"type": "toolCall", "id": call.id, "name": "bash", "arguments": call.arguments}
                for call in said.calls
            ]
            message = {"role": "assistant", "model": said.model, "content": content}
            rows.append({"type": "message", "message": message})
            for call in _answers(said.calls):
                parts = [{"type": "text", "text": call.output}]
                message = {"role": "toolResult", "toolCallId": call.id, "content": parts}
                rows.append({"type": "message", "message": message})
    return "t.jsonl", _lines(rows)


def dsh(talk: Talk) -> tuple[str, bytes]:
    """A log of our own: what another importer made of the talk."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (session,) = open_sessions(transcript(Path(folder), "anthropic-messages", talk))
        rows = [encode_header(session.header), *map(encode_event, session.events)]
    return "t.jsonl", b"".join(row + b"\n" for row in rows)


def swe_agent(talk: Talk) -> tuple[str, bytes]:
    steps = [
        {"thought": said.text, "action": call.command, "observation": call.output}
        for turn in talk
        for said in turn.steps
        for call in said.calls or (Call("", "", None),)
    ]
    history = [{"role": "user", "content": turn.user} for turn in talk if turn.user is not None]
    return "t.traj", json.dumps({"trajectory": steps, "history": history}).encode()


def mini_swe_agent(talk: Talk) -> tuple[str, bytes]:
    messages: list[dict[str, Any]] = []
    for turn in talk:
        if turn.user is not None:
            messages.append({"role": "user", "content": turn.user})
        for said in turn.steps:
            fences = "".join(f"```bash\n{call.command}\n```" for call in said.calls)
            response = {"model": said.model}
            message = {"role": "assistant", "content": said.text + fences}
            messages.append(message | {"extra": {"response": response}})
            messages += [
                {"role": "user", "content": call.output}
                for call in said.calls
                if call.output is not None
            ]
    value = {"messages": messages, "trajectory_format": "mini-swe-agent-1"}
    return "t.traj.json", json.dumps(value).encode()


def openhands(talk: Talk) -> tuple[str, bytes]:
    events: list[dict[str, Any]] = []

    def event(**fields: Any) -> int:
        events.append({"id": len(events), **fields})
        return len(events) - 1

    for turn in talk:
        if turn.user is not None:
            event(source="user", action="message", args={"content": turn.user})
        for said in turn.steps:
            response = {"id": f"r{len(events)}", "model": said.model}
            causes = {}
            for number, call in enumerate(said.calls):
                data = {"function_name": "bash", "tool_call_id": call.id}
                causes[call.id] = event(
                    source="agent",
                    action="run",
                    args=call.arguments | {"thought": "" if number else said.text},
                    tool_call_metadata=data | {"model_response": response},
                )
            for call in _answers(said.calls):
                event(observation="run", content=call.output, cause=causes[call.id], extras={})
            if not said.calls:
                data = {"model_response": response}
                args = {"content": said.text}
                event(source="agent", action="message", args=args, tool_call_metadata=data)
    return _document({"instance_id": "i", "history": events})


def openai_chat(talk: Talk) -> tuple[str, bytes]:
    messages: list[dict[str, Any]] = []
    for turn in talk:
        if turn.user is not None:
            messages.append({"role": "user", "content": turn.user})
        for said in turn.steps:
            calls = []
            for call in said.calls:
                function = {"name": "bash", "arguments": json.dumps(call.arguments)}
                calls.append({"id": call.id, "type": "function", "function": function})
            message = {"role": "assistant", "content": said.text or None, "model": said.model}
            messages.append(message | ({"tool_calls": calls} if calls else {}))
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": call.output}
                for call in _answers(said.calls)
            ]
    return _document({"messages": messages})


def inspect(talk: Talk) -> tuple[str, bytes]:
    messages: list[dict[str, Any]] = []
    for turn in talk:
        if turn.user is not None:
            messages.append({"role": "user", "content": turn.user, "source": "input"})
        for said in turn.steps:
            calls = [
                {"id": call.id, "function": "bash", "arguments": call.arguments}
                for call in said.calls
            ]
            message = {"role": "assistant", "content": said.text, "model": said.model}
            messages.append(message | {"tool_calls": calls})
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": call.output}
                for call in _answers(said.calls)
            ]
    return _document({"eval": {"task": "t"}, "samples": [{"id": 1, "messages": messages}]})


def aider(talk: Talk) -> tuple[str, bytes]:
    lines = ["# aider chat started at 2024-08-05 19:33:02", ""]
    for turn in talk:
        lines += [f"#### {turn.user}", ""] if turn.user is not None else []
        for said in turn.steps:
            lines += [said.text] * bool(said.text)
            outputs = [call.output for call in said.calls if call.output is not None]
            lines += [f"> {line}" for output in outputs for line in output.split("\n")]
    return "t.md", "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass")


def anthropic_messages(talk: Talk) -> tuple[str, bytes]:
    messages: list[dict[str, Any]] = []
    for turn in talk:
        if turn.user is not None:
            messages.append({"role": "user", "content": turn.user})
        for said in turn.steps:
            blocks: list[dict[str, Any]] = [{"type": "text", "text": said.text}] * bool(said.text)
            blocks += [
                {"type": "tool_use", "id": call.id, "name": "bash", "input": call.arguments}
                for call in said.calls
            ]
            messages.append({"role": "assistant", "model": said.model, "content": blocks})
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": call.output}
                for call in _answers(said.calls)
            ]
            messages += [{"role": "user", "content": results}] * bool(results)
    return _document({"system": "s", "messages": messages})


WRITERS: dict[str, Callable[[Talk], tuple[str, bytes]]] = {
    "claude-code": claude_code,
    "codex-rollout": codex,
    "copilot-cli": copilot,
    "opencode": opencode,
    "gemini-cli": gemini,
    "pi": pi,
    "dsh-session": dsh,
    "swe-agent": swe_agent,
    "mini-swe-agent": mini_swe_agent,
    "openhands": openhands,
    "openai-chat": openai_chat,
    "inspect": inspect,
    "aider-md": aider,
    "anthropic-messages": anthropic_messages,
}
"""How each format writes a talk."""

TALKING = sorted(set(WRITERS) - {"swe-agent", "mini-swe-agent"})
"""The formats that hold more than one turn."""

CALLING = sorted(set(WRITERS) - {"swe-agent", "mini-swe-agent", "aider-md"})
"""The formats in which calls have ids and stand beside each other."""
