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


class Token(NamedTuple):
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
    "text": Token("text", "ordinary text"),
    "muted": Token("muted", "remarks, values, hints"),
    "dim": Token("dim", "what can be overlooked"),
    "accent": Token("accent", "titles, your messages, what is active"),
    "heading": Token("heading", "headings", bold=True),
    "strong": Token("", "bold text", bold=True),
    "emphasis": Token("", "italic text", italic=True),
    "strike": Token("", "struck text", strike=True),
    "link": Token("link", "links", underline=True),
    "code": Token("code", "code inside a sentence"),
    "codeBlock": Token("codeText", "code in a block"),
    "codeBorder": Token("border", "the language of a block"),
    "quote": Token("quote", "quotations", italic=True),
    "quoteBorder": Token("border", "the line beside a quotation"),
    "listMark": Token("accent", "bullets and numbers"),
    "tableBorder": Token("border", "lines of tables"),
    "rule": Token("border", "dividing lines"),
    "border": Token("border", "frames, the editor's lines"),
    "borderActive": Token("accent", "the frame of what has the focus"),
    "selected": Token("accent", "the selected row", bold=True),
    "selectedBackground": Token("", "its ground", bg="selection"),
    "matched": Token("heading", "letters that match a search", underline=True),
    "placeholder": Token("dim", "what an empty field says"),
    "cursor": Token("", "the drawn cursor", inverse=True),
    "spinner": Token("accent", "the sign that something runs"),
    "error": Token("error", "failures"),
    "warning": Token("warning", "warnings"),
    "success": Token("success", "what went well"),
    "info": Token("info", "remarks"),
    "toastInfo": Token("info", "a remark that goes by itself"),
    "toastWarning": Token("warning", "a warning that goes by itself", bold=True),
    "toastError": Token("error", "a failure that goes by itself", bold=True),
    "diffAdded": Token("added", "added lines"),
    "diffRemoved": Token("removed", "removed lines"),
    "diffAddedWord": Token("addedWord", "added words", bg="addedBack", bold=True),
    "diffRemovedWord": Token("removedWord", "removed words", bg="removedBack", bold=True),
    "diffContext": Token("muted", "lines around a change"),
    "diffLineNumber": Token("dim", "line numbers"),
    "syntaxKeyword": Token("keyword", "keywords"),
    "syntaxString": Token("string", "strings"),
    "syntaxNumber": Token("number", "numbers"),
    "syntaxComment": Token("comment", "comments", italic=True),
    "syntaxName": Token("name", "names"),
    "syntaxFunction": Token("function", "functions"),
    "syntaxType": Token("type", "types"),
    "syntaxOperator": Token("operator", "operators"),
    "syntaxPunctuation": Token("punctuation", "brackets and commas"),
    "syntaxConstant": Token("constant", "constants"),
    "syntaxDecorator": Token("decorator", "decorators"),
    "userText": Token("text", "what you said", bold=True),
    "thinking": Token("dim", "what the model thinks", italic=True),
    "bashMode": Token("success", "the editor's line while it holds a command"),
    "pythonMode": Token("info", "the editor's line while it holds Python"),
    "planMode": Token("warning", "the editor's line in plan mode"),
    "statusModel": Token("accent", "the model in the status line"),
    "statusPath": Token("muted", "the folder there"),
    "statusGit": Token("success", "the branch there"),
    "statusDirty": Token("warning", "the branch, where something is not committed"),
    "statusText": Token("muted", "all else there"),
}
