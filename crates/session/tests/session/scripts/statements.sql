-- Prepared statements, cursors, COPY, messages, and what they refuse.
prepare add (int) as select $1 + 1 as next;
execute add (41);
execute add ('x');
execute add;
execute nope;
prepare add as select 1;
deallocate add;
execute add (1);
deallocate nope;
deallocate all;
declare c cursor for select 1;
begin;
declare c scroll cursor for select i from generate_series(1, 5) i;
fetch 2 from c;
fetch c;
fetch prior from c;
fetch first from c;
fetch last from c;
fetch c;
fetch backward 2 from c;
fetch absolute 2 from c;
fetch absolute -1 from c;
fetch relative -2 from c;
move forward all in c;
fetch backward all from c;
declare c cursor for select 1;
rollback;
begin;
declare n no scroll cursor for select 1;
fetch backward 1 from n;
rollback;
begin;
declare h cursor with hold for select i from generate_series(1, 3) i;
fetch h;
commit;
fetch all from h;
close h;
fetch h;
create table t (a int, b text default 'none', c numeric(4, 1));
copy t from stdin;
1	one	1.5
2	\N	\N
3	tab\there	-2
\.
select * from t;
copy t to stdout;
copy t (b, a) to stdout with (format csv, header);
copy (select a, b from t where a > 1 order by a desc) to stdout with csv;
copy t (a) from stdin with (format csv);
10
"11"
\.
select * from t where a > 9;
copy t from stdin with csv header;
a,b,c
20,"quoted ""word"", and more",
21,"",7
\.
select a, b, c, b is null as n from t where a >= 20;
copy t from stdin;
x	y	1
\.
copy t from stdin;
1	y
\.
copy t from stdin;
1	y	2	3
\.
copy t from stdin;
1	y	99999
\.
copy nope from stdin;
copy t (nope) from stdin;
copy t to stdout with (format nope);
copy t to stdout with (delimiter 'ab');
listen a;
unlisten *;
lock table t;
begin;
lock table t in share mode;
lock table nope;
rollback;
vacuum t;
vacuum pg_catalog.pg_class;
analyze pg_type;
vacuum nothing;
analyze;
explain (format nope) select 1;
discard all;
set constraints all deferred;
-- What is only counted: own changes, ranges, the past, nothing.
create table counted (a int primary key, b text);
insert into counted select i, 'x' from generate_series(1, 1000) i;
begin;
delete from counted where a <= 10;
insert into counted values (2000, 'y');
savepoint s;
delete from counted;
select count(*) from counted;
rollback to s;
select count(*), count(*) from counted;
select count(*) from counted where a between 5 and 15;
select count(*) from counted where a > 990;
select count(*) from counted where a = 2000;
select count(*) from counted where a in (1, 20, 2000);
commit;
select count(*) from counted where b = 'y';
select count(*) from counted where false;
select count(*) filter (where a > 500) from counted;
select count(*) from counted having count(*) > 1000;
select count(*) from (select from counted limit 7) c;
select count(*) from (select 1 from counted union all select 2 from counted) c;
select (select count(*) from counted where a > i) from generate_series(998, 1000) i;
