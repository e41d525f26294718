"""What a theme colours: every token of the screen, with the colour it takes and what it is for."""

from typing import NamedTuple

from tau.tui.style import StyleSpec

ROLES = {
    "text": "ordinary text; empty: the terminal's own",
    "muted": "what matters less",
    "dim": "what matters least",
    "accent": "what is active or yours",
    "border": "lines and frames",
    "selection": "ground of the selected row",
    "heading": "headings",
    "error": "failures",
    "warning": "warnings",
    "success": "what went well",
    "info": "remarks",
    "link": "links",
    "code": "code inside a sentence",
    "codeText": "code in a block, where it has no colour of its own",
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
    "addedBack": "ground of added words",
    "removedWord": "removed words",
    "removedBack": "ground of removed words",
}
"""The colours that a theme names."""


class ThemeToken(NamedTuple):
    """How a token is made from the colours of a theme, unless the theme says otherwise."""

    fg: str
    description: str
    bg: str = ""
    bold: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    inverse: bool = False

    def spec(self, colors: dict[str, str]) -> StyleSpec:
        return StyleSpec(
            fg=colors.get(self.fg, ""),
            bg=colors.get(self.bg, ""),
            bold=self.bold,
            italic=self.italic,
            underline=self.underline,
            strike=self.strike,
            inverse=self.inverse,
        )


TOKENS = {
    "text": ThemeToken("text", "ordinary text"),
    "muted": ThemeToken("muted", "remarks, values, hints"),
    "dim": ThemeToken("dim", "what can be overlooked"),
    "accent": ThemeToken("accent", "titles, your messages, what is active"),
    "heading": ThemeToken("heading", "headings", bold=True),
    "strong": ThemeToken("", "bold text", bold=True),
    "emphasis": ThemeToken("", "italic text", italic=True),
    "strike": ThemeToken("", "struck text", strike=True),
    "link": ThemeToken("link", "links", underline=True),
    "code": ThemeToken("code", "code inside a sentence"),
    "codeBlock": ThemeToken("codeText", "code in a block"),
    "codeBorder": ThemeToken("border", "the language of a block"),
    "quote": ThemeToken("quote", "quotations", italic=True),
    "quoteBorder": ThemeToken("border", "the line beside a quotation"),
    "listMark": ThemeToken("accent", "bullets and numbers"),
    "tableBorder": ThemeToken("border", "lines of tables"),
    "rule": ThemeToken("border", "dividing lines"),
    "border": ThemeToken("border", "frames, the editor's lines"),
    "borderActive": ThemeToken("accent", "the frame of what has the focus"),
    "selected": ThemeToken("accent", "the selected row", bold=True),
    "selectedBackground": ThemeToken("", "its ground", bg="selection"),
    "matched": ThemeToken("heading", "letters that match a search", underline=True),
    "placeholder": ThemeToken("dim", "what an empty field says"),
    "cursor": ThemeToken("", "the drawn cursor", inverse=True),
    "spinner": ThemeToken("accent", "the sign that something runs"),
    "error": ThemeToken("error", "failures"),
    "warning": ThemeToken("warning", "warnings"),
    "success": ThemeToken("success", "what went well"),
    "info": ThemeToken("info", "remarks"),
    "toastInfo": ThemeToken("info", "a remark that goes by itself"),
    "toastWarning": ThemeToken("warning", "a warning that goes by itself", bold=True),
    "toastError": ThemeToken("error", "a failure that goes by itself", bold=True),
    "diffAdded": ThemeToken("added", "added lines"),
    "diffRemoved": ThemeToken("removed", "removed lines"),
    "diffAddedWord": ThemeToken("addedWord", "added words", bg="addedBack", bold=True),
    "diffRemovedWord": ThemeToken("removedWord", "removed words", bg="removedBack", bold=True),
    "diffContext": ThemeToken("muted", "lines around a change"),
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
    "userText": ThemeToken("text", "what you said", bold=True),
    "thinking": ThemeToken("dim", "what the model thinks", italic=True),
    "bashMode": ThemeToken("success", "the editor's line while it holds a command"),
    "pythonMode": ThemeToken("info", "the editor's line while it holds Python"),
    "planMode": ThemeToken("warning", "the editor's line in plan mode"),
    "statusModel": ThemeToken("accent", "the model in the status line"),
    "statusPath": ThemeToken("muted", "the folder there"),
    "statusGit": ThemeToken("success", "the branch there"),
    "statusDirty": ThemeToken("warning", "the branch, where something is not committed"),
    "statusText": ThemeToken("muted", "all else there"),
}
