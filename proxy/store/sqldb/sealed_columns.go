package sqldb

import "strings"

// SealedColumn is a column whose bodies are sealed if there are keys. Row lists the columns of its table to which the
// seal is bound. Their values never change.
type SealedColumn struct {
	Table, Name string
	Row         []columnName
}

// columnName is the name of a column, preceded by # if it holds numbers and by * if it holds bytes.
type columnName string

// Name returns the name without the prefix.
func (c columnName) Name() string { return strings.TrimLeft(string(c), "#*") }

// String returns the column in the form that Tx.Sealed and Unsealed take.
func (c SealedColumn) String() string { return c.Table + "." + c.Name }

// SealedColumns returns all sealed columns. Code that reads or writes one passes the row's key in this order.
func SealedColumns() (list []SealedColumn) {
	for line := range strings.Lines(strings.TrimSpace(sealedColumns)) {
		words := strings.Fields(line)
		table, name, _ := strings.Cut(words[0], ".")
		c := SealedColumn{Table: table, Name: name}
		for _, w := range words[1:] {
			c.Row = append(c.Row, columnName(w))
		}
		list = append(list, c)
	}
	return list
}

const sealedColumns = `
threads.config tenant thread_id
threads.interrupts #id
tasks.input tenant task_id
tasks.additional tenant task_id
runs.kwargs run_id
runs.options run_id
runs.fault run_id
run_calls.head #run #n
run_calls.sent #run #n
run_calls.received #run #n
events.head #thread #seq
events.data #thread #seq
events.snapshot #thread #seq
requests.input #task #n
requests.additional #task #n
hooks.secret #task hook_id
outbox.body run_id hook status
outbox.headers run_id hook status
idempotency.sum tenant route key_text
chunks.data #blob #n
crons.payload tenant cron_id
crons.run tenant cron_id
assistants.body tenant assistant_id
assistant_versions.body #assistant #version
items.value tenant *namespace item_key
items.tokens tenant *namespace item_key
item_vectors.vectors tenant *namespace item_key
secrets.value name
`
