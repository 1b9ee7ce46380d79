// Five questions that a person who has never seen the explorer can answer, each on the sample of `make run`.
import { strict as assert } from "node:assert";
import { Server } from "./lib/server.mjs";
import { axe, open } from "./lib/browser.mjs";

const SIZE = { width: 1280, height: 760 };

export async function run({ browser, check, shot }) {
  const server = new Server();
  server.sample();
  await server.start();
  const DOC = "#/doc/samples/settings";

  await check("a person comes from the first page to a document, and sees nothing go wrong", async () => {
    const page = await open(browser, server, "", SIZE);
    await page.getByRole("link", { name: "settings", exact: true }).click();
    await page.getByRole("treeitem", { name: 'service: "gateway"' }).waitFor();
    assert.deepEqual([page.wrong, page.foreign], [[], []]);
    await page.context().close();
  });

  await check("a longer history: a year of a menu, and the price of one dish on it", async () => {
    const page = await open(browser, server, "#/doc/samples/menu", SIZE);
    await page.getByLabel("Find a path").fill("mains[2].cents");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByRole("complementary").getByText("$.mains[2].cents").waitFor();
    await page.locator(".plot canvas").waitFor();
    for (const season of ["spring 25", "summer 25", "autumn 25", "winter 25", "spring 26"]) await page.getByRole("button", { name: season, exact: true }).waitFor();
    await page.getByRole("button", { name: "winter 25", exact: true }).click();
    await page.getByText("Revision 40", { exact: true }).waitFor();
    await shot(page, "document", { guide: true });
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("what a document looked like at a date", async () => {
    const page = await open(browser, server, DOC, SIZE);
    await page.getByLabel("Go to a date or a revision").fill("2026-02-20");
    await page.getByRole("button", { name: "Go", exact: true }).click();
    await page.getByText("Revision 4", { exact: true }).waitFor();
    await page.getByRole("treeitem", { name: 'version: "1.4.0"' }).waitFor();
    await page.getByText("payments move behind the gateway").first().waitFor();
    await shot(page, "at-a-date", { guide: true });
    assert.deepEqual(page.wrong, []);
    await page.waitForFunction(() => location.hash.includes("rev=4"));
    await page.context().close();
  });

  await check("who changed a field", async () => {
    const page = await open(browser, server, DOC, SIZE);
    const row = page.getByRole("treeitem", { name: "body_bytes_max: 1048576" });
    await row.waitFor();
    // The margin names the person who touched the field last.
    assert.match(await row.locator(".blame").innerText(), /grace/);
    await page.getByRole("treeitem", { name: "timeout_ms: 3000" }).click();
    const run_of = page.getByRole("list", { name: "Values, newest first" }).getByRole("listitem");
    await run_of.first().waitFor();
    assert.equal(await run_of.count(), 2);
    assert.match(await run_of.first().innerText(), /3000[\s\S]*ada[\s\S]*revisions 3–8[\s\S]*twice the requests, and give up earlier/);
    await shot(page, "who-changed", { guide: true });
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("the value that a field had most often, and when", async () => {
    const page = await open(browser, server, DOC, SIZE);
    await page.getByRole("treeitem", { name: "requests_per_minute: 1500" }).click();
    const most = page.locator(".most");
    await most.waitFor();
    assert.match(await most.innerText(), /Most often\s*1200[\s\S]*in 3 of 8 revisions, for 63 days, first in revision 3/);
    await page.locator(".plot canvas").waitFor();
    await page.getByLabel("When was it").fill("300");
    const values = page.getByRole("list", { name: "Values, newest first" }).getByRole("listitem");
    await values.nth(1).waitFor({ state: "detached" });
    assert.equal(await values.count(), 1);
    await page.getByLabel("When was it").fill("");
    await values.nth(3).waitFor();
    await shot(page, "most-often", { guide: true });
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("what each version changed inside of an object", async () => {
    const page = await open(browser, server, DOC, SIZE);
    await page.getByRole("treeitem", { name: /^limits/ }).click();
    const inside = page.getByRole("list", { name: "Changes inside, newest first" });
    const versions_of = inside.locator(".inside-version");
    await versions_of.first().waitFor();
    const { versions } = await server.ask("GET", "/v1/collections/samples/documents/settings/node/changes?path=$.limits");
    assert.equal(await versions_of.count(), versions.length);
    assert.match(await versions_of.first().innerText(), /\$\.limits\./);
    await inside.getByRole("button", { name: `revision ${versions[0].from_revision}`, exact: true }).click();
    await page.getByText(`Revision ${versions[0].from_revision}`, { exact: true }).waitFor();
    await shot(page, "inside");
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("the difference of two releases, side by side and inline, with moves as moves", async () => {
    const page = await open(browser, server, DOC, SIZE);
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await page.getByLabel("releases").selectOption({ label: "1.5.0 → 1.6.0" });
    await page.getByText("moved from $.upstreams[2]").waitFor();
    const table = page.getByRole("table", { name: "Changes" });
    assert.ok(await table.locator(".move-path").count() >= 1, "a move is drawn");
    assert.match(await table.innerText(), /catalog\.internal[\s\S]*catalog\.eu\.internal/);
    await shot(page, "two-releases", { guide: true });
    await page.getByRole("button", { name: "Inline" }).click();
    await page.locator(".merged.inline ins").first().waitFor();
    await shot(page, "two-releases-inline");
    // The same as texts: what was changed and what was moved, without the rest.
    const head = page.getByRole("group", { name: "Compare" });
    await head.getByRole("button", { name: "Lines" }).click();
    const lines = page.locator(".texts .cm-content");
    await page.locator(".texts .cm-changedLine").first().waitFor();
    assert.equal(await lines.count(), 1);
    assert.match(await page.locator(".texts .cm-deletedChunk").first().innerText(), /1\.5\.0/);
    await shot(page, "two-releases-text-inline");
    await page.getByRole("button", { name: "Side by side" }).click();
    await page.locator(".texts .cm-merge-a .cm-changedLine").first().waitFor();
    assert.equal(await lines.count(), 2);
    assert.match(await page.locator(".texts .cm-merge-a").innerText(), /"version": "1\.5\.0"/);
    assert.match(await page.locator(".texts .cm-merge-b").innerText(), /"version": "1\.6\.0"/);
    await page.locator(".texts .cm-collapsedLines").first().waitFor();
    await shot(page, "two-releases-text");
    assert.deepEqual(await axe(page), []);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("one field is put back, after a preview", async () => {
    const page = await open(browser, server, DOC, SIZE);
    await page.getByRole("treeitem", { name: "requests_per_minute: 1500" }).click();
    const values = page.getByRole("list", { name: "Values, newest first" });
    await values.getByRole("listitem").filter({ hasText: "twice the requests" }).getByRole("button", { name: "Put back…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.locator(".before-after").getByText("1500").waitFor();
    assert.match(await dialog.locator(".before-after").innerText(), /1500\s*→\s*1200/);
    await dialog.getByLabel("Message").fill("the new limit was too much");
    await dialog.getByLabel("Your name").fill("grace");
    await shot(page, "put-back", { guide: true });
    await dialog.getByRole("button", { name: "Put back", exact: true }).click();
    await page.getByText("Revision 9", { exact: true }).waitFor();
    await page.getByRole("treeitem", { name: "requests_per_minute: 1200" }).waitFor();
    const [newest] = (await server.ask("GET", "/v1/collections/samples/documents/settings/versions?limit=1")).versions;
    assert.deepEqual([newest.revision, newest.author, newest.message], [9, "grace", "the new limit was too much"]);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("a whole document goes back, after a preview", async () => {
    const page = await open(browser, server, `${DOC}?rev=8`, SIZE);
    await page.getByRole("button", { name: "Go back to this…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("$.limits.requests_per_minute").waitFor();
    await dialog.getByRole("button", { name: "Go back", exact: true }).click();
    await page.getByText("Revision 10", { exact: true }).waitFor();
    await page.getByRole("treeitem", { name: "requests_per_minute: 1500" }).waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await server.end();
}
