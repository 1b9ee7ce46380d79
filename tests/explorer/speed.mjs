// Figures: the bundle, the first paint, and frames while a person scrubs a long history.
import { strict as assert } from "node:assert";
import { request } from "node:http";
import { Server } from "./lib/server.mjs";
import { open } from "./lib/browser.mjs";

const VERSIONS = Number(process.env.VERSIONS ?? 10_000);
const BUNDLE_BYTES_MAX = 400 * 1024;
const FIRST_PAINT_MS_MAX = 300;
// A machine that does other work is slower: times are told, and only with --figures do they decide.
const DO_TIMES_COUNT = process.argv.includes("--figures");

/** A document of about 100 KB. */
function large() {
  const services = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`service_${at}`, {
    host: `host-${at}.internal.example`, port: 8000 + at, weight: at % 7, owner: `team-${at % 12}`,
    tags: ["a", "b", `zone-${at % 3}`], limits: { requests: 100 * at, burst: 2 * at, timeout_ms: 3000 },
  }]));
  return { version: "1.0.0", counter: 0, services };
}

export async function run({ browser, check, shot }) {
  const server = new Server();
  await server.start();

  await check(`the bundle has at most ${BUNDLE_BYTES_MAX / 1024} KB, compressed`, async () => {
    const page = await open(browser, server, "#/");
    await page.getByRole("heading", { name: "Collections and tables" }).waitFor();
    const names = new Set();
    const first = await page.evaluate(() => performance.getEntriesByType("resource").filter((each) => each.name.includes("/v1/explorer/")).map((each) => each.name));
    for (const name of first) names.add(name);
    // Modules that are loaded later are named in those that are here.
    for (const name of names) {
      const text = await (await fetch(name)).text();
      for (const [, file] of text.matchAll(/["'`/]([\w.-]+\.(?:js|css))["'`]/g)) {
        const url = `${server.origin}/v1/explorer/${file}`;
        if ((await fetch(url)).ok) names.add(url);
      }
    }
    const size = async (url) => new Promise((resolve, reject) => {
      request(url, { headers: { "accept-encoding": "gzip" } }, (answer) => {
        let bytes = 0;
        answer.on("data", (piece) => { bytes += piece.length; });
        answer.on("end", () => resolve(bytes));
      }).on("error", reject).end();
    });
    let total = 0;
    for (const name of names) total += await size(name);
    let at_first = 0;
    for (const name of first) at_first += await size(name);
    console.log(`        ${names.size} files, ${(total / 1024).toFixed(0)} KB with gzip; ${(at_first / 1024).toFixed(0)} KB before the first page is drawn`);
    assert.ok(names.size > 6 && total <= BUNDLE_BYTES_MAX);
    await page.context().close();
  });

  await check(`the first paint comes soon (limit: ${FIRST_PAINT_MS_MAX} ms)`, async () => {
    const times = [];
    for (let turn = 0; turn < 5; turn++) {
      const page = await open(browser, server, "#/");
      await page.getByRole("heading", { name: "Collections and tables" }).waitFor();
      times.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity));
      await page.context().close();
    }
    times.sort((a, b) => a - b);
    console.log(`        first contentful paint, five cold starts: ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
    assert.ok(times[2] < Infinity, "the page was never painted");
    assert.ok(!DO_TIMES_COUNT || times[2] <= FIRST_PAINT_MS_MAX, `the median is ${times[2]} ms`);
  });

  await check(`scrubbing ${VERSIONS} versions of a 100 KB document keeps frames, and loads slices alone`, async () => {
    const text = JSON.stringify(large());
    await server.put("long", "doc", text, { author: "ada", message: "begin" });
    const AT_ONCE = 500;
    let made = 1;
    const authors = ["ada", "grace", "edsger", "linus", "barbara"];
    while (made < VERSIONS) {
      const operations = [];
      // A transaction is one revision: many requests on one connection.
      const many = Math.min(AT_ONCE, VERSIONS - made);
      for (let at = 0; at < many; at++) operations.push(made + at);
      await Promise.all(Array.from({ length: 4 }, async (_, lane) => {
        for (const number of operations.filter((each) => each % 4 === lane)) {
          const path = number % 3 === 0 ? "$.counter" : `$.services.service_${number % 400}.weight`;
          await server.ask("PUT", `/v1/collections/long/documents/doc/node?path=${encodeURIComponent(path)}&author=${authors[number % 5]}&message=step%20${number}`, String(number + 10));
        }
      }));
      made += many;
    }
    const page = await open(browser, server, "#/doc/long/doc");
    await page.getByRole("treeitem", { name: /^counter/ }).waitFor();
    const axis = page.getByRole("slider", { name: "Revision" });
    const box = await axis.boundingBox();
    const before = await page.evaluate(() => performance.getEntriesByType("resource").length);
    await page.evaluate(() => {
      performance.setResourceTimingBufferSize(20_000);
      window.frames_ms = [];
      let last = performance.now();
      const tick = (now) => {
        window.frames_ms.push(now - last);
        last = now;
        window.ticking = requestAnimationFrame(tick);
      };
      requestAnimationFrame((now) => { last = now; requestAnimationFrame(tick); });
    });
    const SECONDS = 4;
    await page.mouse.move(box.x + box.width - 12, box.y + 30);
    await page.mouse.down();
    const begun = Date.now();
    while (Date.now() - begun < SECONDS * 1000) {
      const part = ((Date.now() - begun) / (SECONDS * 1000)) * 2;
      const place = part < 1 ? 1 - part : part - 1;
      await page.mouse.move(box.x + 12 + place * (box.width - 24), box.y + 30);
    }
    await page.mouse.up();
    const { frames, loaded, count } = await page.evaluate((from) => {
      cancelAnimationFrame(window.ticking);
      const entries = performance.getEntriesByType("resource").slice(from);
      return { frames: window.frames_ms, loaded: entries.reduce((sum, each) => sum + each.decodedBodySize, 0), count: entries.length };
    }, before);
    frames.sort((a, b) => a - b);
    const at = (part) => frames[Math.min(frames.length - 1, Math.floor(frames.length * part))];
    const rate = frames.length / (frames.reduce((sum, each) => sum + each, 0) / 1000);
    console.log(`        ${rate.toFixed(1)} frames a second; a frame took ${at(0.5).toFixed(1)} ms, ${at(0.95).toFixed(1)} ms (95 %), ${at(0.99).toFixed(1)} ms (99 %); ${count} requests, ${(loaded / 1024 / count).toFixed(1)} KB each`);
    await page.getByRole("treeitem", { name: /^counter/ }).waitFor();
    assert.ok(!DO_TIMES_COUNT || rate > 50, `${rate} frames a second`);
    assert.ok(loaded / count < 20 * 1024, `${loaded / count} bytes a slice, of a document of 100 KB`);

    // The history of a field that a third of all versions changed, and a part of the axis from near.
    const asked = Date.now();
    await page.getByRole("treeitem", { name: /^counter/ }).click();
    await page.locator(".plot canvas").waitFor();
    console.log(`        the history of a field with ${Math.floor(VERSIONS / 3)} values is drawn after ${Date.now() - asked} ms`);
    await axis.focus();
    for (let turn = 0; turn < 7; turn++) {
      await page.keyboard.press("+");
      await page.waitForTimeout(150);
    }
    await page.keyboard.press("ArrowLeft");
    await shot(page, "long-history");
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await server.end();
}
