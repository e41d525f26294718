// The prompt: text with its draft, images, completion, and where it goes while the agent works.
import { api, command, sessionPath } from "./api.js";
import { $, attempt, el, icon, notify } from "./dom.js";
import { Completion } from "./completion.js";

const MAX_IMAGE_BYTES = 10 * 1024 * 1024;
const MAX_IMAGES = 10;
const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const isTouch = matchMedia("(pointer: coarse)");

export class Composer {
  constructor({ onSent, onStop, actions }) {
    this.form = $("#composer");
    this.field = $("#prompt");
    this.images = [];
    this.busy = false;
    this.onSent = onSent;
    this.onStop = onStop;
    this.actions = actions;
    this.completion = new Completion(this.field, $("#completions"), actions);
    this.field.addEventListener("input", () => this.changed());
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.field.addEventListener("paste", (event) => this.takeFiles(event.clipboardData.files, event));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send("steer");
    });
    $("#follow-up").addEventListener("click", () => this.send("followUp"));
    $("#stop").addEventListener("click", () => this.onStop());
    for (const input of [$("#pick-image"), $("#take-photo")]) {
      input.addEventListener("change", () => {
        this.takeFiles(input.files);
        input.value = "";
      });
      $(`[data-for="${input.id}"]`).addEventListener("click", () => input.click());
    }
    this.watchDrops();
  }

  /** Show the draft of a session. */
  open(sessionId, { readOnly = false } = {}) {
    this.sessionId = sessionId;
    this.completion.sessionId = sessionId;
    this.field.value = localStorage.getItem(this.draftKey) ?? "";
    this.images = [];
    this.showImages();
    this.setReadOnly(readOnly);
    this.grow();
  }

  setReadOnly(readOnly) {
    this.form.inert = readOnly;
    this.form.classList.toggle("read-only", readOnly);
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

  /** Put text before what is typed. */
  insert(text) {
    this.field.value = [text, this.field.value].filter(Boolean).join("\n\n");
    this.changed();
    this.field.focus();
  }

  changed() {
    const text = this.field.value;
    if (text.trim()) localStorage.setItem(this.draftKey, text);
    else localStorage.removeItem(this.draftKey);
    this.grow();
    this.completion.update();
  }

  grow() {
    this.field.rows = Math.min(12, Math.max(1, this.field.value.split("\n").length));
    while (this.field.rows < 12 && this.field.scrollHeight > this.field.clientHeight + 4) this.field.rows += 1;
  }

  key(event) {
    if (event.isComposing) return;
    if (this.completion.key(event)) {
      event.preventDefault();
      return;
    }
    if (event.key === "Escape" && this.busy) {
      event.preventDefault();
      this.onStop();
    } else if (event.key === "Enter" && !event.shiftKey && !(isTouch.matches && !event.ctrlKey)) {
      event.preventDefault();
      this.send(event.altKey ? "followUp" : "steer");
    }
  }

  async send(streamingBehavior) {
    const text = this.field.value.trim();
    const { sessionId } = this;
    if ((!text && !this.images.length) || this.sending || !sessionId) return;
    this.sending = true;
    this.form.setAttribute("aria-busy", "true");
    const sent = await attempt(async () => {
      const action = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text);
      if (action && this.actions[action[1]]) await this.actions[action[1]].run(action[2] ?? "");
      else if (text.startsWith("!")) await this.shell(text);
      else await this.prompt(text, streamingBehavior);
      return true;
    });
    this.sending = false;
    this.form.removeAttribute("aria-busy");
    if (!sent) return;
    localStorage.removeItem(`tau.draft.${sessionId}`);
    if (sessionId === this.sessionId && this.field.value.trim() === text) {
      this.field.value = "";
      this.images = [];
      this.showImages();
      this.changed();
    }
    this.onSent();
  }

  async prompt(message, streamingBehavior) {
    const images = this.images.map(({ data, mimeType }) => ({ type: "image", data, mimeType }));
    const body = { message, ...(images.length && { images }), ...(this.busy && { streamingBehavior }) };
    const headers = { "Idempotency-Key": crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` };
    try {
      await command(this.sessionId, "prompt", body, headers);
    } catch (error) {
      if (error.code !== "offline") throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await command(this.sessionId, "prompt", body, headers); // the key keeps it from running twice
    }
  }

  async shell(text) {
    const hidden = text.startsWith("!!");
    await command(this.sessionId, "bash", { command: text.slice(hidden ? 2 : 1).trim(), excludeFromContext: hidden });
  }

  async takeFiles(files, event) {
    const images = [...files].filter((file) => IMAGE_TYPES.includes(file.type));
    if (!files.length) return;
    event?.preventDefault();
    if (images.length < files.length) notify("Only PNG, JPEG, GIF and WebP images can be attached. Name other files with @.", "error");
    for (const file of images) {
      if (file.size > MAX_IMAGE_BYTES) notify(`${file.name} is larger than 10 MB; send a smaller one.`, "error");
      else if (this.images.length >= MAX_IMAGES) notify(`A message can have ${MAX_IMAGES} images.`, "error");
      else this.images.push({ name: file.name || "image", mimeType: file.type, data: await base64(file), url: URL.createObjectURL(file) });
    }
    this.showImages();
    this.field.focus();
  }

  showImages() {
    const shown = this.images.map((image) =>
      el("li", {}, el("img", { src: image.url, alt: image.name }), el("button", { type: "button", class: "quiet square", "aria-label": `Remove ${image.name}`, onclick: () => {
        this.images = this.images.filter((one) => one !== image);
        this.showImages();
        this.field.focus();
      } }, icon("close"))),
    );
    $("#images").replaceChildren(...shown);
    $("#images").hidden = !shown.length;
  }

  watchDrops() {
    const area = $("#conversation");
    const isFiles = (event) => event.dataTransfer?.types.includes("Files");
    area.addEventListener("dragover", (event) => {
      if (!isFiles(event)) return;
      event.preventDefault();
      area.classList.add("dropping");
    });
    area.addEventListener("dragleave", (event) => area.contains(event.relatedTarget) || area.classList.remove("dropping"));
    area.addEventListener("drop", (event) => {
      area.classList.remove("dropping");
      if (isFiles(event)) this.takeFiles(event.dataTransfer.files, event);
    });
  }
}

async function base64(file) {
  const url = await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
  return url.slice(url.indexOf(",") + 1);
}
