from collections.abc import Mapping, Sequence

from pygments.lexer import Lexer

LEXERS: Mapping[str, tuple[str, str, Sequence[str], Sequence[str], Sequence[str]]]

def get_lexer_by_name(name: str, *, stripnl: bool = True, ensurenl: bool = True) -> Lexer: ...
