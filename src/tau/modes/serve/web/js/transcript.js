// The conversation: loads from the end, keeps a bounded part of it in the page, and never moves what is read.
import { api, sessionPath } from "./api.js";
import { $, $$, attempt, button, el, showRendered } from "./dom.js";
import { LiveMessage } from "./live.js";

const PAGE = 40;
const MOST_ITEMS = 160;
const AT_END_PX = 48;
const TAIL_LINES = 60; // of the output of a running call

export class Transcript {
  constructor(onFork) {
    const names = ["scroller", "list", "older", "newer", "latest"];
    for (const name of names) this[name] = $(`#${name === "list" ? "transcript" : name}`);
    this.onFork = onFork;
    this.live = new LiveMessage();
    this.running = new Map(); // call id -> its output so far
    this.lastTop = 0;
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.older.addEventListener("click", () => attempt(() => this.loadOlder()));
    this.newer.addEventListener("click", () => attempt(() => this.loadNewer()));
    this.latest.addEventListener("click", () => this.showEnd());
    this.list.addEventListener("click", ({ target }) => {
      const summary = target.closest("summary");
      if (summary) summary.parentElement.dataset.touched = "yes";
    });
    const resized = new ResizeObserver(() => this.follow && this.toEnd());
    for (const element of [this.list, this.scroller]) resized.observe(element);
    const options = { root: this.scroller, rootMargin: "800px 0px" };
    this.near = new IntersectionObserver((seen) => seen.forEach((one) => one.isIntersecting && one.target.click()), options);
  }

  /** Show the end of a session's conversation. */
  async open(sessionId) {
    this.sessionId = sessionId;
    this.running.clear();
    await this.reload();
  }

  close() {
    this.sessionId = this.before = this.after = undefined;
    this.list.replaceChildren();
    this.update();
  }

  async reload() {
    const page = await this.fetch(`limit=${PAGE}`);
    if (!page) return;
    this.live.clear();
    this.list.replaceChildren(...page.items.map((item) => this.element(item)), this.live.element);
    this.before = page.before;
    this.after = undefined;
    this.toEnd();
    this.update();
  }

  async fetch(query) {
    const { sessionId } = this;
    const page = await api(`${sessionPath(sessionId)}/transcript?${query}`);
    return sessionId === this.sessionId ? page : undefined;
  }

  get items() {
    return $$(":scope > .item", this.list);
  }

  update() {
    this.older.hidden = !this.before;
    this.newer.hidden = !this.after;
    this.live.element.hidden = Boolean(this.after);
    this.list.dataset.empty = $(".item > article", this.list) || this.before ? "no" : "yes";
    this.scrolled();
    for (const edge of [this.older, this.newer]) {
      this.near.unobserve(edge); // what is still in view is reported again
      this.near.observe(edge);
    }
  }

  async loadOlder() {
    await this.loadPage(`before=${this.before}`, ({ items, before }) => {
      if (this.follow && this.items.length + items.length > MOST_ITEMS) return; // the user went to the end meanwhile
      this.changeAbove(() => this.list.prepend(...items.map((item) => this.element(item))));
      this.before = before;
      const [first, ...rest] = this.items.slice(MOST_ITEMS);
      this.after = first?.dataset.id ?? this.after;
      for (const item of [first, ...rest]) item?.remove();
    });
  }

  async loadNewer() {
    await this.loadPage(`from=${this.after}`, ({ items, after }) => {
      this.live.element.before(...items.map((item) => this.element(item)));
      this.after = after;
      this.changeAbove(() => this.trimTop());
    });
  }

  async loadPage(query, show) {
    if (this.loading) return;
    this.loading = true;
    try {
      const page = await this.fetch(`${query}&limit=${PAGE}`);
      if (page) show(page);
    } finally {
      this.loading = false;
    }
    this.update();
  }

  /** Change what is above without moving what is read. */
  changeAbove(change) {
    const fromEnd = this.scroller.scrollHeight - this.scroller.scrollTop;
    change();
    this.scroller.scrollTop = this.lastTop = this.scroller.scrollHeight - fromEnd;
  }

  trimTop() {
    const extra = this.items.slice(0, -MOST_ITEMS);
    for (const item of extra) item.remove();
    if (extra.length) this.before = this.items[0].dataset.id;
  }

  /** Fetch what is new. Calls that come while one runs are joined. */
  async refresh() {
    this.again = true;
    if (this.refreshing) return;
    this.refreshing = true;
    try {
      while (this.again && this.sessionId && !this.after) {
        this.again = false;
        await this.fetchNew();
      }
    } catch (error) {
      if (error.status !== 404) throw error;
      await this.reload(); // another branch is shown now
    } finally {
      this.refreshing = false;
    }
  }

  async fetchNew() {
    const { ended } = this.live;
    const start = unfinished(this.items);
    const page = await this.fetch(start ? `from=${start.dataset.id}&limit=100` : `limit=${PAGE}`);
    if (!page || this.after) return;
    if (page.after) return void (await this.reload());
    const items = this.items;
    this.replace(start ? items.slice(items.indexOf(start)) : items, page.items);
    if (ended && ended === this.live.ended) this.live.clear();
    if (!start) this.before = page.before;
    if (this.follow) this.trimTop();
    this.update();
    if (this.follow) this.toEnd();
  }

  replace(old, items) {
    const byId = new Map(old.map((item) => [item.dataset.id, item]));
    const fresh = items.map((item) => {
      const before = byId.get(item.id);
      return before?.source === item.html ? before : this.element(item, before);
    });
    for (const item of old) if (!fresh.includes(item)) item.remove();
    for (const item of fresh) if (!item.isConnected) this.live.element.before(item);
  }

  element({ id, role, html, calls }, before) {
    const element = el("div", { class: "item", data: { id, role } });
    Object.assign(element, { source: html, calls });
    showRendered(element, html);
    if (before) keepState(before, element);
    for (const call of calls) if (this.running.has(call.id)) this.showRunning(element, call.id);
    if (role === "user") $("header", element)?.append(button("Fork here", () => this.onFork(id), { class: "quiet fork-here" }));
    return element;
  }

  /** A call runs and has printed `text` so far; undefined: it has ended. */
  setRunning(id, text) {
    if (text === undefined) return void this.running.delete(id);
    this.running.set(id, text);
    for (const item of this.items.slice(-20)) this.showRunning(item, id);
  }

  showRunning(item, id) {
    const index = item.calls.findIndex((call) => call.id === id && !call.done);
    const card = $$(":scope > article > details.tool", item)[index];
    if (!card) return;
    card.classList.add("running");
    $(".state", card).textContent = "running";
    const output = $(".live-output", card) ?? $(".body", card).appendChild(el("pre", { class: "code live-output" }));
    const text = this.running.get(id);
    output.hidden = !text;
    output.textContent = text.split("\n").slice(-TAIL_LINES).join("\n");
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const atEnd = scrollHeight - scrollTop - clientHeight < AT_END_PX;
    if (atEnd) this.follow = !this.after;
    else if (scrollTop < this.lastTop) this.follow = false;
    this.lastTop = scrollTop;
    this.latest.hidden = atEnd && !this.after;
  }

  showEnd() {
    if (this.after) return attempt(() => this.reload());
    return this.toEnd();
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.lastTop = this.scroller.scrollTop;
    this.follow = true;
    this.latest.hidden = true;
  }
}

/** The item from which on something may have changed: the answer whose calls run, or the last one. */
function unfinished(items) {
  for (let at = items.length - 1; at >= 0; at -= 1) {
    if (items[at].calls.some((call) => !call.done)) return items[at];
    if (items[at].dataset.role === "assistant") break;
  }
  return items.at(-1);
}

/** What the user has opened stays open, and the focus stays where it was. */
function keepState(old, fresh) {
  const before = $$(":scope > article > details", old);
  for (const [index, details] of $$(":scope > article > details", fresh).entries()) {
    const { dataset, open, firstElementChild } = before[index] ?? details;
    if (dataset.touched) Object.assign(details, { open }).dataset.touched = "yes";
    if (firstElementChild === document.activeElement) queueMicrotask(() => details.firstElementChild.focus({ preventScroll: true }));
  }
}
