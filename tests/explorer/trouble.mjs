// Trouble around the page: the server stops, other tabs write, documents vanish.
import { strict as assert } from "node:assert";
import { Server } from "./lib/server.mjs";
import { open } from "./lib/browser.mjs";

export async function run({ browser, check, shot }) {
  const server = new Server();
  server.sample();
  await server.start();
  const DOC = "#/doc/samples/settings";

  await check("another tab's write: the page says so, and what changed is a click away", async () => {
    const page = await open(browser, server, DOC);
    await page.getByRole("treeitem", { name: 'service: "gateway"' }).waitFor();
    await server.ask("PATCH", "/v1/collections/samples/documents/settings?author=grace&message=by%20another%20tab", { service: "door" }, { "content-type": "application/merge-patch+json" });
    await page.getByText("made revision 9").waitFor();
    await page.getByRole("treeitem", { name: 'service: "door"' }).waitFor();
    await page.getByRole("button", { name: "Show what changed" }).click();
    await page.getByRole("table", { name: "Changes" }).getByText("door").waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("an edit that another tab was faster than writes nothing, and says who and what", async () => {
    const page = await open(browser, server, DOC);
    await page.getByRole("button", { name: "Edit…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "The document as JSON" }).click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("End");
    await page.keyboard.type('\n"mine": 1,');
    await server.ask("PATCH", "/v1/collections/samples/documents/settings?author=linus&message=faster", { service: "gate" }, { "content-type": "application/merge-patch+json" });
    await dialog.getByRole("button", { name: "Save" }).click();
    const conflict = dialog.getByRole("alert");
    await conflict.getByText("Somebody else changed this document meanwhile").waitFor();
    await conflict.getByText("linus").waitFor();
    await conflict.getByText("$.service").waitFor();
    await shot(page, "conflict", { guide: true });
    assert.equal((await server.ask("GET", "/v1/collections/samples/documents/settings")).mine, undefined);
    await dialog.getByRole("button", { name: "Take theirs, drop mine" }).click();
    await dialog.getByText('"gate"').waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("a lost connection is told, and the page goes on once the server is back", async () => {
    const page = await open(browser, server, DOC);
    await page.getByRole("treeitem", { name: 'service: "gate"' }).waitFor();
    await server.kill();
    await page.getByText("The server does not answer. This page goes on").waitFor();
    // The page still shows the rows that it has.
    await page.getByRole("treeitem", { name: 'service: "gate"' }).waitFor();
    await server.start();
    await page.getByText("The server does not answer. This page goes on").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "First revision" }).click();
    await page.getByRole("treeitem", { name: 'version: "1.4.0"' }).waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("a page out of view holds no stream, and tells of what it has missed", async () => {
    await server.put("samples", "watched", { n: 1 });
    const page = await open(browser, server);
    const streams = new Set();
    const isStream = (request) => request.url().includes("/v1/changes");
    page.on("request", (request) => isStream(request) && streams.add(request));
    for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => streams.delete(request));
    await page.goto(`${server.origin}/#/doc/samples/watched`);
    await page.reload();
    await page.getByRole("treeitem", { name: "n: 1" }).waitFor();
    const until = async (wanted) => {
      for (let turn = 0; streams.size !== wanted; turn++) {
        assert.ok(turn < 100, `${streams.size} streams`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    const show = (hidden) => page.evaluate((value) => {
      Object.defineProperty(document, "hidden", { value, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    await until(1);
    await show(true);
    await until(0);
    await server.put("samples", "watched", { n: 2 }, { author: "grace" });
    await show(false);
    await page.getByText("made revision 2").waitFor();
    await page.getByRole("treeitem", { name: "n: 2" }).waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("a document that was removed shows what it was, and comes back", async () => {
    await server.put("samples", "gone", { n: 1 });
    await server.put("samples", "gone", { n: 2 });
    await server.ask("DELETE", "/v1/collections/samples/documents/gone?message=away");
    const page = await open(browser, server, "#/doc/samples/gone");
    await page.getByText("At this revision the document is removed.").waitFor();
    await page.getByRole("button", { name: "Previous revision" }).click();
    await page.getByRole("treeitem", { name: "n: 2" }).waitFor();
    await page.getByRole("button", { name: "Go back to this…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Go back", exact: true }).click();
    await page.getByText("Revision 4", { exact: true }).waitFor();
    assert.deepEqual(await server.ask("GET", "/v1/collections/samples/documents/gone"), { n: 2 });
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("a document that is not there, and a page that is not there", async () => {
    const page = await open(browser, server, "#/doc/samples/nothing");
    await page.getByText("There is no document with this key in this collection.").waitFor();
    await page.goto(`${server.origin}/#/nowhere`);
    await page.getByRole("heading", { name: "Collections and tables" }).waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await server.end();
}
