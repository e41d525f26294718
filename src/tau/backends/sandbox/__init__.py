"""The sandbox that commands of a session run in: one per session, entered once, started by the first command.

`session.SessionSandbox` implements `tau.base.run.Sandbox`. It picks an engine (`engines.py`), turns settings
into a policy (`policy.py`) and the policy into mounts (`mounts.py`), and starts a small program inside
(`guest/holder.py`), which starts all commands and reports their exits (`holder_connection.py`).
Each start tries, from inside, what the engine promises (`guest/checks.py`); an engine that breaks a promise
is not used.

What networking builds on:

- A `SandboxPart` in `SessionSandbox.parts` is opened after each start of the sandbox, and its `open(sandbox)`
  returns variables for all commands, such as `http_proxy`. It is closed before the sandbox. A session sets
  `coding.sandbox.LateSandbox.make_parts`, which is called with the first command.
- `await sandbox.listen(port)` returns a listening socket that lives in the sandbox's network namespace:
  commands connect to 127.0.0.1, we accept outside. A proxy needs nothing else.
- `await sandbox.make_sockets(count)` returns unconnected sockets of that namespace: `connect` on one reaches
  a server inside, for example to forward a port to the user.
- `sandbox.owns_network` says whether there is such a namespace: not with `network: on`, nor with landlock,
  where `network: off` and `list` leave commands without internet sockets.
- `sandbox.policy.network` and `.hosts` are the user's rules; loopback is up inside. Without a part, `list`
  is `off`.
"""
