// Drives an agent with the TypeScript SDK of the Agent Client Protocol; prints what it saw as one JSON object.
// The SDK checks every message against its schema.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
const [modules, cwd] = process.argv.slice(2);
const file = `${modules}/@agentclientprotocol/sdk/dist/v1/stable/acp.js`;
const { client, ndJsonStream, PROTOCOL_VERSION } = await import(pathToFileURL(file));
const [program, ...args] = JSON.parse(process.env.TAU_COMMAND);
const child = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const seen = { updates: [], asked: [] };
const app = client()
  .onNotification("session/update", ({ params }) => {
    seen.updates.push(params.update);
  })
  .onRequest("session/request_permission", ({ params }) => {
    seen.asked.push(params.toolCall);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  });
const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
await app.connectWith(stream, async (agent) => {
  const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
  seen.initialize = await agent.request("initialize", { protocolVersion: PROTOCOL_VERSION, clientCapabilities });
  const opened = await agent.request("session/new", { cwd, mcpServers: [] });
  const { sessionId } = opened;
  seen.opened = opened;
  const prompt = [{ type: "text", text: "go" }];
  seen.prompt = await agent.request("session/prompt", { sessionId, prompt });
  seen.mode = await agent.request("session/set_mode", { sessionId, modeId: "ask" });
  seen.option = await agent.request("session/set_config_option", {
    sessionId,
    configId: "model",
    value: "fake/fake-model",
  });
  seen.list = await agent.request("session/list", { cwd });
  seen.before = seen.updates.length;
  seen.load = await agent.request("session/load", { sessionId, cwd, mcpServers: [] });
  seen.replayed = seen.updates.slice(seen.before).map((update) => update.sessionUpdate);
  const turn = agent.request("session/prompt", { sessionId, prompt });
  while (!seen.updates.some((update) => update.rawInput?.command === "sleep 60"))
    await new Promise((resolve) => setTimeout(resolve, 10));
  await agent.notify("session/cancel", { sessionId });
  seen.canceled = (await turn).stopReason;
  seen.missing = await agent.request("logout", {}).catch((error) => error.code);
  await agent.request("session/close", { sessionId });
});
child.kill();
process.stdout.write(JSON.stringify(seen));
process.exit(0);
