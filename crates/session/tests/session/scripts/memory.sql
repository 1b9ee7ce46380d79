-- Little memory: what does not fit goes to files, and a limit ends a statement, not the session.
set work_mem = '64kB';
select count(*), min(n), max(n) from (select n from generate_series(1, 50000) n order by -n) x;
select count(*) from (select n % 20000, count(*) from generate_series(1, 50000) n group by 1) x;
select count(*) from generate_series(1, 30000) a join generate_series(15001, 45000) b on a = b;
select sum(d) from (select distinct n / 2 as d from generate_series(1, 50000) n) x;
show query_mem_max;
set query_mem_max = '100kB';
begin;
select count(*) from (select n from generate_series(1, 50000) n order by -n) x;
select array_length(array(select n from generate_series(1, 50000) n), 1);
rollback;
select count(*) from (select n from generate_series(1, 1000) n order by -n) x;
reset query_mem_max;
select array_length(array(select n from generate_series(1, 50000) n), 1);
