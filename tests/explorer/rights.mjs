// Rights: the page does not offer what a token does not allow, and the server refuses it anyway.
import { strict as assert } from "node:assert";
import { Server } from "./lib/server.mjs";
import { open } from "./lib/browser.mjs";

export async function run({ browser, check, shot }) {
  const server = new Server();
  server.sample();
  const made = (name, ...more) => /aw_\S+/.exec(server.run("token", "create", name, ...more))[0];
  server.run("sql", "-c", "CREATE ROLE vera LOGIN; CREATE ROLE mona LOGIN; GRANT SELECT ON samples TO vera; GRANT SELECT, INSERT, UPDATE, DELETE ON samples TO mona;");
  const viewer = made("vera", "--role", "view");
  const editor = made("mona", "--role", "view,create,modify,delete");
  const fleeting = made("fay", "--role", "view", "--sql-role", "vera");
  await server.start("--http-auth");

  const signIn = async (page, token) => {
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  };

  await check("without a token there is a form and nothing else, and a wrong token is told", async () => {
    const page = await open(browser, server, "#/doc/samples/settings");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await signIn(page, "aw_wrong");
    await page.getByText("The server does not know this token.").waitFor();
    assert.equal(await page.getByText("gateway").count(), 0);
    assert.deepEqual([page.wrong, page.foreign], [[], []]);
    await page.context().close();
  });

  await check("a viewer sees, and is offered no change", async () => {
    const page = await open(browser, server, "#/doc/samples/settings?rev=5");
    await signIn(page, viewer);
    await page.getByRole("treeitem", { name: "requests_per_minute: 1200" }).click();
    await page.getByRole("complementary").getByText("Most often").waitFor();
    for (const name of ["Edit…", "Go back to this…", "Put back…"]) assert.equal(await page.getByRole("button", { name }).count(), 0, name);
    assert.equal(await page.getByRole("link", { name: "SQL" }).count(), 0, "SQL takes all rights");
    assert.match(await page.locator(".who").innerText(), /vera[\s\S]*may view/);
    await shot(page, "viewer");
    // The server refuses what the page does not offer.
    const status = await page.evaluate(async (token) => (await fetch("/v1/collections/samples/documents/settings/revert?revision=1", { method: "POST", headers: { authorization: `Bearer ${token}` } })).status, viewer);
    assert.equal(status, 403);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("the token is in no storage, cookie or address, and a reader who does not want to stay is asked again", async () => {
    const page = await open(browser, server, "#/doc/samples/settings");
    assert.ok(!await page.getByLabel("Stay signed in").isChecked(), "nobody stays who did not ask for it");
    await signIn(page, editor);
    await page.getByRole("treeitem", { name: 'service: "gateway"' }).waitFor();
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state]));
    assert.ok(!kept.includes("aw_"), kept);
    assert.equal((await page.context().cookies()).length, 0);
    await page.reload();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.context().close();
  });

  await check("a reader stays signed in when the page is loaded again, and in other tabs, until signing out", async () => {
    const page = await open(browser, server, "#/doc/samples/settings");
    await page.getByLabel("Stay signed in").check();
    await signIn(page, viewer);
    const row = { name: 'service: "gateway"' };
    await page.getByRole("treeitem", row).waitFor();
    const [cookie, ...others] = await page.context().cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.expires, others.length], [true, "Strict", -1, 0]);
    assert.ok(!cookie.value.includes("aw_"));
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
    assert.ok(!kept.includes("aw_") && !kept.includes(cookie.value), kept);
    await page.reload();
    await page.getByRole("treeitem", row).waitFor();
    assert.match(await page.locator(".who").innerText(), /vera[\s\S]*may view/);
    const tab = await page.context().newPage();
    await tab.goto(`${server.origin}/#/doc/samples/settings`);
    await tab.getByRole("treeitem", row).waitFor();
    // The cookie alone, which a browser sends by itself, opens nothing.
    assert.equal((await tab.evaluate(async () => (await fetch("/v1/collections")).status)), 401);
    // Where the server does not end the session the reader is told so, and stays signed in.
    const refuse = (sent) => sent.request().method() === "DELETE" ? sent.fulfill({ status: 503, json: { detail: "busy" } }) : sent.continue();
    await page.route("**/v1/session", refuse);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("alert").getByText("You are still signed in").waitFor();
    await page.getByRole("treeitem", row).waitFor();
    await page.unroute("**/v1/session", refuse);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.equal((await page.context().cookies()).length, 0);
    await tab.reload();
    await tab.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("an editor changes, and the name of the token is the author", async () => {
    const page = await open(browser, server, "#/doc/samples/settings?rev=5");
    await signIn(page, editor);
    await page.getByRole("button", { name: "Go back to this…" }).click();
    const dialog = page.getByRole("dialog");
    assert.equal(await dialog.getByLabel("Your name").count(), 0, "who it is has been proved");
    await dialog.getByRole("button", { name: "Go back", exact: true }).click();
    await page.getByText("Revision 9", { exact: true }).waitFor();
    const { versions: [newest] } = await server.ask("GET", "/v1/collections/samples/documents/settings/versions?limit=1", undefined, { authorization: `Bearer ${editor}` });
    assert.deepEqual([newest.author, newest.role], ["mona", "mona"]);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await check("a token that is revoked while the page is open is asked for again, and nothing is lost", async () => {
    const page = await open(browser, server, "#/doc/samples/settings?rev=5");
    await signIn(page, fleeting);
    await page.getByRole("treeitem", { name: "requests_per_minute: 1200" }).waitFor();
    const known = JSON.parse(server.run("token", "list", "--json")).find((each) => each.name === "fay");
    server.run("token", "revoke", known.id);
    await page.waitForTimeout(1500);
    await page.getByRole("button", { name: "First revision" }).click();
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.waitFor();
    await dialog.getByLabel("Token").fill(editor);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Next revision" }).click();
    await page.getByRole("treeitem", { name: 'level: "info"' }).waitFor();
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  await server.end();
}
