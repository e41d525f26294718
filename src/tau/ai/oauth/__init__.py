"""OAuth logins: the browser flow with PKCE, the device flow, and the exchange of tokens."""
