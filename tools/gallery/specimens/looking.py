"""Specimens of searching, and of structural code edits."""

from tau.backends.github.workflow_runs import FailedLog, RunJob, RunStep, WatchDetails, WatchedRun
from tau.coding.github.call import GithubDetails
from tau.coding.tool_search.search_tool import FoundTool, SearchToolDetails
from tau.coding.tools.ast_edit import AstEditDetails, AstEditFile
from tau.coding.tools.ast_grep import AstGrepDetails
from tau.coding.tools.browser import BrowserDetails, ScreenshotDetails
from tau.coding.tools.find import FindDetails
from tau.coding.tools.inspect_image import InspectImageDetails
from tau.coding.tools.resolve import ResolveDetails
from tau.coding.tools.search import FileCount, SearchDetails
from tau.coding.tools.web_search import WebSearchDetails, WebSource
from tools.gallery.specimens.case import CWD, Result, in_all_states, one

DISPLAY = """# src/shop/orders.py
 11│
*12│from shop.prices import Item, net, total
 13│from shop.taxes import VAT
 39│    def close(self) -> Decimal:
*40│        amount = total(self.items, self.discount)
 41│        self.log.info("closed with %s", amount)

# src/shop/prices.py
*21│def total(items: list[Item], discount: Decimal = Decimal()) -> Decimal:
 22│    \"\"\"With tax; the discount is taken off first.\"\"\"

# tests/test_prices.py
* 3│from shop.prices import total
  4│
* 9│    assert total([]) == 0
*14│    assert total([Item("pen", Decimal("1.20"), 3)]) == Decimal("4.28")"""
CALLS = """# src/shop/orders.py
*40│print("closed with", amount)
*71│print(
 72│    "opened"
 73│)"""
FILES = ["src/shop/orders.py", "src/shop/prices.py", "tests/test_prices.py"]
FOUND = SearchDetails(
    scope_path=".",
    match_count=6,
    file_count=3,
    files=FILES,
    file_matches=[FileCount("src/shop/orders.py", 2), FileCount("src/shop/prices.py", 1)],
    display_content=DISPLAY,
)
WATCHED = WatchDetails(
    mode="commit",
    verdict="failure",
    repo="octo/app",
    head_sha="0123456789abcdef",
    runs=[
        WatchedRun(
            id=7,
            workflow="CI",
            status="completed",
            conclusion="failure",
            jobs=[
                RunJob(1, "lint", "completed", "success", 12),
                RunJob(
                    *(2, "test", "completed", "failure", 48, ""),
                    [
                        RunStep("Set up", "completed", "success", 5),
                        RunStep("Run", "completed", "failure", 41),
                    ],
                ),
                RunJob(3, "deploy", "completed", "skipped"),
            ],
        )
    ],
    failed_logs=[
        FailedLog("test", 7, True, "collected 12 items\nE  assert 1 == 2\n1 failed, 11 passed\nexit 1")
    ],
)
FOUND_TOOLS = SearchToolDetails(
    query="create an issue",
    limit=8,
    total_tools=64,
    activated_tools=[f"mcp__github_{name}" for name in ("create_issue", "list_issues")],
    active_selected_tools=["mcp__github_create_issue", "mcp__github_list_issues"],
    tools=[
        FoundTool(
            name=f"mcp__github_{name}",
            label=f"github: {name}",
            description=description,
            schema_keys=["owner", "repo"],
            score=score,
            server_name="github",
            mcp_tool_name=name,
        )
        for name, description, score in (
            ("create_issue", "Create an issue in a repository", 21.402315),
            ("list_issues", "List the issues of a repository", 8.113),
        )
    ],
)
MANY_FILES = [f"src/shop/pages/page_{number:03}.py" for number in range(1, 21)]
MANY = SearchDetails(
    scope_path=".",
    match_count=60,
    file_count=20,
    files=MANY_FILES,
    truncated=True,
    file_limit_reached=20,
    display_content="\n\n".join(
        f"# {name}\n* 4│import logging\n* 8│logging.info('one')\n*12│logging.info('two')"
        for name in MANY_FILES
    ),
)
REWRITE_DIFF = """--- a/src/shop/{name}.py
+++ b/src/shop/{name}.py
@@ -38,3 +38,3 @@
     def close(self) -> Decimal:
-        print("closed with", amount)
+        log.info("closed with", amount)
         return amount
"""
CHANGED = [
    AstEditFile(
        path=f"src/shop/{name}.py",
        replacements=1,
        added=1,
        removed=1,
        diff=REWRITE_DIFF.format(name=name),
        broken=name == "carts",
    )
    for name in ("orders", "carts")
]
PREVIEW = AstEditDetails(state="preview", scope_path="src", replacements=2, files=CHANGED, files_searched=41)
APPLIED = AstEditDetails(
    state="applied", scope_path="src", replacements=2, files=CHANGED, refused=["src/shop/stock.py"]
)
DISCARDED = ResolveDetails(
    action="discard", title="structural edit, 2 replacements in 2 files", reason="Too broad."
)
ANSWER = """The dialog says **"Payment refused"**. Below it are two buttons:

- *Try again* (highlighted)
- *Use another card*

The amount is cut off at the right edge: `12,4`."""
OPS = [{"pat": "print($$$ARGS)", "out": "log.info($$$ARGS)"}, {"pat": "pprint($X)", "out": ""}]

SPECIMENS = [
    *in_all_states(
        "search",
        {"pattern": r"\btotal\b", "paths": ["src", "tests"]},
        streaming={"pattern": r"\btot"},
        done=Result("...", FOUND, 21),
        failed=Result("The pattern has an unclosed group: (total."),
    ),
    one(
        "search",
        "nothing",
        "Nothing matches.",
        "done",
        {"pattern": "totaal", "paths": "."},
        Result("No matches found", SearchDetails(scope_path="."), 8),
    ),
    one(
        "search",
        "many",
        "More files than fit on a page.",
        "done",
        {"pattern": "logging", "paths": ".", "i": True},
        Result("...\n[Files 1-20 of 48 that match. Use skip=20 for the next page]", MANY, 90),
    ),
    *in_all_states(
        "find",
        {"paths": ["**/*.py", "docs"]},
        streaming={"paths": ["**/*"]},
        running=Result("", FindDetails(scope_path=".", file_count=2, files=FILES[:2]), 300),
        done=Result("...", FindDetails(scope_path=".", file_count=23, files=[*FILES, *MANY_FILES]), 14),
        failed=Result("Path is not a directory: docs."),
    ),
    *in_all_states(
        "search_tool_bm25",
        {"query": "create an issue"},
        streaming={"query": "create an"},
        done=Result("...", FOUND_TOOLS, 3),
        failed=Result("Query must contain at least one letter or number."),
    ),
    *in_all_states(
        "ast_grep",
        {"pat": "print($$$ARGS)", "paths": "src"},
        streaming={"pat": "print($$"},
        done=Result(
            "...",
            AstGrepDetails(
                scope_path="src",
                match_count=2,
                file_count=1,
                files=["src/shop/orders.py"],
                files_searched=41,
                display_content=CALLS,
            ),
            60,
        ),
        failed=Result("The pattern `print(` is no code in any of the languages there."),
    ),
    *in_all_states(
        "ast_edit",
        {"ops": OPS, "paths": "src"},
        streaming={"ops": [{"pat": "print($$$ARGS)", "out": "log."}]},
        done=Result("Preview of 2 replacements in 2 files.", PREVIEW, 80),
        failed=Result("Reading all files took too long; nothing was prepared. Narrow `paths`."),
    ),
    *in_all_states(
        "resolve",
        {"action": "apply", "reason": "The preview is right."},
        streaming={"action": "apply"},
        done=Result("Applied 2 replacements in 2 files.", APPLIED, 30),
        failed=Result("There is no pending preview; none was made, or it is already resolved."),
    ),
    one(
        "resolve",
        "discarded",
        "A preview that nobody wants.",
        "done",
        {"action": "discard", "reason": "Too broad."},
        Result("Discarded.", DISCARDED, 1),
    ),
    *in_all_states(
        "inspect_image",
        {"path": f"{CWD}/docs/dialog.png", "question": "What does the dialog say?"},
        streaming={"path": f"{CWD}/docs/dialog.png", "question": "What does"},
        done=Result(
            ANSWER,
            InspectImageDetails(
                model="acme/seer-2", image_path=f"{CWD}/docs/dialog.png", mime_type="image/png"
            ),
            2_900,
        ),
        failed=Result("The model acme/small does not take images; set modelRoles.vision to one that does."),
    ),
    *in_all_states(
        "web_search",
        {"query": "python 3.14 release date", "recency": "month"},
        streaming={"query": "python 3.14"},
        done=Result(
            "Python 3.14 was released in October.",
            WebSearchDetails(
                query="python 3.14 release date",
                provider="tavily",
                answer="Python 3.14 was released in October.",
                sources=[
                    WebSource("What's new", "https://docs.python.org/3/whatsnew/3.14.html"),
                    WebSource("PEP 745", "https://peps.python.org/pep-0745/"),
                ],
            ),
            1_400,
        ),
        failed=Result("Error: Tavily authorization failed (401); check its key."),
    ),
    *in_all_states(
        "browser",
        {"action": "run", "code": 'await tab.fill("#name", "pen")\nawait tab.click("text/Save")\ntab.url()'},
        streaming={"action": "run", "code": 'await tab.fill("#name"'},
        done=Result(
            "http://localhost:8000/pens/1",
            BrowserDetails(
                action="run",
                name="main",
                browser="headless browser",
                url="http://localhost:8000/pens/1",
                screenshots=[ScreenshotDetails("/tmp/shop.png", "image/png", 41_000, 1706, 960)],
                result="Screenshot 1706x960, saved to /tmp/shop.png\nhttp://localhost:8000/pens/1",
            ),
            310,
        ),
        failed=Result('Tab "main" is not alive. Reopen it.'),
    ),
    *in_all_states(
        "browser",
        {"action": "open", "url": "http://localhost:8000/", "name": "shop"},
        streaming={"action": "open"},
        done=Result(
            'Opened tab "shop" in a headless browser',
            BrowserDetails(
                action="open",
                name="shop",
                result='Opened tab "shop" in a headless browser\nURL: http://localhost:8000/\nTitle: Shop',
            ),
            900,
        ),
        failed=Result("Page.goto: net::ERR_CONNECTION_REFUSED at http://localhost:8000/"),
    ),
    *in_all_states(
        "github",
        {"op": "run_watch", "branch": "main"},
        streaming={"op": "run_watch"},
        done=Result("# GitHub Actions: failed", GithubDetails(op="run_watch", watch=WATCHED), 64_000),
        failed=Result("No workflow run was found."),
    ),
    one(
        "github",
        "search",
        "A search of issues.",
        "done",
        {"op": "search_issues", "query": "crash on start"},
        Result(
            "# GitHub issues search\n\nResults: 1\n\n- #12 Crash on start", GithubDetails(op="search_issues")
        ),
    ),
]
