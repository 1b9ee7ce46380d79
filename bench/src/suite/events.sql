INSERT INTO event
SELECT i,
       timestamptz '2024-01-01 UTC' + i * interval '31 seconds',
       date '2024-01-01' + (i::bigint * 31 / 86400)::int,
       (i::bigint * 7919) % 50000,
       md5((i % 200000)::text),
       (i::bigint * 37 % 1000000) / 100.0,
       (i::bigint * 31 % 100000) / 7.0,
       i % 10,
       i::bigint * 13 % 60000,
       (i % 1000) / 10.0,
       (array['de', 'fr', 'us', 'gb', 'se'])[1 + i % 5],
       (array['Chrome', 'Firefox', 'Safari', 'Edge'])[1 + i * 7 % 4],
       '/p/' || (i::bigint * 11 % 5000),
       i % 3 = 0,
       (array['view', 'click', 'buy', 'scroll', 'login', 'logout', 'error'])[1 + i * 13 % 7],
       jsonb_build_object(
           'plan', (array['free', 'pro', 'team'])[1 + i % 3],
           'v', i % 100,
           'os', (array['linux', 'mac', 'win'])[1 + i * 5 % 3],
           'ref', 'r' || (i % 1000),
           'ok', i % 2 = 0),
       array['t' || (i % 50), 't' || (i * 7 % 50), 'x' || (i % 20)]
FROM generate_series(1, :count) i;
