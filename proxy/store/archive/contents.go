package archive

import (
	"fmt"
	"time"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// Contents summarizes a database or an export.
type Contents struct {
	Threads, Runs, Items int64
	Schema               int64     // the version of the tables
	Changed              time.Time // last change of a thread; zero without threads
}

// String formats the contents in readable form.
func (c *Contents) String() string {
	text := fmt.Sprintf("%s, %s, %s (schema %d", counted(c.Threads, "thread"), counted(c.Runs, "run"), counted(c.Items, "item"), c.Schema)
	if !c.Changed.IsZero() {
		text += ", last changed at " + c.Changed.Format(time.RFC3339)
	}
	return text + ")"
}

func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// contents summarizes a database of any version.
func contents(t *sqldb.Tx) (*Contents, error) {
	c, changed := &Contents{}, int64(0)
	err := t.Get(`SELECT (SELECT count(*) FROM threads), (SELECT count(*) FROM runs), (SELECT count(*) FROM items), (SELECT coalesce(max(updated_us), 0) FROM threads)`,
		nil, []any{&c.Threads, &c.Runs, &c.Items, &changed})
	if err != nil {
		return nil, err
	}
	c.Changed = sqldb.TimeOf(changed)
	c.Schema, err = sqldb.SchemaOf(t)
	return c, err
}
