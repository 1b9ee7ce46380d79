-- How plans are shown.
create table person (id int primary key, name text not null, age int, email varchar(40), tags text[], doc jsonb);
create index person_age on person (age, name);
create index person_lower on person (lower(name));
create index person_some on person (name) where age > 30;
create index person_tags on person using gin (tags);
create table orders (id int8 primary key, person_id int references person, total numeric, placed timestamptz);
create index orders_person on orders (person_id);
insert into person select n, 'p' || n, n % 90, null, array['t' || n % 9], '{}' from generate_series(1, 200) n;
insert into orders select n, n % 200 + 1, n * 1.5, '2020-01-01' from generate_series(1, 1000) n;
-- Conditions and names.
explain (costs off) select name from person where id = 5;
explain (costs off) select name from person where age = 30 and name > 'x' and email = 'a@b';
explain (costs off) select name from person p where lower(name) = 'x';
explain (costs off) select name from person where id in (1, 2, 3);
explain (costs off) select * from person where age > 30 or email is null;
explain (costs off) select * from person where name = 'x' and age > 40;
explain (costs off) select id from person where tags @> '{a}' and not (age between 3 and 5);
explain (costs off) select id from person where total_of is null;
explain (costs off) select id from person where doc ->> 'a' = 'x' and email like 'a%';
-- Orders and limits.
explain (costs off) select id from person order by id desc limit 3;
explain (costs off) select id from person order by email, age desc nulls last;
explain (costs off) select distinct age from person;
-- Joins.
explain (costs off) select p.name, o.total from person p join orders o on o.person_id = p.id where p.id = 3;
explain (costs off) select p.name, o.total from person p left join orders o on o.total = p.age and o.id > p.id;
explain (costs off) select name from person p where exists (select from orders o where o.person_id = p.id and total > 5);
explain (costs off) select name from person where id in (select person_id from orders);
explain (costs off) select name, (select count(*) from orders o where o.person_id = p.id) from person p;
explain (costs off) select a.n from generate_series(1, 3) a(n) cross join (values (1), (2)) b(m);
-- Groups, windows, sets, tables of WITH.
explain (costs off) select age, count(*), sum(id) filter (where id > 3) from person group by age having count(*) > 1 order by count(*) desc;
explain (costs off) select count(*) from person;
explain (costs off) select id, row_number() over (partition by age order by name) from person;
explain (costs off) select id from person union select person_id from orders;
explain (costs off) select id from person intersect all select person_id from orders;
explain (costs off) with x as materialized (select id, age from person) select * from x where age = 3;
explain (costs off) with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select * from r;
-- Changes, the past.
explain (costs off) update person set age = age + 1 where id = 3;
explain (costs off) insert into person (id, name) values (1, 'x') on conflict (id) do nothing;
explain (costs off) delete from orders where person_id = 3;
explain (costs off) select name from person for system_time as of timestamptz '2020-01-01' where id = 5;
-- Prepared statements.
prepare p(int) as select name from person where age = $1;
explain (costs off) execute p(3);
prepare q(int) as select name from person where name = 'x' and age > $1;
explain (costs off) execute q(40);
explain (costs off) declare c cursor for select 1;
explain (costs off) create table t as select id from person;
-- What was seen.
explain (analyze, costs off, timing off, summary off) select count(*) from person where age > 30;
explain (analyze, costs off, timing off, summary off) select name from person where age = 30 and id > 100 order by email limit 1;
explain (analyze, costs off, timing off, summary off) select p.name from person p join orders o on o.person_id = p.id where p.id < 3 and o.total > 900;
explain (analyze, costs off, timing off, summary off) update person set age = 0 where id = 1;
select age from person where id = 1;
set work_mem = '64kB';
explain (analyze, costs off, timing off, summary off, settings) select * from orders order by total desc;
reset work_mem;
-- Formats.
explain (costs off, format json) select name from person p where age = 30 and id > 3 order by id;
explain (costs off, format yaml) select name from person p where age = 30 and id > 3 order by id;
explain (costs off, format xml) select name from person p where age = 30 and id > 3 order by id;
explain (format json, analyze, costs off, timing off, summary off) select count(*) from person where id < 10;
-- Options.
explain (verbose, costs off) select p.name, age + 1 from person p where id = 3;
explain (buffers, memory, costs off) select 1;
explain (nonsense) select 1;
explain (timing) select 1;
explain (wal) select 1;
explain (costs maybe) select 1;
-- What all parts of an OR ask for is the key of the join.
explain (costs off) select 1 from person p, person q
  where (p.id = q.id and p.age > 10 and q.age < 5) or (p.age > 20 and p.id = q.id and q.age > 50);
explain (costs off) select 1 from person p where (id = 3 and age > 10) or id = 3;
-- Statistics: what few rows have is looked up by an index, what most have is not. A statement that was prepared
-- before its tables have grown is planned anew.
create table sold (id int primary key, what text, n int);
create table part (id int primary key, sold int);
create index on part (sold);
prepare rare as select count(*) from part, sold where sold.id = part.sold and sold.what = 'rare';
explain (costs off) execute rare;
insert into sold select i, case when i % 1000 = 0 then 'rare' else 'common' end, i % 10 from generate_series(1, 5000) i;
insert into part select i, i % 5000 + 1 from generate_series(1, 20000) i;
explain (costs off) execute rare;
execute rare;
explain (costs off) select count(*) from part, sold where sold.id = part.sold and sold.what = 'common';
update sold set what = 'rare';
analyze sold;
explain (costs off) execute rare;
vacuum (analyze, verbose) sold;
