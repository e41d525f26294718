// The session's model, thinking level and permission mode.
import { api, command } from "./api.js";
import { $, attempt, el } from "./dom.js";

export class SessionSettings {
  constructor(onChanged) {
    this.models = [];
    for (const name of ["model", "thinking", "mode"]) this[name] = $(`#${name}`);
    const change = (select, name, body) =>
      select.addEventListener("change", async () => {
        await attempt(() => command(this.sessionId, name, body(select.value)));
        onChanged();
      });
    change(this.model, "set_model", (name) => ({ provider: name.split("/")[0], modelId: name.slice(name.indexOf("/") + 1) }));
    change(this.thinking, "set_thinking_level", (level) => ({ level }));
    change(this.mode, "set_approval_mode", (mode) => ({ mode }));
  }

  async load(sessionId, state) {
    this.sessionId = sessionId;
    this.models = (await api("/models")).models;
    await this.show(sessionId, state);
  }

  async show(sessionId, state) {
    $(".settings").hidden = !state;
    if (!state || sessionId !== this.sessionId) return;
    const { model, thinkingLevel, approvalMode } = state;
    const name = `${model.provider}/${model.id}`;
    const models = new Map([...this.models, model].map((one) => [`${one.provider}/${one.id}`, one.name || one.id]));
    options(this.model, [...models], name);
    this.mode.value = approvalMode;
    if (this.levelsOf !== name) {
      const { levels } = await command(sessionId, "get_available_thinking_levels");
      this.levelsOf = name;
      this.levels = levels.map((level) => [level, `Thinking ${level}`]);
    }
    this.thinking.hidden = this.levels.length < 2;
    options(this.thinking, this.levels, thinkingLevel);
  }
}

/** Fill a list only if it differs: an open one would close. */
function options(select, rows, value) {
  const source = JSON.stringify(rows);
  if (select.dataset.source !== source) {
    select.dataset.source = source;
    select.replaceChildren(...rows.map(([name, text]) => el("option", { value: name, text })));
  }
  if (select.value !== value) select.value = value;
}
