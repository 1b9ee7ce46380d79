SELECT count(*) FROM event;
SELECT sum(amount), avg(amount), sum(price), avg(price) FROM event;
SELECT country_code, count(*), avg(score) FROM event GROUP BY country_code ORDER BY count(*) DESC, 1;
SELECT event_type, count(*), sum(amount), avg(duration_ms), percentile_disc(0.95) WITHIN GROUP (ORDER BY duration_ms)
    FROM event GROUP BY event_type ORDER BY event_type;
SELECT event_date, count(*), sum(amount), avg(price) FROM event
    WHERE event_date BETWEEN '2024-01-01' AND '2024-01-31' GROUP BY event_date ORDER BY event_date;
SELECT count(*), avg(amount) FROM event WHERE metadata @> '{"os": "android"}';
SELECT metadata ->> 'campaign', count(*), sum(amount) FROM event WHERE metadata ? 'campaign' GROUP BY 1 ORDER BY 3 DESC;
SELECT count(*), avg(price) FROM event WHERE tags @> ARRAY['tag_5'];
SELECT count(*), sum(amount) FROM event WHERE url LIKE '/page/1%';
SELECT browser, is_mobile, count(*), sum(amount), avg(amount), min(amount), max(amount), sum(price * quantity),
    avg(duration_ms), count(DISTINCT user_id), sum(CASE WHEN event_type = 'purchase' THEN amount END)
    FROM event GROUP BY browser, is_mobile ORDER BY browser, is_mobile;
