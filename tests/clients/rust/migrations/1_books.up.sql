CREATE TABLE book (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text NOT NULL UNIQUE, price numeric(8, 2), about jsonb);
CREATE TABLE review (book bigint NOT NULL REFERENCES book ON DELETE CASCADE, words text);
