-- A lending library: many-to-many, a self-reference, composite keys.
CREATE DATABASE library;
USE library;

CREATE TABLE authors (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(80) NOT NULL, born YEAR NULL);
INSERT INTO authors (name, born) VALUES ('Selma Lagerlöf', NULL), ('Stanisław Lem', 1921), ('Ursula K. Le Guin', 1929),
  ('Gabriel García Márquez', 1927), ('夏目 漱石', NULL), ('Karel Čapek', NULL), ('Italo Calvino', 1923);

CREATE TABLE books (
  isbn CHAR(13) CHARACTER SET ascii PRIMARY KEY,
  title VARCHAR(160) NOT NULL,
  sequel_of CHAR(13) CHARACTER SET ascii NULL,
  published YEAR NULL,
  FOREIGN KEY (sequel_of) REFERENCES books (isbn)
);
INSERT INTO books
SELECT LPAD(9780000000000 + seq, 13, '0'), CONCAT(ELT(1 + MOD(seq, 5), 'The Garden of ', 'A Night in ', 'Return to ', 'Über ', 'Letters from '),
  ELT(1 + MOD(seq, 6), 'Solaris', 'Macondo', 'Värmland', 'Earthsea', 'Praha', '東京'), ' ', seq), NULL, 1950 + MOD(seq, 70)
FROM seq_1_to_300;
UPDATE books SET sequel_of = isbn - 1 WHERE MOD(isbn, 10) = 2;

CREATE TABLE book_authors (
  isbn CHAR(13) CHARACTER SET ascii NOT NULL, author_id INT NOT NULL, PRIMARY KEY (isbn, author_id),
  FOREIGN KEY (isbn) REFERENCES books (isbn) ON DELETE CASCADE, FOREIGN KEY (author_id) REFERENCES authors (id)
);
INSERT INTO book_authors SELECT isbn, 1 + MOD(isbn, 7) FROM books;
INSERT IGNORE INTO book_authors SELECT isbn, 1 + MOD(isbn * 3, 7) FROM books WHERE MOD(isbn, 4) = 0;

CREATE TABLE loans (
  id INT AUTO_INCREMENT PRIMARY KEY, isbn CHAR(13) CHARACTER SET ascii NOT NULL, reader VARCHAR(60) NOT NULL,
  lent_on DATE NOT NULL, back_on DATE NULL, FOREIGN KEY (isbn) REFERENCES books (isbn)
);
INSERT INTO loans (isbn, reader, lent_on, back_on)
SELECT LPAD(9780000000001 + MOD(seq * 7, 300), 13, '0'), CONCAT('reader ', MOD(seq, 90)), DATE('2024-01-01') + INTERVAL MOD(seq, 700) DAY,
  IF(MOD(seq, 6) = 0, NULL, DATE('2024-01-15') + INTERVAL MOD(seq, 700) DAY)
FROM seq_1_to_1500;

CREATE VIEW v_overdue AS
SELECT l.id, b.title, l.reader, DATEDIFF(CURDATE(), l.lent_on) AS days FROM loans l JOIN books b USING (isbn) WHERE l.back_on IS NULL;

-- Nothing in it: what an empty table looks like.
CREATE TABLE reservations (id INT AUTO_INCREMENT PRIMARY KEY, isbn CHAR(13) NOT NULL, reader VARCHAR(60) NOT NULL);
