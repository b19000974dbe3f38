CREATE TABLE documents (
  id INT PRIMARY KEY,
  body JSON NOT NULL,
  title VARCHAR(60) AS (body->>'$.title') STORED,
  secret VARCHAR(20) INVISIBLE DEFAULT 'hidden',
  embedding VECTOR(3) NULL,
  KEY documents_title (title),
  KEY documents_lower ((LOWER(title))),
  KEY documents_numbers ((CAST(body->'$.numbers' AS UNSIGNED ARRAY))),
  KEY documents_idle (secret) INVISIBLE
);
INSERT INTO documents (id, body, embedding) VALUES (1, '{"title": "One", "numbers": [1, 2, 3]}', STRING_TO_VECTOR('[1,2,3]')), (2, '{"title": "Two", "numbers": [2, 4]}', STRING_TO_VECTOR('[0.5,0,-1]')), (3, '{"title": "Three"}', NULL);
CREATE TABLE sites (id INT PRIMARY KEY, name VARCHAR(20), position POINT NOT NULL SRID 4326, SPATIAL INDEX (position));
INSERT INTO sites VALUES (1, 'Berlin', ST_GeomFromText('POINT(52.52 13.405)', 4326)), (2, 'Paris', ST_GeomFromText('POINT(48.8566 2.3522)', 4326));
CREATE ROLE IF NOT EXISTS everyday_reader;
GRANT SELECT ON everyday.* TO everyday_reader;
ANALYZE TABLE documents, sites;
