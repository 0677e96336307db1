-- PostgreSQL only: SQLite compares all texts byte by byte.
SELECT 1;
