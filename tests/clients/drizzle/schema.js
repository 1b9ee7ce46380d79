// A shop. With SECOND=yes it is the shop after a change of mind.
'use strict';

const { sql } = require('drizzle-orm');
const pg = require('drizzle-orm/pg-core');

const second = process.env.SECOND === 'yes';
const shop = pg.pgSchema('drizzle-kit');

const mood = shop.enum('mood', ['sad', 'ok', 'very "happy"', "it's"]);

const counter = shop.sequence('counter', {
  startWith: 100, increment: 5, minValue: 100, maxValue: 10000, cache: 2, cycle: true,
});

const product = shop.table('product', {
  id: pg.integer('id').primaryKey().generatedAlwaysAsIdentity({ name: 'product_id', startWith: 10, increment: 2 }),
  other: pg.bigint('other', { mode: 'number' }).generatedByDefaultAsIdentity(),
  code: pg.varchar('code', { length: 20 }).notNull().unique(),
  name: pg.text('name').notNull().default(second ? 'new' : `it's a "name"`),
  price: pg.numeric('price', { precision: 10, scale: 2 }).notNull().default('9.90'),
  any: pg.numeric('any'),
  mood: mood('mood').default('ok').notNull(),
  moods: mood('moods').array(),
  tags: pg.text('tags').array().notNull().default(['a', 'b']),
  sizes: pg.integer('sizes').array().default([1, 2]),
  extra: pg.jsonb('extra').default({ a: [1, 2], b: 'c' }),
  plain: pg.json('plain').default([]),
  at: pg.timestamp('at', { withTimezone: true }).defaultNow().notNull(),
  at3: pg.timestamp('at3', { precision: 3, withTimezone: true }),
  naive: pg.timestamp('naive'),
  day: pg.date('day').default('2024-02-29'),
  hour: pg.time('hour').default('10:00:00'),
  gone: pg.boolean('gone').default(false).notNull(),
  key: pg.uuid('key').defaultRandom(),
  span: pg.interval('span'),
  small: pg.smallint('small').default(7),
  ratio: pg.real('ratio').default(1.5),
  exact: pg.doublePrecision('exact'),
  letters: pg.char('letters', { length: 3 }),
  full: pg.text('full').generatedAlwaysAs(sql`upper(code)`),
  ...(second ? { added: pg.text('added').array().default(['x']) } : {}),
}, (t) => [
  pg.index('by_name').using('btree', t.name.asc().nullsLast().op('text_pattern_ops')),
  pg.index('by_price').on(t.price.desc().nullsLast(), t.at),
  pg.index('by_price_first').on(t.price.desc().nullsFirst()),
  pg.index('there').on(t.day).where(sql`${t.gone} = false`),
  pg.index('by_lower').on(sql`lower(${t.name})`),
  pg.index('by_extra').using('gin', t.extra.op('jsonb_path_ops')),
  pg.index('by_tags').using('gin', t.tags),
  pg.index('by_key').using('hash', t.key),
  second ? pg.index('by_ratio').on(t.ratio) : pg.index('filled').on(t.small).with({ fillfactor: '70' }),
  pg.uniqueIndex('one_key').on(t.key, t.small),
  pg.unique('one_day').on(t.day, t.hour),
  pg.check('price_is_not_negative', sql`${t.price} >= 0`),
]);

const line = shop.table('line', {
  order: pg.bigserial('order', { mode: 'number' }).notNull(),
  no: pg.serial('no').notNull(),
  product: pg.integer('product').notNull()
    .references(() => product.id, { onDelete: 'cascade', onUpdate: 'restrict' }),
  code: pg.varchar('code', { length: 20 }),
  after: pg.integer('after'),
}, (t) => [
  pg.primaryKey({ name: 'line_key', columns: [t.order, t.no] }),
  pg.unique('one_no').on(t.no),
  pg.foreignKey({ name: 'line_after', columns: [t.after], foreignColumns: [t.no] }).onDelete('set null'),
  pg.foreignKey({ name: 'line_code', columns: [t.code], foreignColumns: [product.code] }),
  pg.index('line_by_product').on(t.product),
]);

const dear = shop.view('dear').as((query) => query
  .select({ id: product.id, price: product.price }).from(product).where(sql`${product.price} > 100`));

module.exports = { shop, mood, counter, product, line, dear };
