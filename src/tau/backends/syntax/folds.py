"""What can be left out of a summary, language by language: kinds of nodes, as data."""

from msgspec import Struct


class Folds(Struct, frozen=True, kw_only=True):
    """`bodies` fold inside one of the `owners`; `literals` when they are long; `nested` as soon as bodies do.

    `tails` keep their first line and fold the rest. `data` marks languages without functions.
    """

    owners: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()
    owner_pattern: str = ""  # what the text of an owner must begin with
    literals: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    tails: tuple[str, ...] = ()
    comments: tuple[str, ...] = ("comment",)
    data: bool = False
    prose: bool = False


_SCRIPT = Folds(
    owners=(
        *("function_declaration", "generator_function_declaration", "function_expression"),
        *("generator_function", "arrow_function", "method_definition"),
    ),
    bodies=("statement_block", "parenthesized_expression"),
    literals=("object", "array", "template_string"),
)

FOLDS = {
    "bash": Folds(
        owners=("function_definition",),
        bodies=("compound_statement",),
        literals=("array", "heredoc_body", "raw_string"),
    ),
    "c": Folds(
        owners=("function_definition",), bodies=("compound_statement",), literals=("initializer_list",)
    ),
    "cpp": Folds(
        owners=("function_definition", "lambda_expression"),
        bodies=("compound_statement",),
        literals=("initializer_list", "raw_string_literal"),
    ),
    "csharp": Folds(
        owners=(
            *("method_declaration", "constructor_declaration", "destructor_declaration"),
            *("operator_declaration", "conversion_operator_declaration", "local_function_statement"),
            *("accessor_declaration", "lambda_expression", "anonymous_method_expression"),
        ),
        bodies=("block",),
        literals=("initializer_expression", "raw_string_literal", "verbatim_string_literal"),
    ),
    "css": Folds(owners=("rule_set",), bodies=("block",), data=True),
    "dart": Folds(
        owners=("method_declaration", "function_declaration", "function_expression"),
        bodies=("function_body", "function_expression_body"),
        literals=("list_literal", "set_or_map_literal"),
    ),
    "elixir": Folds(
        owners=("call",),
        bodies=("do_block",),
        owner_pattern=r"^(?:defp?|defmacrop?|test|describe|setup|setup_all|feature)\b",
        literals=("map", "list", "string"),
    ),
    "go": Folds(
        owners=("function_declaration", "method_declaration", "func_literal"),
        bodies=("block",),
        literals=("literal_value", "raw_string_literal"),
    ),
    "haskell": Folds(tails=("function", "bind"), comments=("comment", "haddock")),
    "hcl": Folds(
        owners=("block",),
        bodies=("body",),
        nested=("tuple", "object"),
        literals=("heredoc_template",),
        data=True,
    ),
    "html": Folds(nested=("element", "script_element", "style_element"), data=True),
    "java": Folds(
        owners=(
            *("method_declaration", "constructor_declaration", "compact_constructor_declaration"),
            *("static_initializer", "lambda_expression"),
        ),
        bodies=("block", "constructor_body"),
        literals=("array_initializer", "string_literal"),
        comments=("line_comment", "block_comment"),
    ),
    "javascript": _SCRIPT,
    "json": Folds(nested=("object", "array"), data=True),
    "kotlin": Folds(
        owners=(
            *("function_declaration", "getter", "setter", "anonymous_initializer"),
            *("secondary_constructor", "lambda_literal"),
        ),
        bodies=("function_body", "statements"),
        literals=("string_literal", "collection_literal"),
        comments=("line_comment", "multiline_comment"),
    ),
    "lua": Folds(
        owners=("function_declaration", "function_definition"),
        bodies=("block",),
        literals=("table_constructor", "string"),
    ),
    "markdown": Folds(tails=("section",), nested=("fenced_code_block",), comments=(), prose=True),
    "nix": Folds(
        nested=("attrset_expression", "rec_attrset_expression", "list_expression"),
        literals=("indented_string_expression",),
        data=True,
    ),
    "php": Folds(
        owners=("method_declaration", "function_definition", "anonymous_function"),
        bodies=("compound_statement",),
        literals=("array_creation_expression", "heredoc", "nowdoc"),
    ),
    "python": Folds(
        owners=("function_definition",),
        bodies=("block",),
        literals=("dictionary", "list", "set", "tuple", "string"),
    ),
    "ruby": Folds(
        owners=("method", "singleton_method", "do_block"),
        bodies=("body_statement",),
        literals=("hash", "array", "heredoc_body"),
    ),
    "rust": Folds(
        owners=("function_item", "closure_expression", "macro_rule"),
        bodies=("block", "token_tree"),
        literals=("array_expression", "raw_string_literal"),
        comments=("line_comment", "block_comment"),
    ),
    "scala": Folds(
        owners=("function_definition", "lambda_expression"),
        bodies=("block", "indented_block", "match_expression"),
        literals=("string",),
        comments=("comment", "block_comment"),
    ),
    "solidity": Folds(
        owners=(
            *("function_definition", "constructor_definition", "modifier_definition"),
            "fallback_receive_definition",
        ),
        bodies=("function_body",),
        literals=("inline_array_expression",),
    ),
    "swift": Folds(
        owners=(
            *("function_declaration", "init_declaration", "deinit_declaration", "lambda_literal"),
            *("computed_property", "computed_getter", "computed_setter"),
        ),
        bodies=("function_body", "statements"),
        literals=("array_literal", "dictionary_literal", "multi_line_string_literal"),
        comments=("comment", "multiline_comment"),
    ),
    "tsx": _SCRIPT,
    "typescript": _SCRIPT,
    "yaml": Folds(owners=("block_mapping_pair", "block_sequence_item"), bodies=("block_node",), data=True),
    "zig": Folds(
        owners=("function_declaration", "test_declaration"),
        bodies=("block",),
        literals=("initializer_list", "multiline_string"),
    ),
}
