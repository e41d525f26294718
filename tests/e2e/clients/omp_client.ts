// Calls every method of omp's RpcClient and prints what they return, as one JSON object.
const [modules, page] = process.argv.slice(2);
const { RpcClient } = await import(`${modules}/@oh-my-pi/pi-coding-agent/src/modes/rpc/rpc-client.ts`);
const command = JSON.parse(process.env.TAU_COMMAND!);
const tool = {
	name: "weather",
	label: "Weather",
	description: "The weather in a city",
	parameters: { type: "object", properties: { city: { type: "string" } } },
	execute: async ({ city }: { city: string }) => ({ content: [{ type: "text", text: `Sun in ${city}` }] }),
};
const client = new RpcClient({ command, provider: "fake", model: "fake-model", customTools: [tool] });
const seen: Record<string, any> = { events: [], sessionEvents: 0, code: {} };
await client.start();
client.onEvent((event: any) => seen.events.push(event.type));
client.onSessionEvent(() => seen.sessionEvents++);
for (const name of ["onSubagentLifecycle", "onSubagentProgress", "onSubagentEvent", "onAvailableCommandsUpdate"])
	client[name](() => {});
const refused = async (name: string, call: () => Promise<unknown>) => {
	seen.code[name] = await call().then(() => "accepted", (error: any) => error.code ?? error.message);
};

seen.promptAndWait = (await client.promptAndWait("first")).map((event: any) => event.type);
await client.prompt("second");
seen.collectEvents = (await client.collectEvents()).at(-1).type;
seen.lastText = await client.getLastAssistantText();
seen.state = await client.getState();
seen.messages = (await client.getMessages()).length;
seen.page = (await client.getMessagesPage({ limit: 2 })).messages.length;
seen.bash = await client.bash("echo from bash");
const slow = client.bash("sleep 60");
await client.abortBash();
seen.slow = (await slow).cancelled;
seen.setModel = (await client.setModel("fake", "fake-model")).id;
seen.cycleModel = await client.cycleModel();
seen.models = (await client.getAvailableModels()).map((model: any) => model.id);
seen.commands = await client.getAvailableCommands();
await client.setThinkingLevel("off");
seen.cycleThinking = await client.cycleThinkingLevel();
await client.setSteeringMode("all");
await client.setFollowUpMode("all");
await client.setAutoCompaction(false);
await client.setAutoRetry(false);
await client.abortRetry();
seen.stats = (await client.getSessionStats()).userMessages;
seen.html = (await client.exportHtml(page)).path;
seen.compact = (await client.compact("be short")).summary.slice(0, 7);
seen.branchMessages = await client.getBranchMessages();
seen.branch = await client.branch(seen.branchMessages[1].entryId);
seen.switch = await client.switchSession(seen.state.sessionFile);
await client.setCustomTools([tool]);
seen.weather = (await client.promptAndWait("weather?")).find((event: any) => event.type === "tool_execution_end").result;

const begun = new Promise((resolve) =>
	client.onEvent((event: any) => event.type === "tool_execution_start" && resolve(event)),
);
await client.prompt("run something slow");
await begun;
await client.steer("steered");
await client.abort();
await client.abortAndPrompt("answer me");
await client.waitForIdle();
await client.followUp("followed");
await client.waitForIdle();
seen.steered = await client.getLastAssistantText();
seen.handoff = (await client.handoff("what is left")).document.slice(0, 7);
await client.waitForIdle();
seen.newSession = await client.newSession();
await refused("setFastMode", () => client.setFastMode(true));
await refused("setSubagentSubscription", () => client.setSubagentSubscription("off"));
await refused("getSubagents", () => client.getSubagents());
await refused("getSubagentMessages", () => client.getSubagentMessages({ subagentId: "1" }));
seen.loginProviders = await client.getLoginProviders();
await refused("login", () => client.login("openai"));
seen.stderr = client.getStderr();
await client.stop();
seen.methods = Object.getOwnPropertyNames(RpcClient.prototype);
process.stdout.write(JSON.stringify(seen));
process.exit(0);
