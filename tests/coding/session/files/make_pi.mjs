// Writes a session with pi's own SessionManager, and what pi makes of it: node make_pi.mjs PACKAGE FOLDER
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [folder, target] = process.argv.slice(2);
const { SessionManager } = await import(join(folder, "dist/core/session-manager.js"));

const usage = {
  input: 10,
  output: 5,
  cacheRead: 3,
  cacheWrite: 2,
  totalTokens: 20,
  cost: { input: 0.1, output: 0.05, cacheRead: 0.01, cacheWrite: 0, total: 0.16 },
};
let now = 1769860800000;
const user = (content) => ({ role: "user", content, timestamp: now++ });
const said = (content, stopReason = "stop") => ({
  role: "assistant",
  content,
  api: "anthropic-messages",
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  usage,
  stopReason,
  timestamp: now++,
});
const text = (value) => ({ type: "text", text: value });

const work = mkdtempSync(join(tmpdir(), "pi-fixture-"));
const pi = SessionManager.create("/home/me/project", work);
pi.appendModelChange("anthropic", "claude-sonnet-4-5");
pi.appendThinkingLevelChange("medium");
pi.appendMessage(user("Look at a.txt"));
pi.appendMessage(
  said(
    [
      { type: "thinking", thinking: "I read it.", thinkingSignature: "sig" },
      text("Reading."),
      { type: "toolCall", id: "call_1", name: "read", arguments: { path: "a.txt" } },
    ],
    "toolUse",
  ),
);
pi.appendMessage({
  role: "toolResult",
  toolCallId: "call_1",
  toolName: "read",
  content: [text("line of a.txt")],
  isError: false,
  timestamp: now++,
  details: { lines: 1 },
});
const answer = pi.appendMessage(said([text("It has one line. \u2028 \u{1f600}")]));
pi.appendLabelChange(answer, "before the change");
pi.appendMessage({
  role: "bashExecution",
  command: "ls",
  output: "a.txt\n",
  exitCode: 0,
  cancelled: false,
  truncated: false,
  timestamp: now++,
});
pi.appendCustomEntry("counter", { count: 3 });
pi.appendCustomMessageEntry("note", "The user likes short answers.", true, { from: "extension" });
pi.appendMessage(user([text("And this?"), { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }]));
pi.appendMessage(said([text("A picture.")]));
pi.branchWithSummary(answer, "Looked at a picture.", { readFiles: ["a.txt"] });
pi.appendSessionInfo("The one with a.txt");
pi.appendThinkingLevelChange("high");
const kept = pi.appendMessage(user("Go on"));
pi.appendMessage(said([text("Going on.")]));
pi.appendCompaction("The user asked about a.txt.", kept, 1234, { readFiles: ["a.txt"], modifiedFiles: [] });
pi.appendUsage("title", "anthropic", "claude-haiku-4-5", usage);
const late = pi.appendMessage(user("After the compaction"));
pi.appendMessage(said([text("Here.")]));
pi.appendContextEdit(late, { content: "After the compaction, shorter" });

const leaf = pi.getLeafId();
renameSync(pi.getSessionFile(), join(target, "pi.jsonl"));
const again = SessionManager.open(join(target, "pi.jsonl"));
const contexts = {};
for (const { id } of again.getEntries()) {
  again.branch(id);
  contexts[id] = again.buildSessionContext();
}
const answers = { leaf, name: again.getSessionName(), labels: { [answer]: again.getLabel(answer) }, contexts };
writeFileSync(join(target, "pi.context.json"), JSON.stringify(answers) + "\n");
rmSync(work, { recursive: true });
