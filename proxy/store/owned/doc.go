// Package owned knows which rows of the database are of one owner, the principal that made them, or hang on what is:
// how many there are, what they hold, and which of them no other operation removes. It knows tables, and nothing of
// runs and agents: these are ended and told by who removes.
package owned
