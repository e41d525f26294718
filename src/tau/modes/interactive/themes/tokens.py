"""What a theme can color: every token of the screen, its color and its purpose."""

from typing import NamedTuple

from tau.tui.style import StyleSpec

ROLES = {
    "text": "normal text; empty: the terminal's own",
    "muted": "secondary text",
    "dim": "least important text",
    "accent": "active elements and your messages",
    "border": "lines and frames",
    "selection": "background of the selected row",
    "heading": "headings",
    "error": "failures",
    "warning": "warnings",
    "success": "success",
    "info": "remarks",
    "link": "links",
    "code": "inline code",
    "codeText": "code block text without syntax color",
    "quote": "quotations",
    "keyword": "code: keywords",
    "string": "code: strings",
    "number": "code: numbers",
    "comment": "code: comments",
    "name": "code: names",
    "function": "code: functions",
    "type": "code: types",
    "operator": "code: operators",
    "punctuation": "code: brackets and commas",
    "constant": "code: constants",
    "decorator": "code: decorators",
    "added": "added lines",
    "removed": "removed lines",
    "addedWord": "added words",
    "addedBack": "background of added words",
    "removedWord": "removed words",
    "removedBack": "background of removed words",
}
"""The colors a theme defines."""


class ThemeToken(NamedTuple):
    """How a token is derived from a theme's colors, unless the theme overrides it."""

    fg: str
    description: str
    bg: str = ""
    bold: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    inverse: bool = False

    def spec(self, colors: dict[str, str]) -> StyleSpec:
        style = self._asdict()
        del style["description"]
        return StyleSpec(**style)._replace(fg=colors.get(self.fg, ""), bg=colors.get(self.bg, ""))


TOKENS = {
    "text": ThemeToken("text", "normal text"),
    "muted": ThemeToken("muted", "remarks, values, hints"),
    "dim": ThemeToken("dim", "least important text"),
    "toolOutput": ThemeToken("muted", "output of tools"),
    "accent": ThemeToken("accent", "titles, your messages, active elements"),
    "heading": ThemeToken("heading", "headings", bold=True),
    "strong": ThemeToken("", "bold text", bold=True),
    "emphasis": ThemeToken("", "italic text", italic=True),
    "strike": ThemeToken("", "strikethrough text", strike=True),
    "link": ThemeToken("link", "links", underline=True),
    "code": ThemeToken("code", "inline code"),
    "codeBlock": ThemeToken("codeText", "code block"),
    "codeBorder": ThemeToken("dim", "language of a code block"),
    "quote": ThemeToken("quote", "quotations", italic=True),
    "quoteBorder": ThemeToken("border", "line beside a quote"),
    "listMark": ThemeToken("accent", "bullets and numbers"),
    "tableBorder": ThemeToken("border", "table lines"),
    "rule": ThemeToken("border", "horizontal rules"),
    "border": ThemeToken("border", "frames and editor border"),
    "borderActive": ThemeToken("accent", "frame of the focused element"),
    "selected": ThemeToken("accent", "the selected row", bold=True),
    "selectedBackground": ThemeToken("", "background of the selected row", bg="selection"),
    "matched": ThemeToken("heading", "letters that match a search", underline=True),
    "placeholder": ThemeToken("dim", "placeholder of an empty field"),
    "cursor": ThemeToken("", "the drawn cursor", inverse=True),
    "spinner": ThemeToken("accent", "progress indicator"),
    "error": ThemeToken("error", "failures"),
    "warning": ThemeToken("warning", "warnings"),
    "success": ThemeToken("success", "success"),
    "info": ThemeToken("info", "remarks"),
    "toastInfo": ThemeToken("info", "temporary hint"),
    "toastWarning": ThemeToken("warning", "temporary warning", bold=True),
    "toastError": ThemeToken("error", "temporary error", bold=True),
    "diffAdded": ThemeToken("added", "added lines"),
    "diffRemoved": ThemeToken("removed", "removed lines"),
    "diffAddedWord": ThemeToken("addedWord", "added words", bg="addedBack", bold=True),
    "diffRemovedWord": ThemeToken("removedWord", "removed words", bg="removedBack", bold=True),
    "diffContext": ThemeToken("muted", "unchanged lines of a diff"),
    "diffLineNumber": ThemeToken("dim", "line numbers"),
    "syntaxKeyword": ThemeToken("keyword", "keywords"),
    "syntaxString": ThemeToken("string", "strings"),
    "syntaxNumber": ThemeToken("number", "numbers"),
    "syntaxComment": ThemeToken("comment", "comments", italic=True),
    "syntaxName": ThemeToken("name", "names"),
    "syntaxFunction": ThemeToken("function", "functions"),
    "syntaxType": ThemeToken("type", "types"),
    "syntaxOperator": ThemeToken("operator", "operators"),
    "syntaxPunctuation": ThemeToken("punctuation", "brackets and commas"),
    "syntaxConstant": ThemeToken("constant", "constants"),
    "syntaxDecorator": ThemeToken("decorator", "decorators"),
    "userText": ThemeToken("text", "your messages", bold=True),
    "thinking": ThemeToken("dim", "thinking", italic=True),
    "bashMode": ThemeToken("success", "editor border in shell mode"),
    "pythonMode": ThemeToken("info", "editor border in Python mode"),
    "planMode": ThemeToken("warning", "editor border in plan mode"),
    "statusModel": ThemeToken("accent", "status line: model"),
    "statusPath": ThemeToken("muted", "status line: folder"),
    "statusGit": ThemeToken("success", "status line: branch"),
    "statusDirty": ThemeToken("warning", "status line: branch with uncommitted changes"),
    "statusText": ThemeToken("muted", "status line: everything else"),
}
