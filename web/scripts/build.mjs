// Builds the explorer into `dist`: the files, each compressed, and the licences of what they contain. Fails where
// the bundle is too large.
//
//     npm run build
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
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
