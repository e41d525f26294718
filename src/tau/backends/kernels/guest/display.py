"""Shows values: as JSON, images, Markdown or HTML where available, else their `repr`."""

import json
import sys
import warnings
from binascii import b2a_base64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tau.backends.kernels.guest.cell_loop import GuestKernel

MAX_IMAGE_BYTES = 20 * 1024 * 1024
SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)
IMAGE_METHODS = (("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg"))


class RichDisplay:
    """Typed text for `display` or the last line of a cell."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text

    def _repr_mimebundle_(self, **_: object) -> "dict[str, str]":
        return {"text/" + self.kind: self.text}

    def __repr__(self) -> str:
        return self.text


def HTML(kernel: "GuestKernel", text: str) -> RichDisplay:
    return RichDisplay("html", text)


def Markdown(kernel: "GuestKernel", text: str) -> RichDisplay:
    return RichDisplay("markdown", text)


def display(kernel: "GuestKernel", *values: object) -> None:
    """Show values: lists and dictionaries as JSON, images as images, the rest as text."""
    for value in values:
        if isinstance(value, str):
            kernel.write(value + "\n")
        elif isinstance(value, dict) and value.get("type") == "image" and "data" in value:
            _show_image(kernel, value["data"], value.get("mimeType"))
        elif isinstance(value, (dict, list, tuple)):
            _show_json(kernel, value)
        else:
            show_value(kernel, value)


def show_value(kernel: "GuestKernel", value: object) -> None:
    """Show a value in its richest form; `None` shows nothing."""
    if isinstance(value, (bytes, bytearray)) and _signature(bytes(value)) is not None:
        _show_image(kernel, bytes(value), None)
    elif isinstance(value, (str, bytes, int, float, dict, list, tuple, set)) or not _show_rich(kernel, value):
        kernel.write(repr(value) + "\n")


def prepare_figures(kernel: "GuestKernel") -> None:
    """Select matplotlib's non-interactive backend and silence its warning."""
    if not kernel.figures:
        kernel.figures = True
        warnings.filterwarnings("ignore", message=".*non-interactive, and thus cannot be shown")


def show_figures(kernel: "GuestKernel") -> None:
    """Show the figures of a cell, then close them."""
    pyplot = sys.modules["matplotlib.pyplot"]
    try:
        numbers = list(pyplot.get_fignums())
    except AttributeError:  # its import was interrupted
        return
    for number in numbers:
        _show_figure(kernel, pyplot.figure(number))
    if numbers:
        pyplot.close("all")


def _show_rich(kernel: "GuestKernel", value: object) -> bool:
    """Show a value by one of its `_repr_*_` methods; False if none applies."""
    if isinstance(value, type):
        return False
    if type(value).__module__.startswith("matplotlib.") and hasattr(value, "savefig"):
        _show_figure(kernel, value)
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close(value)
        return True
    bundle = _call_repr(value, "_repr_mimebundle_") or {}
    if isinstance(bundle, tuple):
        bundle = bundle[0]
    for method, mime in IMAGE_METHODS:
        data = bundle.get(mime) or _call_repr(value, method)
        if isinstance(data, tuple):
            data = data[0]
        if data:
            _show_image(kernel, data, mime)
            return True
    text = bundle.get("text/markdown") or _call_repr(value, "_repr_markdown_")
    if text:
        kernel.show("markdown", text=str(text))
        return True
    data = bundle.get("application/json") or _call_repr(value, "_repr_json_")
    if data:
        _show_json(kernel, data[0] if isinstance(data, tuple) else data)
        return True
    plain = repr(value)
    text = bundle.get("text/html") or _call_repr(value, "_repr_html_")
    if text and (plain.startswith("<") or plain == str(text)):
        kernel.show("html", text=str(text))
        return True
    if plain.startswith("<") and bundle.get("text/plain"):
        plain = bundle["text/plain"]
    kernel.write(plain + "\n")
    return True


def _call_repr(value: object, method: str) -> "Any":
    if not hasattr(type(value), method):
        return None
    try:
        return getattr(value, method)()
    except Exception:  # treat a failing method as missing
        return None


def _show_json(kernel: "GuestKernel", value: object) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        kernel.write(repr(value) + "\n")
    else:
        kernel.show("json", value=value)


def _show_image(kernel: "GuestKernel", data: "Any", mime: "str | None") -> None:
    """Show an image given as bytes or base64 text."""
    if isinstance(data, str):
        text = data.strip().replace("\n", "")
    else:
        data = bytes(data)
        if len(data) > MAX_IMAGE_BYTES:
            kernel.write(f"[Image over {MAX_IMAGE_BYTES // 1048576} MB not shown]\n")
            return
        mime = _signature(data) or mime
        text = b2a_base64(data, newline=False).decode("ascii")
    kernel.show("image", data=text, mime=mime or "image/png")


def _show_figure(kernel: "GuestKernel", figure: "Any") -> None:
    file = sys.modules["io"].BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    _show_image(kernel, file.getvalue(), "image/png")


def _signature(data: bytes) -> "str | None":
    for start, mime in SIGNATURES:
        if data.startswith(start) and (start != b"RIFF" or data[8:12] == b"WEBP"):
            return mime
    return None
