"""yield: ends an agent's work with its result or the reason why there is none."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.dialect import ToolSpec
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.ports import CodingContext

checks = late("tau.coding.task.schema_check")

MAX_RETRIES = 3
YieldStatus = Literal["completed", "failed", "invalid"]


class YieldParams(Struct, frozen=True):
    data: Annotated[Any, Meta(title="The result")] = UNSET
    error: Annotated[str | None, Meta(title="Why there is no result")] = None


class YieldDetails(Struct, frozen=True, rename="camel"):
    """`invalid`: the data does not fit the schema, after all retries."""

    status: YieldStatus
    data: Any = UNSET
    error: str = ""


class Yield(Tool[YieldParams]):
    """One per session of an agent. `report` returns what the agent has written, for a yield without data."""

    name, label = "yield", "Yield"
    exclusive = True

    def __init__(self, schema: Mapping[str, object] | None, report: Callable[[], str]) -> None:
        self._schema = None if schema is None else dict(schema)
        self._report = report
        self.rejected = 0

    @cached_property
    def spec(self) -> ToolSpec:
        data = self._schema or {"description": "The result: text, or data if asked for it"}
        properties = {"data": data, "error": {"type": "string", "description": "Why there is no result"}}
        return ToolSpec(self.name, self.description, {"type": "object", "properties": properties})

    def decode(self, arguments: dict[str, Any]) -> tuple[YieldParams, list[str]]:
        inner = arguments.get("result")
        if isinstance(inner, dict) and inner.keys() & {"data", "error"} and "data" not in arguments:
            arguments = inner
        known = {name: value for name, value in arguments.items() if name in ("data", "error")}
        if not known and arguments:  # the data without its wrapper
            known = {"data": arguments}
        error = known.get("error")
        if isinstance(error, (dict, list)):
            known["error"] = msgspec.json.encode(error).decode()
        elif error is not None and not isinstance(error, str):
            raise ToolError("`error` is a sentence: why there is no result.")
        return YieldParams(known.get("data", UNSET), known.get("error") or None), []

    async def run(self, params: YieldParams, ctx: CodingContext) -> ToolOutput:
        if params.error is not None:
            if params.data not in (UNSET, None, "", {}, []):
                raise ToolError("Yield either `data` or `error`, not both.")
            return ToolOutput.text("Noted. Your work ends here.", YieldDetails("failed", error=params.error))
        data = params.data
        if data is UNSET or data is None:
            data = self._report().strip()
            if not data:
                return self._reject(data, ["there is no `data`, and you have not written a report"])
        if self._schema is not None:
            data, errors = checks.check(data, self._schema)
            if errors:
                return self._reject(data, errors)
        return ToolOutput.text("Accepted. Your work ends here.", YieldDetails("completed", data))

    def _reject(self, data: Any, errors: list[str]) -> ToolOutput:
        self.rejected += 1
        listed = "\n".join(f"- {error}" for error in errors)
        if self.rejected > MAX_RETRIES:
            self.rejected = 0
            text = f"The result does not fit after {MAX_RETRIES} retries:\n{listed}"
            return ToolOutput.text(text, YieldDetails("invalid", data, text), is_error=True)
        left = MAX_RETRIES - self.rejected + 1
        raise ToolError(f"Not accepted:\n{listed}\nYield again; {left} tries left.")
