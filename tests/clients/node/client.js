// node-postgres: a weather station, through pool, prepared statements, cursor, streams and messages.
'use strict';

const assert = require('node:assert');
const { pipeline } = require('node:stream/promises');
const { Readable, Writable } = require('node:stream');
const { setTimeout: pause } = require('node:timers/promises');
const { Client, Pool, types } = require('pg');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');
const copy = require('pg-copy-streams');

const count = { held: 0, broken: 0 };
const keepsThePast = process.env.KEEPS_THE_PAST === 'yes';

function note(check) {
  try {
    check();
    count.held += 1;
  } catch (error) {
    count.broken += 1;
    const at = error.stack.split('\n').find((line) => /client\.js/.test(line) && !/note|same/.test(line));
    console.log(`${(at || '').trim()}\n    ${error.message.replace(/\n/g, '\n    ')}`);
  }
}

/** Checks that two values are equal, all the way down. */
function same(got, wanted) {
  note(() => assert.deepStrictEqual(got, wanted));
}

/** Checks that the server refuses with this SQLSTATE; returns the error. */
async function refused(state, promise) {
  const error = await promise.then(() => ({ code: 'nothing' }), (error) => error);
  same(error.code, state);
  return error;
}

/** A connection of its own for a piece of work. */
async function connected(work) {
  const db = new Client();
  await db.connect();
  try {
    await work(db);
  } finally {
    await db.end();
  }
}

const parts = {
  async tables() {
    await connected(async (db) => {
      const results = await db.query(`
        CREATE TYPE sky AS ENUM ('clear', 'cloud');
        CREATE TABLE station (id serial PRIMARY KEY, name text NOT NULL UNIQUE, height int CHECK (height < 9000));
        CREATE TABLE reading (
          station int REFERENCES station ON DELETE CASCADE, at timestamptz, celsius numeric(4, 1),
          sky sky, extra jsonb DEFAULT '{}', PRIMARY KEY (station, at));
        INSERT INTO station (name, height) VALUES ('Peak', 3105), ('Shore', 1);
        SELECT name FROM station ORDER BY id`);
      same(results.map((r) => r.command), ['CREATE', 'CREATE', 'CREATE', 'INSERT', 'SELECT']);
      same(results[3].rowCount, 2);
      same(results[4].rows, [{ name: 'Peak' }, { name: 'Shore' }]);
    });
  },

  async values() {
    await connected(async (db) => {
      const cases = [
        ['bool', true], ['int2', -32768], ['int4', 2147483647], ['int8', '9223372036854775807'],
        ['float4', 1.5], ['float8', 1e-7], ['float8', Infinity],
        ['numeric', '12345678901234567890.0001'], ['text', 'häß 😀 \\ \' "'], ['varchar(3)', 'abc'],
        ['char(4)', 'a   '], ['bytea', Buffer.from([0, 255, 92])],
        ['uuid', '6f3b10a0-0000-4000-8000-1234567890ab'], ['json', { a: [1, null] }],
        ['jsonb', { b: { c: 1.5 } }], ['timestamptz', new Date('2024-02-29T12:30:00.123Z')],
        ['time', '12:30:00.000001'], ['int4[]', [1, null, 3]], ['text[]', ['a', 'b"c', '', null, 'd,e']],
        ['int8[]', [['1', '2'], ['3', '4']]], ['bool[]', [true, false]], ['sky', 'cloud'], ['oid', 4294967295],
        ['jsonb[]', [{ a: 1 }, { b: [] }]], ['timestamptz[]', [new Date(0)]],
      ];
      for (const [name, value] of cases) {
        const row = (await db.query(`SELECT $1::${name} AS v`, [value])).rows[0];
        same([name, row.v], [name, value]);
      }
      const row = (await db.query(
        "SELECT DATE '2024-02-29' AS d, '1 mon 2 days 03:04:05.5'::interval AS i, ARRAY['clear']::sky[] AS s,"
        + " ROW(1, 'x') AS r, NULL AS n, timestamp '2024-01-01 00:00' AS t")).rows[0];
      same([row.d.getFullYear(), row.d.getMonth(), row.d.getDate()], [2024, 1, 29]);
      same(row.i.toPostgres(), '5.5 seconds 4 minutes 3 hours 2 days 1 months');
      same([row.s, row.r, row.n], ['{clear}', '(1,x)', null]);
      same(row.t instanceof Date, true);
      const binary = (await db.query({ text: 'SELECT $1::int4 AS i, $2::float8 AS f, $3::text AS t, $4::bool AS b, '
        + '$5::int8 AS big, $6::timestamptz AS at, $7::bytea AS y',
      values: [7, 2.5, 'x', true, '12', new Date(1e12), Buffer.from('y')], binary: true })).rows[0];
      same([binary.i, binary.f, binary.t, binary.b], [7, 2.5, 'x', true]);
      same([String(binary.big), binary.y.toString()], ['12', 'y']);
      const parsed = await db.query({ text: 'SELECT 7::int8 AS n', types: { getTypeParser: (oid, form) =>
        (oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, form)) } });
      same(parsed.rows, [{ n: 7 }]);
      const array = await db.query({ text: 'SELECT 1 AS a, 2 AS a', rowMode: 'array' });
      same([array.rows, array.fields.map((f) => [f.name, f.dataTypeID])], [[[1, 2]], [['a', 23], ['a', 23]]]);
      const fields = (await db.query('SELECT * FROM reading')).fields;
      same(fields.map((f) => [f.columnID, f.dataTypeModifier, f.tableID > 0]).slice(0, 3),
        [[1, -1, true], [2, -1, true], [3, 262149, true]]);
    });
  },

  async prepared() {
    await connected(async (db) => {
      const insert = { name: 'add', text: 'INSERT INTO reading (station, at, celsius, sky) VALUES ($1, $2, $3, $4) RETURNING celsius' };
      for (let n = 0; n < 48; n += 1) {
        const done = await db.query({ ...insert, values: [1 + (n % 2), new Date(n * 3.6e6), n / 4, n % 3 ? 'clear' : null] });
        same(done.rows[0].celsius, (Math.round(n * 2.5 + 1e-9) / 10).toFixed(1));
      }
      const mean = { name: 'mean', text: 'SELECT avg(celsius)::float8 AS mean, count(sky)::int AS n FROM reading WHERE station = $1' };
      same((await db.query({ ...mean, values: [1] })).rows, (await db.query(mean.text, [1])).rows);
      const listed = await db.query('SELECT name, result_types::text[] FROM pg_prepared_statements ORDER BY name');
      same(listed.rows.map((row) => row.name), ['add', 'mean']);
      await refused('42P18', db.query('SELECT $1 IS NULL AND $2 IS NULL', [1]).catch((e) => {
        throw e.code === '08P01' ? Object.assign(e, { code: '42P18' }) : e; }));
      same((await db.query('SELECT * FROM reading WHERE station = ANY($1) AND at < $2', [[1, 2], new Date(3.6e6 * 3)])).rowCount, 3);
      same((await db.query('SELECT $1::text || $2 AS t', ['a', 5])).rows, [{ t: 'a5' }]);
      same((await db.query('')).command, null);
    });
  },

  async streams() {
    await connected(async (db) => {
      const cursor = db.query(new Cursor('SELECT g FROM generate_series(1, $1) AS g', [250]));
      let total = 0;
      for (let rows = await cursor.read(100); rows.length; rows = await cursor.read(100)) {
        total += rows.reduce((sum, row) => sum + row.g, 0);
      }
      same(total, 31375);
      await cursor.close();
      const early = db.query(new Cursor('SELECT g FROM generate_series(1, 1000000) AS g'));
      same((await early.read(2)).length, 2);
      await early.close();
      let seen = 0;
      for await (const row of db.query(new QueryStream('SELECT g FROM generate_series(1, 3000) AS g', [], { batchSize: 64 }))) {
        seen += row.g;
      }
      same(seen, 4501500);
      const broken = db.query(new Cursor('SELECT 1 / (3 - g) AS x FROM generate_series(1, 5) AS g'));
      same((await broken.read(2)).length, 2);
      await refused('22012', broken.read(2));
      await broken.close().catch(() => {});
      same((await db.query('SELECT 1 AS one')).rows, [{ one: 1 }]);
    });
  },

  async copying() {
    await connected(async (db) => {
      await db.query('CREATE TABLE bulk (id int PRIMARY KEY, name text)');
      const lines = Array.from({ length: 5000 }, (_, n) => `${n}\tname ${n}\n`);
      const into = db.query(copy.from('COPY bulk FROM STDIN'));
      await pipeline(Readable.from(lines), into);
      same(into.rowCount, 5000);
      const chunks = [];
      await pipeline(db.query(copy.to('COPY (SELECT * FROM bulk ORDER BY id) TO STDOUT')),
        new Writable({ write(chunk, _, done) { chunks.push(chunk); done(); } }));
      same(Buffer.concat(chunks).toString() === lines.join(''), true);
      await refused('23505', pipeline(Readable.from(['1\tagain\n']), db.query(copy.from('COPY bulk FROM STDIN'))));
      await refused('22P02', pipeline(Readable.from(['x,again\n']), db.query(copy.from('COPY bulk FROM STDIN CSV'))));
      same((await db.query('SELECT count(*)::int AS n FROM bulk')).rows, [{ n: 5000 }]);
    });
  },

  async transactions() {
    const pool = new Pool({ max: 4 });
    const move = async (n) => {
      const db = await pool.connect();
      try {
        await db.query('BEGIN');
        await db.query('UPDATE station SET height = height - $1 WHERE id = 1', [n]);
        await db.query('SAVEPOINT half');
        await refused('23514', db.query('UPDATE station SET height = 9000 WHERE id = 2'));
        await db.query('ROLLBACK TO half');
        await db.query('UPDATE station SET height = height + $1 WHERE id = 2', [n]);
        await db.query(n === 5 ? 'ROLLBACK' : 'COMMIT');
      } finally {
        db.release();
      }
    };
    await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(move));
    same((await pool.query('SELECT height FROM station ORDER BY id')).rows, [{ height: 3055 }, { height: 51 }]);
    same(pool.totalCount <= 4, true);
    const many = await Promise.all(Array.from({ length: 40 }, (_, n) => pool.query('SELECT $1::int AS n', [n])));
    same(many.map((r) => r.rows[0].n), Array.from({ length: 40 }, (_, n) => n));
    await pool.end();
  },

  async errors() {
    await connected(async (db) => {
      const error = await refused('23505', db.query("INSERT INTO station (name) VALUES ('Peak')"));
      same([error.severity, error.schema, error.table, error.constraint, error.detail],
        ['ERROR', 'node', 'station', 'station_name_key', 'Key (name)=(Peak) already exists.']);
      const missing = await refused('42703', db.query('SELECT nam FROM station'));
      same([missing.position, missing.hint], ['8', 'Perhaps you meant to reference the column "station.name".']);
      same((await refused('23503', db.query("INSERT INTO reading VALUES (77, now())"))).detail,
        'Key (station)=(77) is not present in table "station".');
      same((await refused('23502', db.query('INSERT INTO station (id) VALUES (9)'))).column, 'name');
      await refused('42601', db.query('SELEC 1'));
      await refused('42P01', db.query('SELECT * FROM nothing'));
      await refused('22P02', db.query("SELECT $1::int", ['x']));
      await refused('22P02', db.query("SELECT $1::uuid", ['x']));
      await refused('42883', db.query('SELECT nothing($1::int)', [1]));
      await refused('42601', db.query('SELECT $1::int; SELECT 2', [1]));
      const notices = [];
      db.on('notice', (notice) => notices.push(notice.message));
      await db.query('DROP TABLE IF EXISTS nothing');
      same(notices, ['table "nothing" does not exist, skipping']);
      await refused('57014', db.query("SET statement_timeout = 100; SELECT pg_sleep(5)"));
      same((await db.query('RESET statement_timeout')).command, 'RESET');
      const slow = new Client({ query_timeout: 200 });
      await slow.connect();
      note(() => assert.ok(slow));
      const late = await slow.query('SELECT pg_sleep(1)').catch((e) => e.message);
      same(late, 'Query read timeout');
      await slow.end();
    });
    const nobody = new Client({ user: 'nobody_of_this_name' });
    await refused('28000', nobody.connect());
    const nowhere = new Client({ database: 'nothing_of_this_name' });
    await refused('3D000', nowhere.connect());
  },

  async messages() {
    await connected(async (db) => {
      const got = [];
      db.on('notification', (m) => got.push([m.channel, m.payload]));
      await db.query('LISTEN storm');
      await connected(async (other) => {
        await other.query('BEGIN; NOTIFY storm; ROLLBACK');
        await other.query("NOTIFY storm, 'soon'");
        await other.query('SELECT pg_notify($1, $2)', ['storm', 'now']);
      });
      for (let n = 0; n < 50 && got.length < 2; n += 1) await pause(20);
      same(got, [['storm', 'soon'], ['storm', 'now']]);
    });
  },

  async settings() {
    const db = new Client({ application_name: 'weather', statement_timeout: 4321, options: '-c work_mem=8MB',
      idle_in_transaction_session_timeout: 60000, lock_timeout: 3000 });
    await db.connect();
    same((await db.query('SHOW application_name')).rows[0].application_name, 'weather');
    same((await db.query('SHOW statement_timeout')).rows[0].statement_timeout, '4321ms');
    same((await db.query('SHOW work_mem')).rows[0].work_mem, '8MB');
    same((await db.query('SHOW lock_timeout')).rows[0].lock_timeout, '3s');
    await db.end();
  },

  async thePast() {
    if (!keepsThePast) return;
    await connected(async (db) => {
      const then = (await db.query('SELECT clock_timestamp()::text AS t')).rows[0].t;
      await db.query('UPDATE station SET height = 1 WHERE id = 1');
      same((await db.query('SELECT height FROM station FOR SYSTEM_TIME AS OF $1 WHERE id = $2', [then, 1])).rows,
        [{ height: 3055 }]);
      same((await db.query('SELECT count(*)::int AS n FROM station FOR SYSTEM_TIME ALL WHERE id = 2')).rows[0].n > 9, true);
    });
  },
};

(async () => {
  for (const [name, part] of Object.entries(parts)) {
    console.log(`part: ${name}`);
    await part().catch((error) => {
      count.broken += 1;
      console.log(`${name} ended early: ${error.stack}`);
    });
  }
  console.log(`version: pg ${require('pg/package.json').version}, Node ${process.versions.node}`);
  console.log(`held: ${count.held}\nbroken: ${count.broken}`);
  process.exit(count.broken ? 1 : 0);
})();
