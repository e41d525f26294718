"""One row of text, truncated with an ellipsis."""

from tau.tui.component import CachedComponent
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line, clean_styled
from tau.tui.text.cut import truncate


class TruncatedText(CachedComponent):
    """A text shown as one row, whatever its length."""

    def __init__(
        self, theme: Theme, text: str = "", style_token: str = "", *, padding_x: int = 0, styled: bool = False
    ) -> None:
        self._theme = theme
        self._token = style_token
        self._padding = max(padding_x, 0)
        self._styled = styled
        """Whether to keep the text's own colors."""
        self.set_text(text)

    def set_text(self, text: str, style_token: str | None = None) -> None:
        """Replace the text, and the style if given."""
        self._text = clean_styled(text).replace("\n", " ") if self._styled else clean_line(text)
        self._token = self._token if style_token is None else style_token
        self.invalidate()

    def _render_rows(self, width: int) -> list[str]:
        padding = self._padding if width > 2 * self._padding else 0
        shown = truncate(self._text, width - 2 * padding, self._theme.symbols.ellipsis)
        return [" " * padding + self._theme[self._token](shown)]
