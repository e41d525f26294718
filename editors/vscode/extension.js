// Drives tau over `tau serve`: one file, because extension hosts in browsers load no others.
"use strict";

const vscode = require("vscode");

const isDesktop = typeof process === "object" && Boolean(process.versions?.node) && vscode.env.uiKind === vscode.UIKind.Desktop;
const MAX_CONTEXT_CHARS = 100_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
const START_TIMEOUT_MS = 30_000;

/** A failed request; `status` is 0 if there was no answer. */
class RequestError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

/** The HTTP API of one server. `address` is as tau serve prints it. */
class Client {
  constructor(address) {
    const [base, fragment = ""] = address.trim().split("#");
    this.base = base.replace(/\/+$/, "");
    this.token = new URLSearchParams(fragment).get("token") ?? "";
  }

  async send(method, path, body, more = {}) {
    const headers = { authorization: `Bearer ${this.token}`, ...more.headers };
    if (body !== undefined) headers["content-type"] = "application/json";
    let response;
    try {
      response = await fetch(`${this.base}/v1${path}`, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: more.signal,
      });
    } catch (error) {
      throw new RequestError(`tau serve does not answer at ${this.base}: ${error.message}`);
    }
    if (response.ok) return response;
    const answer = await response.json().catch(() => ({}));
    throw new RequestError(answer.error ?? `tau serve answered ${response.status}.`, response.status);
  }

  async json(method, path, body, more) {
    const response = await this.send(method, path, body, more);
    return response.status === 204 ? undefined : response.json();
  }

  /** Calls `take` for each event after `last` until the stream ends; returns the id of the last one. */
  async events(session, last, take, signal) {
    const response = await this.send("GET", `/sessions/${session}/events`, undefined, {
      headers: last ? { "last-event-id": last } : {},
      signal,
    });
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return last;
      text += decoder.decode(value, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop();
      for (const frame of frames) {
        const fields = Object.fromEntries(
          frame.split("\n").filter((line) => !line.startsWith(":")).map((line) => line.split(/: (.*)/s)),
        );
        if (!fields.data) continue;
        last = fields.id ?? last;
        await take(JSON.parse(fields.data), last);
      }
    }
  }
}

/** The server that this window has started. */
class LocalServer {
  constructor(output) {
    this.output = output;
    this.child = undefined;
  }

  /** Resolves to the address. */
  start() {
    const { spawn } = require("child_process");
    const settings = vscode.workspace.getConfiguration("tau");
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    if (!folder) throw new RequestError("Open a folder first: tau works in it.");
    const program = settings.get("path");
    return new Promise((resolve, reject) => {
      const child = spawn(program, ["serve", "--port", "0", ...settings.get("arguments")], { cwd: folder });
      const fail = (text) => reject(new RequestError(text));
      const timer = setTimeout(() => {
        child.kill();
        fail(`${program} serve did not start in ${START_TIMEOUT_MS / 1000} s; see the output.`);
      }, START_TIMEOUT_MS);
      let text = "";
      child.stdout.on("data", (data) => {
        text += data;
        const found = text.match(/^(http\S+)\n/m);
        if (found) {
          clearTimeout(timer);
          resolve(found[1]);
        }
      });
      child.stderr.on("data", (data) => this.output.append(String(data)));
      child.on("error", (error) => fail(`${program} cannot be started: ${error.message}; see the setting tau.path.`));
      child.on("exit", (code) => {
        clearTimeout(timer);
        if (this.child === child) this.child = undefined;
        fail(`${program} serve ended with code ${code}; see the output.`);
      });
      this.child = child;
    });
  }

  dispose() {
    this.child?.kill();
    this.child = undefined;
  }
}

/** Shows texts of the server as read-only documents; the query of an address is the path of the request. */
class ServerDocuments {
  constructor(agent) {
    this.agent = agent;
    this.texts = new Map();
  }

  static uri(name, request) {
    return vscode.Uri.from({ scheme: "tau", path: `/${name}`, query: request });
  }

  async provideTextDocumentContent(uri) {
    if (this.texts.has(uri.query)) return this.texts.get(uri.query);
    const client = await this.agent.connect();
    return (await client.send("GET", uri.query)).text();
  }
}

/** The conversation of this window. */
class Agent {
  constructor(context) {
    this.context = context;
    this.output = vscode.window.createOutputChannel("tau", "markdown");
    this.status = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left, 50);
    this.server = new LocalServer(this.output);
    this.documents = new ServerDocuments(this);
    this.client = undefined;
    this.connecting = undefined;
    this.session = undefined;
    this.stream = undefined;
    this.questions = new Map();
    this.picker = undefined;
    this.busy = false;
    this.state = "offline";
    this.show();
  }

  dispose() {
    this.stream?.abort();
    this.server.dispose();
    this.output.dispose();
    this.status.dispose();
  }

  show(state = this.state) {
    this.state = state;
    const looks = {
      offline: ["$(circle-slash) tau", "tau is not connected", "tau.ask"],
      lost: ["$(sync~spin) tau", "tau: connecting again", "tau.output"],
      ready: ["$(comment-discussion) tau", "Ask tau", "tau.ask"],
      working: ["$(loading~spin) tau", "tau is working; click to stop", "tau.stop"],
      asking: ["$(bell-dot) tau", "tau needs an answer", "tau.answer"],
    };
    const shown = state === "ready" ? (this.questions.size ? "asking" : this.busy ? "working" : "ready") : state;
    [this.status.text, this.status.tooltip, this.status.command] = looks[shown];
    this.status.accessibilityInformation = { label: this.status.tooltip };
    this.status.backgroundColor =
      shown === "asking" ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.status.show();
  }

  /** The client of the server that is set, or of one that is started. */
  connect() {
    this.connecting ??= this.open().catch((error) => {
      this.connecting = undefined;
      throw error;
    });
    return this.connecting;
  }

  async open() {
    const address =
      vscode.workspace.getConfiguration("tau").get("address") || (await this.context.secrets.get("address"));
    if (!address && !isDesktop) throw new RequestError("Set tau.address to the address that tau serve prints.");
    this.client = new Client(address || (await this.server.start()));
    await this.client.json("GET", "/sessions?limit=1");
    return this.client;
  }

  disconnect() {
    this.stream?.abort();
    this.stream = this.session = this.connecting = undefined;
    this.busy = false;
    this.closeQuestions();
    this.server.dispose();
    this.show("offline");
  }

  /** Opens the session of this workspace, or a new one. */
  async ready() {
    const client = await this.connect();
    if (this.session) return client;
    const stored = this.context.workspaceState.get("session");
    try {
      if (stored) await this.enter(stored);
    } catch (error) {
      if (!error.status) throw error; // the stored one is gone or open elsewhere
    }
    if (!this.session) await this.enter((await client.json("POST", "/sessions", {})).id);
    return client;
  }

  async enter(id) {
    const view = await this.client.json("GET", `/sessions/${id}`);
    if (!view.state) throw new RequestError("The session is open in another process.", 409);
    this.session = id;
    await this.context.workspaceState.update("session", id);
    this.load(view);
    this.stream?.abort();
    this.stream = new AbortController();
    void this.follow(id, view.lastEventId, this.stream.signal);
  }

  load(view) {
    this.busy = view.session.busy;
    this.closeQuestions();
    for (const question of view.questions) this.openQuestion(question);
    this.show("ready");
  }

  /** Follows the events, and connects again when the stream breaks. */
  async follow(id, last, signal) {
    let wait = RETRY_MS;
    while (!signal.aborted) {
      try {
        await this.client.events(
          id,
          last,
          async (event, eventId) => {
            last = eventId;
            wait = RETRY_MS;
            if (this.state === "lost") this.show("ready");
            await this.take(event);
          },
          signal,
        );
      } catch (error) {
        if (signal.aborted) return;
        if (error.status) {
          this.output.appendLine(`\n> ${error.message}`);
          this.disconnect();
          return;
        }
      }
      if (signal.aborted) return;
      this.show("lost");
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(2 * wait, MAX_RETRY_MS);
      if (!vscode.workspace.getConfiguration("tau").get("address") && isDesktop && !this.server.child) {
        this.disconnect();
        return;
      }
    }
  }

  async take(event) {
    switch (event.type) {
      case "agent_start":
        this.busy = true;
        break;
      case "agent_settled":
        this.busy = false;
        this.output.appendLine("");
        break;
      case "message_start":
        if (event.message.role === "user") this.output.appendLine(`\n## ${textOf(event.message.content)}\n`);
        break;
      case "message_update": {
        const update = event.assistantMessageEvent;
        if (update.type === "text_delta") this.output.append(update.delta);
        if (update.type === "text_end") this.output.appendLine("");
        break;
      }
      case "tool_execution_start":
        this.output.appendLine(`\n> ${event.toolName}: ${summaryOf(event.args)}`);
        break;
      case "tool_execution_end":
        if (event.isError) this.output.appendLine(`> failed: ${textOf(event.result.content).slice(0, 500)}`);
        break;
      case "notice":
        this.output.appendLine(`\n> ${event.message}`);
        break;
      case "question_opened":
        this.openQuestion(event.question);
        break;
      case "question_closed":
        this.questions.delete(event.id);
        if (this.picker?.question === event.id) {
          this.picker.close();
          if (this.questions.size) void guarded(() => this.answer())(); // somebody else answered this one
        }
        break;
      case "reset":
        if (event.sessionId && event.sessionId !== this.session) await this.enter(event.sessionId);
        else this.load(await this.client.json("GET", `/sessions/${this.session}`));
        break;
      default:
        return;
    }
    this.show();
  }

  openQuestion(question) {
    this.questions.set(question.id, question);
    void guarded(() => this.answer(question.id))();
  }

  closeQuestions() {
    this.questions.clear();
    this.picker?.close();
  }

  /** Asks the user an open question, and sends the answer unless another client was faster. */
  async answer(id) {
    if (this.picker) return; // the next one is asked afterwards
    const question = this.questions.get(id) ?? [...this.questions.values()][0];
    if (!question) return;
    const reply = await this.ask(question);
    if (reply && this.questions.delete(question.id)) {
      this.show();
      try {
        await this.client.json("POST", `/sessions/${this.session}/questions/${question.id}`, reply);
      } catch (error) {
        if (error.status !== 404) throw error;
      }
    }
    if (reply && this.questions.size) await this.answer();
  }

  /** The reply; undefined if the user has put it off or it was closed. */
  async ask(question) {
    if (question.approval) return this.askApproval(question);
    if (question.method === "select") {
      const value = await this.pick(question, question.title, question.options.map((label) => ({ label })));
      return value && { value: value.label };
    }
    if (question.method === "confirm") {
      const items = [{ label: "Yes", confirmed: true }, { label: "No", confirmed: false }];
      const chosen = await this.pick(question, `${question.title} ${question.message ?? ""}`, items);
      return chosen && { confirmed: chosen.confirmed };
    }
    const options = { title: question.title, placeHolder: question.placeholder, value: question.prefill };
    const value = await vscode.window.showInputBox({ ...options, ignoreFocusOut: true });
    return value === undefined ? undefined : { value };
  }

  /** Shows the whole request beside the choices: nothing is allowed unread. */
  async askApproval(question) {
    const { approval, title } = question;
    this.documents.texts.set(question.id, title);
    const document = await vscode.workspace.openTextDocument(ServerDocuments.uri(`${approval.heading}.txt`, question.id));
    await vscode.window.showTextDocument(document, { preview: true, preserveFocus: true });
    const items = approval.choices.map(({ value, label, about }) => ({ label, detail: about, value }));
    items.push({ label: "No, and tell the agent why", value: "why" });
    const no = items.find((one) => one.value === "no"); // so that a stray Enter allows nothing
    const chosen = await this.pick(question, `${approval.heading} ${approval.effects.join("; ")}`, items, no);
    this.documents.texts.delete(question.id);
    if (chosen?.value !== "why") return chosen && { value: chosen.value };
    const reason = await vscode.window.showInputBox({ title: "Why not?", ignoreFocusOut: true });
    return reason === undefined ? undefined : { value: "no", reason };
  }

  pick(question, title, items, first = items[0]) {
    return new Promise((resolve) => {
      const picker = vscode.window.createQuickPick();
      const close = (value) => {
        if (this.picker?.question !== question.id) return;
        this.picker = undefined;
        picker.dispose();
        resolve(value);
      };
      this.picker = { question: question.id, close: () => close(undefined) };
      Object.assign(picker, { title, items, ignoreFocusOut: true, placeholder: "Escape answers later" });
      picker.activeItems = [first];
      picker.onDidAccept(() => close(picker.selectedItems[0]));
      picker.onDidHide(() => close(undefined));
      picker.show();
    });
  }

  async prompt(message) {
    const client = await this.ready();
    this.output.show(true);
    const headers = { "idempotency-key": crypto.randomUUID() };
    const body = { message, streamingBehavior: "steer" };
    await client.json("POST", `/sessions/${this.session}/commands/prompt`, body, { headers });
  }

  async stop() {
    if (this.session) await this.client.json("POST", `/sessions/${this.session}/commands/abort`, {});
  }

  async changes() {
    const client = await this.ready();
    const { files } = await client.json("GET", `/sessions/${this.session}/changes`);
    if (!files.length) {
      void vscode.window.showInformationMessage("tau has not changed any files in this session.");
      return;
    }
    const items = files.map((file) => ({
      label: file.path,
      description: `${file.status}, +${file.added} -${file.removed}`,
    }));
    const chosen = await vscode.window.showQuickPick(items, { title: "Changes of this session" });
    if (!chosen) return;
    const [before, after] = ["before", "after"].map((side) => {
      const query = new URLSearchParams({ path: chosen.label, side });
      return ServerDocuments.uri(chosen.label, `/sessions/${this.session}/changes/text?${query}`);
    });
    const root = vscode.workspace.workspaceFolders?.[0]?.uri;
    const file = isDesktop && root ? vscode.Uri.joinPath(root, chosen.label) : after;
    const status = files.find((one) => one.path === chosen.label).status;
    await vscode.commands.executeCommand(
      "vscode.diff",
      before,
      status === "deleted" ? after : file,
      `${chosen.label} (before tau ↔ now)`,
    );
  }

  async newSession() {
    const client = await this.connect();
    await this.enter((await client.json("POST", "/sessions", {})).id);
    this.output.clear();
  }

  async askForAddress() {
    const address = await vscode.window.showInputBox({
      title: "Address that tau serve prints",
      placeHolder: "http://127.0.0.1:8228/#token=...",
      ignoreFocusOut: true,
    });
    if (address === undefined) return;
    if (address) await this.context.secrets.store("address", address);
    else await this.context.secrets.delete("address");
    this.disconnect();
    await this.ready();
  }
}

function textOf(content) {
  if (typeof content === "string") return content;
  return content.map((part) => part.text ?? "").join("\n");
}

function summaryOf(args) {
  const main = args.command ?? args.path ?? args.pattern ?? args.query;
  return (typeof main === "string" ? main : JSON.stringify(args)).split("\n")[0].slice(0, 200);
}

/** The question with the file or the selected lines. */
function withContext(question, editor, onlySelection) {
  const { document, selection } = editor;
  const path = vscode.workspace.asRelativePath(document.uri);
  if (!onlySelection && document.uri.scheme === "file" && !document.isDirty) return `${question}\n\nFile: ${path}`;
  const text = onlySelection ? document.getText(selection) : document.getText();
  const lines = onlySelection ? `, lines ${selection.start.line + 1} to ${selection.end.line + 1}` : "";
  const cut = text.length > MAX_CONTEXT_CHARS ? ` (its first ${MAX_CONTEXT_CHARS} characters)` : "";
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((found) => found[0].length));
  const fence = "`".repeat(longest + 1);
  return `${question}\n\n${path}${lines}${cut}:\n${fence}${document.languageId}\n${text.slice(0, MAX_CONTEXT_CHARS)}\n${fence}`;
}

/** Reports what fails as a message. */
function guarded(work) {
  return async (...args) => {
    try {
      return await work(...args);
    } catch (error) {
      void vscode.window.showErrorMessage(`tau: ${error.message}`);
      return undefined;
    }
  };
}

async function askAbout(agent, onlySelection, typed) {
  const editor = vscode.window.activeTextEditor;
  const title = onlySelection ? "Ask tau about the selection" : "Ask tau about the file";
  const question = typed ?? (await vscode.window.showInputBox({ title, ignoreFocusOut: true }));
  if (!question) return;
  await agent.prompt(editor ? withContext(question, editor, onlySelection && !editor.selection.isEmpty) : question);
}

async function ask(agent, typed) {
  const question = typed ?? (await vscode.window.showInputBox({ title: "Ask tau", ignoreFocusOut: true }));
  if (question) await agent.prompt(question);
}

function activate(context) {
  const agent = new Agent(context);
  const commands = {
    ask: (typed) => ask(agent, typed),
    askSelection: (typed) => askAbout(agent, true, typeof typed === "string" ? typed : undefined),
    askFile: (typed) => askAbout(agent, false, typeof typed === "string" ? typed : undefined),
    stop: () => agent.stop(),
    answer: () => agent.answer(),
    changes: () => agent.changes(),
    newSession: () => agent.newSession(),
    connect: () => agent.askForAddress(),
    output: () => agent.output.show(true),
  };
  context.subscriptions.push(
    agent,
    vscode.workspace.registerTextDocumentContentProvider("tau", agent.documents),
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(`tau.${name}`, guarded(run))),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("tau.address") || event.affectsConfiguration("tau.path")) agent.disconnect();
    }),
  );
}

module.exports = { activate, deactivate: () => undefined };
