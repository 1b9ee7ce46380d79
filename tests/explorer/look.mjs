// How pages look: axe finds nothing on any of them, in light and dark; narrow screens need no scrolling to the side.
import { strict as assert } from "node:assert";
import { Server } from "./lib/server.mjs";
import { axe, open } from "./lib/browser.mjs";

export async function run({ browser, check, shot }) {
  const server = new Server();
  server.sample();
  await server.start();
  const DOC = "#/doc/samples/settings";
  const tree = (page) => page.getByRole("treeitem").first().waitFor();
  const node = (page) => page.getByRole("list", { name: "Values, newest first" }).waitFor();

  /** Each page: its name, its address, and what must be there before it is looked at. */
  const PAGES = [
    ["browse", "#/in/samples", (page) => page.getByRole("link", { name: "settings", exact: true }).waitFor()],
    ["document", DOC, tree],
    ["document-past", `${DOC}?rev=6&node=5`, node],
    ["changes-sides", `${DOC}?rev=7&compare=1&view=changes`, (page) => page.getByRole("table", { name: "Changes" }).waitFor()],
    ["text", `${DOC}?view=text`, (page) => page.getByRole("textbox").nth(1).waitFor()],
    ["revert", `${DOC}?rev=5`, async (page) => {
      await page.getByRole("button", { name: "Go back to this…" }).click();
      await page.getByRole("dialog").getByText("$.version").waitFor();
    }],
    ["rows", "#/table/public/product", async (page) => {
      await page.getByRole("row", { name: /tea/ }).click();
      await page.getByRole("complementary").getByRole("listitem").first().waitFor();
    }],
    ["table-changes", "#/table/public/product?view=changes", (page) => page.getByText("salad").first().waitFor()],
    ["sql", `#/sql?q=${encodeURIComponent("SELECT * FROM product")}`, async (page) => {
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByRole("table", { name: /Rows of the statement/ }).waitFor();
    }],
    ["plan", `#/sql?q=${encodeURIComponent("SELECT * FROM purchase WHERE customer = 2")}`, async (page) => {
      await page.getByRole("button", { name: "Explain" }).click();
      await page.locator(".plan .step").first().waitFor();
    }],
    ["server", "#/server", (page) => page.getByText("No other sessions.").waitFor()],
  ];

  for (const [name, hash, ready] of PAGES) {
    for (const scheme of ["light", "dark"]) {
      await check(`axe finds nothing: ${name}, ${scheme}`, async () => {
        const page = await open(browser, server, hash, { scheme });
        await ready(page);
        await page.waitForTimeout(150);
        await shot(page, `${name}-${scheme}`);
        if (name === "document" && scheme === "dark") await shot(page, "dark", { guide: true });
        assert.deepEqual(await axe(page), []);
        assert.deepEqual([page.wrong, page.foreign], [[], []]);
        await page.context().close();
      });
    }
    await check(`a narrow screen: ${name}`, async () => {
      const page = await open(browser, server, hash, { width: 390, height: 800 });
      await ready(page);
      await page.waitForTimeout(150);
      await shot(page, `${name}-narrow`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `${wide} pixels wide`);
      await page.context().close();
    });
  }

  await server.end();
}
