DROP TABLE review; DROP TABLE book;
