// Suggestions for `@` files and `/` commands while a prompt is typed.
import { api, sessionPath } from "./api.js";
import { announce, el, plural } from "./dom.js";

const MOST = 8;

export class Completion {
  constructor(field, list, actions) {
    this.field = field;
    this.list = list;
    this.actions = actions;
    this.rows = [];
    field.addEventListener("blur", () => setTimeout(() => this.close(), 150));
  }

  async update() {
    const before = this.field.value.slice(0, this.field.selectionStart);
    const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
    const name = /^\/([\w:-]*)$/.exec(before);
    const asked = (this.asked = {});
    const found = file ? this.files(file[1]) : name ? this.commands(name[1]) : [];
    const rows = await Promise.resolve(found).catch(() => []); // without suggestions, typing goes on
    if (asked !== this.asked) return;
    this.start = before.length - (file ?? name)?.[1].length - 1;
    if (rows.length) this.open(rows);
    else this.close();
  }

  async files(query) {
    const { files } = await api(`${sessionPath(this.sessionId)}/files?query=${encodeURIComponent(query)}`);
    return files.slice(0, MOST).map((path) => ({ text: `@${path} `, name: path }));
  }

  async commands(prefix) {
    if (this.commandsOf !== this.sessionId) {
      const { commands } = await api(`${sessionPath(this.sessionId)}/commands`);
      this.known = commands;
      this.commandsOf = this.sessionId;
    }
    const own = Object.entries(this.actions).map(([name, { about }]) => ({ name, description: about }));
    const rows = [...own, ...this.known].filter(({ name }) => name.startsWith(prefix));
    return rows.slice(0, MOST).map(({ name, description }) => ({ text: `/${name} `, name: `/${name}`, about: description }));
  }

  open(rows) {
    this.rows = rows;
    const option = ({ name, about }, index) => {
      const take = (event) => {
        event.preventDefault(); // the focus stays in the prompt
        this.choose(index);
      };
      return el("li", { role: "option", id: `completion-${index}`, onmousedown: take }, el("span", { text: name }), about && el("small", { text: about }));
    };
    this.list.replaceChildren(...rows.map(option));
    this.list.hidden = false;
    this.select(0);
    announce(`${plural(rows.length, "suggestion")}. Tab inserts ${rows[0].name}.`);
  }

  close() {
    this.rows = [];
    this.list.hidden = true;
    this.field.removeAttribute("aria-activedescendant");
  }

  select(index) {
    this.index = (index + this.rows.length) % this.rows.length;
    for (const [at, row] of [...this.list.children].entries()) row.setAttribute("aria-selected", String(at === this.index));
    this.field.setAttribute("aria-activedescendant", `completion-${this.index}`);
    this.list.children[this.index].scrollIntoView({ block: "nearest" });
  }

  choose(index) {
    const { value, selectionStart } = this.field;
    const { text } = this.rows[index];
    this.field.value = value.slice(0, this.start) + text + value.slice(selectionStart).trimStart();
    const caret = this.start + text.length;
    this.field.setSelectionRange(caret, caret);
    this.close();
    this.field.dispatchEvent(new Event("input"));
  }

  /** Whether a key was for the list. */
  key(event) {
    if (!this.rows.length || event.altKey || event.ctrlKey) return false;
    if (event.key === "ArrowDown") this.select(this.index + 1);
    else if (event.key === "ArrowUp") this.select(this.index - 1);
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && this.field.value !== this.rows[this.index].name)) this.choose(this.index);
    else if (event.key === "Escape") this.close();
    else return false;
    return true;
  }
}
