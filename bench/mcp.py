"""Measures MCP: what connecting, tools and searches cost with the real servers of the tests.

    python bench/mcp.py [--json]

npm servers come from `python -m tests.support.npm_packages --all`, those of PyPI from programs on the PATH
(mcp-server-git, -time, -fetch). What is not there is left out.
"""

import asyncio
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tau.ai.faux import Faux, Say
from tau.coding.tool_search.index import ToolDocument, ToolIndex
from tau.ext.mcp.report import tool_tokens
from tau.sdk import SessionOptions, create_session
from tests.support.npm_packages import MCP_SERVERS, PLAYWRIGHT_MCP

QUERIES = json.loads(Path(__file__).with_name("mcp_queries.json").read_text())


def definitions(folder: Path) -> dict[str, dict[str, Any]]:
    npm = MCP_SERVERS.modules / "node_modules" / ".bin"
    found: dict[str, dict[str, Any]] = {}
    for name in ("everything", "filesystem", "memory", "sequential-thinking"):
        if (npm / f"mcp-server-{name}").exists():
            args = [str(folder)] if name == "filesystem" else []
            found[name] = {"command": str(npm / f"mcp-server-{name}"), "args": args}
    browser = PLAYWRIGHT_MCP.modules / "node_modules" / ".bin" / "playwright-mcp"
    if browser.exists():
        found["playwright"] = {"command": str(browser), "args": ["--headless", "--isolated"]}
    for name in ("git", "time", "fetch"):
        if (program := shutil.which(f"mcp-server-{name}")) is not None:
            found[name] = {"command": program}
    return found


async def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        os.environ["TAU_HOME"] = home
        servers = definitions(Path(home))
        faux = Faux([[Say("Done.")]])
        settings = {"sandbox.mode": "off", "tools.approvalMode": "yolo"}
        options = SessionOptions(
            cwd=Path(home), stream=faux.stream, mcp_servers=servers, settings=settings, save=False
        )
        before = resource.getrusage(resource.RUSAGE_SELF)
        began = time.perf_counter()
        async with create_session(options) as session:
            assert session.servers is not None
            await session.servers.wait_settled()
            connected_s = time.perf_counter() - began
            after = resource.getrusage(resource.RUSAGE_SELF)
            await session.prompt("Hi")
            tools = [tool for tool in session.setup().tools if tool.origin.kind == "mcp"]
            sent = [
                tool
                for tool in session.setup().offered_tools()
                if tool.origin.kind == "mcp" or "bm25" in tool.name
            ]
            index = ToolIndex(ToolDocument.of(tool) for tool in tools)
            known = {f"{tool.origin.server} {tool.origin.tool}" for tool in tools}
            asked = [(query, wanted) for query, wanted in QUERIES if wanted in known]
            hits = {1: 0, 8: 0}
            searched = time.perf_counter()
            for query, wanted in asked:
                names = [f"{one.document.server} {one.document.tool}" for one in index.search(query)[:8]]
                hits[1] += names[:1] == [wanted]
                hits[8] += wanted in names
            per_query_ms = (time.perf_counter() - searched) * 1000 / max(len(asked), 1)
            rows = session.servers.status()
        return {
            "servers": {row.name: row.tools for row in rows},
            "connect_s": round(connected_s, 2),
            "our_cpu_ms": round((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000),
            "tools": len(tools),
            "tokens_all": sum(map(tool_tokens, tools)),
            "tokens_with_search": sum(map(tool_tokens, sent)),
            "queries": len(asked),
            "hit@1": hits[1],
            "hit@8": hits[8],
            "ms_per_query": round(per_query_ms, 2),
            "pydantic": "pydantic" in sys.modules,
            "rss_mib": after.ru_maxrss // 1024,
        }


if __name__ == "__main__":
    result = asyncio.run(measure())
    if "--json" in sys.argv:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:20} {value}")
