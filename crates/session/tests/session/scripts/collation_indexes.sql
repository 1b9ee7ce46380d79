-- Indexes under the collation of a language have its order: ranges, sorts, the least and the greatest.
create table s (id int primary key, n text collate "sv-x-icu", o text);
insert into s select i, chr(97 + i % 26) || i, chr(97 + i % 26) || i from generate_series(1, 2000) as i;
create index s_n on s (n);
create index s_o on s (o collate "sv-x-icu");
explain (costs off) select id from s where n = 'b1';
explain (costs off) select id from s where n in ('b1', 'c2');
explain (costs off) select id from s where n > 'x' and n <= 'z5' order by n;
explain (costs off) select id from s where n between 'x' and 'y' order by n desc limit 3;
explain (costs off) select n from s order by n limit 3;
explain (costs off) select min(n), max(n) from s;
explain (costs off) select id from s where n is null;
explain (costs off) select id from s where o collate "sv-x-icu" < 'b' order by o collate "sv-x-icu" limit 1;
-- The order of bytes is that of another index.
explain (costs off) select id from s where o < 'b';
select n from s where n >= 'z' order by n limit 3;
select min(n), max(n) from s;
-- Under a nondeterministic collation, equal texts are found whatever their case.
create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
create table f (id int, c text collate ci);
insert into f select i, chr(97 + i % 26) || i from generate_series(1, 2000) as i;
create unique index f_c on f (c);
explain (costs off) select id from f where c = 'B1';
select id from f where c = 'B1';
explain (costs off) select c from f where c > 'Y' order by c limit 2;
select c from f where c > 'Y' order by c limit 2;
insert into f values (0, 'B1');
