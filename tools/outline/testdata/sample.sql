-- CREATE TABLE commented (id int);
CREATE TABLE IF NOT EXISTS items (
  id serial PRIMARY KEY,
  note text DEFAULT 'CREATE TABLE in_string ('
);

create unique index items_name on items (name);

CREATE OR REPLACE VIEW totals AS
SELECT count(*) FROM items;

CREATE FUNCTION add_item(name text, price int) RETURNS int AS $$
BEGIN
  CREATE TABLE inside (id int);
END;
$$ LANGUAGE plpgsql;

ALTER TABLE items ADD COLUMN sold boolean;

INSERT INTO items (note) VALUES ('x');
