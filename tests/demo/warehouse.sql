-- 64 tables, so that the list has more than one page.
CREATE DATABASE warehouse;
USE warehouse;

DELIMITER //
FOR n IN 1..64 DO
  SET @name = CONCAT(ELT(1 + MOD(n, 4), 'stock', 'bin', 'delivery', 'count'), '_', LPAD(n, 2, '0'));
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE ', @name, ' (id INT AUTO_INCREMENT PRIMARY KEY, item VARCHAR(40) NOT NULL, quantity INT NOT NULL, ',
    'checked_on DATE NULL, KEY by_item (item)) COMMENT = ''aisle ', n, '''');
  EXECUTE IMMEDIATE CONCAT('INSERT INTO ', @name, ' (item, quantity, checked_on) SELECT CONCAT(''item '', seq), MOD(seq * 7, 100), ',
    'DATE(''2024-01-01'') + INTERVAL seq DAY FROM seq_1_to_', 10 + n);
END FOR //
DELIMITER ;
