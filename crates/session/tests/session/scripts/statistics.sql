-- What the planner knows of values, and plans for values.
create table skewed (id int primary key, kind int not null, word text, half int);
insert into skewed select n, case when n % 1000 = 0 then 2 else 1 end, 'word ' || n % 4, nullif(n % 2, 0) from generate_series(1, 10000) n;
create table part (id int primary key, skewed_id int not null);
insert into part select n, n % 10000 + 1 from generate_series(1, 20000) n;
create index part_skewed on part (skewed_id);
select count(*) from pg_stats where tablename = 'skewed';
analyze skewed, part;
select attname, null_frac, avg_width, n_distinct, most_common_vals, most_common_freqs is null as no_freqs, correlation from pg_stats where tablename = 'skewed' order by attname;
select (most_common_freqs)[1] between 0.99 and 1 as nearly_all from pg_stats where tablename = 'skewed' and attname = 'kind';
select histogram_bounds::text like '{1,%,10000}' as ends from pg_stats where tablename = 'skewed' and attname = 'id';
create role reader;
grant select (id) on skewed to reader;
set role reader;
select tablename, attname from pg_stats;
reset role;

-- A prepared statement that joins many rows is planned for the values that it has.
prepare joined (int) as select count(*) from skewed s join part p on p.skewed_id = s.id where s.kind = $1;
explain (costs off) execute joined (2);
explain (costs off) execute joined (1);
execute joined (2);
execute joined (1);
execute joined (null);
set plan_cache_mode = force_generic_plan;
explain (costs off) execute joined (2);
explain (costs off) execute joined (1);
execute joined (2);
reset plan_cache_mode;

-- What is equal to the same is equal, so that any two can be joined.
create table few (id int primary key, skewed_id int);
insert into few select n, n * 100 from generate_series(1, 20) n;
analyze few;
explain (costs off) select count(*) from skewed s, part p, few f where s.id = p.skewed_id and s.id = f.skewed_id;
select count(*) from skewed s, part p, few f where s.id = p.skewed_id and s.id = f.skewed_id;

-- An argument that is no value of its type.
execute joined ('many');

-- Columns of an index that depend on each other have fewer values together than each has of its own: 100 here, so that
-- each look-up finds 100 rows, and a hash table is cheaper.
create table pair (a int, b int, note text);
insert into pair select n % 100, n % 100 * 7, 'note ' || n from generate_series(1, 10000) n;
create index pair_ab on pair (a, b);
create table asked (a int, b int);
insert into asked select n, n * 7 from generate_series(0, 99) n;
analyze pair, asked;
explain (costs off) select count(*) from asked join pair using (a, b);
select count(*) from asked join pair using (a, b);
-- Values that are all different are looked up.
create table spread (a int, b int, note text);
insert into spread select n / 100, n % 100, 'note ' || n from generate_series(0, 9999) n;
create index spread_ab on spread (a, b);
analyze spread;
explain (costs off) select count(*) from asked join spread using (a, b);
select count(*) from asked join spread using (a, b);
