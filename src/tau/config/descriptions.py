"""Plain-language descriptions of configuration types and values."""

from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import Struct, UnsetType, json

from tau.base.text import shortened

_PLAIN = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    type(None): "null",
    dict: "an object",
}


def describe_type(annotation: Any) -> str:
    """Describe the allowed values, or the type and its range."""
    if hasattr(annotation, "__metadata__"):
        (meta,) = annotation.__metadata__
        text = describe_type(annotation.__origin__)
        if meta.ge is not None:
            text += f" from {meta.ge}"
        return text if meta.le is None else f"{text} to {meta.le}"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "one of " + ", ".join(value or '""' for value in arguments)
    if origin in (Union, UnionType):
        return " or ".join(describe_type(part) for part in arguments if part is not UnsetType)
    if origin in (list, tuple):
        return "a list of " + describe_type(arguments[0]).replace("an object", "objects")
    if origin is dict or (isinstance(annotation, type) and issubclass(annotation, Struct)):
        return _PLAIN[dict]
    return _PLAIN[annotation]


def show_value(value: Any) -> str:
    """Format a value as in a file, truncated to fit a sentence."""
    return shortened(json.encode(value).decode(), 60)
