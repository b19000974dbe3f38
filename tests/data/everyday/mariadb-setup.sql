CREATE SEQUENCE order_numbers START WITH 100;
CREATE TABLE prices (product_id INT PRIMARY KEY, price DECIMAL(9,2)) WITH SYSTEM VERSIONING;
INSERT INTO prices VALUES (1, 24.90), (2, 79.00);
UPDATE prices SET price = 84.00 WHERE product_id = 2;
CREATE TABLE stays (id INT PRIMARY KEY, room INT, arrives DATE, leaves DATE, PERIOD FOR stay (arrives, leaves));
INSERT INTO stays VALUES (1, 101, '2024-05-01', '2024-05-04'), (2, 102, '2024-05-02', '2024-05-03');
CREATE TABLE hosts (id UUID PRIMARY KEY, v4 INET4, v6 INET6, hidden INT INVISIBLE DEFAULT 7);
INSERT INTO hosts (id, v4, v6) VALUES ('123e4567-e89b-12d3-a456-426655440000', '192.0.2.1', '2001:db8::1');
CREATE TABLE loose (id INT PRIMARY KEY, extra BLOB);
INSERT INTO loose VALUES (1, COLUMN_CREATE('colour', 'blue', 'size', 42));
-- since 11.7
CREATE TABLE embeddings (id INT PRIMARY KEY, v VECTOR(3) NOT NULL, VECTOR INDEX (v));
-- since 11.7
INSERT INTO embeddings VALUES (1, VEC_FromText('[1,2,3]')), (2, VEC_FromText('[0,0,1]'));
CREATE ROLE IF NOT EXISTS everyday_reader;
GRANT SELECT ON everyday.* TO everyday_reader;
ANALYZE TABLE prices, stays, hosts;
