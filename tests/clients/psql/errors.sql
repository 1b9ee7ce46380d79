-- Errors: their words, the place that they point at, and what psql makes of them.
\pset pager off
CREATE TABLE account (id int PRIMARY KEY, owner text NOT NULL, balance int CHECK (balance >= 0));
INSERT INTO account VALUES (1, 'ada', 100), (2, 'bob', 50);

-- A word that is not SQL.
SELEC 1;

-- The end comes too early.
SELECT * FROM;

-- A column that is not there, with a hint where one is near.
SELECT id, balanse FROM account;
SELECT a.nothing FROM account a;
SELECT b.id FROM account a;

-- A table, a function, an operator, a type that are not there.
SELECT * FROM acount;
SELECT nothing_of_this(1, 'x');
SELECT 1 + 'x'::text;
SELECT '1'::nothing;

-- On the line where it happens.
SELECT id,
       owner,
       blance
FROM account;

-- Long lines are cut to the place.
SELECT 'a long text that fills the line so that it has to be cut somewhere', 'and more of it', nothing_here, 'and more after that place' FROM account;

-- Values that are not of the type.
SELECT 'abc'::int;
SELECT 12345678901::int;
SELECT '2024-02-30'::date;
SELECT 'x'::uuid;
SELECT '{"a": }'::json;
SELECT 1 / 0;

-- Constraints tell what was tried.
INSERT INTO account VALUES (1, 'cy', 1);
INSERT INTO account VALUES (3, NULL, 1);
INSERT INTO account VALUES (3, 'cy', -1);
CREATE TABLE payment (account int REFERENCES account, amount numeric(4, 2));
INSERT INTO payment VALUES (9, 1);
INSERT INTO payment VALUES (1, 100);
INSERT INTO payment VALUES (1, 10);
DELETE FROM account WHERE id = 1;
DROP TABLE account;

-- All that is known of an error.
\set VERBOSITY sqlstate
SELECT 1 / 0;
\set VERBOSITY default
INSERT INTO account VALUES (1, 'cy', 1);
\echo :SQLSTATE :LAST_ERROR_SQLSTATE :ERROR :ROW_COUNT
\echo :LAST_ERROR_MESSAGE

-- Definitions that cannot be.
CREATE TABLE account (id int);
CREATE TABLE IF NOT EXISTS account (id int);
CREATE TABLE twice (a int, a int);
CREATE TABLE lost (a int REFERENCES nobody);
ALTER TABLE account ADD COLUMN owner text;
ALTER TABLE account DROP COLUMN nothing;
DROP TABLE nothing;
DROP TABLE IF EXISTS nothing;
CREATE INDEX ON account (nothing);

-- Grouping, and where aggregates may stand.
SELECT owner, count(*) FROM account;
SELECT count(*) FROM account WHERE count(*) > 1;
SELECT id FROM account UNION SELECT owner FROM account;
SELECT (SELECT id, owner FROM account);
SELECT (SELECT id FROM account);

-- A block that failed takes nothing more.
BEGIN;
INSERT INTO account VALUES (4, 'dan', 1);
SELECT 1 / 0;
SELECT 1;
COMMIT;
SELECT count(*) FROM account;

-- With ON_ERROR_ROLLBACK only the statement is lost.
\set ON_ERROR_ROLLBACK on
BEGIN;
INSERT INTO account VALUES (4, 'dan', 1);
INSERT INTO account VALUES (4, 'dan', 1);
SELECT count(*) FROM account;
COMMIT;
SELECT count(*) FROM account;
\set ON_ERROR_ROLLBACK off

-- Without AUTOCOMMIT a block begins by itself.
\set AUTOCOMMIT off
UPDATE account SET balance = balance - 10 WHERE id = 1;
SELECT balance FROM account WHERE id = 1;
ROLLBACK;
SELECT balance FROM account WHERE id = 1;
UPDATE account SET balance = 99 WHERE id = 1;
COMMIT;
\set AUTOCOMMIT on
ROLLBACK;
SELECT balance FROM account WHERE id = 1;

-- Savepoints.
BEGIN;
SAVEPOINT one;
DELETE FROM payment;
ROLLBACK TO one;
RELEASE one;
ROLLBACK TO one;
ROLLBACK;
SELECT count(*) FROM payment;

-- Warnings and notices.
BEGIN;
BEGIN;
COMMIT;
COMMIT;
SAVEPOINT nowhere;

-- Commands that psql itself does not know.
\nothing
\d+ nothing_at_all

-- The last: what comes after an error is not run.
\set ON_ERROR_STOP on
SELECT nothing;
\echo never seen
