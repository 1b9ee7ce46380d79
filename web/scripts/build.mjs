// Builds the explorer into `dist`: the files, each compressed, and the licences of what they contain. Fails where
// the bundle is too large.
//
//     npm run build
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const BUNDLE_BYTES_MAX = 400 * 1024;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");

for (const name of readdirSync(dist)) {
  if (name !== ".gitignore") rmSync(join(dist, name), { recursive: true });
}
const bundled = new Set();
await build({
  root,
  logLevel: "warn",
  plugins: [
    {
      name: "bundled-packages",
      generateBundle(_options, bundle) {
        for (const file of Object.values(bundle)) {
          for (const id of Object.keys(file.modules ?? {})) {
            const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id);
            if (found) bundled.add(found[1]);
          }
        }
      },
    },
  ],
});
// Style sheets of packages are no modules of the bundle.
bundled.add("uplot");
writeFileSync(join(dist, "export.html"), await exportPage());
const licences = licencesOf([...bundled].sort());
writeFileSync(join(dist, "LICENSES.md"), licences);
const kept = join(root, "LICENSES.md");
if (!existsSync(kept) || readFileSync(kept, "utf8") !== licences) writeFileSync(kept, licences);

let total = 0;
for (const name of readdirSync(dist).sort()) {
  if (name === ".gitignore") continue;
  const path = join(dist, name);
  const bytes = readFileSync(path);
  const gzip = gzipSync(bytes, { level: 9 });
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
  writeFileSync(`${path}.gz`, gzip);
  writeFileSync(`${path}.br`, brotli);
  rmSync(path);
  total += gzip.length;
  console.log(`${name.padEnd(32)} ${kb(bytes.length)}, ${kb(gzip.length)} with gzip, ${kb(brotli.length)} with brotli`);
}
console.log(`all files with gzip: ${kb(total)} of at most ${kb(BUNDLE_BYTES_MAX)}`);
if (total > BUNDLE_BYTES_MAX) {
  console.error("the bundle is too large");
  process.exit(1);
}

function kb(bytes) {
  return `${(bytes / 1024).toFixed(1)} KB`;
}

/** The page of `anywhen export --html`: script and style are in it, allowed by their digests. The command puts the
 * history into it. */
async function exportPage() {
  const [{ output }] = [await build({
    root,
    configFile: false,
    logLevel: "error",
    define: { "import.meta": {} },
    resolve: { alias: [
      { find: /^\.\.\/ui\/editor$/, replacement: join(root, "src/export/editor.tsx") },
      { find: /^\.\.\/ui\/texts$/, replacement: join(root, "src/export/texts.ts") },
    ] },
    build: {
      write: false, target: "es2022", modulePreload: false, cssCodeSplit: false, reportCompressedSize: false,
      rollupOptions: { input: join(root, "src/export/main.tsx"), output: { format: "iife" } },
    },
  })].flat();
  const script = output.find((file) => file.type === "chunk").code.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const style = String(output.find((file) => file.fileName.endsWith(".css")).source).trim();
  const digest = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = `default-src 'none'; script-src ${digest(script)}; style-src ${digest(style)}; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Anywhen</title>
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript.</noscript>
<script type="application/json" id="history"><!--history--></script>
<script>${script}</script>
</body>
</html>
`;
}

/** The names, versions and licences of packages, as they state them. */
function licencesOf(names) {
  const parts = names.map((name) => {
    const folder = join(root, "node_modules", name);
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? readFileSync(join(folder, file), "utf8").trim() : "(the package has no file with its licence)";
    return `## ${name} ${about.version}\n\n${about.license}\n\n\`\`\`text\n${text}\n\`\`\`\n`;
  });
  return `# Licences of the packages in the explorer\n\nThe explorer itself is part of Anywhen: Apache License 2.0. It contains these packages. \`npm run build\` writes this file.\n\n${parts.join("\n")}`;
}
