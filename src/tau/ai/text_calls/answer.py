"""Reads an answer as a server would that parses written calls and thinking: deltas in, deltas out."""

from collections.abc import Iterator

from tau.ai import dialect as d
from tau.ai.model import Model
from tau.ai.text_calls.formats import Item
from tau.ai.text_calls.grammar import TextCall
from tau.ai.text_calls.think_tags import ThinkSplitter
from tau.ai.text_calls.watch import TextWatch
from tau.base.late import late

json = late("json")


class AnswerReader:
    """`read` returns the deltas that replace one. Calls come with the end: only then are they complete."""

    def __init__(self, model: Model, request: d.Request) -> None:
        compat = model.compat
        tools = {tool.name: tool for tool in request.tools if request.tool_choice != "none"}
        self._watch = TextWatch(tools) if compat.text_calls and tools else None
        self._think = ThinkSplitter(compat.think_tags) if compat.think_tags else None
        self._first_only = compat.first_tool_call_only
        self._is_native = False  # the server parses calls, so no other ones count

    def read(self, delta: d.Delta) -> Iterator[d.Delta]:
        match delta:
            case d.TextPiece(text):
                thinking, text = self._think.feed(text) if self._think is not None else ("", text)
                yield from self._prose(thinking, text)
            case d.ThinkingPiece():
                yield from self._end_thinking()
                yield delta
            case d.CallStart():
                self._is_native = True
                yield from self._end_thinking()
                yield from self._end_text(is_complete=True)
                yield delta
            case d.Done(reason):
                yield from self._end_thinking()
                calls = list(self._end_text(is_complete=reason == "stop"))
                yield from calls
                has_calls = any(isinstance(one, d.CallEnd) for one in calls)
                yield d.Done("toolUse") if has_calls and reason == "stop" else delta
            case _:
                yield delta

    def _prose(self, thinking: str, text: str) -> Iterator[d.Delta]:
        if thinking:
            yield d.ThinkingPiece(thinking)
        if text and self._watch is not None:
            text = self._watch.feed(text)
        if text:
            yield d.TextPiece(text)

    def _end_thinking(self) -> Iterator[d.Delta]:
        """Once the server sends thinking, or anything else than text, it is not written in the text."""
        if self._think is not None:
            thinking, text = self._think.finish()
            self._think = None
            yield from self._prose(thinking, text)

    def _end_text(self, *, is_complete: bool) -> Iterator[d.Delta]:
        if self._watch is None:
            return
        text, items, cut_off = self._watch.finish(is_complete=is_complete)
        self._watch = None
        if text:
            yield d.TextPiece(text)
        if cut_off and not self._is_native:
            yield d.CallStart(0, "", cut_off)
            yield d.CallEnd(0, d.CUT_OFF)
        yield from self._items(items, is_complete=is_complete)

    def _items(self, items: list[Item], *, is_complete: bool) -> Iterator[d.Delta]:
        """What a native call repeats is dropped."""
        calls = 0
        for item in items:
            if not isinstance(item, TextCall):
                yield d.ThinkingPiece(item.text) if item.thinking else d.TextPiece(item.text)
            elif not self._is_native and not (self._first_only and calls):
                yield d.CallStart(calls, "", item.name)
                yield d.CallPiece(calls, json.dumps(item.arguments, ensure_ascii=False))
                yield d.CallEnd(calls, "" if is_complete else d.CUT_OFF)
                calls += 1
