// What each event of a session changes on the page.
import { attempt, notify } from "./dom.js";
import { showQueue } from "./tasks.js";

/** After these, the state of the session is loaded again. */
export const STATE_EVENTS = new Set([
  ...["agent_start", "turn_end", "agent_settled", "model_changed", "thinking_level_changed", "permissions_changed"],
  ...["session_info_changed", "compaction", "todo_auto_clear"],
]);

const isAnswer = (event) => event.message.role === "assistant";
const textOf = (result) => (result?.content ?? []).map((part) => part.text ?? "").join("");

export const EVENTS = {
  agent_start: (page) => page.setBusy(true),
  agent_settled: (page, event) => page.settled(event),
  turn_end: (page) => attempt(() => page.panel.load(page.id)),
  session_info_changed: (page) => attempt(() => page.sessions.load()),
  message_start: (page, event) => isAnswer(event) && page.transcript.live.start(event.message),
  message_update: (page, { assistantMessageEvent: event }) => {
    page.activity.set(event.type.startsWith("thinking") ? "Thinking" : "Writing");
    page.transcript.live.take(event);
  },
  message_end: (page, event) => {
    if (isAnswer(event)) page.transcript.live.end();
    page.refreshTranscript();
  },
  entry: (page) => page.refreshTranscript(),
  tool_execution_start: (page, event) => {
    page.transcript.setRunning(event.toolCallId, "");
    page.activity.set(`Running ${event.toolName}`);
  },
  tool_execution_update: (page, event) => page.transcript.setRunning(event.toolCallId, textOf(event.partialResult)),
  tool_execution_end: (page, event) => page.transcript.setRunning(event.toolCallId, undefined),
  auto_retry_start: (page, event) => page.activity.set(`Retry ${event.attempt} of ${event.maxAttempts}: ${event.errorMessage}`),
  auto_compaction_start: (page) => page.activity.set("Summarizing older messages"),
  queue_update: (page, event) => showQueue(event),
  question_opened: (page, event) => page.questions.add(event.question),
  question_closed: (page, event) => page.questions.remove(event.id),
  notice: (page, event) => notify(event.message, event.level),
  extension_ui_request: (page, event) => event.method === "notify" && notify(event.message, event.notifyType),
  reset: (page, event) => (event.sessionId && event.sessionId !== page.id ? (location.hash = `#/s/${event.sessionId}`) : attempt(() => page.reload())),
};
