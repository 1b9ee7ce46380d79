-- A shop with a past: prices that changed, a product that is gone, customers and what they bought.

CREATE TABLE product (
    id    serial PRIMARY KEY,
    name  text NOT NULL UNIQUE,
    cents int NOT NULL CHECK (cents > 0)
);
CREATE TABLE customer (
    id    serial PRIMARY KEY,
    name  text NOT NULL,
    since date NOT NULL DEFAULT current_date
);
CREATE TABLE purchase (
    id       serial PRIMARY KEY,
    customer int NOT NULL REFERENCES customer ON DELETE CASCADE,
    product  int NOT NULL REFERENCES product,
    cents    int NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON purchase (customer);

INSERT INTO product (name, cents) VALUES ('tea', 300), ('cake', 450), ('soup', 690);
INSERT INTO customer (name) VALUES ('Ada'), ('Grace'), ('Linus');
INSERT INTO purchase (customer, product, cents) VALUES (1, 1, 300), (1, 2, 450), (2, 3, 690);

UPDATE product SET cents = 320 WHERE name = 'tea';
INSERT INTO purchase (customer, product, cents) SELECT 2, id, cents FROM product WHERE name = 'tea';
UPDATE product SET cents = cents + 50;
INSERT INTO product (name, cents) VALUES ('salad', 540);
UPDATE customer SET name = 'Grace H.' WHERE name = 'Grace';
DELETE FROM product WHERE name = 'salad';
UPDATE product SET cents = 350 WHERE name = 'tea';

CREATE VIEW spent AS
    SELECT c.name, count(p.id) AS purchases, coalesce(sum(p.cents), 0) AS cents
    FROM customer c LEFT JOIN purchase p ON p.customer = c.id
    GROUP BY c.id, c.name;

-- Documents beside the rows: the history of a service's settings is imported into this table.
CREATE TABLE samples (name text PRIMARY KEY, doc jsonb) USING document;
