package archive

import (
	"strings"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// table describes how a table is exported.
type table struct {
	name    string
	order   string // columns by which its rows are ordered; the order must be unambiguous
	columns []column
	keyed   bool // the database generates its column id
	// own marks tables that a bridge fills itself. A database with rows only in these counts as empty.
	own    bool
	sealed []body // of its columns
	only   string // condition of the exported rows; "" means all
}

type column struct {
	name string
	kind kind
}

// kind is the type of a column. Texts and bytes look the same in an export, but not in a database.
type kind byte

const (
	text   kind = 't'
	number kind = '#'
	raw    kind = '*'
)

// tables lists the exported tables in order. TestEveryColumnIsExported compares them with the migrations.
var tables = []table{
	keyed("threads", "#id tenant thread_id owner status *metadata *config *interrupts #created_us #updated_us #expires_us agents #keep_latest #ttl_us name named_for"),
	listed("thread_seq", "thread", "#thread #seq head prev_head #line #base #prev_base"),
	keyed("tasks", "#id tenant task_id owner #thread agent #has_input *input *additional #topic #cursor_n #reserved_n #reserved_until_us #hooks status #status_us #created_us #updated_us"),
	listed("hooks", "task, hook_id", "#task hook_id flavour url *secret fires #created_us"),
	keyed("runs", `#id tenant run_id owner #thread #task agent assistant_id status #parked holder #fence #attempt strategy #concurrent flavour *metadata *kwargs
 *options base *fault stop #from_seq #last_seq #created_us #updated_us #started_us #ended_us #run_after_us #trimmed cancel_reason left_by
 #steps #input_tokens #output_tokens #cost_micros`),
	keyed("events", "#id #thread #seq #run kind #at_us #line checkpoint #base *head *data *snapshot"),
	listed("run_calls", "run, n", "#run #n *head *sent *received"),
	listed("links", "thread, agent, task_id", "#thread agent task_id remote *body"),
	listed("requests", "task, n", "#task #n #has_input *input *additional"),
	listed("updates", "thread", "#thread holder token"),
	keyed("outbox", "#id tenant run_id task_id hook status url *headers *body #attempts error #created_us #due_us #done_us owner thread_owner"),
	listed("idempotency", "tenant, route, key_text", "tenant route key_text *sum made_id #created_us owner"),
	keyed("artifacts", `#id #thread artifact_id task_id path #nested #size mime sum #agent_created remote_id #staged #blob #created_us #modified_us
 #run #until_run`),
	keyed("blobs", "#id #created_us #loose"),
	listed("chunks", "blob, n", "#blob #n *data"),
	keyed("crons", `#id tenant cron_id owner #thread agent assistant_id schedule timezone #enabled #keep *metadata *payload *run error #end_us #next_us
 #created_us #updated_us`),
	keyed("assistants", "#id tenant assistant_id owner graph #version #last *body #created_us #updated_us"),
	listed("assistant_versions", "assistant, version", "#assistant #version *body #created_us"),
	listed("items", "tenant, namespace, item_key", "tenant *namespace item_key owner *value *fields #ttl_us #created_us #updated_us #expires_us #vectors_us"),
	listed("item_vectors", "tenant, namespace, item_key", "tenant *namespace item_key #version *vectors"),
	listed("item_failures", "tenant, namespace, item_key", "tenant *namespace item_key #updated_us #tries #due_us"),
	filled("item_index", "id", "#id mark #generation #clearing #version owner"),
	filled("agents_seen", "name", "name #at_us"),
	filled("agent_facts", "agent, what", "agent what *body #at_us"),
	some(filled("secrets", "name", "name *value"), sqldb.NoKeyRow),
}

// left lists the tables and columns that are not exported.
var left = []string{
	"processes", "commits", "goose_db_version", "item_tokens", "item_members",
	// These are recounted at each start or valid for only a short time.
	"quota_counts", "rates",
	"items.id", "items.tokens", "items.members", "items.members_us",
}

func keyed(name, columns string) table {
	t := listed(name, "id", columns)
	t.keyed = true
	return t
}

func some(t table, only string) table {
	t.only = only
	return t
}

func filled(name, order, columns string) table {
	t := listed(name, order, columns)
	t.own = true
	return t
}

// listed parses columns as written above, with # before numbers and * before bytes.
func listed(name, order, columns string) table {
	t := table{name: name, order: order}
	for _, c := range strings.Fields(columns) {
		is := text
		if strings.HasPrefix(c, string(number)) || strings.HasPrefix(c, string(raw)) {
			is, c = (kind)(c[0]), c[1:]
		}
		t.columns = append(t.columns, column{c, is})
	}
	t.sealed = t.bodies()
	return t
}

func tableOf(name string) *table {
	for i := range tables {
		if tables[i].name == name {
			return &tables[i]
		}
	}
	return nil
}

func names() (list []string) {
	for _, t := range tables {
		list = append(list, t.name)
	}
	return list
}

// selection selects all rows. Numbers are cast to text, too, because they may be NULL.
func (t *table) selection() string {
	var list []string
	for _, c := range t.columns {
		if c.kind == number {
			list = append(list, "CAST("+c.name+" AS TEXT)")
		} else {
			list = append(list, c.name)
		}
	}
	// Qualify the columns: on PostgreSQL the selected expressions have the same names, but are text.
	order := t.name + "." + strings.ReplaceAll(t.order, ", ", ", "+t.name+".")
	text := "SELECT " + strings.Join(list, ", ") + " FROM " + t.name
	if t.only != "" {
		text += " WHERE " + t.only
	}
	return text + " ORDER BY " + order
}
