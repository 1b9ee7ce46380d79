// Data of somebody who means harm, or does not care: scripts, hidden characters, giants.
import { strict as assert } from "node:assert";
import { Server } from "./lib/server.mjs";
import { open } from "./lib/browser.mjs";

const SCRIPTS = [
  "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "javascript:alert(1)", "\"><svg onload=alert(1)>", "{{constructor.constructor('alert(1)')()}}",
];

export async function run({ browser, check, shot }) {
  const server = new Server();
  await server.start();

  await check("scripts in keys, names, values, authors and messages are texts", async () => {
    const value = Object.fromEntries([...SCRIPTS.map((text) => [text, text]), ["__proto__", { polluted: 1 }], ["constructor", 1], ["", "an empty name"]]);
    const text = `{"__proto__":{"polluted":1},${JSON.stringify(value).slice(1)}`;
    const key = SCRIPTS[1];
    await server.put("evil", key, text, { author: SCRIPTS[0], message: SCRIPTS[3] });
    await server.put("evil", key, text.replace("an empty name", SCRIPTS[1]), { author: SCRIPTS[1], message: SCRIPTS[0] });
    await server.sql(`CREATE TABLE "<b>t</b>" ("<i>c</i>" text PRIMARY KEY)`);
    await server.sql(`INSERT INTO "<b>t</b>" VALUES ('${SCRIPTS[1].replace(/'/g, "''")}')`);
    const page = await open(browser, server, "#/in/evil");
    await page.getByRole("link", { name: key, exact: true }).click();
    await page.getByRole("treeitem", { name: `${SCRIPTS[0]}: "${SCRIPTS[0]}"` }).click();
    await page.getByRole("complementary").waitFor();
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await page.getByRole("table", { name: "Changes" }).waitFor();
    await page.getByRole("button", { name: "Text", exact: true }).click();
    await page.getByText("constructor").first().waitFor();
    await page.goto(`${server.origin}/#/table/public/${encodeURIComponent("<b>t</b>")}`);
    await page.getByRole("row", { name: SCRIPTS[1] }).click();
    await page.getByRole("complementary", { name: "History of a row" }).waitFor();
    assert.equal(await page.evaluate(() => ({}).polluted), undefined);
    assert.equal(await page.locator("script:not([src])").count(), 0);
    assert.deepEqual([page.wrong, page.foreign], [[], []]);
    await page.context().close();
  });

  await check("an address that means harm shows nothing and runs nothing", async () => {
    for (const hash of ["#/doc/<img src=x onerror=alert(1)>/x", "#/doc/%E0%A4%A/x", "#/javascript:alert(1)", "#/doc/evil/x?rev=-1&node=1e9&view=__proto__&at=never", "#/__proto__/x", "#/table/a'b/c\"d"]) {
      const page = await open(browser, server, hash);
      await page.getByRole("link", { name: "Anywhen" }).waitFor();
      await page.waitForTimeout(150);
      assert.deepEqual([page.wrong, page.foreign], [[], []], hash);
      await page.context().close();
    }
  });

  await check("characters that turn texts round or hide are shown by name", async () => {
    await server.put("evil", "bidi\u202Etxt.exe", { "a\u202Eb": "user\u2066\u202E// admin\u2069", zero: "pay\u200Bpal", nul: "a\u0007b" }, { author: "ada\u202Enomis", message: "x\u202Ey" });
    const page = await open(browser, server, "#/in/evil");
    await page.getByRole("link", { name: /^bidi/ }).click();
    await page.getByRole("tree").getByText("U+202E").first().waitFor();
    const shown = await page.locator("body").innerText();
    assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b\u0007]/.test(shown), "a hidden character is in the page");
    for (const name of ["U+202E", "U+2066", "U+200B", "U+0007"]) assert.ok(shown.includes(name), name);
    await shot(page, "hidden-characters");
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("a string of 10 MB and a name of 60 KB are cut, and the page stays quick", async () => {
    await server.put("evil", "giant", { text: "x".repeat(10_000_000), ["n".repeat(60_000)]: 1, after: "still here" });
    const page = await open(browser, server, "#/doc/evil/giant");
    await page.getByRole("treeitem", { name: 'after: "still here"' }).waitFor();
    await page.getByText("10,000,000 characters").waitFor();
    const bytes = await page.evaluate(() => performance.getEntriesByType("resource").reduce((sum, each) => sum + each.decodedBodySize, 0));
    assert.ok(bytes < 1_000_000, `${bytes} bytes came`);
    assert.ok((await page.content()).length < 300_000);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("an array of a million elements: its last row is as near as its first", async () => {
    await server.put("evil", "million", JSON.stringify({ list: Array.from({ length: 1_000_000 }, (_, at) => at), end: true }));
    const page = await open(browser, server, "#/doc/evil/million");
    await page.getByRole("treeitem", { name: /^0 0\b/ }).waitFor();
    const tree = page.getByRole("tree");
    await tree.focus();
    const begun = Date.now();
    await page.keyboard.press("End");
    await page.getByRole("treeitem", { name: "end: true" }).waitFor();
    await page.getByRole("treeitem", { name: /^999999 999999/ }).waitFor();
    assert.ok(Date.now() - begun < 3000, `${Date.now() - begun} ms`);
    assert.ok((await tree.getByRole("treeitem").count()) < 200);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("numbers keep their digits, also where one is put back", async () => {
    await server.put("evil", "digits", '{"n":12345678901234567890.123456789,"m":1}');
    await server.put("evil", "digits", '{"n":7,"m":1}');
    const page = await open(browser, server, "#/doc/evil/digits");
    await page.getByRole("treeitem", { name: "n: 7" }).click();
    await page.getByRole("listitem").filter({ hasText: "12345678901234567890.123456789" }).getByRole("button", { name: "Put back…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Put back", exact: true }).click();
    await page.getByRole("treeitem", { name: "n: 12345678901234567890.123456789" }).waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await server.end();
}
