// A server on a new folder, and what the tests put into it.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ANYWHEN = process.env.ANYWHEN;
export const ROOT = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

export class Server {
  constructor(folder) {
    this.folder = folder ?? mkdtempSync(join(tmpdir(), "explorer-"));
    this.data = join(this.folder, "data");
    this.port = 0;
  }

  /** Runs the command, and gives what it prints. */
  run(...args) {
    const done = spawnSync(ANYWHEN, [...args, "--data", this.data], { encoding: "utf8" });
    if (done.status !== 0) throw new Error(`anywhen ${args.join(" ")}: ${done.stderr}`);
    return done.stdout;
  }

  /** The sample that `make run` loads. */
  sample() {
    this.run("sql", "-f", join(ROOT, "samples/shop.sql"));
    this.run("import", "history", join(ROOT, "samples/settings.ndjson"), "--as", "samples/settings");
    this.run("import", "history", join(ROOT, "samples/menu.ndjson"), "--as", "samples/menu");
  }

  async start(...args) {
    this.process = spawn(ANYWHEN, ["serve", "--json", "--data", this.data, "--pg-listen", "127.0.0.1:0",
      "--http-listen", `127.0.0.1:${this.port}`, ...args], { stdio: ["ignore", "pipe", "ignore"] });
    const lines = createInterface({ input: this.process.stdout });
    for await (const line of lines) {
      const told = JSON.parse(line);
      if (told.listening_http) {
        this.port = Number(told.listening_http.split(":").pop());
        this.origin = `http://127.0.0.1:${this.port}`;
        return this;
      }
    }
    throw new Error("the server ended before it listened");
  }

  /** Ends the server as a crash would. */
  async kill() {
    if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGKILL");
    await ended;
  }

  async end() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async ask(method, path, body, headers = {}) {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const answer = await fetch(this.origin + path, {
      method, body: text, headers: { ...(text === undefined ? {} : { "content-type": "application/json" }), ...headers },
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.headers.get("content-type")?.includes("json") ? answer.json() : answer.text();
  }

  put(collection, key, value, params = {}, headers = {}) {
    const query = new URLSearchParams(params).toString();
    return this.ask("PUT", `/v1/collections/${encodeURIComponent(collection)}/documents/${encodeURIComponent(key)}?${query}`, value, headers);
  }

  sql(sql, headers) {
    return this.ask("POST", "/v1/sql", { sql }, headers);
  }
}
