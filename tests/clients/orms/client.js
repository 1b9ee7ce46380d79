// Sequelize, TypeORM and Knex: each makes a schema, makes it again, and works in it.
//
//   make ──> catalog ──> make again ──> the same catalog ──> write and read
//
// The second time must find nothing to do. What an ORM can tell of that is asked; the catalog decides:
// columns with their defaults, constraints, indexes and enums, as the server prints them.
'use strict';

require('reflect-metadata');
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { Client } = require('pg');
const { DataTypes, Op, Sequelize } = require('sequelize');
const typeorm = require('typeorm');
const knex = require('knex');

const modules = process.env.NODE_PATH;
const count = { held: 0, broken: 0 };
const at = {
  host: process.env.PGHOST, port: Number(process.env.PGPORT),
  user: process.env.PGUSER, password: process.env.PGPASSWORD, database: process.env.PGDATABASE,
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

/** What the catalog says of a schema. */
async function catalog(schema) {
  const client = new Client(at);
  await client.connect();
  const rows = async (text) => (await client.query({ text, values: [schema], rowMode: 'array' })).rows
    .map((row) => row.join(' '));
  try {
    return {
      columns: await rows(`SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
          pg_get_expr(d.adbin, d.adrelid)
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' ORDER BY c.relname, a.attnum`),
      constraints: await rows(`SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = $1::regnamespace ORDER BY 1, 2`),
      indexes: await rows(`SELECT indexdef FROM pg_indexes WHERE schemaname = $1::regnamespace::name ORDER BY 1`),
      enums: await rows(`SELECT t.typname, string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder)
        FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid WHERE t.typnamespace = $1::regnamespace
        GROUP BY t.typname ORDER BY 1`),
    };
  } finally {
    await client.end();
  }
}

/** Makes an empty schema. */
async function fresh(schema) {
  const client = new Client(at);
  await client.connect();
  await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await client.query(`CREATE SCHEMA ${schema}`);
  await client.end();
}

const parts = {
  async sequelize() {
    const schema = 'of_sequelize';
    await fresh(schema);
    const sequelize = new Sequelize({
      dialect: 'postgres', host: at.host, port: at.port, username: at.user, password: at.password,
      database: at.database, schema, logging: false, define: { schema },
    });
    const User = sequelize.define('User', {
      id: { type: DataTypes.UUID, primaryKey: true, defaultValue: DataTypes.UUIDV4 },
      name: { type: DataTypes.STRING(80), allowNull: false },
      mood: { type: DataTypes.ENUM('sad', 'ok', 'happy'), defaultValue: 'ok', allowNull: false },
      extra: { type: DataTypes.JSONB, defaultValue: { a: [1, 2] } },
      tags: { type: DataTypes.ARRAY(DataTypes.TEXT), defaultValue: [] },
      price: { type: DataTypes.DECIMAL(10, 2), defaultValue: '1.50' },
      seen: { type: DataTypes.DATE(3), defaultValue: Sequelize.literal('CURRENT_TIMESTAMP') },
      valid: DataTypes.RANGE(DataTypes.DATEONLY),
      address: DataTypes.INET,
      word: DataTypes.CITEXT,
    }, {
      indexes: [
        { unique: true, fields: ['name'] },
        { fields: ['tags'], using: 'gin' },
        { fields: [sequelize.fn('lower', sequelize.col('name'))], name: 'user_lower_name' },
        { fields: ['price'], where: { price: { [Op.gt]: 10 } }, name: 'user_dear' },
      ],
    });
    const Group = sequelize.define('Group', { title: { type: DataTypes.STRING, allowNull: false } });
    const Post = sequelize.define('Post', { body: DataTypes.TEXT, votes: { type: DataTypes.BIGINT, defaultValue: 0 } });
    Post.belongsTo(User, { foreignKey: { allowNull: false }, onDelete: 'CASCADE' });
    User.hasMany(Post);
    User.belongsToMany(Group, { through: 'membership' });
    Group.belongsToMany(User, { through: 'membership' });
    try {
      await sequelize.query('CREATE EXTENSION IF NOT EXISTS citext');
      await sequelize.sync();
      const first = await catalog(schema);
      same(first.enums, ['enum_Users_mood sad,ok,happy']);
      same(first.indexes.length, 8);
      await sequelize.sync();
      same(await catalog(schema), first);
      // It sets every column anew, which must come to the same.
      await sequelize.sync({ alter: true });
      const altered = await catalog(schema);
      await sequelize.sync({ alter: true });
      same(altered.columns, first.columns);
      same((await catalog(schema)).indexes, altered.indexes);
      same((await catalog(schema)).enums, first.enums);

      const ann = await User.create({ name: 'Ann', tags: ['a', 'b'], address: '10.0.0.1', word: 'Word', valid: ['2024-01-01', '2025-01-01'] });
      const group = await Group.create({ title: 'g' });
      await ann.addGroup(group);
      await ann.createPost({ body: 'one' });
      const [found] = await User.findAll({
        where: { tags: { [Op.contains]: ['a'] }, extra: { [Op.contains]: { a: [2] } }, word: 'wORD' }, include: [Group, Post],
      });
      same([found.mood, found.price, found.Groups[0].title, found.Posts[0].votes, found.seen instanceof Date],
        ['ok', '1.50', 'g', '0', true]);
      await Post.increment('votes', { by: 2, where: {} });
      same((await Post.findOne()).votes, '2');
      const refused = await User.create({ name: 'Ann' }).then(() => 'nothing', (error) => error.name);
      same(refused, 'SequelizeUniqueConstraintError');
      const stopped = await sequelize.transaction(async (transaction) => {
        await User.destroy({ where: {}, transaction });
        throw new Error('stop');
      }).catch((error) => error.message);
      same([stopped, await User.count(), await Post.count()], ['stop', 1, 1]);
      await User.destroy({ where: {} });
      same(await Post.count(), 0);
    } finally {
      await sequelize.close();
    }
  },

  async typeorm() {
    const schema = 'of_typeorm';
    await fresh(schema);
    const Category = new typeorm.EntitySchema({
      name: 'category',
      columns: {
        id: { type: 'int', primary: true, generated: 'identity' },
        name: { type: 'varchar', length: 40, unique: true },
      },
      relations: { items: { type: 'one-to-many', target: 'item', inverseSide: 'category' } },
    });
    const Item = new typeorm.EntitySchema({
      name: 'item',
      columns: {
        id: { type: 'uuid', primary: true, generated: 'uuid' },
        name: { type: 'varchar', length: 80, default: 'unnamed' },
        mood: { type: 'enum', enum: ['sad', 'ok', 'very "happy"'], default: 'ok' },
        price: { type: 'numeric', precision: 10, scale: 2, default: 0 },
        extra: { type: 'jsonb', default: { a: 1 } },
        tags: { type: 'text', array: true, default: [] },
        born: { type: 'date', nullable: true },
        length: { type: 'interval', nullable: true },
        valid: { type: 'int4range', nullable: true },
        address: { type: 'inet', nullable: true },
        made: { type: 'timestamptz', createDate: true, precision: 3 },
        changed: { type: 'timestamptz', updateDate: true },
        version: { type: 'int', version: true },
      },
      relations: {
        category: { type: 'many-to-one', target: 'category', inverseSide: 'items', onDelete: 'CASCADE' },
        others: { type: 'many-to-many', target: 'category', joinTable: { name: 'item_other' } },
      },
      indices: [{ columns: ['name', 'mood'] }, { columns: ['price'], where: '"price" > 10' }],
      checks: [{ name: 'price_is_not_negative', expression: '"price" >= 0' }],
      uniques: [{ name: 'name_in_category', columns: ['name', 'category'] }],
    });
    const source = new typeorm.DataSource({
      type: 'postgres', host: at.host, port: at.port, username: at.user, password: at.password, database: at.database,
      schema, entities: [Category, Item], synchronize: false, logging: false,
    });
    await source.initialize();
    try {
      await source.synchronize();
      const first = await catalog(schema);
      same(first.enums, ['item_mood_enum sad,ok,very "happy"']);
      const left = await source.driver.createSchemaBuilder().log();
      same(left.upQueries.map((query) => query.query), []);
      await source.synchronize();
      same(await catalog(schema), first);

      const category = await source.getRepository('category').save({ name: 'tools' });
      const items = source.getRepository('item');
      const saved = await items.save({ name: 'saw', price: '12.5', category, others: [category], tags: ['x'], valid: '[1,5)' });
      same([typeof saved.id, saved.version], ['string', 1]);
      saved.name = 'file';
      await items.save(saved);
      const found = await items.findOne({ where: { name: 'file' }, relations: { category: true, others: true } });
      same([found.version, found.price, found.category.name, found.others.length, found.mood, found.extra, found.valid],
        [2, '12.50', 'tools', 1, 'ok', { a: 1 }, '[1,5)']);
      const refused = await items.save({ name: 'bad', price: '-1' }).then(() => 'nothing', (error) => error.driverError.constraint);
      same(refused, 'price_is_not_negative');
      const counted = await items.createQueryBuilder('i').leftJoin('i.category', 'c').select('c.name', 'name')
        .addSelect('count(*)::int', 'n').groupBy('c.name').getRawMany();
      same(counted, [{ name: 'tools', n: 1 }]);
      await items.upsert({ id: found.id, name: 'rasp' }, ['id']);
      same((await items.findOneBy({ id: found.id })).name, 'rasp');
    } finally {
      await source.destroy();
    }
  },

  async knex() {
    const schema = 'of_knex';
    await fresh(schema);
    const database = knex({ client: 'pg', connection: at, searchPath: [schema] });
    const steps = {
      async one(db) {
        await db.schema.createTable('user', (table) => {
          table.increments('id');
          table.uuid('key').notNullable().defaultTo(db.raw('gen_random_uuid()')).unique();
          table.string('name', 80).notNullable().index();
          table.enu('mood', ['sad', 'ok'], { useNative: true, enumName: 'mood' }).defaultTo('ok');
          table.enu('size', ['s', 'm']).defaultTo('s');
          table.jsonb('extra').defaultTo(JSON.stringify({ a: 1 }));
          table.specificType('tags', 'text[]').defaultTo('{}');
          table.decimal('price', 10, 2).defaultTo(0).checkPositive('price_is_positive');
          table.timestamps(true, true);
          table.comment('people');
        });
        await db.schema.createTable('post', (table) => {
          table.bigIncrements('id');
          table.integer('user_id').notNullable().references('id').inTable('user').onDelete('CASCADE');
          table.text('body').comment('what it says');
          table.unique(['user_id', 'body'], { indexName: 'post_once', deferrable: 'deferred' });
        });
      },
      async two(db) {
        await db.schema.alterTable('user', (table) => {
          table.string('email').nullable();
          table.renameColumn('name', 'title');
          table.decimal('price', 12, 3).notNullable().defaultTo(1).alter();
          table.dropColumn('size');
        });
        await db.schema.createView('cheap', (view) => view.as(db('user').select('id', 'price').where('price', '<', 10)));
      },
    };
    const source = {
      getMigrations: async () => Object.keys(steps),
      getMigrationName: (name) => name,
      getMigration: async (name) => ({ up: steps[name], down: async (db) => db.schema.dropTableIfExists('nothing') }),
    };
    try {
      const [, made] = await database.migrate.latest({ migrationSource: source });
      same(made, ['one', 'two']);
      const first = await catalog(schema);
      const [, again] = await database.migrate.latest({ migrationSource: source });
      same([again, await catalog(schema)], [[], first]);
      const info = await database('user').columnInfo();
      same([info.price.type, info.title.maxLength, info.mood.type, info.size], ['numeric', 80, 'USER-DEFINED', undefined]);

      const [ann] = await database('user').insert({ title: 'Ann', tags: ['a'] }).returning(['id', 'mood', 'price']);
      same(ann, { id: 1, mood: 'ok', price: '1.000' });
      await database.transaction(async (trx) => {
        await trx('post').insert([{ user_id: 1, body: 'x' }, { user_id: 1, body: 'y' }]);
        await trx('post').where({ body: 'y' }).update({ body: 'z' });
      });
      same(await database('post').join('user', 'user.id', 'post.user_id').orderBy('body').pluck('body'), ['x', 'z']);
      await database('user').insert({ id: 1, title: 'Bo', price: 5 }).onConflict('id').merge(['title']);
      same(await database('user').first('title', 'price'), { title: 'Bo', price: '1.000' });
      const twice = await database('post').insert({ user_id: 1, body: 'x' }).then(() => 'nothing', (error) => error.constraint);
      same(twice, 'post_once');
      same(await database('cheap').select(), [{ id: 1, price: '1.000' }]);
      const streamed = [];
      for await (const row of database('post').select('body').orderBy('body').stream()) streamed.push(row.body);
      same(streamed, ['x', 'z']);
    } finally {
      await database.destroy();
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
      console.log(`${name} ended early:\n${error.stack}\n${error.sql || error.query || ''}`);
    }
  }
  const version = (name) => JSON.parse(fs.readFileSync(path.join(modules, name, 'package.json'), 'utf8')).version;
  console.log(`version: ${['sequelize', 'typeorm', 'knex'].map((name) => `${name} ${version(name)}`).join(', ')}`);
  console.log(`held: ${count.held}`);
  console.log(`broken: ${count.broken}`);
  process.exit(count.broken ? 1 : 0);
})();
