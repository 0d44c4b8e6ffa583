package store

// ownedTable describes the rows of one table that belong to an owner: the rows r that match where, with the tenant as
// $1 and the owner as $2.
type ownedTable struct {
	kind   string // name of the rows in reports; "" if they belong to other rows and are not counted
	table  string
	where  string
	bytes  string // expression for the size of a row
	oldest string // expressions for its times; "" if it has none
	newest string
}

// Conditions used for several tables. Rows that belong to threads count as the thread owner's, even if others created
// them.
const (
	ownedThreads   = `(SELECT id FROM threads WHERE tenant = $1 AND owner = $2)`
	ownedRuns      = `(SELECT id FROM runs WHERE tenant = $1 AND owner = $2 OR thread IN ` + ownedThreads + `)`
	ownedTasks     = `(SELECT id FROM tasks WHERE tenant = $1 AND owner = $2 OR thread IN ` + ownedThreads + `)`
	ownedRows      = `r.tenant = $1 AND r.owner = $2`
	onOwnedThreads = `r.thread IN ` + ownedThreads
	// Rows that belong to items refer to them by tenant, namespace and key.
	ofOwnedItems = `r.tenant = $1 AND EXISTS (SELECT 1 FROM items i WHERE i.tenant = r.tenant AND i.namespace = r.namespace AND i.item_key = r.item_key AND i.owner = $2)`
	// A webhook may outlive its run, and an idempotency key its object.
	ownedWebhooks = `r.tenant = $1 AND (r.owner = $2 OR r.thread_owner = $2)`
	// An idempotency key of another principal may refer to an object of the owner, or its route may end with the id of
	// the owner's thread or task.
	ownedKeys = `r.tenant = $1 AND (r.owner = $2 OR r.made_id IN (` + ownedIDs + `) OR substr(r.route, length(r.route) - 35) IN (
 SELECT thread_id FROM threads WHERE id IN ` + ownedThreads + ` UNION SELECT task_id FROM tasks WHERE id IN ` + ownedTasks + `))`
	ownedIDs = `SELECT thread_id FROM threads WHERE id IN ` + ownedThreads + ` UNION SELECT run_id FROM runs WHERE id IN ` + ownedRuns +
		` UNION SELECT task_id FROM tasks WHERE id IN ` + ownedTasks + ` UNION SELECT cron_id FROM crons WHERE tenant = $1 AND owner = $2
 UNION SELECT assistant_id FROM assistants WHERE tenant = $1 AND owner = $2`
)

// ownedTables lists all tables with data of an owner. TestEveryTableHasAnOwnerOrNone compares them with the schema.
var ownedTables = []ownedTable{
	{"threads", "threads", ownedRows, `length(r.metadata) + length(r.config) + coalesce(length(r.interrupts), 0)`, "created_us", "updated_us"},
	{"", "thread_seq", onOwnedThreads, "", "", ""},
	{"", "updates", onOwnedThreads, "", "", ""},
	{"tasks", "tasks", `r.id IN ` + ownedTasks, `coalesce(length(r.input), 0) + length(r.additional)`, "created_us", "updated_us"},
	{"requests for steps", "requests", `r.task IN ` + ownedTasks, `coalesce(length(r.input), 0) + coalesce(length(r.additional), 0)`, "", ""},
	{"", "hooks", `r.task IN ` + ownedTasks, "", "", ""},
	{"runs", "runs", `r.id IN ` + ownedRuns, `length(r.metadata) + length(r.kwargs) + length(r.options) + coalesce(length(r.fault), 0)`, "created_us", "updated_us"},
	{"calls of agents", "run_calls", `r.run IN ` + ownedRuns, `length(r.head) + coalesce(length(r.sent), 0) + coalesce(length(r.received), 0)`, "", ""},
	{"events", "events", `r.thread IN (SELECT id FROM threads WHERE tenant = $1 AND owner = $2 UNION SELECT thread FROM runs WHERE tenant = $1 AND owner = $2)
 AND (r.thread IN ` + ownedThreads + ` OR r.run IN ` + ownedRuns + `)`,
		`coalesce(length(r.head), 0) + coalesce(length(r.data), 0) + coalesce(length(r.snapshot), 0)`, "at_us", "at_us"},
	{"", "links", `r.thread IN ` + ownedThreads + ` OR r.task_id IN (SELECT task_id FROM tasks WHERE tenant = $1 AND owner = $2)`, "", "", ""},
	{"files", "artifacts", onOwnedThreads, `r.size`, "created_us", "modified_us"},
	{"items", "items", ownedRows, `length(r.value)`, "created_us", "updated_us"},
	{"", "item_vectors", ofOwnedItems, "", "", ""},
	{"", "item_failures", ofOwnedItems, "", "", ""},
	{"assistants", "assistants", ownedRows, `length(r.body)`, "created_us", "updated_us"},
	{"", "assistant_versions", `r.assistant IN (SELECT id FROM assistants WHERE tenant = $1 AND owner = $2)`, "", "", ""},
	{"crons", "crons", `r.tenant = $1 AND r.owner = $2 OR r.thread IN ` + ownedThreads + `
 OR r.tenant = $1 AND r.assistant_id IN (SELECT assistant_id FROM assistants WHERE tenant = $1 AND owner = $2)`,
		`length(r.metadata) + length(r.payload) + length(r.run)`, "created_us", "updated_us"},
	{"webhooks", "outbox", ownedWebhooks, `length(r.body) + length(r.url)`, "created_us", "created_us"},
	{"idempotency keys", "idempotency", ownedKeys, `length(r.key_text)`, "created_us", "created_us"},
}

// dependentTables are tables whose rows belong to rows of other tables: the bytes of files, and search indexes.
var dependentTables = []string{"blobs", "chunks", "item_tokens", "item_members"}

// counterTables are the tables with usage counts by key, which EraseCounts empties.
var counterTables = []string{"quota_counts", "rates"}

// sharedTables are the tables without data of a principal: processes, versions, and facts about agents.
var sharedTables = []string{"processes", "commits", "goose_db_version", "agents_seen", "agent_facts", "secrets", "item_index"}
