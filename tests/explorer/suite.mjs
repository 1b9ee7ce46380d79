// Runs the parts of the suite, and counts.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch } from "./lib/browser.mjs";
import { small } from "./lib/png.mjs";
import { ROOT } from "./lib/server.mjs";

const PARTS = ["story", "pages", "rights", "hostile", "trouble", "export", "look", "speed"];

const given = process.argv.slice(2);
const wanted = given.filter((word) => !word.startsWith("--"));
for (const word of wanted) {
  if (!PARTS.includes(word)) {
    console.error(`explorer: there is no part ${word}: ${PARTS.join(" ")}`);
    process.exit(2);
  }
}
const folder = process.env.ARTEFACTS ?? join(ROOT, "target/explorer");
const guide = given.includes("--publish") ? join(ROOT, "docs/guide/images") : null;
for (const each of [folder, guide]) if (each) mkdirSync(each, { recursive: true });

let passed = 0;
let failed = 0;
const browser = await launch();

/** Each part gets the browser, `check` and `shot`. */
const world = {
  browser,
  async check(name, test) {
    const begun = Date.now();
    try {
      await test();
      passed += 1;
      console.log(`ok      ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}\n${String(error?.stack ?? error).split("\n").slice(0, 12).map((line) => `        ${line}`).join("\n")}`);
    }
  },
  /** Keeps a picture. Those of the guide are part of the checkout. */
  async shot(page, name, { guide: isOfGuide = false } = {}) {
    const picture = await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
    if (isOfGuide && guide) writeFileSync(join(guide, `explorer-${name}.png`), small(picture));
  },
};

// Something that waits for ever is a failure too.
const WATCH_MS = 10 * 60 * 1000;
setTimeout(() => {
  console.log(`FAILED  the suite took longer than ${WATCH_MS / 60_000} minutes`);
  console.log(`test result: FAILED. ${passed} passed; ${failed + 1} failed; 0 ignored`);
  process.exit(1);
}, WATCH_MS).unref();

const begun = Date.now();
for (const part of PARTS) {
  if (wanted.length > 0 && !wanted.includes(part)) continue;
  const { run } = await import(`./${part}.mjs`);
  try {
    await run(world);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${part}: ${error?.stack ?? error}`);
  }
}
await browser.close();
console.log(`pictures are in ${folder}; ${((Date.now() - begun) / 1000).toFixed(0)} s`);
console.log(`test result: ${failed === 0 ? "ok" : "FAILED"}. ${passed} passed; ${failed} failed; 0 ignored`);
process.exit(failed === 0 ? 0 : 1);
