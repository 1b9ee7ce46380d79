-- Partitioned tables: which partitions are read, and how; the past; COPY; other access methods.
create table m (id int, day date, v text, primary key (id, day)) partition by range (day);
create table m_2025 partition of m for values from ('2025-01-01') to ('2026-01-01');
create table m_2026 partition of m for values from ('2026-01-01') to ('2027-01-01') using columnar;
create table m_rest partition of m default;
insert into m select g, date '2025-06-01' + (g % 700), 'v' || g from generate_series(1, 3000) g;
select tableoid::regclass, count(*), sum(id) from m group by 1 order by 1;
-- Constants leave partitions out of the plan.
explain (costs off) select * from m where day = '2025-07-07';
explain (costs off) select * from m where day >= '2026-01-01';
explain (costs off) select * from m where day in ('2025-02-02', '2025-03-03');
explain (costs off) select * from m where id = 7 and day = '2025-06-08';
explain (costs off) select * from m where day > '2026-03-03' and day < '2026-01-01';
explain (costs off) select * from only m;
select * from only m;
update only m set v = 'y';
-- Parameters leave them out when the plan starts.
prepare by_day(date) as select id from m where day = $1 order by id;
execute by_day('2025-07-07');
execute by_day('2026-07-07');
execute by_day(null);
-- Columns are read in batches, an order of bounds and keys is not made again, joins look up.
explain (costs off) select count(*), sum(id) from m;
select count(*), sum(id), min(day), max(day) from m;
create index on m (day);
explain (costs off) select id from m where day < '2027-01-01' and day >= '2025-01-01' order by day desc limit 3;
select id, day from m where day < '2027-01-01' and day >= '2025-01-01' order by day desc, id limit 3;
create table few (id int, day date);
insert into few select g, date '2025-06-01' + g from generate_series(1, 3) g;
explain (costs off) select few.id, m.v from few join m on m.id = few.id and m.day = few.day;
select few.id, m.v from few join m on m.id = few.id and m.day = few.day order by 1;
-- Rows move, and the past knows where they were.
update m set day = day + 365 where id <= 5;
select tableoid::regclass, count(*) from m group by 1 order by 1;
select tableoid::regclass, day from m for system_time all where id = 5 order by day;
delete history from m before system_time now();
select tableoid::regclass, day from m for system_time all where id = 5 order by day;
erase from m where id = 5 returning id;
select count(*) from m for system_time all where id = 5;
-- COPY finds the partition of each row.
copy m from stdin;
9001	2025-02-02	copied
9002	2026-02-02	copied
9003	2040-02-02	copied
\.
select tableoid::regclass, id from m where id > 9000 order by id;
copy m_2025 from stdin;
9004	2026-02-02	wrong
\.
copy m_2025 from stdin;
9004	2025-02-03	right
\.
copy (select id from m where id > 9000 order by id) to stdout;
-- What is not there.
select * from table_changes('m', 0, 10);
create table d partition of m for values from ('2028-01-01') to ('2029-01-01') using document;
alter table m set access method columnar;
create table l (a text collate "sv-x-icu") partition by list (a);
alter table m add exclude using gist (id with =);
-- A table of columns takes a whole year from a heap.
create table old (v text, id int not null, day date not null) using columnar;
insert into old select 'old' || g, g, date '2024-01-01' + g % 300 from generate_series(1, 1000) g;
alter table m attach partition old for values from ('2024-01-01') to ('2025-01-01');
select count(*), min(v), max(v) from m where day < '2025-01-01';
update m set v = upper(v) where day = '2024-01-02';
select id, v from old where day = '2024-01-02' order by id limit 2;
alter table m detach partition old;
select count(*) from m where day < '2025-01-01';
truncate m;
select count(*) from m;
