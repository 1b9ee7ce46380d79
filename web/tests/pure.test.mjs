// The parts of the explorer that need no page: exact numbers, hidden characters, merged trees, the scale of the axis.
import { strict as assert } from "node:assert";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), "explorer-"));
after(() => rmSync(folder, { recursive: true }));

/** A module of the explorer, compiled for Node. */
async function load(name) {
  await build({
    root, configFile: false, logLevel: "error",
    build: { outDir: folder, emptyOutDir: false, minify: false, lib: { entry: join(root, "src", name), formats: ["es"], fileName: () => `${name.replace(/\W/g, "-")}.mjs` } },
  });
  return import(pathToFileURL(join(folder, `${name.replace(/\W/g, "-")}.mjs`)));
}

const { Exact, parse, write } = await load("exact.ts");
const { pieces, plain, shorten, duration, bytes } = await load("format.ts");
const { fold, merge, readTree } = await load("document/merge.ts");

test("JSON is written as it was read, with every key", () => {
  for (const text of ['{"a":[1,2.5,true,null,"x\\n"],"__proto__":1}', "[]", "{}", '"\\u0000"']) {
    assert.equal(write(parse(text)), text);
  }
  assert.equal(write(new Exact("1e400")), "1e400");
  assert.equal(write({ a: [1, {}] }, 2), '{\n  "a": [\n    1,\n    {}\n  ]\n}');
});

test("characters that would be hidden, or would turn others round, are shown by name", () => {
  assert.equal(plain("user\u202Egnp.exe"), "user⟨U+202E⟩gnp.exe");
  assert.equal(plain("a\nb\u0000"), "a⟨↵⟩b⟨U+0000⟩");
  assert.deepEqual(pieces("<script>alert(1)</script>"), [{ text: "<script>alert(1)</script>", hidden: null }]);
});

test("figures are short", () => {
  assert.equal(shorten("abcdef", 4), "abc…");
  assert.equal(duration(90_000), "2 minutes");
  assert.equal(bytes(1536), "1.5 KB");
});

const node = (key, value, name) => ({ ...(name === undefined ? {} : { key: name }), metadata: { nodeKey: key }, value });

test("a node that moved is told where it is and where it was", () => {
  const before = readTree(node(1, [node(2, "a"), node(3, "b"), node(4, "c")]));
  const after_tree = readTree(node(1, [node(4, "c"), node(2, "a"), node(3, "x"), node(5, "new")]));
  const rows = merge(before, after_tree, [
    { node_key: 4, op: "move", path: "$[0]", from: "$[2]" },
    { node_key: 3, op: "update", path: "$[2]", old: "b", new: "x" },
    { node_key: 5, op: "insert", path: "$[3]", new: "new" },
  ]);
  assert.deepEqual(rows.map((row) => [row.status, (row.new ?? row.old).key]), [
    ["same", 1], ["move", 4], ["same", 2], ["update", 3], ["gone", 4], ["insert", 5],
  ]);
});

test("what was removed stands where it stood, and unchanged rows are folded", () => {
  const fields = Array.from({ length: 10 }, (_, at) => node(at + 2, at, `f${at}`));
  const before = readTree(node(1, fields));
  const after_tree = readTree(node(1, fields.filter((_, at) => at !== 8)));
  const rows = merge(before, after_tree, [{ node_key: 10, op: "delete", path: "$.f8", old: 8 }]);
  assert.equal(rows.length, 11);
  assert.equal(rows[9].status, "delete");
  const folded = fold(rows, new Set());
  assert.deepEqual(folded.map((row) => row.folded), [0, 7, 0, 0, 0]);
  assert.equal(fold(rows, new Set([1])).length, 11);
});
