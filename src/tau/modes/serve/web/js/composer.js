// The prompt: text with its draft, images, completion, and where it goes while the agent works.
import { command } from "./api.js";
import { Completion } from "./completion.js";
import { $, attempt, el, iconButton, notify } from "./dom.js";

const MAX_IMAGE_BYTES = 10 * 1024 * 1024;
const MAX_IMAGES = 10;
const MAX_ROWS = 12;
const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const isTouch = matchMedia("(pointer: coarse)");

export class Composer {
  constructor(actions, { onSent, onStop }) {
    this.form = $("#composer");
    this.field = $("#prompt");
    this.images = [];
    Object.assign(this, { actions, onSent, onStop });
    this.completion = new Completion(this.field, $("#completions"), actions);
    this.field.addEventListener("input", () => this.changed());
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.field.addEventListener("paste", (event) => this.takeFiles(event.clipboardData.files, event));
    $("#send").addEventListener("click", () => this.send("steer"));
    $("#follow-up").addEventListener("click", () => this.send("followUp"));
    $("#stop").addEventListener("click", () => onStop());
    for (const input of [$("#pick-image"), $("#take-photo")]) {
      $(`[data-for="${input.id}"]`).addEventListener("click", () => input.click());
      input.addEventListener("change", () => this.takeFiles(input.files).then(() => (input.value = "")));
    }
    this.watchDrops($("#conversation"));
  }

  /** Show the draft of a session. */
  open(sessionId) {
    this.sessionId = this.completion.sessionId = sessionId;
    this.setText(localStorage.getItem(this.draftKey) ?? "");
    this.setImages([]);
  }

  get draftKey() {
    return `tau.draft.${this.sessionId}`;
  }

  setBusy(busy) {
    this.busy = busy;
    this.form.dataset.busy = busy ? "yes" : "no";
    $("#send-label").textContent = busy ? "Steer" : "Send";
    this.field.placeholder = busy ? "Steer the agent while it works" : "Ask tau to do something";
  }

  insert(text) {
    this.setText([text, this.field.value].filter(Boolean).join("\n\n"));
    this.field.focus();
  }

  setText(text) {
    this.field.value = text;
    this.changed();
  }

  changed() {
    const { field } = this;
    if (field.value.trim()) localStorage.setItem(this.draftKey, field.value);
    else localStorage.removeItem(this.draftKey);
    field.rows = Math.min(MAX_ROWS, field.value.split("\n").length);
    while (field.rows < MAX_ROWS && field.scrollHeight > field.clientHeight + 4) field.rows += 1;
    this.completion.update();
  }

  key(event) {
    if (event.isComposing) return;
    const sends = event.key === "Enter" && !event.shiftKey && (event.ctrlKey || !isTouch.matches);
    if (this.completion.key(event)) event.preventDefault();
    else if (event.key === "Escape" && this.busy) this.onStop();
    else if (sends) {
      event.preventDefault();
      this.send(event.altKey ? "followUp" : "steer");
    }
  }

  /** Send what is typed, after what is being sent. */
  send(streamingBehavior) {
    this.sent = Promise.resolve(this.sent).then(() => this.sendNow(streamingBehavior));
  }

  async sendNow(streamingBehavior) {
    const { sessionId, images } = this;
    const text = this.field.value.trim();
    if (!text && !images.length) return;
    this.form.ariaBusy = "true";
    const sent = await attempt(() => this.deliver(text, streamingBehavior).then(() => true));
    this.form.ariaBusy = "false";
    if (!sent) return;
    localStorage.removeItem(`tau.draft.${sessionId}`);
    if (sessionId === this.sessionId && this.field.value.trim() === text) {
      this.setText("");
      this.setImages(this.images.filter((image) => !images.includes(image)));
    }
    this.onSent();
  }

  async deliver(text, streamingBehavior) {
    const [, name, rest] = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
    const [, bangs, shell] = /^(!!?)([\s\S]+)$/.exec(text) ?? [];
    if (Object.hasOwn(this.actions, name)) await this.actions[name].run(rest ?? "");
    else if (bangs) await command(this.sessionId, "bash", { command: shell.trim(), excludeFromContext: bangs === "!!" });
    else await this.prompt(text, streamingBehavior);
  }

  async prompt(message, streamingBehavior) {
    const images = this.images.map(({ data, mimeType }) => ({ type: "image", data, mimeType }));
    const body = { message, ...(images.length && { images }), ...(this.busy && { streamingBehavior }) };
    const headers = { "Idempotency-Key": `${Date.now()}-${Math.random()}` }; // a second try runs nothing twice
    const send = () => command(this.sessionId, "prompt", body, headers);
    await send().catch((error) => (error.status === 0 ? send() : Promise.reject(error)));
  }

  async takeFiles(files, event) {
    if (!files.length) return;
    event?.preventDefault();
    const images = [...files].filter((file) => IMAGE_TYPES.includes(file.type) && file.size <= MAX_IMAGE_BYTES);
    if (images.length < files.length) notify("Attach PNG, JPEG, GIF or WebP images of up to 10 MB; name other files with @.", "error");
    const read = images.map(async (file) => ({ name: file.name, mimeType: file.type, data: await base64(file), url: URL.createObjectURL(file) }));
    const all = [...this.images, ...(await Promise.all(read))];
    if (all.length > MAX_IMAGES) notify(`A message can have ${MAX_IMAGES} images.`, "error");
    this.setImages(all.slice(0, MAX_IMAGES));
    this.field.focus();
  }

  setImages(images) {
    const remove = (gone) => {
      URL.revokeObjectURL(gone.url);
      this.setImages(this.images.filter((image) => image !== gone));
      this.field.focus();
    };
    const shown = (image) => el("li", {}, el("img", { src: image.url, alt: image.name }), iconButton("close", `Remove ${image.name}`, () => remove(image)));
    this.images = images;
    $("#images").replaceChildren(...images.map(shown));
    $("#images").hidden = !images.length;
  }

  watchDrops(area) {
    const mark = (event) => {
      const has = event.dataTransfer.types.includes("Files");
      if (has) event.preventDefault();
      area.classList.toggle("dropping", has && event.type === "dragover");
      if (has && event.type === "drop") this.takeFiles(event.dataTransfer.files);
    };
    for (const type of ["dragover", "dragleave", "drop"]) area.addEventListener(type, mark);
  }
}

async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const parts = [];
  for (let at = 0; at < bytes.length; at += 0x8000) parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  return btoa(parts.join(""));
}
