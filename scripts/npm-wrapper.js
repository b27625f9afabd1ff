#!/usr/bin/env node
// Starts lcm from the npm package for this platform. Hosts start the program itself:
// `lcm setup` writes its path into their settings.
"use strict";
const { spawn } = require("node:child_process");

const name = `@lossless-context/lcm-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/lcm${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`lcm: the package ${name} is not installed: install @lossless-context/lcm again, with optional dependencies`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends these to the program as well.
for (const signal of ["SIGINT", "SIGHUP", "SIGQUIT"]) process.on(signal, () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("error", (err) => {
  console.error(`lcm: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
