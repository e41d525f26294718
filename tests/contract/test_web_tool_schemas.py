"""Schemas of the tools for the web: changes here change a contract."""

from pathlib import Path

from inline_snapshot import snapshot

from tests.contract.session_tools import HOW, tools_of_a_session


def test_schemas_of_web_tools(tmp_path: Path) -> None:
    tools = tools_of_a_session(tmp_path)
    found = {name: tools[name].parameters for name in ("web_search", "browser", "github")}
    pinned = snapshot(
        {
            "web_search": {
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "recency": {"enum": ["day", "month", "week", "year"], "type": "string"},
                    "limit": {"type": "integer"},
                },
                "required": ["query"],
            },
            "browser": {
                "type": "object",
                "properties": {
                    "action": {"enum": ["close", "open", "run"], "type": "string"},
                    "name": {"type": "string"},
                    "url": {"type": "string"},
                    "code": {"type": "string"},
                    "viewport": {
                        "type": "object",
                        "properties": {
                            "width": {"type": "integer", "minimum": 1, "maximum": 10000},
                            "height": {"type": "integer", "minimum": 1, "maximum": 10000},
                            "scale": {"type": "number", "minimum": 0.1, "maximum": 10},
                        },
                        "required": ["width", "height"],
                    },
                    "wait_until": {
                        "enum": ["domcontentloaded", "load", "networkidle0", "networkidle2"],
                        "type": "string",
                    },
                    "dialogs": {"enum": ["accept", "dismiss"], "type": "string"},
                    "app": {
                        "type": "object",
                        "properties": {
                            "path": {"type": "string"},
                            "cdp_url": {"type": "string"},
                            "args": {"type": "array", "items": {"type": "string"}},
                            "target": {"type": "string"},
                        },
                        "required": [],
                    },
                    "persist": {"type": "boolean"},
                    "all": {"type": "boolean"},
                    "kill": {"type": "boolean"},
                },
                "required": ["action"],
            },
            "github": {
                "type": "object",
                "properties": {
                    "op": {
                        "enum": [
                            "pr_checkout",
                            "pr_create",
                            "pr_push",
                            "repo_view",
                            "run_watch",
                            "search_code",
                            "search_commits",
                            "search_issues",
                            "search_prs",
                            "search_repos",
                        ],
                        "type": "string",
                    },
                    "repo": {"type": "string"},
                    "branch": {"type": "string"},
                    "pr": {
                        "anyOf": [
                            {"type": "string"},
                            {"type": "integer"},
                            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
                            {"type": "null"},
                        ]
                    },
                    "force": {"type": "boolean"},
                    "forceWithLease": {"type": "boolean"},
                    "title": {"type": "string"},
                    "body": {"type": "string"},
                    "base": {"type": "string"},
                    "head": {"type": "string"},
                    "draft": {"type": "boolean"},
                    "fill": {"type": "boolean"},
                    "reviewer": {"type": "array", "items": {"type": "string"}},
                    "assignee": {"type": "array", "items": {"type": "string"}},
                    "label": {"type": "array", "items": {"type": "string"}},
                    "query": {"type": "string"},
                    "since": {"type": "string"},
                    "until": {"type": "string"},
                    "dateField": {"enum": ["created", "updated"], "type": "string"},
                    "limit": {"type": "number"},
                    "run": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
                    "tail": {"type": "number"},
                    "background": {"type": "boolean"},
                },
                "required": ["op"],
            },
        }
    )
    assert found == pinned, HOW
