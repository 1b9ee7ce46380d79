// A TypeScript client that openapi-typescript makes of the server's description: it compiles and works.
'use strict';

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');

const work = path.join(process.env.WORK, 'openapi-typescript');
const modules = process.env.NODE_PATH;

/** Starts a server; gives its process and address. */
async function serve() {
  const server = spawn(process.env.ANYWHEN, ['serve', '--json', '--data', path.join(work, 'data'),
    '--pg-listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'ignore'] });
  for await (const line of readline.createInterface({ input: server.stdout })) {
    const told = JSON.parse(line);
    if (told.listening_http) return { server, address: `http://${told.listening_http}` };
  }
  throw new Error('the server did not start');
}

function run(program, ...words) {
  try {
    return execFileSync('node', [path.join(modules, program), ...words], { cwd: work, encoding: 'utf8' });
  } catch (error) {
    throw new Error(`${program}: ${error.stdout}${error.stderr}`);
  }
}

async function main() {
  fs.mkdirSync(work, { recursive: true });
  fs.symlinkSync(modules, path.join(work, 'node_modules'));
  fs.copyFileSync(path.join(__dirname, 'work.ts'), path.join(work, 'work.ts'));
  const { server, address } = await serve();
  try {
    const told = await fetch(`${address}/openapi.yaml`);
    fs.writeFileSync(path.join(work, 'openapi.yaml'), await told.text());
    run('openapi-typescript/bin/cli.js', 'openapi.yaml', '-o', 'api.d.ts');
    // A member that an answer does not have, or a parameter of the wrong type, ends it here.
    run('typescript/bin/tsc', '--strict', '--target', 'es2022', '--module', 'nodenext',
      '--moduleResolution', 'nodenext', '--skipLibCheck', 'work.ts');
    const { work: checks } = require(path.join(work, 'work.js'));
    const count = await checks(address);
    console.log(`version: openapi-typescript ${require('openapi-typescript/package.json').version}`);
    console.log(`held: ${count.held}\nbroken: ${count.broken}`);
    process.exitCode = count.broken ? 1 : 0;
  } finally {
    server.kill();
  }
}

main();
