package owned

// part is what a table has of an owner: the rows r that where selects, with the tenant as $1 and the owner as $2.
type part struct {
	kind   string // what people call the rows; "": they are a matter of other parts, and not counted
	table  string
	where  string
	bytes  string // how long a row is
	oldest string // columns of times; "": rows have none
	newest string
}

// Conditions that parts share. Rows of threads go with these, also those that others made.
const (
	threads = `(SELECT id FROM threads WHERE tenant = $1 AND owner = $2)`
	runs    = `(SELECT id FROM runs WHERE tenant = $1 AND owner = $2 OR thread IN ` + threads + `)`
	tasks   = `(SELECT id FROM tasks WHERE tenant = $1 AND owner = $2 OR thread IN ` + threads + `)`
	itself  = `r.tenant = $1 AND r.owner = $2`
	files   = `r.thread IN ` + threads
	// Rows that belong to items name them by tenant, namespace and key.
	ofItems = `r.tenant = $1 AND EXISTS (SELECT 1 FROM items i WHERE i.tenant = r.tenant AND i.namespace = r.namespace AND i.item_key = r.item_key AND i.owner = $2)`
	// A webhook may outlive its run, and a key what it made.
	webhooks = `r.tenant = $1 AND (r.owner = $2 OR r.thread_owner = $2)`
	// The row of a key that another sent may name what the owner made, or end its route with the id of the thread or task
	// asked for.
	keyed = `r.tenant = $1 AND (r.owner = $2 OR r.made_id IN (` + ids + `) OR substr(r.route, length(r.route) - 35) IN (
 SELECT thread_id FROM threads WHERE id IN ` + threads + ` UNION SELECT task_id FROM tasks WHERE id IN ` + tasks + `))`
	ids = `SELECT thread_id FROM threads WHERE id IN ` + threads + ` UNION SELECT run_id FROM runs WHERE id IN ` + runs +
		` UNION SELECT task_id FROM tasks WHERE id IN ` + tasks + ` UNION SELECT cron_id FROM crons WHERE tenant = $1 AND owner = $2
 UNION SELECT assistant_id FROM assistants WHERE tenant = $1 AND owner = $2`
)

// parts are all that a database keeps of an owner. TestEveryTableHasAnOwnerOrNone holds them to the migrations.
var parts = []part{
	{"threads", "threads", itself, `length(r.metadata) + length(r.config) + coalesce(length(r.interrupts), 0)`, "created_us", "updated_us"},
	{"", "thread_seq", files, "", "", ""},
	{"", "updates", files, "", "", ""},
	{"tasks", "tasks", `r.id IN ` + tasks, `coalesce(length(r.input), 0) + length(r.additional)`, "created_us", "updated_us"},
	{"requests for steps", "requests", `r.task IN ` + tasks, `coalesce(length(r.input), 0) + coalesce(length(r.additional), 0)`, "", ""},
	{"runs", "runs", `r.id IN ` + runs, `length(r.metadata) + length(r.kwargs) + length(r.options) + coalesce(length(r.fault), 0)`, "created_us", "updated_us"},
	{"calls of agents", "run_calls", `r.run IN ` + runs, `length(r.head) + coalesce(length(r.sent), 0) + coalesce(length(r.received), 0)`, "", ""},
	{"events", "events", `r.thread IN (SELECT id FROM threads WHERE tenant = $1 AND owner = $2 UNION SELECT thread FROM runs WHERE tenant = $1 AND owner = $2)
 AND (r.thread IN ` + threads + ` OR r.run IN ` + runs + `)`,
		`coalesce(length(r.head), 0) + coalesce(length(r.data), 0) + coalesce(length(r.snapshot), 0)`, "at_us", "at_us"},
	{"", "links", `r.thread IN ` + threads + ` OR r.task_id IN (SELECT task_id FROM tasks WHERE tenant = $1 AND owner = $2)`, "", "", ""},
	{"files", "artifacts", files, `r.size`, "created_us", "modified_us"},
	{"items", "items", itself, `length(r.value)`, "created_us", "updated_us"},
	{"", "item_vectors", ofItems, "", "", ""},
	{"", "item_failures", ofItems, "", "", ""},
	{"assistants", "assistants", itself, `length(r.body)`, "created_us", "updated_us"},
	{"", "assistant_versions", `r.assistant IN (SELECT id FROM assistants WHERE tenant = $1 AND owner = $2)`, "", "", ""},
	{"crons", "crons", `r.tenant = $1 AND r.owner = $2 OR r.thread IN ` + threads + `
 OR r.tenant = $1 AND r.assistant_id IN (SELECT assistant_id FROM assistants WHERE tenant = $1 AND owner = $2)`,
		`length(r.metadata) + length(r.payload) + length(r.run)`, "created_us", "updated_us"},
	{"webhooks", "outbox", webhooks, `length(r.body) + length(r.url)`, "created_us", "created_us"},
	{"idempotency keys", "idempotency", keyed, `length(r.key_text)`, "created_us", "created_us"},
}

// apart are tables whose rows are of other tables' rows: the bytes of files, and what searches look for.
var apart = []string{"blobs", "chunks", "item_tokens", "item_members"}

// counters are the tables with counts of keys by their names, which Forget empties.
var counters = []string{"quota_counts", "rates"}

// nobodys are the tables that hold nothing of a principal: processes, versions, what agents say of themselves.
var nobodys = []string{"processes", "commits", "goose_db_version", "agents_seen", "agent_facts", "secrets", "item_index"}
