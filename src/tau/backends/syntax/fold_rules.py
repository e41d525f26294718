"""Node kinds that a summary can fold, per language."""

from msgspec import Struct


class FoldRules(Struct, frozen=True, kw_only=True):
    """`bodies` fold inside one of the `owners`; `literals` if long; `nested` whenever bodies do.

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


_SCRIPT = FoldRules(
    owners=(
        *("function_declaration", "generator_function_declaration", "function_expression"),
        *("generator_function", "arrow_function", "method_definition"),
    ),
    bodies=("statement_block", "parenthesized_expression"),
    literals=("object", "array", "template_string"),
)

FOLDS = {
    "bash": FoldRules(
        owners=("function_definition",),
        bodies=("compound_statement",),
        literals=("array", "heredoc_body", "raw_string"),
    ),
    "c": FoldRules(
        owners=("function_definition",), bodies=("compound_statement",), literals=("initializer_list",)
    ),
    "cpp": FoldRules(
        owners=("function_definition", "lambda_expression"),
        bodies=("compound_statement",),
        literals=("initializer_list", "raw_string_literal"),
    ),
    "csharp": FoldRules(
        owners=(
            *("method_declaration", "constructor_declaration", "destructor_declaration"),
            *("operator_declaration", "conversion_operator_declaration", "local_function_statement"),
            *("accessor_declaration", "lambda_expression", "anonymous_method_expression"),
        ),
        bodies=("block",),
        literals=("initializer_expression", "raw_string_literal", "verbatim_string_literal"),
    ),
    "css": FoldRules(owners=("rule_set",), bodies=("block",), data=True),
    "dart": FoldRules(
        owners=("method_declaration", "function_declaration", "function_expression"),
        bodies=("function_body", "function_expression_body"),
        literals=("list_literal", "set_or_map_literal"),
    ),
    "elixir": FoldRules(
        owners=("call",),
        bodies=("do_block",),
        owner_pattern=r"^(?:defp?|defmacrop?|test|describe|setup|setup_all|feature)\b",
        literals=("map", "list", "string"),
    ),
    "go": FoldRules(
        owners=("function_declaration", "method_declaration", "func_literal"),
        bodies=("block",),
        literals=("literal_value", "raw_string_literal"),
    ),
    "haskell": FoldRules(tails=("function", "bind"), comments=("comment", "haddock")),
    "hcl": FoldRules(
        owners=("block",),
        bodies=("body",),
        nested=("tuple", "object"),
        literals=("heredoc_template",),
        data=True,
    ),
    "html": FoldRules(nested=("element", "script_element", "style_element"), data=True),
    "java": FoldRules(
        owners=(
            *("method_declaration", "constructor_declaration", "compact_constructor_declaration"),
            *("static_initializer", "lambda_expression"),
        ),
        bodies=("block", "constructor_body"),
        literals=("array_initializer", "string_literal"),
        comments=("line_comment", "block_comment"),
    ),
    "javascript": _SCRIPT,
    "json": FoldRules(nested=("object", "array"), data=True),
    "kotlin": FoldRules(
        owners=(
            *("function_declaration", "getter", "setter", "anonymous_initializer"),
            *("secondary_constructor", "lambda_literal"),
        ),
        bodies=("function_body", "statements"),
        literals=("string_literal", "collection_literal"),
        comments=("line_comment", "multiline_comment"),
    ),
    "lua": FoldRules(
        owners=("function_declaration", "function_definition"),
        bodies=("block",),
        literals=("table_constructor", "string"),
    ),
    "markdown": FoldRules(tails=("section",), nested=("fenced_code_block",), comments=(), prose=True),
    "nix": FoldRules(
        nested=("attrset_expression", "rec_attrset_expression", "list_expression"),
        literals=("indented_string_expression",),
        data=True,
    ),
    "php": FoldRules(
        owners=("method_declaration", "function_definition", "anonymous_function"),
        bodies=("compound_statement",),
        literals=("array_creation_expression", "heredoc", "nowdoc"),
    ),
    "python": FoldRules(
        owners=("function_definition",),
        bodies=("block",),
        literals=("dictionary", "list", "set", "tuple", "string"),
    ),
    "ruby": FoldRules(
        owners=("method", "singleton_method", "do_block"),
        bodies=("body_statement",),
        literals=("hash", "array", "heredoc_body"),
    ),
    "rust": FoldRules(
        owners=("function_item", "closure_expression", "macro_rule"),
        bodies=("block", "token_tree"),
        literals=("array_expression", "raw_string_literal"),
        comments=("line_comment", "block_comment"),
    ),
    "scala": FoldRules(
        owners=("function_definition", "lambda_expression"),
        bodies=("block", "indented_block", "match_expression"),
        literals=("string",),
        comments=("comment", "block_comment"),
    ),
    "solidity": FoldRules(
        owners=(
            *("function_definition", "constructor_definition", "modifier_definition"),
            "fallback_receive_definition",
        ),
        bodies=("function_body",),
        literals=("inline_array_expression",),
    ),
    "swift": FoldRules(
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
    "yaml": FoldRules(
        owners=("block_mapping_pair", "block_sequence_item"), bodies=("block_node",), data=True
    ),
    "zig": FoldRules(
        owners=("function_declaration", "test_declaration"),
        bodies=("block",),
        literals=("initializer_list", "multiline_string"),
    ),
}
