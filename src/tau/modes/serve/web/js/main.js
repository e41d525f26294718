// Starts the page: signs in, shows the session that the address names, and connects the parts.
import { api, command, sessionPath, signedOut } from "./api.js";
import { Composer } from "./composer.js";
import { ask, confirm } from "./dialogs.js";
import { $, announce, attempt, notify, soon } from "./dom.js";
import { EVENTS, STATE_EVENTS } from "./events.js";
import { Attention } from "./attention.js";
import { Panel } from "./panel.js";
import { Questions } from "./questions.js";
import { SessionList } from "./sessions.js";
import { SessionSettings } from "./settings.js";
import { EventStream } from "./stream.js";
import { ActivityLine, showQueue, showTodos, showUsage } from "./tasks.js";
import { Transcript } from "./transcript.js";

const CONNECTION = { connected: "Connected", reconnecting: "Reconnecting", offline: "Offline" };
const RETRY_MS = 2000;
const isTouch = matchMedia("(pointer: coarse)");

const go = (id) => (location.hash = `#/s/${encodeURIComponent(id)}`);

class Page {
  constructor() {
    this.activity = new ActivityLine();
    this.attention = new Attention();
    this.panel = new Panel();
    this.sessions = new SessionList((rows) => this.attention.set({ others: rows.some((one) => one.needsYou && one.id !== this.id) }));
    this.settings = new SessionSettings(() => this.refreshState());
    this.questions = new Questions($("#questions"), (question) => this.asked(question));
    this.transcript = new Transcript((entryId) => this.fork(entryId));
    this.composer = new Composer(this.actions(), { onSent: () => this.transcript.showEnd(), onStop: () => this.stop() });
    this.refreshTranscript = soon(() => attempt(() => this.transcript.refresh()), 40);
    this.refreshState = soon(() => attempt(() => this.loadState()), 150);
    this.listen();
  }

  /** Commands of the page, typed after a slash. */
  actions() {
    const compact = (rest) => command(this.id, "compact", rest ? { customInstructions: rest } : {});
    return {
      new: { about: "Start a session", run: () => this.create() },
      compact: { about: "Summarize older messages to free up context", run: compact },
      undo: { about: "Undo the agent's last file changes", run: () => this.panel.revert("undo") },
      redo: { about: "Redo the last undo", run: () => this.panel.revert("redo") },
      name: { about: "Rename the session", run: (rest) => this.rename(rest) },
    };
  }

  listen() {
    const clicks = {
      "new-session": () => this.create(),
      "panel-button": () => this.showPanel(!this.panel.visible),
      "close-panel": () => this.showPanel(false),
      "menu-sessions": () => this.showSessions(document.body.dataset.sessions !== "open"),
      shade: () => this.showSessions(false),
      "edit-queue": () => this.editQueue(),
      rename: () => ask("Rename the session", "Name", this.info.title, "Rename", (name) => this.rename(name)),
      delete: () => confirm("Delete the session?", `“${this.info.title}” goes to tau's trash.`, "Delete", () => this.remove()),
    };
    for (const [id, action] of Object.entries(clicks)) $(`#${id}`).addEventListener("click", () => attempt(action));
    addEventListener("hashchange", () => this.route());
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("click", (event) => event.target.closest("#menu > summary") || $("#menu").removeAttribute("open"));
    $("#sessions").addEventListener("click", ({ target }) => target.closest("[aria-current]") && this.focusPrompt());
    signedOut.addEventListener("signedout", () => $("#sign-in").open || $("#sign-in").showModal());
    $("#sign-in form").addEventListener("submit", (event) => {
      event.preventDefault();
      $("#sign-in").close();
      this.start($("#token").value.trim().replace(/^.*#token=/, ""));
    });
  }

  async start(token) {
    try {
      if (token) await api("/auth", { body: { token } });
      await this.sessions.load();
      await this.route();
    } catch (error) {
      if (token || error.status !== 401) notify(error.message, "error");
      if (error.status === 0) setTimeout(() => this.start(token), RETRY_MS);
    }
  }

  async route() {
    const id = /^#\/s\/(.+)$/.exec(location.hash)?.[1];
    const last = this.sessions.sessions?.find((one) => one.id === localStorage.getItem("tau.session"));
    if (id) await attempt(() => this.open(decodeURIComponent(id)));
    else if (last && !location.hash) location.replace(`#/s/${last.id}`);
    else this.close();
  }

  close() {
    this.stream?.close();
    this.id = this.info = undefined;
    this.transcript.close();
    this.sessions.select(undefined);
    this.questions.reset(undefined, []);
    this.attention.set({ name: "" });
    document.body.dataset.view = "start";
  }

  async open(id) {
    this.id = id;
    this.sessions.select(id);
    this.composer.open(id);
    const shown = await this.reload();
    if (!shown) return;
    document.body.dataset.view = "session";
    localStorage.setItem("tau.session", id);
    this.focusPrompt();
    await this.settings.load(id, shown.state);
  }

  focusPrompt() {
    this.showSessions(false);
    if (!isTouch.matches) $("#prompt").focus();
  }

  /** Load everything that is shown of the session, then follow its events. */
  async reload() {
    const { id } = this;
    this.stream?.close();
    const shown = await api(sessionPath(id));
    if (id !== this.id) return undefined;
    await this.transcript.open(id);
    if (id !== this.id) return undefined;
    this.show(shown);
    this.setBusy(Boolean(shown.state?.isStreaming)); // from here on, events tell
    this.questions.reset(id, shown.questions);
    showQueue(shown.queue);
    if (shown.streaming) this.transcript.live.start(shown.streaming);
    for (const { toolCallId } of shown.running) this.transcript.setRunning(toolCallId, "");
    const take = (event) => {
      if (STATE_EVENTS.has(event.type)) this.refreshState();
      EVENTS[event.type]?.(this, event);
    };
    if (shown.lastEventId) this.stream = new EventStream(id, shown.lastEventId, take, (state) => this.connection(state));
    attempt(() => this.panel.load(id));
    return shown;
  }

  async loadState() {
    const shown = this.id && (await api(sessionPath(this.id)));
    if (shown?.session.id === this.id) this.show(shown);
  }

  show({ session, state, cost }) {
    const { holder } = session;
    const title = session.name || session.title || "New session";
    this.info = { ...session, title };
    $("#session-title").textContent = title;
    $("#session-folder").textContent = session.cwd;
    $("#holder").hidden = !holder;
    if (holder) $("#holder").textContent = `Another tau writes this session (${holder.face}, process ${holder.pid}). Close it there to continue here.`;
    for (const format of ["html", "markdown", "json"]) $(`#export-${format}`).href = `/v1${sessionPath(session.id)}/export?format=${format}`;
    this.composer.form.inert = Boolean(holder);
    showTodos(state?.todoPhases);
    showUsage(cost, state?.contextUsage);
    attempt(() => this.settings.show(session.id, state));
    this.attention.set({ name: title });
  }

  /** Take queued messages back into the prompt. */
  async editQueue() {
    const { steering, followUp } = await command(this.id, "clear_queue");
    this.composer.insert([...steering, ...followUp].join("\n\n"));
  }

  setBusy(busy) {
    this.composer.setBusy(busy);
    this.activity.set(busy ? this.activity.text || "Working" : "");
    this.attention.set({ busy });
  }

  settled({ aborted }) {
    this.setBusy(false);
    this.transcript.running.clear();
    this.transcript.live.end();
    this.refreshTranscript();
    attempt(() => this.panel.load(this.id));
    announce(aborted ? "tau stopped." : "tau is done.");
    if (!aborted) this.attention.call(this.id, "tau is done");
  }

  asked(question) {
    this.attention.set({ asks: this.questions.open.size > 0 });
    if (!question) return;
    this.activity.set("Waiting for your answer");
    this.attention.call(this.id, question.approval?.heading ?? question.title);
  }

  stop() {
    this.activity.set("Stopping");
    return attempt(() => command(this.id, "abort"));
  }

  async create() {
    const { id } = await api("/sessions", { body: this.info ? { cwd: this.info.cwd } : {} });
    go(id);
    await this.sessions.load();
  }

  async fork(entryId) {
    const { sessionId, text, cancelled } = (await attempt(() => command(this.id, "fork", { entryId }))) ?? { cancelled: true };
    if (cancelled || !sessionId) return;
    if (text) localStorage.setItem(`tau.draft.${sessionId}`, text);
    if (this.id === sessionId) this.composer.open(sessionId); // the events were faster
    else go(sessionId);
    notify("This is a copy of the session up to that message, which waits in the prompt.");
    await attempt(() => this.sessions.load());
  }

  async rename(name) {
    await api(sessionPath(this.id), { method: "PATCH", body: { name: name.trim() } });
    await Promise.all([this.loadState(), this.sessions.load()]);
  }

  async remove() {
    await api(sessionPath(this.id), { method: "DELETE" });
    localStorage.removeItem("tau.session");
    location.hash = "#/";
    await this.sessions.load();
  }

  async showPanel(open) {
    this.panel.show(open);
    (open ? $("#close-panel") : $("#panel-button")).focus();
    if (open) await this.panel.load(this.id);
  }

  showSessions(open) {
    if ((document.body.dataset.sessions === "open") === open) return;
    document.body.dataset.sessions = open ? "open" : "closed";
    $("#menu-sessions").setAttribute("aria-expanded", String(open));
    (open ? $("#search") : $("#menu-sessions")).focus();
  }

  key(event) {
    if (event.key === "Escape" && $("#menu").open) {
      $("#menu").removeAttribute("open");
      $("#menu summary").focus();
    } else if (event.key === "Escape") this.showSessions(false);
    if (!event.altKey || event.ctrlKey || event.metaKey) return;
    const actions = {
      KeyN: () => this.create(),
      KeyS: () => $("#search").focus(),
      KeyC: () => this.showPanel(!this.panel.visible),
      KeyP: () => $("#prompt").focus(),
      KeyA: () => $("#questions h2")?.focus(),
    };
    if (!actions[event.code]) return;
    event.preventDefault();
    attempt(async () => actions[event.code]());
  }

  connection(state) {
    $("#connection").dataset.state = state;
    $("#connection").textContent = CONNECTION[state];
  }
}

const token = /^#token=(.+)$/.exec(location.hash)?.[1];
if (token) history.replaceState(null, "", "/"); // it stays out of the history
new Page().start(token);
