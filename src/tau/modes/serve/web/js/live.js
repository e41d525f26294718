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
      const text = part.text ?? part.thinking ?? JSON.stringify(part.arguments);
      this.part(index, KINDS[part.type.toLowerCase()], part.name).add(text);
    }
  }

  end() {
    this.ended = {};
  }

  take(event) {
    if (!this.element.hasChildNodes() || this.ended) this.start();
    const { contentIndex: index, delta } = event;
    const Kind = KINDS[event.type.split("_")[0]];
    if (Kind) this.part(index, Kind, event.toolName).add(delta);
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
    const html = await render(this.text.slice(0, length)).catch(() => undefined); // the plain text stays
    this.timer = 0;
    if (html === undefined) return;
    showRendered(this.rendered, html);
    if (cut) this.settled.append(...this.rendered.childNodes);
    this.text = this.text.slice(cut);
    this.shown = length - cut;
    this.plain.textContent = this.text.slice(this.shown);
    if (this.element.isConnected && this.shown < this.text.length) this.timer = setTimeout(() => this.render(), RENDER_MS);
  }
}

class Thinking {
  constructor() {
    this.body = el("div", { class: "typed" });
    this.element = el("details", { class: "thinking" }, el("summary", { text: "Thinking" }), this.body);
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
    this.what.textContent = (ARGUMENT.exec(this.text)?.[1] ?? "").replaceAll("\\n", " ").replaceAll('\\"', '"').slice(0, 140);
  }
}

const KINDS = { text: Prose, thinking: Thinking, toolcall: Call };

/** Where the last complete paragraph ends, outside of a code block; 0: nowhere. */
function lastParagraphEnd(text) {
  let at = text.lastIndexOf("\n\n", text.length - 3);
  while (at > 0 && (text.slice(0, at).match(/^ {0,3}(```|~~~)/gm) ?? []).length % 2) at = text.lastIndexOf("\n\n", at - 1);
  return at > 0 ? at + 2 : 0;
}
