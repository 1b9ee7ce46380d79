// Prisma: a schema is pushed, pushed again, changed, and read back; then its client works in it.
//
// What is checked of a push is that the next one finds nothing to do: Prisma compares its schema with what
// the catalog says. Its engines are the ones in WebAssembly that its packages hold; nothing else is fetched.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');

const modules = process.env.NODE_PATH;
const folder = path.join(process.env.WORK, 'prisma');
const count = { held: 0, broken: 0 };
fs.mkdirSync(folder, { recursive: true });
fs.symlinkSync(modules, path.join(folder, 'node_modules'));
// Prisma fetches native engines that it does not use here, unless it is told that they are there.
const engine = path.join(folder, 'engine');
fs.writeFileSync(engine, '', { mode: 0o755 });
const { PGUSER, PGPASSWORD = '', PGHOST, PGPORT, PGDATABASE } = process.env;
const environment = {
  ...process.env,
  DATABASE_URL: `postgresql://${PGUSER}:${encodeURIComponent(PGPASSWORD)}@${PGHOST}:${PGPORT}/${PGDATABASE}?schema=${PGUSER}`,
  PRISMA_QUERY_ENGINE_LIBRARY: engine, PRISMA_SCHEMA_ENGINE_BINARY: engine,
  CHECKPOINT_DISABLE: '1', PRISMA_HIDE_UPDATE_MESSAGE: '1', NO_COLOR: '1', CI: '1',
};

/** Checks that two values are equal, all the way down. */
function same(got, wanted) {
  try {
    assert.deepStrictEqual(got, wanted);
    count.held += 1;
  } catch (error) {
    count.broken += 1;
    const line = error.stack.split('\n').find((row) => /client\.js/.test(row) && !/same/.test(row));
    console.log(`${(line || '').trim()}\n    ${error.message.replace(/\n/g, '\n    ')}`);
  }
}

/** Runs Prisma's command; returns all that it says. `second` picks the changed schema. */
function prisma(words, second = false) {
  let schema = fs.readFileSync(path.join(__dirname, 'schema.prisma'), 'utf8');
  if (second) schema = schema.replaceAll('// SECOND', '');
  fs.writeFileSync(path.join(folder, 'schema.prisma'), schema);
  fs.copyFileSync(path.join(__dirname, 'prisma.config.ts'), path.join(folder, 'prisma.config.ts'));
  const done = spawnSync('node', [path.join(modules, 'prisma/build/index.js'), ...words], {
    cwd: folder, env: environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (done.status !== 0) throw new Error(done.stdout + done.stderr);
  return done.stdout;
}

/** Pushes the schema; returns true where there was something to do. */
function pushed(second = false) {
  const said = prisma(['db', 'push', '--skip-generate', '--accept-data-loss'], second);
  const [synced, was] = [/is now in sync/.test(said), /is already in sync/.test(said)];
  if (synced === was) throw new Error(said);
  return synced;
}

const parts = {
  async a_second_push_finds_nothing_to_do() {
    same([pushed(), pushed()], [true, false]);
    same([pushed(true), pushed(true)], [true, false]);
  },

  async what_is_there_is_read_back() {
    const lines = prisma(['db', 'pull', '--print'], true).split('\n').map((line) => line.trim().replace(/ +/g, ' '));
    for (const line of [
      'made DateTime @default(now()) @db.Timestamptz(3)',
      'token String @default(dbgenerated("gen_random_uuid()")) @db.Uuid',
      'tags String[] @default([])', 'mood Mood @default(HAPPY)', 'extra Json @default("{}")',
      '@@index([tags], type: Gin)', '@@index([price(sort: Desc)], map: "dearest")', '@@unique([authorId, title])',
      '@@map("a label")', 'votes Int @default(0)',
    ]) {
      same(lines.filter((found) => found === line), [line]);
    }
  },

  async its_client_works_in_it() {
    prisma(['generate'], true);
    const { PrismaClient } = require(path.join(folder, 'made'));
    const { PrismaPg } = require(path.join(modules, '@prisma/adapter-pg'));
    const db = new PrismaClient({ adapter: new PrismaPg({}, { schema: PGUSER }) });
    try {
      const ann = await db.user.create({
        data: {
          name: 'Ann', tags: ['a'], price: '1.5', bytes: Buffer.from([0, 255]),
          posts: { create: [{ title: 'x', labels: { create: { id: 1 } } }, { title: 'y' }] },
        },
        include: { posts: { include: { labels: true }, orderBy: { title: 'asc' } } },
      });
      same([ann.mood, String(ann.price), ann.tags, ann.extra, ann.posts.map((post) => post.labels)],
        ['HAPPY', '1.5', ['a'], {}, [[{ id: 1 }], []]]);
      same([ann.made instanceof Date, [...ann.bytes], typeof ann.posts[0].id], [true, [0, 255], 'bigint']);
      const titles = await db.post.findMany({
        where: { author: { mood: 'HAPPY', tags: { has: 'a' } } }, orderBy: { title: 'desc' }, select: { title: true },
      });
      same(titles, [{ title: 'y' }, { title: 'x' }]);
      const sad = await db.user.upsert({ where: { key: ann.key }, update: { mood: 'SAD' }, create: {}, select: { mood: true } });
      same(sad, { mood: 'SAD' });
      const groups = await db.user.groupBy({ by: ['mood'], _count: true, _sum: { price: true } });
      same(groups.map((group) => [group.mood, group._count, String(group._sum.price)]), [['SAD', 1, '1.5']]);
      same(await db.post.create({ data: { title: 'x', authorId: ann.id } }).catch((error) => error.code), 'P2002');
      same(await db.post.create({ data: { title: 'z', authorId: 99 } }).catch((error) => error.code), 'P2003');
      const stopped = await db.$transaction(async (tx) => {
        await tx.post.updateMany({ data: { votes: { increment: 3 } } });
        same((await tx.post.findFirst()).votes, 3);
        throw new Error('stop');
      }, { isolationLevel: 'Serializable' }).catch((error) => error.message);
      same([stopped, (await db.post.findFirst()).votes], ['stop', 0]);
      same(await db.$queryRaw`SELECT count(*)::int AS n FROM "User" WHERE name = ${'Ann'}`.catch((error) => error.message), [{ n: 1 }]);
      await db.user.delete({ where: { id: ann.id } });
      same(await db.post.count(), 0);
    } finally {
      await db.$disconnect();
    }
  },
};

(async () => {
  for (const [name, part] of Object.entries(parts)) {
    console.log(`part: ${name}`);
    try {
      await part();
    } catch (error) {
      count.broken += 1;
      console.log(`${name} ended early:\n${error.stack}`);
    }
  }
  const { version } = JSON.parse(fs.readFileSync(path.join(modules, 'prisma/package.json'), 'utf8'));
  console.log(`version: prisma ${version}`);
  console.log(`held: ${count.held}`);
  console.log(`broken: ${count.broken}`);
  process.exit(count.broken ? 1 : 0);
})();
