-- One account that may do everything with the sample data, and one that may only look at it.
CREATE USER demo@'%' IDENTIFIED BY 'demo', viewer@'%' IDENTIFIED BY 'viewer';
GRANT ALL ON *.* TO demo@'%';
GRANT SELECT, SHOW VIEW ON *.* TO viewer@'%';
