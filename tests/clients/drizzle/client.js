// drizzle-kit: a schema is pushed, pushed again, changed, and read back; then Drizzle works in it.
//
// What is checked of a push is that the next one finds nothing to do: drizzle-kit compares its schema
// with what the catalog says of every column, constraint and index.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { and, eq, gt, sql } = require('drizzle-orm');
const { drizzle } = require('drizzle-orm/node-postgres');
const { Pool } = require('pg');
const { dear, line, product } = require('./schema.js');

const modules = process.env.NODE_PATH;
const folder = path.join(process.env.WORK, 'drizzle-kit');
fs.mkdirSync(folder, { recursive: true });

const count = { held: 0, broken: 0 };

function note(check) {
  try {
    check();
    count.held += 1;
  } catch (error) {
    count.broken += 1;
    const at = error.stack.split('\n').find((row) => /client\.js/.test(row) && !/note|same/.test(row));
    console.log(`${(at || '').trim()}\n    ${error.message.replace(/\n/g, '\n    ')}`);
  }
}

/** Checks that two values are equal, all the way down. */
function same(got, wanted) {
  note(() => assert.deepStrictEqual(got, wanted));
}

/** Runs drizzle-kit; returns all that it says. `second` picks the changed schema. */
function kit(words, second = false) {
  const config = path.join(__dirname, 'drizzle.config.js');
  const done = spawnSync('node', [
    path.join(modules, 'drizzle-kit/bin.cjs'), ...words, '--config', path.relative(folder, config),
  ], {
    cwd: folder,
    env: { ...process.env, SECOND: second ? 'yes' : 'no', NO_COLOR: '1' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = done.stdout + done.stderr;
  if (done.status !== 0 || /^\s*error: /mi.test(said)) throw new Error(said);
  return said;
}

/** Pushes the schema; returns the statements that it took. */
function pushed(second = false) {
  const said = kit(['push', '--force'], second);
  if (said.includes('No changes detected')) return [];
  const begin = said.indexOf('You are about to execute current statements:');
  const end = said.indexOf('Changes applied');
  if (begin < 0 || end < 0) throw new Error(said);
  const statements = said.slice(begin, end).split('\n').slice(1, -1).join('\n');
  return statements.split(/;\n/).map((text) => text.trim()).filter(Boolean);
}

const named = (all) => Object.fromEntries(Object.values(all).map((one) => [one.name, one]));

const parts = {
  async a_second_push_finds_nothing_to_do() {
    const first = pushed();
    same(first.filter((text) => text.startsWith('CREATE TABLE')).length, 2);
    same(first.filter((text) => /^CREATE (UNIQUE )?INDEX/.test(text)).length, 11);
    same(pushed(), []);
    same(pushed(), []);
  },

  async what_is_there_is_read_back() {
    kit(['pull']);
    const snapshot = JSON.parse(fs.readFileSync(path.join(folder, 'drizzle/meta/0000_snapshot.json'), 'utf8'));
    same(Object.keys(snapshot.tables).sort(), ['drizzle-kit.line', 'drizzle-kit.product']);
    const { columns, indexes, uniqueConstraints, checkConstraints } = snapshot.tables['drizzle-kit.product'];
    same(columns.id.primaryKey, true);
    same(columns.id.identity, {
      type: 'always', name: 'product_id', schema: 'drizzle-kit', increment: '2', minValue: '1',
      maxValue: '2147483647', startWith: '10', cache: '1', cycle: false,
    });
    same(columns.price.type, 'numeric(10, 2)');
    same(columns.at3.type, 'timestamp(3) with time zone');
    same(columns.mood.type, 'mood');
    same(columns.tags.default, `'{"a","b"}'`);
    same(columns.sizes.default, "'{1,2}'");
    same(columns.full.generated.type, 'stored');
    // The keys of constraints have indexes, which are none of these.
    same(Object.keys(indexes).sort(), [
      'by_extra', 'by_key', 'by_lower', 'by_name', 'by_price', 'by_price_first', 'by_tags', 'filled',
      'one_key', 'there']);
    const keys = (name) => indexes[name].columns.map((key) => [key.expression, key.asc, key.nulls]);
    same(keys('by_price'), [['price', false, 'last'], ['at', true, 'last']]);
    same(keys('by_price_first'), [['price', false, 'first']]);
    same(keys('by_lower'), [['lower(name)', true, 'last']]);
    same(indexes.by_name.columns[0].opclass, 'text_pattern_ops');
    same(indexes.by_extra.columns[0].opclass, 'jsonb_path_ops');
    same(['by_extra', 'by_key', 'by_name'].map((name) => indexes[name].method), ['gin', 'hash', 'btree']);
    same([indexes.one_key.isUnique, indexes.by_key.isUnique], [true, false]);
    same(indexes.filled.with, { fillfactor: '70' });
    note(() => assert.match(indexes.there.where, /^\(?gone = false\)?$/));
    same(named(uniqueConstraints).one_day.columns, ['day', 'hour']);
    same(named(uniqueConstraints).product_code_unique.columns, ['code']);
    note(() => assert.match(checkConstraints.price_is_not_negative.value, /^price >= /));
    const lines = snapshot.tables['drizzle-kit.line'];
    const [key] = Object.values(lines.compositePrimaryKeys);
    same([key.name, key.columns.sort()], ['line_key', ['no', 'order']]);
    same(Object.keys(lines.indexes), ['line_by_product']);
    const foreign = named(lines.foreignKeys);
    same(Object.keys(foreign).sort(), ['line_after', 'line_code', 'line_product_product_id_fk']);
    same(foreign.line_after.columnsTo, ['no']);
    same([foreign.line_after.onDelete, foreign.line_product_product_id_fk.onUpdate], ['set null', 'restrict']);
    same(Object.values(snapshot.enums)[0].values, ['sad', 'ok', 'very "happy"', "it's"]);
    same(Object.values(snapshot.sequences)[0].increment, '5');
    same(Object.keys(snapshot.views), ['drizzle-kit.dear']);
  },

  async drizzle_works_in_it() {
    const pool = new Pool();
    const db = drizzle(pool, { schema: { product, line, dear } });
    try {
      const [made] = await db.insert(product)
        .values([{ code: 'a', moods: ['sad', "it's"], price: '120.5' }, { code: 'b', tags: [], day: '2024-03-01' }])
        .returning();
      same([made.id, made.price, made.tags, made.sizes, made.full], [10, '120.50', ['a', 'b'], [1, 2], 'A']);
      same([made.moods, made.extra, made.day, made.gone], [['sad', "it's"], { a: [1, 2], b: 'c' }, '2024-02-29', false]);
      await db.transaction(async (tx) => {
        await tx.insert(line).values({ order: 1, product: made.id, code: 'a' });
        await tx.update(product).set({ gone: true }).where(eq(product.code, 'b'));
      });
      same(await db.select({ code: line.code, price: product.price }).from(line)
        .innerJoin(product, eq(line.product, product.id)), [{ code: 'a', price: '120.50' }]);
      same(await db.select().from(dear), [{ id: 10, price: '120.50' }]);
      same(await db.$count(product, and(gt(product.price, '1'), sql`gone`)), 1);
      const refused = await db.insert(product).values({ code: 'c', price: '-1' })
        .then(() => 'nothing', (error) => (error.cause || error).constraint);
      same(refused, 'price_is_not_negative');
      const upserted = await db.insert(product).values({ code: 'a' })
        .onConflictDoUpdate({ target: product.code, set: { small: 8 } }).returning({ small: product.small });
      same(upserted, [{ small: 8 }]);
    } finally {
      await pool.end();
    }
  },

  async a_change_is_pushed_once() {
    same(pushed(true).sort(), [
      'ALTER TABLE "drizzle-kit"."product" ADD COLUMN "added" text[] DEFAULT \'{"x"}\'',
      'ALTER TABLE "drizzle-kit"."product" ALTER COLUMN "name" SET DEFAULT \'new\'',
      'CREATE INDEX "by_ratio" ON "drizzle-kit"."product" USING btree ("ratio")',
      'DROP INDEX "drizzle-kit"."filled"',
    ]);
    same(pushed(true), []);
  },
};

(async () => {
  for (const [name, part] of Object.entries(parts)) {
    console.log(`part: ${name}`);
    try {
      await part();
    } catch (error) {
      count.broken += 1;
      console.log(`${name} ended early:\n${error.stack}\n${error.cause || ''}`);
    }
  }
  const version = (name) => JSON.parse(fs.readFileSync(path.join(modules, name, 'package.json'), 'utf8')).version;
  console.log(`version: drizzle-kit ${version('drizzle-kit')}, drizzle-orm ${version('drizzle-orm')}`);
  console.log(`held: ${count.held}`);
  console.log(`broken: ${count.broken}`);
  process.exit(count.broken ? 1 : 0);
})();
