// A browser, and pages of it that complain about everything that goes wrong on them.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function launch() {
  const name = process.env.CHROMIUM ?? "chromium";
  const executablePath = name.includes("/") ? name : `/usr/bin/${name}`;
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/** Errors that a page may tell: answers of the server that a test has asked for. */
const EXPECTED = /Failed to load resource/;

/** True for what Chromium itself tries where a person types into a text: it styles what replaces styled text. The
 * policy refuses it, and the editor draws the text anyway. A violation of a script names the script. */
function isTyping(message) {
  return message.text().startsWith("Applying inline style") && message.location().lineNumber === 0 && !message.location().url.includes(".js");
}

/** Opens a file without a server. */
export async function openFile(browser, path, more = {}) {
  return open(browser, { origin: `file://${path}` }, null, more);
}

/** Opens the explorer. The page is `page`; `page.wrong` collects errors, violations of its policy among them. */
export async function open(browser, server, hash = "", { scheme = "light", width = 1360, height = 820, ...more } = {}) {
  const context = await browser.newContext({
    viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce", timezoneId: "UTC", locale: "en-GB", ...more,
  });
  const page = await context.newPage();
  page.wrong = [];
  page.foreign = [];
  page.setDefaultTimeout(8000);
  page.on("pageerror", (error) => page.wrong.push(error.stack ?? error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !EXPECTED.test(message.text()) && !isTyping(message)) page.wrong.push(message.text());
  });
  page.on("dialog", (dialog) => {
    page.wrong.push(`a script of the data ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(server.origin) && !url.startsWith("data:") && !url.startsWith("blob:")) page.foreign.push(url);
  });
  await page.goto(hash === null ? server.origin : `${server.origin}/${hash}`);
  return page;
}

/** Runs the rules of axe for WCAG 2.2 AA and its best practices, and returns the violations. */
export async function axe(page) {
  // Evaluated by the protocol: the policy of the page lets no foreign script in.
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const result = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
    return result.violations.map((rule) => `${rule.id}: ${rule.nodes.slice(0, 3).map((node) => `${node.target.join(" ")} (${(node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ""})`).join("; ")}`);
  });
  return found;
}
