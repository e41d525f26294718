// The answer that streams in: rendered by the server piece by piece, with the newest words as plain text.
import { render } from "./api.js";
import { el, showRendered } from "./dom.js";

const RENDER_MS = 200;
const SETTLED_CHARS = 1500; // a longer rest is cut at an empty line and rendered for the last time
const ARGUMENT = /"(?:path|command|pattern|query|url|code|title)"\s*:\s*"((?:[^"\\]|\\.)*)/;

export class LiveMessage {
  constructor() {
    this.element = el("article", { class: "assistant live" });
    this.clear();
  }

  clear() {
    this.parts = new Map();
    this.ended = undefined;
    this.element.replaceChildren();
  }

  start(message) {
    this.clear();
    this.element.append(el("header", {}, el("b", { text: "tau" })));
    for (const [index, part] of (message?.content ?? []).entries()) {
      if (part.type === "text") this.part(index, Prose).add(part.text);
      else if (part.type === "thinking") this.part(index, Thinking).add(part.thinking);
      else if (part.type === "toolCall") this.part(index, Call, part.name).show(part.arguments);
    }
  }

  end() {
    this.ended = {};
  }

  take(event) {
    if (!this.element.hasChildNodes() || this.ended) this.start();
    const { contentIndex: index, delta } = event;
    if (event.type.startsWith("text_")) this.part(index, Prose).add(delta);
    else if (event.type.startsWith("thinking_")) this.part(index, Thinking).add(delta);
    else if (event.type.startsWith("toolcall_")) this.part(index, Call, event.toolName).add(delta);
  }

  part(index, Kind, name) {
    if (!this.parts.has(index)) {
      const part = new Kind(name);
      this.parts.set(index, part);
      this.element.append(part.element);
    }
    return this.parts.get(index);
  }
}

class Prose {
  constructor() {
    this.settled = el("div");
    this.rendered = el("div");
    this.plain = el("span", { class: "typed" });
    this.element = el("div", { class: "prose" }, this.settled, this.rendered, this.plain);
    this.text = ""; // what is not settled yet
    this.shown = 0; // as many characters of it are rendered
  }

  add(delta) {
    if (!delta) return;
    this.text += delta;
    this.plain.textContent = this.text.slice(this.shown);
    this.timer ||= setTimeout(() => this.render(), RENDER_MS);
  }

  async render() {
    const cut = this.text.length > SETTLED_CHARS ? lastParagraphEnd(this.text) : 0;
    const length = cut || this.text.length;
    try {
      const html = await render(this.text.slice(0, length));
      showRendered(this.rendered, html);
      this.shown = length;
      if (cut) {
        this.settled.append(...this.rendered.childNodes);
        this.text = this.text.slice(cut);
        this.shown = 0;
      }
      this.plain.textContent = this.text.slice(this.shown);
    } catch {
      // The plain text stays; the whole message is rendered at its end.
    }
    this.timer = 0;
    if (this.element.isConnected && this.shown < this.text.length) this.timer = setTimeout(() => this.render(), RENDER_MS);
  }
}

class Thinking {
  constructor() {
    this.body = el("div", { class: "typed" });
    this.element = el("details", { class: "thinking" }, el("summary", { class: "pulse", text: "Thinking" }), this.body);
  }

  add(delta) {
    if (delta) this.body.append(delta);
  }
}

class Call {
  constructor(name) {
    this.what = el("span", { class: "what" });
    const summary = el("summary", {}, el("b", { text: name ?? "tool" }), " ", this.what, el("span", { class: "state", text: "writing" }));
    this.element = el("details", { class: "tool running" }, summary, el("div", { class: "body" }));
    this.text = "";
  }

  add(delta) {
    if (!delta || this.text.length > 4000) return;
    this.text += delta;
    const found = ARGUMENT.exec(this.text);
    if (found) this.what.textContent = found[1].replaceAll("\\n", " ").replaceAll('\\"', '"').slice(0, 140);
  }

  show(values) {
    this.add(JSON.stringify(values));
  }
}

/** Where the last paragraph that is complete ends, outside of a code block; 0: nowhere. */
function lastParagraphEnd(text) {
  let fence = "";
  let found = 0;
  let at = 0;
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark && !fence) fence = mark;
    else if (mark && mark[0] === fence[0] && mark.length >= fence.length) fence = "";
    at += line.length + 1;
    if (!fence && !line.trim() && at < text.length) found = at;
  }
  return found;
}
