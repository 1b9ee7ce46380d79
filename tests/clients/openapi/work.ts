// What the generated types say, and what the server does, checked together by the compiler and by running.
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

export async function work(address: string): Promise<{ held: number; broken: number }> {
  const count = { held: 0, broken: 0 };
  function same<T>(got: T, wanted: T): void {
    const [is, was] = [JSON.stringify(got), JSON.stringify(wanted)];
    count[is === was ? 'held' : 'broken'] += 1;
    if (is !== was) console.log(`got    ${is}\nwanted ${was}`);
  }

  const client = createClient<paths>({ baseUrl: address });
  const place = { collection: 'books', key: 'b1' };
  const document = '/v1/collections/{collection}/documents/{key}';

  const put = await client.PUT(document, {
    params: { path: place, query: { message: 'first', author: 'ada' } },
    body: { title: 'Anywhen', tags: ['db'] },
  });
  const committed: components['schemas']['Committed'] | undefined = put.data;
  same(committed?.revision, 1);
  same(committed?.changed, true);

  const set = await client.PUT(`${document}/node`, {
    params: { path: place, query: { path: '$.title' } },
    body: 'Another',
  });
  same(set.data?.revision, 2);

  const read = await client.GET(document, { params: { path: place, query: { revision: 1 } } });
  same(read.data, { title: 'Anywhen', tags: ['db'] });

  const versions = await client.GET(`${document}/versions`, { params: { path: place } });
  same(versions.data?.versions.map((version) => version.author), ['', 'ada']);
  same(versions.data?.versions[1]?.message, 'first');

  const history = await client.GET(`${document}/node/history`, {
    params: { path: place, query: { path: '$.title' } },
  });
  same(history.data?.versions.map((version) => version.value), ['Anywhen', 'Another']);
  same(history.data?.versions[1]?.to_revision, null);

  const diff = await client.GET(`${document}/diff`, { params: { path: place } });
  same(diff.data !== undefined && 'changes' in diff.data && diff.data.changes[0]?.op, 'update');

  const rows = await client.POST('/v1/sql', { body: { sql: 'SELECT $1::int AS n', parameters: [7] } });
  if (rows.data === undefined || typeof rows.data === 'string') throw new Error('no rows');
  same(rows.data.columns, [{ name: 'n', type: 'integer' }]);
  same(rows.data.rows, [[7]]);

  const missing = await client.GET(document, { params: { path: { ...place, key: 'none' } } });
  const problem: components['schemas']['Problem'] | undefined = missing.error;
  same(problem?.status, 404);

  const done = await client.POST('/v1/transactions', {
    body: { operations: [{ op: 'put', collection: 'books', key: 'b2', value: [1] }] },
  });
  same(done.data?.results[0]?.key, 'b2');
  return count;
}
