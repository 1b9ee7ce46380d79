-- The author of a commit is what the session says; the role is who logged in, whatever the session says and
-- whichever role it takes. Roles and times from elsewhere stand beside each other in every list of the past.
create role alice login superuser;
create table d (id text primary key, doc jsonb) using document;
insert into d values ('k', '{"n": 1}');
begin;
set local commit.author = 'grace';
set local commit.authored_at = '2001-02-03 04:05:06+00';
update d set doc['n'] = '2' where id = 'k';
commit;
set role alice;
update d set doc['n'] = '3' where id = 'k';
set session authorization alice;
set commit.author = 'bob';
update d set doc['n'] = '4' where id = 'k';
reset session authorization;
reset commit.author;
select version, author, role, authored_at from commits order by version desc limit 4;
select version, author, role, authored_at from history('d', 'k');
select version, op, value, author, role, authored_at from node_changes('d', 'k', '$.n');
select path, version, author, role, authored_at from blame('d', 'k');
select from_version, value, authored_at from node_history('d', 'k', '$.n');
-- A time that is none is refused when it is set; nothing is said by the empty one.
set commit.authored_at = 'yesterdays';
set commit.authored_at = '';
insert into d values ('l', '1');
select author, role, authored_at from history('d', 'l');
-- Times before 1970 and infinite ones cannot be kept.
set commit.authored_at = '1969-12-31 00:00:00+00';
set commit.authored_at = 'infinity';
