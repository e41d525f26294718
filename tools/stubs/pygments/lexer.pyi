import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from pygments.token import _TokenType

_Tokens: TypeAlias = Iterable[tuple[int, _TokenType, str]]
_Action: TypeAlias = _TokenType | Callable[[Lexer, re.Match[str]], _Tokens] | None
_Rule: TypeAlias = tuple[
    Callable[[str, int], re.Match[str] | None], _Action, int | str | Sequence[str] | None
]

class Lexer:
    def get_tokens_unprocessed(self, text: str) -> _Tokens: ...

class RegexLexer(Lexer):
    _tokens: Mapping[str, Sequence[_Rule]]
