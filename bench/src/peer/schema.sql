-- The usual way to keep the versions of a JSON document in PostgreSQL: a jsonb column, and a
-- history table that a trigger fills in the same transaction. Run in a schema of its own.

CREATE TABLE doc (id int PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE doc_history (
    id int NOT NULL, rev bigint NOT NULL, valid_from timestamptz NOT NULL, doc jsonb NOT NULL,
    PRIMARY KEY (id, rev)
);
CREATE INDEX doc_history_valid_from ON doc_history (valid_from);
CREATE SEQUENCE doc_rev;

CREATE FUNCTION keep_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO doc_history VALUES (NEW.id, nextval('doc_rev'), clock_timestamp(), NEW.doc);
    RETURN NULL;
END $$;
CREATE TRIGGER keep_version AFTER INSERT OR UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION keep_version();

-- W1, server-side: every update its own durable transaction, no client in between.
CREATE PROCEDURE update_counter(target int, first int, last int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN first..last LOOP
        UPDATE doc SET doc = jsonb_set(doc, '{counter}', to_jsonb(i)) WHERE id = target;
        COMMIT;
    END LOOP;
END $$;

CREATE PROCEDURE update_leaves(target int, paths text[], new_values text[]) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..cardinality(paths) LOOP
        UPDATE doc SET doc = jsonb_set(doc, paths[i]::text[], new_values[i]::jsonb) WHERE id = target;
        COMMIT;
    END LOOP;
END $$;

-- W2, batched: whole documents at the given moments, as text, inside the server.
CREATE FUNCTION read_at(moments timestamptz[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    moment timestamptz;
    whole text;
    bytes bigint := 0;
BEGIN
    FOREACH moment IN ARRAY moments LOOP
        SELECT doc::text INTO whole FROM doc_history WHERE valid_from <= moment ORDER BY valid_from DESC LIMIT 1;
        bytes := bytes + octet_length(whole);
    END LOOP;
    RETURN bytes;
END $$;

-- W3, server-side: every version's number and time, one after another.
CREATE FUNCTION list_versions() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    version record;
    seen bigint := 0;
BEGIN
    FOR version IN SELECT rev, valid_from FROM doc_history ORDER BY valid_from LOOP
        seen := seen + 1;
    END LOOP;
    RETURN seen;
END $$;
