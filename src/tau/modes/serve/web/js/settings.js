// The session's model, thinking level and permission mode.
import { api, command } from "./api.js";
import { $, attempt, el } from "./dom.js";

const MODES = { ask: "Ask first", workspace: "Workspace", plan: "Plan", yolo: "Allow all" };

export class SessionSettings {
  constructor(onChanged) {
    this.model = $("#model");
    this.thinking = $("#thinking");
    this.mode = $("#mode");
    this.mode.replaceChildren(...Object.entries(MODES).map(([value, text]) => el("option", { value, text })));
    this.change(this.model, "set_model", (value) => {
      const at = value.indexOf("/");
      return { provider: value.slice(0, at), modelId: value.slice(at + 1) };
    }, onChanged);
    this.change(this.thinking, "set_thinking_level", (level) => ({ level }), onChanged);
    this.change(this.mode, "set_approval_mode", (mode) => ({ mode }), onChanged);
  }

  change(select, name, body, onChanged) {
    select.addEventListener("change", async () => {
      await attempt(() => command(this.sessionId, name, body(select.value)));
      onChanged();
    });
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
    const models = this.models.map((one) => [`${one.provider}/${one.id}`, one.name || one.id]);
    if (!models.some(([value]) => value === name)) models.unshift([name, model.name || model.id]);
    options(this.model, models, name);
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
