// The page that `anywhen export --html` writes: one file, no server, no network.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, Server } from "./lib/server.mjs";
import { axe, openFile } from "./lib/browser.mjs";

export async function run({ browser, check, shot }) {
  const server = new Server();
  server.sample();
  const file = (name) => join(server.folder, `${name}.html`);

  await check("an exported history shows the document, its versions, a field over time, and differences", async () => {
    server.run("export", "samples/menu", "--html", file("menu"));
    const page = await openFile(browser, file("menu"));
    await page.getByRole("treeitem", { name: 'version: "spring 26"' }).waitFor();
    await page.getByRole("button", { name: "winter 25", exact: true }).click();
    await page.getByText("Revision 40", { exact: true }).waitFor();
    await page.getByRole("treeitem", { name: /^mains/ }).waitFor();
    await page.getByLabel("Find a path").fill("mains[2].cents");
    await page.getByRole("button", { name: "Find" }).click();
    const side = page.getByRole("complementary", { name: "History of a node" });
    await side.getByText("Most often").waitFor();
    assert.match(await side.locator(".most").innerText(), /1990[\s\S]*in 23 of 56 revisions/);
    for (const name of ["Edit…", "Put back…", "Go back to this…"]) assert.equal(await page.getByRole("button", { name }).count(), 0, name);
    await shot(page, "export");
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await page.getByLabel("releases").selectOption({ label: "spring 25 → summer 25" });
    await page.getByRole("table", { name: "Changes" }).getByText("Stuffed tomatoes").waitFor();
    await page.getByRole("button", { name: "Text", exact: true }).click();
    await page.getByText('"Café Anywhen"').waitFor();
    assert.deepEqual(await axe(page), []);
    assert.deepEqual([page.wrong, page.foreign], [[], []]);
    await page.context().close();
  });

  await check("an exported page works in a frame without an origin, as a notebook shows it", async () => {
    const page = await openFile(browser, join(ROOT, "tests/explorer/frame.html"));
    await page.evaluate((text) => {
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts");
      frame.style.cssText = "width: 100%; height: 620px; border: 0";
      frame.srcdoc = text;
      document.body.append(frame);
    }, readFileSync(file("menu"), "utf8"));
    const frame = page.frameLocator("iframe");
    await frame.getByRole("treeitem", { name: 'version: "spring 26"' }).waitFor();
    await frame.getByRole("button", { name: "winter 25", exact: true }).click();
    await frame.getByText("Revision 40", { exact: true }).waitFor();
    // The address of the frame cannot change: the page keeps in memory where the reader is.
    await page.waitForTimeout(400);
    await frame.getByText("Revision 40", { exact: true }).waitFor();
    await frame.getByRole("treeitem", { name: /^mains/ }).click();
    await frame.getByRole("list", { name: "Changes inside, newest first" }).getByRole("listitem").first().waitFor();
    await frame.getByRole("button", { name: "Changes", exact: true }).click();
    await frame.getByLabel("releases").selectOption({ label: "spring 25 → summer 25" });
    await frame.getByRole("table", { name: "Changes" }).getByText("Stuffed tomatoes").waitFor();
    await shot(page, "notebook");
    assert.deepEqual([page.wrong, page.foreign], [[], []]);
    await page.context().close();
  });

  await check("what an exported page says of each difference is what the server says", async () => {
    server.run("export", "samples/settings", "--html", file("settings"));
    await server.start();
    const page = await openFile(browser, file("settings"));
    await page.getByRole("treeitem").first().waitFor();
    for (let revision = 2; revision <= 8; revision++) {
      const { changes } = await server.ask("GET", `/v1/collections/samples/documents/settings/diff?from=${revision - 1}&to=${revision}`);
      await page.evaluate((to) => { location.hash = `#/?rev=${to}&view=changes`; }, revision);
      await page.getByText(`Revision ${revision}`, { exact: true }).waitFor();
      await page.getByRole("status").filter({ hasText: changes.length === 1 ? /^1 change$/ : new RegExp(`^${changes.length} changes$`) }).waitFor();
    }
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("hostile data in an exported page are texts", async () => {
    const evil = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>";
    await server.put("evil", "x", { [evil]: evil, "a\u202Eb": "\u2028" }, { author: evil, message: evil });
    await server.kill();
    server.run("export", "evil/x", "--html", file("evil"));
    const text = readFileSync(file("evil"), "utf8");
    assert.equal(text.split("</script>").length, 3, "two elements of script, and no more");
    const page = await openFile(browser, file("evil"));
    await page.getByRole("treeitem").nth(1).waitFor();
    assert.ok((await page.locator("body").innerText()).includes("U+202E"));
    assert.deepEqual([page.wrong, page.foreign], [[], []]);
    await page.context().close();
  });

  await server.end();
}
