'use strict';

const { PGHOST, PGPORT, PGUSER, PGDATABASE } = process.env;

module.exports = {
  dialect: 'postgresql',
  schema: `${__dirname}/schema.js`,
  out: './drizzle',
  schemaFilter: ['drizzle-kit'],
  verbose: true,
  dbCredentials: {
    host: PGHOST, port: Number(PGPORT), user: PGUSER, password: '-', database: PGDATABASE, ssl: false,
  },
};
