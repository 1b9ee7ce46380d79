CREATE TABLE event (
    id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    event_date date NOT NULL,
    user_id bigint NOT NULL,
    session_id text NOT NULL,
    amount numeric(15, 4) NOT NULL,
    price float8 NOT NULL,
    quantity int NOT NULL,
    duration_ms int NOT NULL,
    score real NOT NULL,
    country_code char(2) NOT NULL,
    browser text NOT NULL,
    url text,
    is_mobile bool NOT NULL,
    event_type text NOT NULL,
    metadata jsonb,
    tags text[]
)
