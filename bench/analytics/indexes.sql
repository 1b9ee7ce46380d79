ALTER TABLE event ADD PRIMARY KEY (id);
CREATE INDEX ON event (event_date);
CREATE INDEX ON event (user_id);
CREATE INDEX ON event (event_type);
CREATE INDEX ON event USING gin (metadata jsonb_path_ops);
CREATE INDEX ON event USING gin (tags);
