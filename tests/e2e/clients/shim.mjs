// Runs the program of $TAU_COMMAND (a JSON array) in the place of the script that a client starts with node.
import { spawn } from "node:child_process";
const [program, ...args] = JSON.parse(process.env.TAU_COMMAND);
const child = spawn(program, [...args, ...process.argv.slice(2)], { stdio: "inherit" });
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", (code, signal) => process.exit(signal ? 1 : code));
