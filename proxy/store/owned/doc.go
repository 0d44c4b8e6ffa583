// Package owned knows which rows of the database are of one owner, the principal that made them, or hang on such rows:
// how many there are, what they hold, and which of them no other operation removes. Package store opens it and the
// service calls it (docs/privacy.md). It is a table of conditions, one for each table of the database: a new table
// without one fails a test. It knows tables, and nothing of runs and agents: the service ends the runs and tells the
// agents.
package owned
