"""The language server's lifecycle (LSP 3.17): what comes before ``initialize``, after ``shutdown``, or twice."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrdsl.editor.messages import Messages

NOT_INITIALIZED, INVALID_REQUEST = -32002, -32600
METHODS = ["initialize", "shutdown", "exit", "textDocument/hover", "initialized", "$/cancelRequest"]


def framed(message: dict[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def passed_and_answered(messages: list[dict[str, Any]]) -> tuple[list[str], list[tuple[Any, int]]]:
    """The methods that reach the server, and the id and code of each error."""
    answers = BytesIO()
    stream = Messages(BytesIO(b"".join(map(framed, messages))), answers, json.loads, lambda _: True)
    passed = []
    while stream.readline():
        stream.readline()
        passed.append(json.loads(stream.read(1 << 20))["method"])
    told = [json.loads(part.partition(b"\r\n\r\n")[2]) for part in answers.getvalue().split(b"Content-Length: ")[1:]]
    return passed, [(each["id"], each["error"]["code"]) for each in told]


def asked(number: int, method: str) -> dict[str, Any]:
    return {"id": number, "method": method, "params": {}}


@pytest.mark.parametrize("method", ["textDocument/hover", "shutdown", "no/such"])
def test_a_request_before_initialize_is_answered_by_its_error(method: str) -> None:
    assert passed_and_answered([asked(1, method), asked(2, "initialize")]) == (["initialize"], [(1, NOT_INITIALIZED)])


@pytest.mark.parametrize("method", ["textDocument/hover", "shutdown", "initialize"])
def test_a_request_after_shutdown_is_answered_by_its_error(method: str) -> None:
    begun = [asked(1, "initialize"), asked(2, "shutdown")]
    assert passed_and_answered([*begun, asked(3, method)]) == (["initialize", "shutdown"], [(3, INVALID_REQUEST)])


def test_a_second_initialize_is_an_invalid_request() -> None:
    found = passed_and_answered([asked(1, "initialize"), asked(2, "initialize")])
    assert found == (["initialize"], [(2, INVALID_REQUEST)])


def test_notifications_out_of_turn_have_no_effect_but_exit_is_always_heard() -> None:
    note = {"method": "textDocument/didOpen", "params": {}}
    leave = {"method": "exit"}
    assert passed_and_answered([note, leave]) == (["exit"], [])
    begun = [asked(1, "initialize"), asked(2, "shutdown")]
    assert passed_and_answered([*begun, note, leave]) == (["initialize", "shutdown", "exit"], [])


@given(st.lists(st.tuples(st.sampled_from(METHODS), st.booleans()), max_size=8))
def test_each_request_either_passes_or_is_answered(sent: list[tuple[str, bool]]) -> None:
    messages = [
        asked(number, method) if is_request else {"method": method, "params": {}}
        for number, (method, is_request) in enumerate(sent)
    ]
    passed, answered = passed_and_answered(messages)
    requests = sum(is_request for _, is_request in sent)
    notes_passed = len(passed) - (requests - len(answered))
    assert 0 <= notes_passed <= len(sent) - requests
    assert {code for _, code in answered} <= {NOT_INITIALIZED, INVALID_REQUEST}
    assert passed.count("initialize") <= 1
