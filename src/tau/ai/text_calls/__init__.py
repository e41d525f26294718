"""Tool calls and thinking that a model writes as text, because its server does not parse them."""
