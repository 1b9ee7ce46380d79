-- What psql tells of the server: databases, roles, functions, operators, settings.
\pset pager off
\pset format unaligned

-- Roles.
CREATE ROLE psql_reader NOLOGIN;
CREATE ROLE psql_writer LOGIN CONNECTION LIMIT 3 CREATEDB VALID UNTIL '2030-01-01';
GRANT psql_reader TO psql_writer;
COMMENT ON ROLE psql_writer IS 'May write';
\du psql_*
\du+ psql_writer
DROP ROLE psql_reader, psql_writer;

-- The database, by its name.
SELECT datname, pg_encoding_to_char(encoding), datallowconn, datistemplate
    FROM pg_database WHERE datname = current_database();

-- Functions of a name.
\df initcap
\df pg_catalog.array_app*
\dfa bool_*
\df nothing_of_this_name

-- Casts.
\dC+ jsonb

-- Conversions, languages, extensions.
\dc nothing
\dx nothing
\dFt nothing
\des
\dew
\dRp
\dy
\dP

-- Access methods, and their operator classes.
\dA btree
\dAc btree uuid

-- Settings.
\drds
SHOW standard_conforming_strings;
SET work_mem = '7MB';
SHOW work_mem;
RESET work_mem;

-- Function text of what is not one function.
\sf nothing_of_this_name
\sf abs

-- What the connection is.
\echo :USER :DBNAME :ENCODING
\encoding
SELECT current_user, session_user, current_schema, current_database();
