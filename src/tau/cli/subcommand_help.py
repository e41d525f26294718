"""What `tau SUBCOMMAND --help` prints, and the line that a misused subcommand reports."""

PAGES = {
    "config": """\
usage: tau config list [--json]           list settings, their values and origins
       tau config get KEY [--json]        print one value
       tau config set KEY VALUE [--json]  set one value in your settings file
       tau config reset KEY [--json]      remove one value from your settings file
       tau config path [--json]           print the path of your settings file
       tau config schema                  print a JSON schema for editors
""",
    "read": """\
usage: tau read PATH|URL[:LINES] [--raw] [--json]

Show what the read tool gives the model: tau read src/app.py:10-20, tau read https://example.com.
  --raw   without line numbers; of a web page, its source
  --json  print JSON with the details
To send a message that starts with this word, quote it: tau "read the README".
""",
    "grep": """\
usage: tau grep PATTERN [PATH ...]

Show what the search tool gives the model, by default for this folder. Put -- before a PATTERN like --help.
To send a message that starts with this word, quote it: tau "grep for TODO".
""",
    "search": """\
usage: tau search QUERY [--provider NAME] [--recency day|week|month|year] [--limit N] [--compact] [--json]
       tau search --providers [--json]  list search providers, and what the missing ones need

Show what the web_search tool gives the model.
  --compact  only addresses and titles
To send a message that starts with this word, quote it: tau "search for TODO".
""",
    "edit": """\
usage: tau edit < PATCH

Apply an edit in the model's format. A JSON object is read as the arguments of a call.
""",
    "sessions": """\
usage: tau sessions [--all] [--limit N] [--json]        list sessions in this folder, or in all
       tau sessions search WORD ... [--here] [--limit N] [--json]
                                                        find sessions that contain all words
       tau sessions show ID                             print a conversation as text
       tau sessions rename ID NAME                      rename a session
       tau sessions delete ID ...                       move sessions to the trash for 30 days
       tau sessions restore [ID]                        restore from the trash, or list it
       tau sessions export ID [FILE]                    same as tau export ID [FILE]
       tau sessions reindex                             rebuild the session index

An ID prefix is enough. Words match by prefix; "two words" in quotes match as a phrase.
""",
    "lsp": """\
usage: tau lsp [status] [--json]          show the language servers of this folder
       tau lsp restart [NAME]             start them and say which ones fail
       tau lsp check FILE... [--json]     show errors and warnings; exit 1 on errors
""",
    "mcp": """\
usage: tau mcp [list] [--json]                          show all MCP servers and their state
       tau mcp add NAME URL [--header "NAME: VALUE"]    add a remote server
       tau mcp add NAME [--env NAME=VALUE] -- COMMAND   add a program
       tau mcp add-json NAME JSON                       add a definition as in mcp.json
       tau mcp get|remove|enable|disable NAME           show, remove or switch one
       tau mcp test|reconnect NAME                      connect and list
       tau mcp tools [NAME]                             list tools
       tau mcp call NAME TOOL [JSON | ARG=VALUE ...]    call a tool
       tau mcp resources NAME [URI]                     list resources, or read one
       tau mcp prompts NAME [PROMPT [ARG=VALUE ...]]    list prompts, or expand one
       tau mcp login|logout NAME                        log in with a browser, or forget the login
       tau mcp serve [--http [--port N]]                be a server: tools and prompts for other agents
       tau mcp logs NAME                                show what it printed to stderr
       tau mcp schema                                   print the JSON schema of mcp.json
       tau mcp pins [NAME [forget]]                     list the definitions that are in use

  --scope user|project   where to add or remove: mcp.json in your folder or in the project's .tau
  --type http|sse        how to speak with a URL; default: http
  --cwd DIR              start a program there
  --timeout MS           limit for a call
  --json                 print JSON

Servers of Claude Code, Codex, Cursor, VS Code and others are found too. tau help is short: see docs/mcp.md.
""",
    "models": """\
usage: tau models [list [QUERY]] [--json]    list known or matching models
       tau models search WORD ... [--json]   list models whose id or name has all words
       tau models show MODEL [--json]        show limits, prices, thinking levels and key of one
       tau models refresh [PROVIDER] [--json]
                                             ask servers for their models: those with "discovery" in
                                             models.json, or the one you name
""",
    "login": """\
usage: tau login [PROVIDER] [--add] [--key|--device] [--client-id ID] [--no-check]

Store an API key, typed without echo or piped in, or log in with a browser where the provider offers it.
  --add           keep what is stored too; tau uses the next one when one reaches its limit
  --key           store an API key, although there is a login
  --device        log in with a code on another device
  --client-id ID  log in with your own OAuth client
  --no-check      store a key without asking the provider whether it works
""",
    "logout": """\
usage: tau logout [PROVIDER]

Remove the keys and logins stored for a provider.
""",
    "auth": """\
usage: tau auth list [--json]

List stored keys and logins, and keys in the environment, without their secrets.
""",
    "undo": """\
usage: tau undo [--list] [--dry-run] [--redo] [--force] [--session ID] [TURNS] [PATH ...]

Undo the agent's file changes of the last turn, or of the last TURNS, in this folder's latest session.
  --list        list the turns that changed files
  --dry-run     show what would change
  --redo        revert the last undo
  --force       also undo files changed since; needs their names
  --session ID  use this session
""",
    "export": """\
usage: tau export [ID|PATH] [FILE]

Export a session, by default the latest one in this folder, to FILE.html, FILE.md or FILE.json.
  --html, --markdown, --json, --pi  the format; without a FILE or with -, to standard output
  --raw                             export as stored, without masking again
  --force                           overwrite FILE
""",
    "stats": """\
usage: tau stats [--days N|--all] [--json|--html [FILE] [--force]]

Show cost and tokens by day, model and folder, for the last 30 days by default.
  --days N, --all  another number of days, or all
  --json           print JSON
  --html [FILE]    write a page, by default tau-stats.html here; --force overwrites it
""",
    "usage": """\
usage: tau usage [-j] [-p PROVIDER] [-r]

Show how much of each plan and rate limit is used, when it resets, and how old that figure is.
Providers report it with their answers; nothing is sent.
  -j, --json               print JSON
  -p, --provider PROVIDER  only this provider
  -r, --redact             without the names of accounts
""",
    "ssh": """\
usage: tau ssh list [--json]             list the hosts available in this folder
       tau ssh add NAME [USER@]HOST      add a host to your hosts file
           --user NAME  --port NUMBER    login name and port; default: your ssh_config
           --key PATH                    use only this private key
           --desc TEXT                   description for the model
           --compat  --no-compat         use bash or sh on Windows, or do not
           --scope user|project          file to write: yours or this project's
       tau ssh remove NAME [--scope ...] remove a host
       tau ssh test NAME [--json]        connect and show the kind of machine
""",
    "extensions": """\
usage: tau extensions [list] [--all] [--json]  list what was found in the folders of tau and of other agents
       tau extensions disable NAME             do not use it: KIND:NAME as in the list, or a provider
       tau extensions enable NAME              use it again
       tau extensions time                     load the Python extensions, and say how long each takes

Shows where each item comes from, the tokens it adds to a request, and why it is not used: it is invalid or
waits until you trust the repository, or, with --all, another one has its name or it is turned off.
""",
    "plugin": """\
usage: tau plugin [list] [--json]       list installed plugins
       tau plugin install SOURCE        show what it runs, then install it: a folder, a git address (#REF),
                                        NAME@MARKETPLACE, a wheel or a Python package
       tau plugin update [NAME ...]     fetch again; what has changed is replaced
       tau plugin remove|enable|disable|show NAME
       tau plugin link FOLDER           use your own folder, without a copy
       tau plugin new NAME [--kind extension|tool|hook|skill|rule|plugin]
       tau plugin validate FOLDER       check a plugin or a marketplace; exits with 1 if something is wrong
       tau plugin doctor                check what is installed, without running it
       tau plugin marketplace [list|add FOLDER|URL|remove NAME]

--scope project installs into the .tau folder of the project. --dry-run only shows what would be installed;
--yes does not ask.
""",
    "agents": """\
usage: tau agents [list] [--json]            list the agents that can be started here, and why others cannot
       tau agents show NAME                  show the file of one
       tau agents unpack [FOLDER] [--project] [--force]
                                             copy the bundled agents to your folder of agents, to change them
""",
    "worktree": """\
usage: tau worktree [list]                   list copies of repositories that isolated agents left
       tau worktree show NAME                show what changed in one
       tau worktree apply NAME               merge one into its repository, and remove it
       tau worktree clean [--dry-run]        remove those without changes; others stay, with a patch
""",
    "hooks": """\
usage: tau hooks [list] [--json]  list command hooks, where each is from, and what is wrong with it
       tau hooks test EVENT [--tool NAME] [JSON]
                                  run the hooks of an event on a sample and show what they answer; JSON is the
                                  tool's input, or fields of the event; exits with 1 if one blocks or fails
       tau hooks disable ID       do not run a hook
       tau hooks enable ID        run it again
""",
    "rules": """\
usage: tau rules [list] [--json]                list the agent's rules and what is wrong with them
       tau rules show NAME                      show one
       tau rules test NAME|FILE [--source text|thinking|tool] [--tool NAME] [--path PATH] TEXT
                                                say what it matches in a text, and why it would not trigger;
                                                the text is that of a write call unless you say otherwise
""",
    "trust": """\
usage: tau trust [show] [--json]  show what this repository could run, and whether you trust it
       tau trust add              trust it as it is now
       tau trust remove           no longer trust it
       tau trust list [--json]    list the repositories you decided on

Until you trust a repository, nothing in it runs: no extensions, hooks, tools, MCP or language servers.
A change asks again; the same content in another work tree or clone does not.
""",
    "shell": """\
usage: tau shell [-C FOLDER] [-t MILLISECONDS] [--no-snapshot]

Run each line of standard input in the shell that the agent uses, and in its sandbox.
  -C FOLDER        start in this folder
  -t MILLISECONDS  time limit of a command; default: 300000
  --no-snapshot    without what your shell's startup file defines
""",
    "sandbox": """\
usage: tau sandbox run COMMAND ...          run a command in the sandbox of this folder
       tau sandbox explain [PATH] [--json]  show what commands can see and write here, and why
       tau sandbox probe [--json]           try each engine and show what it was shown to contain

Put -- before a COMMAND with options: tau sandbox run -- ls --help.
""",
    "doctor": """\
usage: tau doctor [--json]                       check the sandbox, permissions, keys, servers and programs
       tau doctor --redact [--dry-run] [--json]  mask secrets in stored sessions, artifacts, drafts and logs

The exit code is 1 if a check fails. Close other taus before --redact: open sessions are skipped.
""",
    "demo": """\
usage: tau demo [--fast]

Watch a scripted model fix a bug in one minute; --fast skips the pauses. It needs no API key and no network.
""",
    "acp": """\
usage: tau acp [FLAG ...]

Serve an editor, such as Zed or a JetBrains IDE, over the Agent Client Protocol on stdin and stdout. Takes
tau's flags, such as --model. Needs the extra: pip install 'tau-agent[acp]'.
""",
    "serve": """\
usage: tau serve [--host ADDRESS] [--port N | --unix PATH] [--root DIR] [FLAG ...]

Serve a web page and programs over HTTP and print the page's address. Takes the flags of tau, such as --model.
  --host ADDRESS      address to listen on; default: 127.0.0.1
  --port N            port to listen on; default: 8228; 0 takes any free one
  --unix PATH         listen on this Unix socket instead
  --root DIR          serve sessions of this folder and those below it; default: this folder
  --allow-host NAME   accept this name in the Host header, such as that of a proxy; repeatable
  --allow-origin URL  accept requests of pages from this origin; repeatable
Needs the extra: pip install 'tau-agent[serve]'.
""",
    "batch": """\
usage: tau batch FILE [--template TEXT] [--out DIR] [--jobs N] [FLAG ...]
       tau batch status|show|report DIR [--json | --html]     what came of it so far
       tau batch show DIR TASK                                one result as JSON
       tau batch retry DIR [TASK ...] [--status STATUS]       run tasks again, by default all not done
       tau batch cancel DIR [TASK ...]                        stop tasks of a batch that runs

Run each task of FILE (JSON lines; rows of CSV or JSON lines with --template) and record its result. The same
command resumes. Takes the flags of tau for models and safety, such as --model.
  --template TEXT       prompt with {COLUMN} for each row
  --out DIR             folder for results; default: FILE without its suffix, and -batch
  --jobs N              tasks at once; default: auto, by cores and free memory
  --max-cost USD        stop at this cost
  --fail-fast N         stop after N failed tasks
  --keep failed|all|none  keep the folders of these tasks; default: failed
  --collect branch|pr   push the changes of each task that is done
  --rpm N, --tpm N      requests and tokens a minute, for each provider
  --dry-run             check the tasks and show the plan
""",
    "commit": """\
usage: tau commit [--split] [--all] [--push] [--dry-run] [--yes] [--json] [FLAG ...]

Commit what is staged, and nothing else, with a message that a model writes. Your hooks and signing apply.
  --split              make several commits, each with one purpose; shows them first
  --all                commit all changes of tracked files, as git commit --all
  --push               push afterwards
  --dry-run            show the messages; commit nothing
  -y, --yes            do not ask
  --json               print JSON
  --no-changelog       leave CHANGELOG.md alone
  --legacy             write the message in one request, without summaries
  -c, --context TEXT   what the model should know
  -m, --model PATTERN  model to use; default: the role commit, else smol
""",
    "memory": """\
usage: tau memory list                  list memories, the latest first
       tau memory search WORD ...       search as the agent does
       tau memory show ID               show one
       tau memory add TEXT              add one
       tau memory edit ID TEXT          replace its text
       tau memory forget ID ...         delete some
       tau memory clear --yes           delete all of the scope
       tau memory stats                 count them
       tau memory doctor                check the file
       tau memory export [FILE]         write JSON lines
       tau memory import FILE|FOLDER    read JSON lines, or a folder of Markdown files

  --scope project|global|all   whose memories; default: project
  --json                       print JSON
""",
    "bench": """\
usage: tau bench [SUITE] [--model PATTERN ...] [--set KEY=VALUE ...] [--repeat N] [FLAG ...]

Run each task of SUITE, a folder (default: a small one that comes with tau), with each model and setting, and
compare: rates with intervals, cost, and whether a difference is more than chance. Resumes as tau batch does.
  --model PATTERN   a model to compare; repeatable; default: yours
  --set KEY=VALUE   compare each model without and with this setting; repeatable
  --repeat N        runs of each task; default: 1
  --task NAME       only this task; repeatable
  --seed N          order of the runs; default: 0
  --oracle          run the reference solutions, to see that each task works here
  --baseline FILE   compare with the --json report in FILE; --max-drop SHARE fails below it (default: 0.05)
  --out DIR         folder for results; default: SUITE and -bench
  --jobs N, --max-cost USD, --rpm N, --tpm N, --json
""",
    "relay": """\
usage: tau relay run [--channel NAME ...]    answer messages; by default on the channels of the config
       tau relay init [--from FILE]          write a config, or convert one of warelay
       tau relay check [FILE] [--json]       list all problems of the config
       tau relay show                        print the config with its defaults
       tau relay schema                      print a JSON schema of the config
       tau relay doctor [--json]             check the agent, its login, the channels, the clock and ports
       tau relay status [--json]             count messages; list them, and parts that may not have arrived
       tau relay sessions [--json]           list conversations
       tau relay allow CODE|CHANNEL:SENDER   admit a sender
       tau relay send --to CHANNEL:CHAT [--message TEXT] [--media PATH]
                                             send a message, over the running relay if there is one
       tau relay heartbeat [--to CHAT|--all] make the running relay's agent look whether something needs
                                             attention; with --message, send that instead
       tau relay login|logout --channel NAME link or unlink WhatsApp; check the account of another channel
       tau relay webhook [--port N] [--path PATH] [--ingress tailscale|none] [--reply TEXT]
                                             answer on Twilio by its webhook
       tau relay tmux [attach|heartbeat]     run the relay in the tmux session tau-relay, or attach to it
       tau relay systemd                     print a unit for systemd --user

  --dry-run         of send, heartbeat and webhook: show what would happen
  --heartbeat-now   of run: begin with a heartbeat
  --verbose         of run: log everything but message texts
  --interval SECONDS, --web-heartbeat SECONDS, --web-retries N, --web-retry-initial MS, --web-retry-max MS
                    of run: instead of twilio.pollSeconds, web.heartbeatSeconds and web.reconnect
  --limit N, --lookback MINUTES
                    of status: which messages to list

The config is ~/.tau/relay.json, or relay.json in TAU_RELAY_HOME. See docs/relay.md.
""",
    "completions": """\
usage: tau completions bash|zsh|fish

Print a shell completion script. To enable it:
  bash  eval "$(tau completions bash)" in ~/.bashrc
  zsh   eval "$(tau completions zsh)" in ~/.zshrc, after compinit
  fish  tau completions fish > ~/.config/fish/completions/tau.fish

The script asks tau completions values KIND for settings, tools, models, providers, hosts and sessions.
""",
    "help": """\
usage: tau help [COMMAND]

Same as tau --help and tau COMMAND --help.
""",
}


def usage_line(name: str) -> str:
    """One sentence for someone who misused a subcommand."""
    form = PAGES[name].splitlines()[0].removeprefix("usage: ").partition("  ")[0]
    return f"Usage: {form}. See tau {name} --help."
