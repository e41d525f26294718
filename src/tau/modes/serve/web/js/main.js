// Starts the page: signs in, shows the session that the address names, and connects the parts.
import { api, command, sessionPath, signedOut } from "./api.js";
import { Composer } from "./composer.js";
import { $, announce, attempt, button, el, notify, soon } from "./dom.js";
import { Panel } from "./panel.js";
import { Questions } from "./questions.js";
import { SessionList } from "./sessions.js";
import { SessionSettings } from "./settings.js";
import { EventStream } from "./stream.js";
import { ActivityLine, showQueue, showTodos, showUsage } from "./tasks.js";
import { Transcript } from "./transcript.js";

const STATE_EVENTS = new Set([
  ...["agent_start", "turn_end", "agent_settled", "model_changed", "thinking_level_changed", "permissions_changed"],
  ...["session_info_changed", "compaction", "todo_auto_clear", "auto_compaction_end"],
]);
const CONNECTION = { connecting: "Connecting", connected: "Connected", reconnecting: "Reconnecting", offline: "Offline" };

class Page {
  constructor() {
    this.activity = new ActivityLine();
    this.panel = new Panel();
    this.sessions = new SessionList({ onList: (rows) => this.listed(rows) });
    this.settings = new SessionSettings(() => this.refreshState());
    this.questions = new Questions($("#questions"), (question) => this.needsYou(question));
    this.transcript = new Transcript({
      ...{ scroller: $("#scroller"), list: $("#transcript"), older: $("#older"), newer: $("#newer"), latest: $("#latest") },
      onFork: (entryId) => this.fork(entryId),
    });
    this.composer = new Composer({ onSent: () => this.transcript.follow || this.transcript.toEnd(), onStop: () => this.stop(), actions: this.actions() });
    this.refreshTranscript = soon(() => attempt(() => this.transcript.refresh()), 40);
    this.refreshState = soon(() => attempt(() => this.loadState()), 150);
    this.listen();
  }

  actions() {
    const run = (name) => async (rest) => void (await command(this.id, name, rest && name === "compact" ? { customInstructions: rest } : {}));
    return {
      new: { about: "Start a session", run: () => this.create() },
      compact: { about: "Summarize older messages to free up context", run: run("compact") },
      undo: { about: "Undo the agent's last file changes", run: () => this.panel.revert("undo") },
      redo: { about: "Redo the last undo", run: () => this.panel.revert("redo") },
      name: { about: "Rename the session", run: (rest) => this.rename(rest) },
    };
  }

  listen() {
    addEventListener("hashchange", () => this.route());
    document.addEventListener("visibilitychange", () => document.hidden || this.title());
    document.addEventListener("keydown", (event) => this.key(event));
    for (const [id, action] of Object.entries({
      "new-session": () => this.create(),
      "panel-button": () => this.showPanel(!this.panel.visible),
      "close-panel": () => this.showPanel(false),
      "menu-sessions": () => this.showSessions(document.body.dataset.sessions !== "open"),
      shade: () => this.showSessions(false),
      rename: () => this.askName(),
      notifications: () => this.allowNotifications(),
      delete: () => this.remove(),
    })) {
      $(`#${id}`).addEventListener("click", () => attempt(action));
    }
    for (const item of $("#menu").querySelectorAll("a, button")) item.addEventListener("click", () => $("#menu").removeAttribute("open"));
    document.addEventListener("click", (event) => event.target.closest("#menu") || $("#menu").removeAttribute("open"));
    signedOut.addEventListener("signedout", () => this.signOut());
    $("#sign-in form").addEventListener("submit", (event) => {
      event.preventDefault();
      attempt(() => this.signIn($("#token").value.trim().replace(/^.*#token=/, "")));
    });
  }

  async start() {
    $("#notifications").hidden = !globalThis.Notification || Notification.permission !== "default";
    const token = /^#token=(.+)$/.exec(location.hash)?.[1];
    if (token) {
      history.replaceState(null, "", "/");
      await attempt(() => api("/auth", { body: { token: decodeURIComponent(token) } }));
    }
    try {
      await this.sessions.load();
    } catch (error) {
      if (error.status === 401) return;
      this.connection("offline");
      notify(error.message, "error");
      await new Promise((resolve) => setTimeout(resolve, 2000));
      return void this.start();
    }
    document.body.dataset.ready = "yes";
    this.route();
  }

  async signIn(token) {
    await api("/auth", { body: { token } });
    $("#sign-in").close();
    await this.start();
  }

  signOut() {
    this.stream?.close();
    if (!$("#sign-in").open) $("#sign-in").showModal();
  }

  async route() {
    const id = /^#\/s\/(.+)$/.exec(location.hash)?.[1];
    if (id) return void (await this.open(decodeURIComponent(id)));
    const last = this.sessions.sessions?.find((one) => one.id === localStorage.getItem("tau.session"));
    if (last) location.replace(`#/s/${last.id}`);
    else this.close();
  }

  close() {
    this.stream?.close();
    this.id = undefined;
    this.info = undefined;
    this.transcript.close();
    this.sessions.select(undefined);
    this.questions.reset(undefined, []);
    document.body.dataset.view = "start";
    this.title();
  }

  async open(id) {
    this.stream?.close();
    this.id = id;
    this.sessions.select(id);
    this.showSessions(false);
    this.composer.open(id);
    await attempt(async () => {
      const shown = await this.reload();
      if (!shown) return;
      document.body.dataset.view = "session";
      localStorage.setItem("tau.session", id);
      await this.settings.load(id);
      await this.settings.show(shown.state);
      if (!matchMedia("(pointer: coarse)").matches && !$("#search").matches(":focus")) $("#prompt").focus();
    });
  }

  /** Load everything that is shown of the session, then follow its events. */
  async reload() {
    const { id } = this;
    this.stream?.close();
    const [shown] = await Promise.all([api(sessionPath(id)), this.transcript.open(id)]);
    if (id !== this.id) return undefined;
    this.show(shown);
    const { message } = shown.streaming ?? {};
    if (message) this.transcript.live.start(message);
    this.stream = new EventStream(id, shown.lastEventId, {
      onEvent: (event) => this.id === id && this.take(event),
      onState: (state) => this.connection(state),
    });
    await this.transcript.refresh();
    attempt(() => this.panel.load(id));
    return shown;
  }

  async loadState() {
    const { id } = this;
    if (!id) return;
    const shown = await api(sessionPath(id));
    if (id === this.id) this.show(shown);
  }

  show(shown) {
    const { session, state, holder = session.holder } = shown;
    this.info = session;
    this.busy = state.isStreaming;
    this.holder = holder;
    $("#session-title").textContent = session.name || session.title || "New session";
    $("#session-folder").textContent = session.cwd;
    $("#holder").hidden = !holder;
    if (holder) $("#holder-text").textContent = `Open in another tau (${holder.face ?? "process"} ${holder.pid}). You can read along; close it there to continue here.`;
    for (const format of ["html", "markdown", "json"]) $(`#export-${format}`).href = `/v1${sessionPath(session.id)}/export?format=${format}`;
    this.composer.setReadOnly(Boolean(holder));
    this.composer.setBusy(this.busy);
    this.questions.reset(session.id, shown.questions ?? []);
    showQueue(shown.queue, () => this.takeQueue());
    showTodos(shown.todos ?? state.todoPhases);
    showUsage(shown.cost ?? 0, shown.context ?? state.contextUsage);
    if (!this.busy) this.activity.set("");
    else if (!this.activity.text) this.activity.set("Working");
    if (this.settings.sessionId === session.id) attempt(() => this.settings.show(state));
    this.title();
  }

  take(event) {
    if (STATE_EVENTS.has(event.type)) this.refreshState();
    switch (event.type) {
      case "agent_start":
        this.setBusy(true);
        break;
      case "agent_settled":
        this.settled(event);
        break;
      case "message_start":
        if (event.message.role === "assistant") this.transcript.live.start(event.message);
        break;
      case "message_update":
        this.streamed(event.assistantMessageEvent);
        break;
      case "message_end":
        if (event.message.role === "assistant") this.transcript.live.end();
        this.refreshTranscript();
        break;
      case "entry_appended":
      case "entry":
        this.refreshTranscript();
        break;
      case "tool_execution_start":
        this.transcript.setRunning(event.toolCallId, "");
        this.activity.set(`Running ${event.toolName}`);
        break;
      case "tool_execution_update":
        this.transcript.setRunning(event.toolCallId, textOf(event.partialResult));
        break;
      case "tool_execution_end":
        this.transcript.setRunning(event.toolCallId, undefined);
        if (event.toolName === "todo") this.refreshState();
        break;
      case "auto_retry_start":
        this.activity.set(`Waiting to retry, ${event.attempt} of ${event.maxAttempts}: ${event.errorMessage}`);
        break;
      case "auto_compaction_start":
        this.activity.set("Summarizing older messages");
        break;
      case "queue_update":
        showQueue(event, () => this.takeQueue());
        break;
      case "question_opened":
        this.questions.add(event.question);
        break;
      case "question_closed":
        this.questions.remove(event.id);
        break;
      case "notice":
        notify(event.message, event.level);
        break;
      case "extension_ui_request":
        if (event.method === "notify") notify(event.message, event.notifyType);
        break;
      case "reset":
        attempt(() => this.reload());
        break;
      case "stream_failed":
        if (event.status === 404) attempt(() => this.reload());
        break;
    }
  }

  streamed(event) {
    if (event.type.startsWith("thinking")) this.activity.set("Thinking");
    else if (event.type.startsWith("text")) this.activity.set("Writing");
    this.transcript.live.take(event);
  }

  setBusy(busy) {
    this.busy = busy;
    this.composer.setBusy(busy);
    this.activity.set(busy ? this.activity.text || "Working" : "");
    this.title();
  }

  settled({ aborted }) {
    this.setBusy(false);
    this.transcript.running.clear();
    this.transcript.live.end();
    this.refreshTranscript();
    attempt(() => this.panel.load(this.id));
    announce(aborted ? "tau stopped." : "tau is done.");
    if (!aborted) this.alert("tau is done");
  }

  async stop() {
    this.activity.set("Stopping");
    await attempt(() => command(this.id, "abort"));
  }

  async takeQueue() {
    const taken = await attempt(() => command(this.id, "clear_queue"));
    if (taken) this.composer.insert([...taken.steering, ...taken.followUp].join("\n\n"));
  }

  async create() {
    const { id } = await api("/sessions", { body: this.info ? { cwd: this.info.cwd } : {} });
    location.hash = `#/s/${id}`;
    await this.sessions.load();
  }

  async fork(entryId) {
    const done = await attempt(() => command(this.id, "fork", { entryId }));
    if (!done || done.cancelled) return;
    if (done.text) localStorage.setItem(`tau.draft.${done.sessionId}`, done.text);
    location.hash = `#/s/${done.sessionId}`;
    await attempt(() => this.sessions.load());
    notify("This is a copy of the session up to that message, which waits in the prompt.");
  }

  askName() {
    const input = el("input", { id: "new-name", "aria-label": "Name", maxlength: "200", autocomplete: "off" });
    input.value = this.info.name || this.info.title || "";
    this.dialog("Rename the session", [input], "Rename", () => this.rename(input.value));
  }

  async rename(name) {
    await api(sessionPath(this.id), { method: "PATCH", body: { name: name.trim() } });
    await Promise.all([this.loadState(), this.sessions.load()]);
  }

  remove() {
    const name = this.info.name || this.info.title || "this session";
    this.dialog("Delete the session?", [el("p", { text: `“${name}” goes to the trash of tau.` })], "Delete", async () => {
      await api(sessionPath(this.id), { method: "DELETE" });
      localStorage.removeItem("tau.session");
      location.hash = "";
      await this.sessions.load();
    });
  }

  dialog(title, body, label, action) {
    const dialog = el("dialog", { "aria-labelledby": "dialog-title" });
    const form = el("form", { method: "dialog", onsubmit: (event) => {
      event.preventDefault();
      dialog.close();
      attempt(action);
    } }, el("h2", { id: "dialog-title", text: title }), ...body, el("div", { class: "answers" }, el("button", { class: "primary", text: label }), button("Cancel", () => dialog.close())));
    dialog.append(form);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  showPanel(open) {
    $("#panel").hidden = !open;
    document.body.dataset.panel = open ? "open" : "closed";
    $("#panel-button").setAttribute("aria-expanded", String(open));
    (open ? $("#close-panel") : $("#panel-button")).focus();
    if (open) return this.panel.load(this.id);
    return undefined;
  }

  showSessions(open) {
    if ((document.body.dataset.sessions === "open") === open) return;
    document.body.dataset.sessions = open ? "open" : "closed";
    $("#menu-sessions").setAttribute("aria-expanded", String(open));
    (open ? $("#search") : $("#menu-sessions")).focus();
  }

  key(event) {
    if (event.key === "Escape" && document.body.dataset.sessions === "open") return void this.showSessions(false);
    if (event.key === "Escape" && $("#menu").open) {
      $("#menu").removeAttribute("open");
      return void $("#menu summary").focus();
    }
    if (event.altKey && !event.ctrlKey && !event.metaKey) {
      const action = { KeyN: () => this.create(), KeyS: () => $("#search").focus(), KeyC: () => this.showPanel(!this.panel.visible), KeyP: () => $("#prompt").focus(), KeyA: () => this.questions.focus() }[event.code];
      if (action) {
        event.preventDefault();
        attempt(async () => action());
      }
    }
  }

  connection(state) {
    const pill = $("#connection");
    if (pill.dataset.state === state) return;
    pill.dataset.state = state;
    pill.textContent = CONNECTION[state];
  }

  listed(sessions) {
    this.others = sessions.filter((one) => one.needsYou && one.id !== this.id).length;
    this.title();
  }

  needsYou(question) {
    this.title();
    if (question) this.alert(question.approval?.heading ?? question.title);
  }

  title() {
    const name = this.info ? this.info.name || this.info.title || "New session" : "";
    const mark = this.questions.count || this.others ? "(!) " : this.busy ? "… " : this.unseen && document.hidden ? "• " : "";
    document.title = `${mark}${name ? `${name} – ` : ""}tau`;
    if (!document.hidden) this.unseen = false;
  }

  /** Tell a user who looks elsewhere. */
  alert(text) {
    if (!document.hidden) return;
    this.unseen = true;
    this.title();
    if (globalThis.Notification?.permission !== "granted") return;
    try {
      const shown = new Notification(this.info?.name || this.info?.title || "tau", { body: text.split("\n")[0], tag: `tau-${this.id}` });
      shown.onclick = () => {
        window.focus();
        shown.close();
      };
    } catch {
      // Phones show notifications of service workers only; the title has the mark.
    }
  }

  async allowNotifications() {
    const answer = await Notification.requestPermission();
    $("#notifications").hidden = answer !== "default";
    notify(answer === "granted" ? "tau notifies you when a hidden page needs you." : "The browser blocks notifications of this page.");
  }
}

function textOf(result) {
  return (result?.content ?? []).map((part) => part.text ?? "").join("");
}

new Page().start();
