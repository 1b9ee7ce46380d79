// The main path of each page.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, Server } from "./lib/server.mjs";
import { open } from "./lib/browser.mjs";

export async function run({ browser, check, shot }) {
  const server = new Server();
  server.sample();
  await server.start();
  await server.sql("CREATE TABLE measure (day date PRIMARY KEY, value int) USING columnar");
  await server.sql("INSERT INTO measure SELECT date '2026-01-01' + n, n * n % 97 FROM generate_series(1, 60) n");

  await check("the forms that the explorer expects are those of the description", async () => {
    const { components: { schemas } } = await server.ask("GET", "/openapi.yaml?form=json");
    const text = readFileSync(join(ROOT, "web/src/types.ts"), "utf8");
    let compared = 0;
    for (const [, name, body] of text.matchAll(/export interface (\w+) \{\n([\s\S]*?)\n\}/g)) {
      const schema = schemas[name];
      if (schema === undefined) {
        assert.equal(name, "DocumentChange", `${name} is not described`);
        continue;
      }
      for (const [, member, optional] of body.matchAll(/^  (\w+)(\??):/gm)) {
        assert.ok(member in schema.properties, `${name}.${member} is not described`);
        assert.equal(optional === "", schema.required.includes(member), `${name}.${member}`);
        compared += 1;
      }
    }
    assert.ok(compared > 50, `${compared} members`);
  });

  await check("browse: tables of all access methods, documents of a collection, changes as they happen", async () => {
    const page = await open(browser, server, "#/");
    for (const [name, method] of [["product", "heap"], ["samples", "document"], ["measure", "columnar"], ["spent", "view"]]) {
      const row = page.getByRole("row", { name: new RegExp(`^${name}`) });
      await row.waitFor();
      assert.match(await row.innerText(), new RegExp(method));
    }
    await page.getByRole("link", { name: "samples", exact: true }).click();
    await server.put("samples", "fresh", { n: 1 }, { author: "linus", message: "come a moment ago" });
    const live = page.getByRole("region", { name: "Newest changes" });
    await live.getByText("come a moment ago").waitFor();
    await live.getByRole("link", { name: "samples/settings" }).first().click();
    await page.getByRole("table", { name: "Changes" }).waitFor();
    assert.deepEqual([page.wrong, page.foreign], [[], []]);
    await page.context().close();
  });

  await check("document: keys move along the axis and through the tree, play runs to the end", async () => {
    const page = await open(browser, server, "#/doc/samples/settings");
    const axis = page.getByRole("slider", { name: "Revision" });
    await axis.focus();
    await page.keyboard.press("ArrowLeft");
    await page.getByText("Revision 7", { exact: true }).waitFor();
    assert.match(await axis.getAttribute("aria-valuetext"), /Revision 7, 6 Apr 2026.*edsger: orders first/);
    await page.keyboard.press("Home");
    await page.getByText("Revision 1", { exact: true }).waitFor();
    await page.keyboard.press(" ");
    await page.getByText("Revision 8", { exact: true }).waitFor();
    const box = await axis.boundingBox();
    await page.mouse.move(box.x + box.width - 12, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 30, { steps: 5 });
    await page.mouse.up();
    await page.getByText(/^Revision [45]$/).waitFor();
    await axis.focus();
    await page.keyboard.press("End");
    const tree = page.getByRole("tree");
    await tree.focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowLeft"]) await page.keyboard.press(key);
    await page.getByRole("treeitem", { name: "limits: { 3 fields }", expanded: false }).waitFor();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("treeitem", { name: "limits: {", expanded: true }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("complementary", { name: "History of a node" }).getByText("$.limits.requests_per_minute").waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("document: a path is found and opened; a link carries node and moment", async () => {
    const page = await open(browser, server, "#/doc/samples/settings?rev=8");
    await page.getByLabel("Find a path").fill("upstreams[1].host");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByRole("treeitem", { name: 'host: "catalog.eu.internal"' }).waitFor();
    await page.getByRole("complementary").getByText("$.upstreams[1].host").waitFor();
    const link = page.url();
    const again = await open(browser, server, link.slice(link.indexOf("#")));
    await again.getByRole("complementary").getByText("$.upstreams[1].host").waitFor();
    await page.getByLabel("Find a path").fill("nothing.here");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByText("it never had this path").waitFor();
    // A path of another time is found, and the reader gets there.
    await page.getByLabel("Find a path").fill("limits.body_bytes");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByRole("button", { name: "in revisions 1–4" }).click();
    await page.getByText("Revision 4", { exact: true }).waitFor();
    await page.getByRole("treeitem", { name: "body_bytes: 1048576" }).waitFor();
    // The axis is labelled by another field, and a link says so.
    await page.getByLabel("flags").fill("limits.requests_per_minute");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "1200", exact: true }).click();
    await page.getByText("Revision 3", { exact: true }).waitFor();
    assert.ok(page.url().includes("flag="));
    assert.deepEqual([page.wrong, again.wrong], [[], []]);
    await page.context().close();
    await again.context().close();
  });

  await check("document: text, and an edit that is saved as a revision", async () => {
    const page = await open(browser, server, "#/doc/samples/settings?view=text");
    await page.getByText('"gateway"').waitFor();
    await page.getByRole("button", { name: "Edit…" }).click();
    const dialog = page.getByRole("dialog");
    const editor = dialog.getByRole("textbox", { name: "The document as JSON" });
    await editor.click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("End");
    await page.keyboard.type('\n"owner": "ops",');
    await dialog.getByLabel("Message").fill("who owns it");
    await shot(page, "edit");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Revision 9", { exact: true }).waitFor();
    const now = await server.ask("GET", "/v1/collections/samples/documents/settings");
    assert.equal(now.owner, "ops");
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("rows: a filter, the history of a row, what changed, and the moment of the page", async () => {
    const page = await open(browser, server, "#/table/public/product");
    await page.getByRole("row", { name: /tea/ }).waitFor();
    await page.getByLabel("WHERE").fill("cents > 400");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("row", { name: /tea/ }).waitFor({ state: "detached" });
    await page.getByLabel("WHERE").fill("");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("row", { name: /tea/ }).click();
    const side = page.getByRole("complementary", { name: "History of a row" });
    await side.getByText("320").first().waitFor();
    assert.equal(await side.getByRole("listitem").count(), 4);
    await shot(page, "rows", { guide: true });
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await page.getByText("salad").first().waitFor();
    await page.getByRole("button", { name: "removed" }).click();
    await page.getByText("1 change", { exact: true }).waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("SQL: rows, a chart, JSON, a plan, an error with its code, files, and completion", async () => {
    const page = await open(browser, server, "#/sql?q=SELECT%20day%2C%20value%20FROM%20measure%20ORDER%20BY%20day");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("60 rows").first().waitFor();
    await page.getByRole("button", { name: "Chart" }).click();
    await page.locator(".chart canvas").waitFor();
    await shot(page, "sql-chart", { guide: true });
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    await page.getByRole("textbox", { name: "Rows as JSON" }).waitFor();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
    assert.match(readFileSync(await file.path(), "utf8"), /^day,value\r\n2026-01-02,1\r\n/);
    await page.getByRole("button", { name: "Explain" }).click();
    await page.locator(".plan .step").first().waitFor();
    await shot(page, "sql-plan");
    const editor = page.getByRole("textbox", { name: "A statement of SQL" });
    await editor.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("SELECT * FROM prod");
    await page.getByRole("option", { name: "product" }).first().waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+Enter");
    await page.getByText('relation "prod" does not exist').waitFor();
    await page.getByText("42P01").waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("SQL: a statement is cancelled", async () => {
    const page = await open(browser, server, `#/sql?q=${encodeURIComponent("SELECT pg_sleep(60)")}`);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("The statement was cancelled.").waitFor();
    const begun = Date.now();
    for (;;) {
      const { rows } = await server.sql("SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'");
      if (rows[0][0] === 0) break;
      assert.ok(Date.now() - begun < 5000, "the server goes on with it");
    }
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("one moment holds on all pages", async () => {
    await server.sql("CREATE TABLE later (n int)");
    const before = "2026-06-01T00:00:00Z";
    const page = await open(browser, server, `#/doc/samples/settings?at=${before}`);
    await page.getByText("Revision 8", { exact: true }).waitFor();
    await page.getByRole("link", { name: "SQL" }).click();
    await page.getByText("nothing can be changed").waitFor();
    await page.getByRole("link", { name: "Browse" }).click();
    await page.getByText("There is nothing yet at this moment").waitFor();
    await page.getByRole("button", { name: "Back to now" }).click();
    await page.getByRole("link", { name: "later" }).waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("another database has tables of its own, and links stay in it", async () => {
    await server.sql("CREATE DATABASE shop");
    await server.ask("POST", "/v1/sql?database=shop", { sql: "CREATE TABLE ware (id int PRIMARY KEY, name text)" });
    await server.ask("POST", "/v1/sql?database=shop", { sql: "INSERT INTO ware VALUES (1, 'lamp')" });
    const page = await open(browser, server, "#/");
    await page.getByLabel("Database").selectOption("shop");
    await page.getByRole("link", { name: "ware" }).click();
    await page.getByRole("row", { name: /lamp/ }).click();
    await page.getByRole("complementary", { name: "History of a row" }).getByText("lamp").waitFor();
    await page.getByRole("link", { name: "Browse" }).click();
    await page.getByLabel("Database").selectOption("postgres");
    await page.getByRole("link", { name: "product" }).waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("server: figures, sessions and locks", async () => {
    const page = await open(browser, server, "#/server");
    await page.getByText("On the disk").waitFor();
    await page.getByRole("region", { name: "Sessions" }).waitFor();
    await page.getByText("No other sessions.").waitFor();
    await shot(page, "server");
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await server.end();
}
