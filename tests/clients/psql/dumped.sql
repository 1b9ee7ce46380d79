-- A schema with everything, as PostgreSQL 17's pg_dump writes it: it loads without an error.
\pset pager off
CREATE ROLE dump_reader;
CREATE DATABASE dumped;
\c dumped
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE SCHEMA app;

COMMENT ON SCHEMA app IS 'the application';

CREATE COLLATION app.ci (provider = icu, deterministic = false, locale = 'und-u-ks-level2');

CREATE COLLATION app.num (provider = icu, locale = 'en-u-kn-true');

CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA public;

COMMENT ON EXTENSION btree_gin IS 'support for indexing common datatypes in GIN';

CREATE EXTENSION IF NOT EXISTS btree_gist WITH SCHEMA public;

COMMENT ON EXTENSION btree_gist IS 'support for indexing common datatypes in GiST';

CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public;

COMMENT ON EXTENSION citext IS 'data type for case-insensitive character strings';

CREATE EXTENSION IF NOT EXISTS hstore WITH SCHEMA public;

COMMENT ON EXTENSION hstore IS 'data type for storing sets of (key, value) pairs';

CREATE EXTENSION IF NOT EXISTS ltree WITH SCHEMA public;

COMMENT ON EXTENSION ltree IS 'data type for hierarchical tree-like structures';

CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;

COMMENT ON EXTENSION pg_trgm IS 'text similarity measurement and index searching based on trigrams';

CREATE EXTENSION IF NOT EXISTS pgcrypto WITH SCHEMA public;

COMMENT ON EXTENSION pgcrypto IS 'cryptographic functions';

CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA public;

COMMENT ON EXTENSION unaccent IS 'text search dictionary that removes accents';

CREATE EXTENSION IF NOT EXISTS "uuid-ossp" WITH SCHEMA public;

COMMENT ON EXTENSION "uuid-ossp" IS 'generate universally unique identifiers (UUIDs)';

CREATE TYPE app.address AS (
	street text,
	zip character varying(5),
	geo point,
	tags text[]
);

CREATE DOMAIN app.email AS text COLLATE pg_catalog."C" NOT NULL DEFAULT 'a@b'::text
	CONSTRAINT email_check CHECK ((VALUE ~ '@'::text));

CREATE TYPE app.floatrange AS RANGE (
    subtype = double precision,
    multirange_type_name = app.floatmultirange,
    subtype_diff = float8mi
);

CREATE TYPE app.mood AS ENUM (
    'sad',
    'ok',
    'happy'
);

COMMENT ON TYPE app.mood IS 'moods';

CREATE DOMAIN app.posint AS integer
	CONSTRAINT posint_check CHECK ((VALUE > 0));

COMMENT ON DOMAIN app.posint IS 'positive';

CREATE TYPE app.pair AS (
	n app.posint,
	m app.mood
);

CREATE TYPE app.textrange AS RANGE (
    subtype = text,
    multirange_type_name = app.textranges,
    collation = pg_catalog."C"
);

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE app.bits (
    b bit(8),
    vb bit varying(12),
    u bit varying,
    m money DEFAULT 1.5,
    CONSTRAINT b_chk CHECK ((b <> '00000000'::"bit"))
);

CREATE TABLE app.booking (
    room integer,
    during tstzrange,
    who app.email
);

CREATE TABLE app.docs (
    id bigint NOT NULL,
    title text NOT NULL,
    body text,
    tsv tsvector GENERATED ALWAYS AS ((setweight(to_tsvector('english'::regconfig, title), 'A'::"char") || to_tsvector('english'::regconfig, COALESCE(body, ''::text)))) STORED,
    q tsquery,
    j jsonb DEFAULT '{}'::jsonb,
    x json,
    created timestamp with time zone DEFAULT now() NOT NULL,
    tags text[] DEFAULT '{}'::text[],
    state app.mood DEFAULT 'ok'::app.mood
);

CREATE SEQUENCE app.docs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE app.docs_id_seq OWNED BY app.docs.id;

CREATE TABLE app.ext (
    h public.hstore,
    ci public.citext,
    lt public.ltree,
    lq public.lquery,
    txt text,
    u uuid DEFAULT public.uuid_generate_v4(),
    g uuid DEFAULT gen_random_uuid(),
    pw text DEFAULT public.crypt('x'::text, public.gen_salt('bf'::text)),
    un text GENERATED ALWAYS AS (lower(txt)) STORED
);

CREATE TABLE app.geo (
    p point,
    l line,
    s lseg,
    b box,
    pa path,
    po polygon,
    c circle
);

CREATE TABLE app.h (
    k integer,
    v text
)
PARTITION BY HASH (k);

CREATE TABLE app.h0 (
    k integer,
    v text
);

CREATE TABLE app.h1 (
    k integer,
    v text
);

CREATE TABLE app.line (
    sale bigint,
    at date,
    n integer
);

CREATE SEQUENCE app.seq
    AS smallint
    START WITH 5
    INCREMENT BY 1
    MINVALUE 2
    MAXVALUE 99
    CACHE 3
    CYCLE;

CREATE TABLE app.many (
    a smallint DEFAULT '-1'::integer,
    b real DEFAULT 1.5,
    c double precision DEFAULT 'NaN'::double precision,
    d "char" DEFAULT 'x'::"char",
    e name,
    f oid,
    g bytea DEFAULT '\xdead'::bytea,
    h interval DEFAULT '1 day'::interval,
    h2 interval(3),
    i time(2) with time zone,
    j timestamp(3) without time zone DEFAULT '2026-01-01 00:00:00'::timestamp without time zone,
    l character(3) DEFAULT 'ab'::bpchar,
    m numeric DEFAULT '10000000000'::numeric,
    n integer[] DEFAULT '{{1,2},{3,4}}'::integer[],
    o boolean DEFAULT true,
    p regclass,
    q jsonpath,
    r pg_lsn,
    s txid_snapshot,
    t date DEFAULT CURRENT_DATE,
    u text DEFAULT (('a'::text || 'b'::text) || (CURRENT_USER)::text),
    v integer DEFAULT nextval('app.seq'::regclass)
);

CREATE MATERIALIZED VIEW app.mv AS
 SELECT state,
    count(*) AS n,
    max(created) AS newest
   FROM app.docs
  GROUP BY state
  WITH NO DATA;

COMMENT ON MATERIALIZED VIEW app.mv IS 'counts';

CREATE MATERIALIZED VIEW app.mv_empty AS
 SELECT 1 AS one
  WITH NO DATA;

CREATE TABLE app.net (
    i inet NOT NULL,
    c cidr,
    m macaddr,
    m8 macaddr8
);

CREATE TABLE app.people (
    id app.posint NOT NULL,
    name text COLLATE app.ci,
    sorted text COLLATE app.num,
    nick character varying(10) COLLATE pg_catalog."de-x-icu",
    home app.address,
    others app.address[],
    p app.pair,
    mail app.email,
    boss app.posint,
    full_mail text GENERATED ALWAYS AS (((name || ' '::text) || (nick)::text)) STORED,
    CONSTRAINT people_boss CHECK (((boss)::integer IS DISTINCT FROM (id)::integer))
);
ALTER TABLE ONLY app.people ALTER COLUMN name SET STATISTICS 500;
ALTER TABLE ONLY app.people ALTER COLUMN others SET STORAGE EXTERNAL;

ALTER TABLE ONLY app.people REPLICA IDENTITY FULL;

ALTER TABLE ONLY app.people FORCE ROW LEVEL SECURITY;

COMMENT ON TABLE app.people IS 'who it''s about';

COMMENT ON COLUMN app.people.home IS 'where';

COMMENT ON CONSTRAINT people_boss ON app.people IS 'nobody is their own boss';

CREATE TABLE app.ranges (
    id integer NOT NULL,
    r int4range DEFAULT '[1,2)'::int4range,
    b int8range,
    n numrange,
    d daterange,
    t tsrange,
    tz tstzrange,
    mr int4multirange,
    mn nummultirange DEFAULT '{[1,2)}'::nummultirange,
    f app.floatrange,
    tr app.textrange,
    trs app.textranges,
    CONSTRAINT ranges_r_check CHECK ((NOT isempty(r)))
);

ALTER TABLE app.ranges ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME app.ranges_id_seq
    START WITH 10
    INCREMENT BY 5
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW app.rec AS
 WITH RECURSIVE rec(n) AS (
         VALUES (1)
        UNION ALL
         SELECT (rec_1.n + 1)
           FROM rec rec_1
          WHERE (rec_1.n < 5)
        )
 SELECT n
   FROM rec;

CREATE TABLE app.sale (
    id bigint NOT NULL,
    at date NOT NULL,
    region text DEFAULT 'x'::text,
    amount numeric(10,2),
    CONSTRAINT sale_amount_check CHECK ((amount >= (0)::numeric))
)
PARTITION BY RANGE (at);

CREATE TABLE app.sale_2025 (
    id bigint NOT NULL,
    at date NOT NULL,
    region text DEFAULT 'x'::text,
    amount numeric(10,2),
    CONSTRAINT sale_amount_check CHECK ((amount >= (0)::numeric))
);

CREATE TABLE app.sale_2026 (
    id bigint NOT NULL,
    at date NOT NULL,
    region text DEFAULT 'y'::text,
    amount numeric(10,2),
    CONSTRAINT own CHECK ((amount < '1000000'::numeric)),
    CONSTRAINT sale_amount_check CHECK ((amount >= (0)::numeric))
)
PARTITION BY RANGE (at);

CREATE TABLE app.sale_2026_n (
    id bigint NOT NULL,
    at date NOT NULL,
    region text DEFAULT 'y'::text,
    amount numeric(10,2),
    CONSTRAINT own CHECK ((amount < '1000000'::numeric)),
    CONSTRAINT sale_amount_check CHECK ((amount >= (0)::numeric))
);

CREATE TABLE app.sale_2026_rest (
    id bigint NOT NULL,
    at date NOT NULL,
    region text DEFAULT 'y'::text,
    amount numeric(10,2),
    CONSTRAINT own CHECK ((amount < '1000000'::numeric)),
    CONSTRAINT sale_amount_check CHECK ((amount >= (0)::numeric))
);

ALTER TABLE app.sale ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME app.sale_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE UNLOGGED TABLE app.un (
    a integer
)
WITH (fillfactor='70', autovacuum_enabled=off);

CREATE VIEW app.upd AS
 SELECT id,
    title
   FROM app.docs
  WHERE (title ~~ 'a%'::text)
  WITH CASCADED CHECK OPTION;

CREATE VIEW app.v WITH (security_barrier='true') AS
 SELECT id,
    name,
    (home).street AS street,
    row_number() OVER (ORDER BY id) AS rn
   FROM app.people
  WHERE ((id)::integer > 0);

CREATE VIEW app.v2 WITH (security_invoker='true') AS
 SELECT d.id,
    d.title,
    count(*) FILTER (WHERE (d.state = 'ok'::app.mood)) AS n
   FROM (app.docs d
     LEFT JOIN app.people p ON (((p.id)::integer = d.id)))
  GROUP BY d.id, d.title
 HAVING (count(*) > 0);

ALTER TABLE ONLY app.h ATTACH PARTITION app.h0 FOR VALUES WITH (modulus 2, remainder 0);

ALTER TABLE ONLY app.h ATTACH PARTITION app.h1 FOR VALUES WITH (modulus 2, remainder 1);

ALTER TABLE ONLY app.sale ATTACH PARTITION app.sale_2025 FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');

ALTER TABLE ONLY app.sale ATTACH PARTITION app.sale_2026 FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');

ALTER TABLE ONLY app.sale_2026 ATTACH PARTITION app.sale_2026_n FOR VALUES FROM ('2026-01-01') TO ('2026-06-01');

ALTER TABLE ONLY app.sale_2026 ATTACH PARTITION app.sale_2026_rest DEFAULT;

ALTER TABLE ONLY app.docs ALTER COLUMN id SET DEFAULT nextval('app.docs_id_seq'::regclass);

COPY app.bits (b, vb, u, m) FROM stdin;
10101010	101	1	$1,234.50
\.

COPY app.booking (room, during, who) FROM stdin;
1	["2026-01-01 10:00:00+00","2026-01-01 11:00:00+00")	x@y
2	["2026-01-01 10:00:00+00","2026-01-01 11:00:00+00")	x@z
\.

COPY app.docs (id, title, body, q, j, x, created, tags, state) FROM stdin;
1	a title	the quick brown foxes	'fox' & 'quick'	{"a": 1}	{"b":  2}	2026-01-01 00:00:00+00	{a,"b c"}	happy
2	another	\N	\N	[]	null	2026-01-02 00:00:00+00	{}	ok
\.

COPY app.ext (h, ci, lt, lq, txt, u, g, pw) FROM stdin;
"a"=>"1", "b"=>NULL	Hello	top.mid.leaf	*.leaf	some text	a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11	a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12	none
\.

COPY app.geo (p, l, s, b, pa, po, c) FROM stdin;
(1,2)	{1,-1,0}	[(0,0),(1,1)]	(2,2),(0,0)	((0,0),(1,1))	((0,0),(1,1),(1,0))	<(0,0),1>
\.

COPY app.h0 (k, v) FROM stdin;
1	v1
2	v2
\.

COPY app.h1 (k, v) FROM stdin;
3	v3
4	v4
5	v5
6	v6
7	v7
8	v8
9	v9
10	v10
\.

COPY app.line (sale, at, n) FROM stdin;
1	2025-05-05	1
\.

COPY app.many (a, b, c, d, e, f, g, h, h2, i, j, l, m, n, o, p, q, r, s, t, u, v) FROM stdin;
-1	1.5	NaN	x	n	7	\\x00ff	1 day	\N	\N	2026-01-01 00:00:00	ab 	10000000000	{{1,2},{3,4}}	t	\N	$."a"[*]	0/16	\N	2026-11-28	abpostgres	5
\.

COPY app.net (i, c, m, m8) FROM stdin;
10.0.0.1/8	10.0.0.0/8	08:00:2b:01:02:03	08:00:2b:01:02:03:04:05
::1	::/0	\N	\N
\.

COPY app.people (id, name, sorted, nick, home, others, p, mail, boss) FROM stdin;
1	Ann	a10	annie	(Main,12345,"(1,2)",{x})	{"(Side,,,)"}	(3,sad)	ann@x	2
2	Bob	a9	\N	\N	\N	\N	bob@x	\N
\.

COPY app.ranges (id, r, b, n, d, t, tz, mr, mn, f, tr, trs) FROM stdin;
10	[1,5)	[1,)	(0.5,1.5]	[2026-01-01,2026-02-01)	["2026-01-01 10:00:00","2026-01-01 11:00:00")	["2026-01-01 10:00:00+00",)	{[1,2),[5,6)}	{[1,2)}	[1.5,2.5]	[a,b]	{[a,b]}
15	\N	empty	\N	\N	\N	\N	{}	{[1,2)}	\N	\N	\N
\.

COPY app.sale_2025 (id, at, region, amount) FROM stdin;
1	2025-05-05	n	1.50
\.

COPY app.sale_2026_n (id, at, region, amount) FROM stdin;
2	2026-05-05	n	2.50
\.

COPY app.sale_2026_rest (id, at, region, amount) FROM stdin;
3	2026-06-06	q	3.50
\.

COPY app.un (a) FROM stdin;
\.

SELECT pg_catalog.setval('app.docs_id_seq', 2, true);

SELECT pg_catalog.setval('app.ranges_id_seq', 15, true);

SELECT pg_catalog.setval('app.sale_id_seq', 3, true);

SELECT pg_catalog.setval('app.seq', 50, true);

ALTER TABLE ONLY app.booking
    ADD CONSTRAINT booking_room_during_excl EXCLUDE USING gist (room WITH =, during WITH &&) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY app.docs
    ADD CONSTRAINT docs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY app.ext
    ADD CONSTRAINT ext_ci_key UNIQUE (ci);

ALTER TABLE ONLY app.geo
    ADD CONSTRAINT geo_c_excl EXCLUDE USING gist (c WITH &&);

ALTER TABLE ONLY app.line
    ADD CONSTRAINT line_sale_n_key UNIQUE (sale, n) DEFERRABLE;

ALTER TABLE ONLY app.net
    ADD CONSTRAINT net_pkey PRIMARY KEY (i);

ALTER TABLE ONLY app.people
    ADD CONSTRAINT people_name_key UNIQUE (name);

ALTER TABLE ONLY app.people
    ADD CONSTRAINT people_pkey PRIMARY KEY (id);

ALTER TABLE app.people CLUSTER ON people_pkey;

ALTER TABLE ONLY app.ranges
    ADD CONSTRAINT ranges_excl EXCLUDE USING gist (r WITH &&) WHERE ((r IS NOT NULL));

ALTER TABLE ONLY app.ranges
    ADD CONSTRAINT ranges_pkey PRIMARY KEY (id);

ALTER TABLE ONLY app.sale
    ADD CONSTRAINT sale_pkey PRIMARY KEY (id, at);

ALTER TABLE ONLY app.sale_2025
    ADD CONSTRAINT sale_2025_pkey PRIMARY KEY (id, at);

ALTER TABLE ONLY app.sale_2026
    ADD CONSTRAINT sale_2026_pkey PRIMARY KEY (id, at);

ALTER TABLE ONLY app.sale_2026_n
    ADD CONSTRAINT sale_2026_n_pkey PRIMARY KEY (id, at);

ALTER TABLE ONLY app.sale_2026_rest
    ADD CONSTRAINT sale_2026_rest_pkey PRIMARY KEY (id, at);

ALTER TABLE app.people
    ADD CONSTRAINT zip_chk CHECK ((((home).zip)::text <> 'x'::text)) NOT VALID;

CREATE INDEX docs_expr ON app.docs USING btree (lower(title) text_pattern_ops, ((j ->> 'a'::text))) INCLUDE (state) WHERE (state = 'ok'::app.mood);

CREATE INDEX docs_hash ON app.docs USING hash (title);

CREATE INDEX docs_j ON app.docs USING gin (j jsonb_path_ops);

CREATE INDEX docs_tags ON app.docs USING gin (tags);

CREATE UNIQUE INDEX docs_title ON app.docs USING btree (title) NULLS NOT DISTINCT;

CREATE INDEX docs_tsv ON app.docs USING gin (tsv);

CREATE INDEX ext_h ON app.ext USING gin (h);

CREATE INDEX ext_lt ON app.ext USING gist (lt);

CREATE INDEX ext_trgm ON app.ext USING gin (txt public.gin_trgm_ops);

CREATE INDEX geo_b ON app.geo USING gist (b);

CREATE INDEX geo_po ON app.geo USING gist (po);

CREATE UNIQUE INDEX mv_state ON app.mv USING btree (state);

CREATE INDEX net_gist ON app.net USING gist (i inet_ops);

CREATE INDEX people_zip ON app.people USING btree (((home).zip));

COMMENT ON INDEX app.people_zip IS 'by zip';

CREATE INDEX sale_region ON ONLY app.sale USING btree (region);

CREATE INDEX sale_2025_region_idx ON app.sale_2025 USING btree (region);

CREATE INDEX sale_2026_region_idx ON ONLY app.sale_2026 USING btree (region);

CREATE INDEX sale_2026_n_region_idx ON app.sale_2026_n USING btree (region);

CREATE INDEX sale_2026_rest_region_idx ON app.sale_2026_rest USING btree (region);

ALTER INDEX app.sale_pkey ATTACH PARTITION app.sale_2025_pkey;

ALTER INDEX app.sale_region ATTACH PARTITION app.sale_2025_region_idx;

ALTER INDEX app.sale_2026_pkey ATTACH PARTITION app.sale_2026_n_pkey;

ALTER INDEX app.sale_2026_region_idx ATTACH PARTITION app.sale_2026_n_region_idx;

ALTER INDEX app.sale_pkey ATTACH PARTITION app.sale_2026_pkey;

ALTER INDEX app.sale_region ATTACH PARTITION app.sale_2026_region_idx;

ALTER INDEX app.sale_2026_pkey ATTACH PARTITION app.sale_2026_rest_pkey;

ALTER INDEX app.sale_2026_region_idx ATTACH PARTITION app.sale_2026_rest_region_idx;

ALTER TABLE ONLY app.line
    ADD CONSTRAINT line_sale_at_fkey FOREIGN KEY (sale, at) REFERENCES app.sale(id, at) ON UPDATE CASCADE ON DELETE SET NULL (at) DEFERRABLE;

ALTER TABLE ONLY app.people
    ADD CONSTRAINT people_boss_fkey FOREIGN KEY (boss) REFERENCES app.people(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE app.docs ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON app.docs FOR SELECT TO dump_reader USING ((title = CURRENT_USER));

COMMENT ON POLICY own ON app.docs IS 'their own';

CREATE POLICY wr ON app.docs AS RESTRICTIVE FOR INSERT WITH CHECK ((title <> ''::text));

GRANT USAGE ON SCHEMA app TO dump_reader;

REVOKE ALL ON TYPE app.address FROM PUBLIC;

GRANT ALL ON TYPE app.mood TO dump_reader;

GRANT SELECT ON TABLE app.docs TO dump_reader;

GRANT USAGE ON SEQUENCE app.seq TO dump_reader;

GRANT SELECT ON TABLE app.many TO dump_reader;

GRANT SELECT(id) ON TABLE app.people TO dump_reader WITH GRANT OPTION;

GRANT SELECT(name) ON TABLE app.people TO dump_reader WITH GRANT OPTION;

GRANT UPDATE(nick) ON TABLE app.people TO dump_reader WITH GRANT OPTION;

GRANT SELECT ON TABLE app.un TO dump_reader;

ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA app GRANT SELECT ON TABLES TO dump_reader;

REFRESH MATERIALIZED VIEW app.mv;
-- What the catalogs say of all of it, and the rows.
\pset format unaligned
SELECT c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attisdropped, pg_get_expr(d.adbin, d.adrelid) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE c.relnamespace = 'app'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'c') AND NOT a.attisdropped ORDER BY c.relname COLLATE "C", a.attnum;
SELECT conrelid::regclass::text COLLATE "C", contypid::regtype::text COLLATE "C", conname, contype, condeferrable, condeferred, convalidated, conislocal, coninhcount, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'app'::regnamespace AND contype <> 'n' AND (contype <> 'f' OR conparentid = 0) ORDER BY 1, 2, conname COLLATE "C";
SELECT indexrelid::regclass::text COLLATE "C", indisunique, indisprimary, indisexclusion, indimmediate, indisvalid, indnullsnotdistinct, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'app'::regnamespace ORDER BY 1;
SELECT c.oid::regclass::text COLLATE "C", reloptions, pg_get_viewdef(c.oid) FROM pg_class c WHERE relkind IN ('v', 'm') AND relnamespace = 'app'::regnamespace ORDER BY 1;
SELECT c.oid::regclass::text COLLATE "C", pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid), relrowsecurity, relforcerowsecurity FROM pg_class c WHERE (relkind = 'p' OR relispartition) AND relkind <> 'I' AND relkind <> 'i' AND relnamespace = 'app'::regnamespace ORDER BY 1;
SELECT typname, typtype, typcategory, format_type(typbasetype, typtypmod), typnotnull, typdefault FROM pg_type WHERE typnamespace = 'app'::regnamespace AND typname !~ '^_' ORDER BY typname COLLATE "C";
SELECT rngtypid::regtype, rngsubtype::regtype, rngmultitypid::regtype, rngcollation::regcollation FROM pg_range WHERE rngtypid >= 16384 ORDER BY rngtypid::regtype::text COLLATE "C";
SELECT enumtypid::regtype, enumlabel FROM pg_enum ORDER BY enumsortorder;
SELECT schemaname, sequencename, data_type, start_value, min_value, max_value, increment_by, cycle, cache_size, last_value FROM pg_sequences WHERE schemaname = 'app' ORDER BY sequencename COLLATE "C";
SELECT tablename, policyname, permissive, roles, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2;
SELECT collname, collprovider, collisdeterministic, colllocale FROM pg_collation WHERE collnamespace = 'app'::regnamespace ORDER BY 1;
SELECT extname, extversion, nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname <> 'plpgsql' ORDER BY extname COLLATE "C";
SELECT c.oid::regclass::text COLLATE "C", relacl FROM pg_class c WHERE relnamespace = 'app'::regnamespace AND relacl IS NOT NULL AND relkind <> 'c' ORDER BY 1;
SELECT attrelid::regclass::text COLLATE "C", attname, attacl FROM pg_attribute WHERE attacl IS NOT NULL AND attrelid >= 16384 ORDER BY 1, 2;
SELECT obj_description(c.oid, 'pg_class'), c.relname FROM pg_class c WHERE obj_description(c.oid, 'pg_class') IS NOT NULL AND relnamespace = 'app'::regnamespace ORDER BY 2;
SELECT defaclobjtype, defaclacl FROM pg_default_acl ORDER BY 1;
SELECT table_name, column_name, column_default, is_nullable, data_type, character_maximum_length, numeric_precision, numeric_scale, datetime_precision, interval_type, domain_name, udt_schema, udt_name, is_identity, identity_generation, identity_start, is_generated, generation_expression, is_updatable FROM information_schema.columns WHERE table_schema = 'app' ORDER BY table_name COLLATE "C", ordinal_position;
SELECT table_name, table_type, is_insertable_into, user_defined_type_name FROM information_schema.tables WHERE table_schema = 'app' ORDER BY table_name COLLATE "C";
SELECT table_name, constraint_name, constraint_type, is_deferrable, initially_deferred FROM information_schema.table_constraints WHERE table_schema = 'app' AND constraint_name !~ '(not_null|fkey[0-9])$' ORDER BY table_name COLLATE "C", constraint_name COLLATE "C";
SELECT table_name, constraint_name, column_name, ordinal_position, position_in_unique_constraint FROM information_schema.key_column_usage WHERE table_schema = 'app' AND constraint_name !~ 'fkey[0-9]$' ORDER BY table_name COLLATE "C", constraint_name COLLATE "C", 4;
SELECT constraint_name, unique_constraint_name, match_option, update_rule, delete_rule FROM information_schema.referential_constraints WHERE constraint_schema = 'app' AND constraint_name !~ 'fkey[0-9]$' ORDER BY 1;
SELECT domain_name, data_type, domain_default, udt_name FROM information_schema.domains WHERE domain_schema = 'app' ORDER BY 1;
SELECT udt_name, attribute_name, ordinal_position, data_type, character_maximum_length, attribute_udt_name FROM information_schema.attributes WHERE udt_schema = 'app' ORDER BY udt_name COLLATE "C", 3;
SELECT table_name, check_option, is_updatable, is_insertable_into FROM information_schema.views WHERE table_schema = 'app' ORDER BY 1;
SELECT sequence_name, data_type, start_value, minimum_value, maximum_value, increment, cycle_option FROM information_schema.sequences WHERE sequence_schema = 'app' ORDER BY 1;
SELECT grantee, table_name, privilege_type, is_grantable FROM information_schema.role_table_grants WHERE table_schema = 'app' AND grantee = 'dump_reader' ORDER BY table_name COLLATE "C", 3;
SELECT * FROM app.ranges ORDER BY id;
SELECT * FROM app.booking;
SELECT * FROM app.net ORDER BY i;
SELECT * FROM app.bits;
SELECT * FROM app.geo;
SELECT h, ci, lt, lq, txt, u, g, pw, un FROM app.ext;
SELECT * FROM app.docs ORDER BY id;
SELECT * FROM app.people ORDER BY id;
SELECT tableoid::regclass, * FROM app.sale ORDER BY id;
SELECT tableoid::regclass, * FROM app.h ORDER BY k;
SELECT * FROM app.mv ORDER BY 1;
SELECT * FROM app.many;
SELECT nextval('app.seq');
SELECT * FROM app.rec;
SELECT * FROM app.v;
-- Nothing of it is left.
\c postgres
DROP DATABASE dumped;
DROP ROLE dump_reader;
