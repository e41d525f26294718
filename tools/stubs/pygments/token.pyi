class _TokenType(tuple[str, ...]):
    parent: _TokenType | None
