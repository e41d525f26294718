// Prints what pi's own SessionManager finds in a session file: node read_pi.mjs PACKAGE FILE
import { join } from "node:path";

const [folder, file] = process.argv.slice(2);
const { SessionManager } = await import(join(folder, "dist/core/session-manager.js"));
const pi = SessionManager.open(file);
const { messages, thinkingLevel, model } = pi.buildSessionContext();
process.stdout.write(
  JSON.stringify({
    header: pi.getHeader(),
    entries: pi.getEntries(),
    leaf: pi.getLeafId(),
    name: pi.getSessionName() ?? null,
    context: { messages, thinkingLevel, model },
  }),
);
