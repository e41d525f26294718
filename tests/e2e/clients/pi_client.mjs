// Calls every method of pi's RpcClient and prints what they return, as one JSON object.
import { pathToFileURL } from "node:url";
const [modules, shim, page] = process.argv.slice(2);
const file = `${modules}/@earendil-works/pi-coding-agent/dist/modes/rpc/rpc-client.js`;
const { RpcClient } = await import(pathToFileURL(file));
const client = new RpcClient({ cliPath: shim, provider: "fake", model: "fake-model" });
const seen = { events: [] };
await client.start();
client.onEvent((event) => seen.events.push(event.type));

seen.promptAndWait = (await client.promptAndWait("first")).map((event) => event.type);
const collected = client.collectEvents(); // first: the answer may arrive together with the response
await client.prompt("second");
seen.collectEvents = (await collected).at(-1).type;
seen.lastText = await client.getLastAssistantText();
seen.state = await client.getState();
seen.messages = (await client.getMessages()).length;
seen.bash = await client.bash("echo from bash");
const slow = client.bash("sleep 60");
await client.abortBash();
seen.slow = (await slow).cancelled;
seen.setModel = (await client.setModel("fake", "fake-model")).id;
seen.cycleModel = await client.cycleModel();
seen.models = (await client.getAvailableModels()).map((model) => model.id);
await client.setThinkingLevel("off");
seen.cycleThinking = await client.cycleThinkingLevel();
seen.levels = await client.getAvailableThinkingLevels();
await client.setSteeringMode("all");
await client.setFollowUpMode("all");
await client.setAutoCompaction(false);
await client.setAutoRetry(false);
await client.abortRetry();
await client.setSessionName("named");
seen.stats = (await client.getSessionStats()).userMessages;
seen.html = (await client.exportHtml(page)).path;
seen.commands = await client.getCommands();
seen.entries = (await client.getEntries()).entries.map((entry) => entry.type);
seen.tree = (await client.getTree()).tree.length;
seen.forkMessages = await client.getForkMessages();
seen.fork = await client.fork(seen.forkMessages[1].entryId);
seen.clone = await client.clone();
seen.switch = await client.switchSession(seen.state.sessionFile);
seen.compact = (await client.compact("be short")).summary.slice(0, 7);

const begun = new Promise((resolve) =>
  client.onEvent((event) => event.type === "tool_execution_start" && resolve(event)),
);
await client.prompt("run something slow");
await begun;
await client.steer("steered");
await client.followUp("followed");
seen.cleared = await client.clearQueue();
await client.abort();
const idle = client.waitForIdle();
await client.steer("answer me");
await idle;
seen.steered = await client.getLastAssistantText();
seen.newSession = await client.newSession();
seen.refused = await client.setModel("nowhere", "missing").catch((error) => error.message);
await client.stop();
seen.stderr = client.getStderr();
seen.methods = Object.getOwnPropertyNames(RpcClient.prototype);
process.stdout.write(JSON.stringify(seen));
