-- Blocks that operators looked at: in the cache, read from files, of temporary files.
create table t (id int primary key, pad text);
insert into t select g, repeat('x', 100) from generate_series(1, 3000) g;
checkpoint;
explain (analyze, buffers, costs off, timing off, summary off) select count(*) from t where id between 5 and 9;
explain (analyze, buffers, costs off, timing off, summary off) select count(*) from t where id between 5 and 9;
explain (analyze, buffers off, costs off, timing off, summary off) select count(*) from t where id between 5 and 9;
explain (buffers, costs off) select count(*) from t where id between 5 and 9;
set work_mem = '64kB';
explain (analyze, buffers, costs off, timing off, summary off) select pad from t order by pad, id desc;
explain (analyze, buffers, costs off, timing off, summary off, format json) select id from t where id = 7;
-- Joins in the order in which they are written.
create table small (id int primary key, t int);
insert into small values (1, 5);
create table middle (id int primary key, t int);
insert into middle select g, g from generate_series(1, 500) g;
analyze t; analyze small; analyze middle;
explain (costs off) select * from t join middle on middle.t = t.id join small on small.t = middle.id;
set join_collapse_limit = 1;
explain (costs off, settings) select * from t join middle on middle.t = t.id join small on small.t = middle.id;
prepare p as select count(*) from t join middle on middle.t = t.id join small on small.t = middle.id;
execute p;
explain (costs off) execute p;
reset join_collapse_limit;
explain (costs off) execute p;
execute p;
