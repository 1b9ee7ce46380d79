-- What psql tells of tables: \d and its kin over a small shop.
\pset pager off
CREATE TYPE state AS ENUM ('new', 'paid', 'sent');
CREATE DOMAIN price AS numeric(10, 2) CONSTRAINT not_negative CHECK (VALUE >= 0::numeric) DEFAULT 0;
CREATE TABLE customer (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name varchar(40) NOT NULL,
    email text UNIQUE,
    tags text[] DEFAULT '{}'::text[],
    since timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT has_tags CHECK (cardinality(tags) < 9)
);
CREATE TABLE product (
    sku char(8) PRIMARY KEY,
    title text NOT NULL,
    price price NOT NULL,
    weight double precision,
    data jsonb DEFAULT '{}'::jsonb,
    title_length int GENERATED ALWAYS AS (length(title)) STORED
);
CREATE TABLE orders (
    id bigserial PRIMARY KEY,
    customer_id int NOT NULL REFERENCES customer ON DELETE CASCADE,
    state state NOT NULL DEFAULT 'new'::state,
    placed date DEFAULT CURRENT_DATE
);
CREATE TABLE line (
    order_id bigint REFERENCES orders ON DELETE CASCADE ON UPDATE RESTRICT,
    nr smallint,
    sku char(8) CONSTRAINT of_a_product REFERENCES product (sku) DEFERRABLE INITIALLY DEFERRED,
    quantity int DEFAULT 1 CHECK (quantity > 0),
    PRIMARY KEY (order_id, nr)
);
CREATE INDEX customer_by_name ON customer (lower(email), since DESC);
CREATE UNIQUE INDEX one_new_order ON orders (customer_id) WHERE state = 'new'::state;
CREATE INDEX product_title ON product (title text_pattern_ops);
CREATE INDEX product_data ON product USING gin (data);
CREATE VIEW paid AS
    SELECT o.id, c.name, o.placed FROM orders o JOIN customer c ON c.id = o.customer_id
    WHERE o.state = 'paid';
CREATE SEQUENCE counter AS smallint INCREMENT BY 5 MAXVALUE 100 CYCLE;
COMMENT ON TABLE customer IS 'Who buys';
COMMENT ON COLUMN customer.email IS 'Where the bill goes';
COMMENT ON VIEW paid IS 'What is to be sent';
COMMENT ON INDEX one_new_order IS 'A basket for each';

-- Everything there is.
\d

-- Tables alone.
\dt

-- Those of a pattern, and none.
\dt c*
\dt nothing*

-- A table with an identity, an array, a check, an expression index and a comment.
\d customer

-- Its columns with their comments.
\d+ customer

-- A domain, a generated column, operator classes.
\d product

-- A serial, an enum, foreign keys both ways, a partial index.
\d orders

-- A foreign key that is deferred.
\d line

-- Views.
\d paid
\dv

-- Sequences.
\ds
\d counter
\d orders_id_seq
\d customer_id_seq

-- Indexes.
\di
\d one_new_order

-- Several at once, by a pattern.
\d *_pkey

-- Nothing of such a name.
\d nobody

-- Every schema that the pattern names.
\dn psql
\d psql.customer

-- Types of our own.
\dT
\dT+ state
\dD

-- Comments of objects.
\dd

-- Privileges, before and after some are given.
\dp line
GRANT SELECT, INSERT ON line TO PUBLIC;
GRANT UPDATE (quantity) ON line TO postgres;
\dp line
\z paid

-- Statements that list what they would do.
SELECT format('DROP INDEX %I', indexname) FROM pg_indexes
    WHERE schemaname = 'psql' AND indexname LIKE 'product_%' AND indexname <> 'product_pkey'
    ORDER BY 1 \gexec
\d product

-- Changes of a table are seen at once.
ALTER TABLE product ADD COLUMN colour text DEFAULT 'grey'::text NOT NULL,
    ALTER COLUMN weight SET DEFAULT 1.5, DROP COLUMN data;
ALTER TABLE product RENAME COLUMN title TO name;
\d product

-- What was dropped is gone.
DROP TABLE line;
DROP VIEW paid;
\d orders
\dv
