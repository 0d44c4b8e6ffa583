package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// agentLine adds an agent, so that a case has no problem of a missing one.
const agentLine = "\nagents: {a: {url: 'http://127.0.0.1:1'}}\n"

// TestProblems covers every kind of mistake in a file and its message.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		file string
		env  []string
		want string
	}{
		{"unknown key near a known one", "lisen: x" + agentLine,
			nil, `bridge.yaml:1: lisen: there is no such key; did you mean "listen"?`},
		{"unknown key far from all", "cors: {anything: 1}" + agentLine,
			nil, `bridge.yaml:1: cors.anything: there is no such key; known here: origins`},
		{"unknown key in an agent", "agents:\n  a:\n    url: http://127.0.0.1:1\n    max_step: 3\n",
			nil, `bridge.yaml:4: agents.a.max_step: there is no such key; did you mean "max_steps"?`},
		{"renamed keys", "limits: {depth: 7}\nagents:\n  a:\n    url: http://127.0.0.1:1\n    upstream_threads: keep\n    memory: {budget: 3}\n",
			[]string{"APBRIDGE_AGENTS__A__STEPPING__FOLLOW_UP=true"}, `bridge.yaml:1: limits.depth: there is no such key; it is now called "max_json_depth"
bridge.yaml:5: agents.a.upstream_threads: there is no such key; it is now called "delete_upstream_threads"
bridge.yaml:6: agents.a.memory.budget: there is no such key; it is now called "max_bytes"
environment APBRIDGE_AGENTS__A__STEPPING__FOLLOW_UP: agents.a.stepping.follow_up: there is no such key; it is now called "follow_up_runs"`},
		{"wrong types, all at once", "listen: [a]\nlimits: 3\nhosts: x\nretention: {events: soon, threads: -1h}\nlimits2: 1" + agentLine,
			nil, `bridge.yaml:1: listen: must be text, not a list
bridge.yaml:2: limits: must have keys with values (known here: artifact, body, crons, database, event, max_files_per_request, max_json_depth, max_prune_threads, max_state_keys, max_supersteps, messages, queue, request_memory, run_bytes, run_events, tenant, tenants, thread_queue, upload_rate), not a single value
bridge.yaml:3: hosts: must be a list such as [a, b], not a single value
bridge.yaml:4: retention.events: must be a duration such as 30s, 10m, 168h or 7d, not "soon"
bridge.yaml:4: retention.threads: must be a duration such as 30s, 10m, 168h or 7d, not "-1h"
bridge.yaml:5: limits2: there is no such key; did you mean "limits"?`},
		{"sizes, numbers, booleans", "agents:\n  a:\n    url: http://127.0.0.1:1\n    concurrency: many\n    passthrough: yes\n    artifacts: {max_inline: 3 apples}\n",
			nil, `bridge.yaml:4: agents.a.concurrency: must be a whole number, not "many"
bridge.yaml:5: agents.a.passthrough: must be true or false, not "yes"
bridge.yaml:6: agents.a.artifacts.max_inline: must be a size such as 64KiB, 16MiB or 1GiB, not "3 apples"`},
		{"an agent that is the bridge", "listen: 127.0.0.1:1" + agentLine,
			nil, `bridge.yaml:2: agents.a.url: is the address of this bridge (listen: 127.0.0.1:1), so each request would come back to it; write the agent's address`},
		{"written twice", "listen: 127.0.0.1:3\nlisten: 127.0.0.1:2" + agentLine,
			nil, `bridge.yaml:2: listen: is written twice, first in line 1; keep one`},
		{"merge keys", "agents:\n  a: &a {url: 'http://127.0.0.1:1'}\n  b: {<<: *a, url: 'http://127.0.0.1:1'}\n",
			nil, `bridge.yaml:3: agents.b: merge keys (<<) are not supported; write the keys out`},
		{"two documents", agentLine + "---\nlisten: x\n",
			nil, `bridge.yaml: contains more than one YAML document; keep one`},
		{"no YAML", "a: [",
			nil, "bridge.yaml: is not YAML: line 1: did not find expected node content; fix that line. For a valid file to start from, run apbridge init"},
		{"a tab", "agents:\n\ta:\n\t\turl: http://127.0.0.1:1\n",
			nil, "bridge.yaml: is not YAML: line 2 is indented by a tab; write spaces. For a valid file to start from, run apbridge init"},
		{"less indented than its neighbours", "agents:\n  a:\n    url: http://127.0.0.1:1\n   dialect: auto\n",
			nil, "bridge.yaml: is not YAML: line 4 is indented by 3 spaces, unlike every line above it that it could belong to; begin keys of one level in the same column. For a valid file to start from, run apbridge init"},
		{"more indented than its neighbours", "# a\nagents:\n  a:\n    url: http://127.0.0.1:1\n      dialect: auto # b\n",
			nil, "bridge.yaml: is not YAML: line 5 is indented by 6 spaces, unlike every line above it that it could belong to; begin keys of one level in the same column. For a valid file to start from, run apbridge init"},
		{"an unclosed quote", "agents:\n  a:\n    url: \"http://127.0.0.1:1\n    dialect: auto\n",
			nil, `bridge.yaml: is not YAML: line 3: a text begins with " and does not end; write the other ". For a valid file to start from, run apbridge init`},
		{"another unclosed quote", "agents:\n  a: {url: 'http://127.0.0.1:1}\n",
			nil, `bridge.yaml: is not YAML: line 2: a text begins with ' and does not end; write the other '. For a valid file to start from, run apbridge init`},
		{"a key in the column of names", "agents:\n  a:\n  url: http://127.0.0.1:1\n",
			nil, "bridge.yaml:2: agents.a.url: is missing; write the agent's address\nbridge.yaml:3: agents.url: is not a name in agents; indent it further, below the name that it belongs to"},
		{"no space behind a colon", "agents:\n  a:\n    url:http://127.0.0.1:1\n",
			nil, "bridge.yaml:3: agents.a: has no space after a colon; write url: http://127.0.0.1:1\nbridge.yaml:3: agents.a.url: is missing; write the agent's address"},
		{"nothing", "# nothing\n",
			nil, `agents: there are no agents; add one below agents:, or with --agent NAME=URL`},
		{"bad values", "listen: '8080'\nsynchronous: sometimes\ndatabase: ''\nlimits: {max_json_depth: 0, body: 0}" + agentLine,
			nil, `bridge.yaml:1: listen: cannot be "8080"; write host:port, like 127.0.0.1:8080
bridge.yaml:2: synchronous: cannot be "sometimes"; choose one of full, normal
bridge.yaml:3: database: is empty; write the path of a SQLite file, like apbridge.db
bridge.yaml:4: limits.body: cannot be 0; leave the key out for the default
bridge.yaml:4: limits.max_json_depth: cannot be 0; the minimum is 1`},
		{"a store of nobody", "store: {agent: b}" + agentLine,
			nil, `bridge.yaml:1: store.agent: cannot be "b", which is not below agents; name the agent whose store is to be used`},
		{"a store of an agent that has none", "store: {agent: a}\nagents: {a: {url: 'http://127.0.0.1:1', dialect: taskstep}}\n",
			nil, `bridge.yaml:1: store.agent: names "a", whose dialect taskstep has no store; name a thread/run agent, or leave it out for the bridge's own`},
		{"what the agent's store has no use for", `store: {agent: a, index: {embed: "ollama:m", dims: 3}, ttl: {default_ttl: 3}}
agents: {a: {url: 'http://127.0.0.1:1'}, b: {url: 'http://127.0.0.1:2', memory: {namespaces: [x]}}}
limits: {tenant: {items: 3}}
`,
			nil, `bridge.yaml:1: store.index.embed: has no effect, because clients use the store of agent "a" (store.agent). Configure it in the agent's server and leave this out
bridge.yaml:1: store.ttl.default_ttl: has no effect, because clients use the store of agent "a" (store.agent). Configure it in the agent's server and leave this out
bridge.yaml:2: agents.b.memory.namespaces: belong to the bridge's own store, which no client can write to while store.agent is set; leave one of them out
bridge.yaml:3: limits.tenant.items: has no effect, because clients use the store of agent "a" (store.agent); leave it out`},
		{"one store for several tenants", "store: {agent: a}\nauth: {keys: [{id: x, key: sixteen letters x, tenant: one}, {id: y, key: sixteen letters y}]}" + agentLine,
			nil, `bridge.yaml:1: store.agent: gives all tenants the same store, because agents do not know tenants, and there are "", one; leave it out, or use one tenant`},
		{"a store for tenants of tokens", "store: {agent: a}\nauth: {jwt: [{id: c, issuer: 'https://x.example', audience: [y], claims: {tenant: org}}]}" + agentLine,
			nil, `bridge.yaml:1: store.agent: gives all tenants the same store, because agents do not know tenants, and tokens name their tenants (auth.jwt[0].claims.tenant); leave it out, or use one tenant`},
		{"a server without a database", "database: postgres://" + agentLine,
			nil, `bridge.yaml:1: database: names no database of the PostgreSQL server; write it like postgres://user:password@host:5432/name`},
		{"what a server cannot", "database: postgres://me@db.example.com/x\nsecure_delete: true" + agentLine,
			nil, `bridge.yaml:2: secure_delete: only applies to SQLite files; PostgreSQL keeps deleted rows until its VACUUM, so leave this out`},
		{"a server alone", "database: postgresql://user:secret@db.example.com?sslmode=require" + agentLine,
			nil, `bridge.yaml:1: database: names no database of the PostgreSQL server; write it like postgres://user:password@host:5432/name`},
		{"a server by keywords", "database: host=db.example.com dbname=x password=secret" + agentLine,
			nil, `bridge.yaml:1: database: describes a PostgreSQL server by keywords; write it like postgres://user:password@host:5432/name`},
		{"another kind of server", "database: mysql://user:secret@db.example.com/x" + agentLine,
			nil, `bridge.yaml:1: database: is a URL of "mysql"; write the path of a SQLite file, or postgres://user:password@host:5432/name`},
		{"a bound that is no file's", "database: postgres://127.0.0.1/db\nlimits: {database: 1GiB}" + agentLine,
			nil, `bridge.yaml:2: limits.database: only limits a SQLite file; set a quota in PostgreSQL, and leave this out`},
		{"a bound that is too tight", "limits: {database: 1KiB}" + agentLine,
			nil, `bridge.yaml:1: limits.database: cannot be 1024; the minimum is 1048576`},
		{"open to others without keys", "listen: 0.0.0.0:8080" + agentLine,
			nil, `bridge.yaml:1: listen: 0.0.0.0:8080 can be reached from other machines, but auth.keys is empty, so everybody there could use the agents; listen on 127.0.0.1, or add a key`},
		{"all interfaces without keys", "listen: ':8080'\nadmin: ':6060'" + agentLine,
			nil, `bridge.yaml:1: listen: :8080 can be reached from other machines, but auth.keys is empty, so everybody there could use the agents; listen on 127.0.0.1, or add a key
bridge.yaml:2: admin: :6060 can be reached from other machines; it shows the internals of the process, so keep it on 127.0.0.1`},
		{"agent names", "agents:\n  a/b: {url: 'http://127.0.0.1:1'}\n  search: {url: 'http://127.0.0.1:1'}\n  6ba7b821-9dad-11d1-80b4-00c04fd430c8: {url: 'http://127.0.0.1:1'}\n",
			nil, `bridge.yaml:2: agents.a/b: the name "a/b" cannot be used; take 1 to 64 of A-Z a-z 0-9 _ -
bridge.yaml:3: agents.search: an agent cannot be called "search", which is a route
bridge.yaml:4: agents.6ba7b821-9dad-11d1-80b4-00c04fd430c8: an agent's name cannot be a UUID, because assistants have UUIDs`},
		{"default agent", "default_agent: b\nagents:\n  abc: {url: 'http://127.0.0.1:1'}\n",
			nil, `bridge.yaml:1: default_agent: there is no agent called "b"; known here: abc`},
		{"agent values", "agents:\n  a:\n    url: ftp://x\n    dialect: soap\n    approval: never\n    step_timeout: 0s\n    retries: -1\n    stepping: {mode: jump}\n",
			nil, `bridge.yaml:3: agents.a.url: cannot be "ftp://x"; write it like http://127.0.0.1:8000
bridge.yaml:4: agents.a.dialect: cannot be "soap"; choose one of auto, taskstep, threadrun
bridge.yaml:5: agents.a.approval: cannot be "never"; choose one of auto, ask, step
bridge.yaml:6: agents.a.step_timeout: cannot be 0; leave the key out for the default
bridge.yaml:7: agents.a.retries: cannot be -1; the minimum is 0
bridge.yaml:8: agents.a.stepping.mode: cannot be "jump"; choose one of auto, free, lockstep, run`},
		{"agent without URL", "agents:\n  a:\n  b: {url: 'http://me:secret@127.0.0.1:1'}\n",
			nil, `bridge.yaml:2: agents.a.url: is missing; write the agent's address
bridge.yaml:3: agents.b.url: contains a user name or password; send credentials in headers instead`},
		{"E7 headers", "agents:\n  a:\n    url: http://127.0.0.1:1\n    headers: {'X Y': a, Host: b, X-Ok: \"c\\r\\nX-Evil: d\"}\n",
			nil, `bridge.yaml:4: agents.a.headers.Host: this header belongs to the bridge and cannot be set
bridge.yaml:4: agents.a.headers.X Y: this is not the name of a header
bridge.yaml:4: agents.a.headers.X-Ok: the value contains a line break or another control character`},
		{"secrets that are not there", "agents:\n  a:\n    url: http://127.0.0.1:1\n    headers: {Authorization: 'env:NOT_SET', X-Key: 'file:/nonexistent/secret'}\n",
			nil, `bridge.yaml:4: agents.a.headers.Authorization: the environment variable NOT_SET is not set; set it, or write file:PATH
bridge.yaml:4: agents.a.headers.X-Key: the secret's file /nonexistent/secret cannot be read: no such file or directory`},
		{"E3 origins", "cors: {origins: ['null', 'http://localhost:3000/', 'https://*.example.com', '*']}" + agentLine,
			nil, `bridge.yaml:1: cors.origins[0]: "null" is the origin of every sandboxed page and local file; name the origins to allow
bridge.yaml:1: cors.origins[1]: cannot be "http://localhost:3000/"; write scheme://host[:port] in lower case and nothing after it, like http://localhost:3000, or loopback for all pages of this machine
bridge.yaml:1: cors.origins[2]: cannot be "https://*.example.com"; write scheme://host[:port] in lower case and nothing after it, like http://localhost:3000, or loopback for all pages of this machine
bridge.yaml:1: cors.origins[3]: "*" allows every origin, so the others have no effect; keep "*" or the list`},
		{"webhooks", "webhooks: {hosts: ['https://hooks.example.com', 'h.example:443', '*', 10.0.0.5, '*.example.com'], previous_secret: env:S}" + agentLine,
			[]string{"S=before"}, `bridge.yaml:1: webhooks.hosts[0]: cannot be "https://hooks.example.com"; write a host without scheme and port, like hooks.example.com, or *.example.com for all below one
bridge.yaml:1: webhooks.hosts[1]: cannot be "h.example:443"; write a host without scheme and port, like hooks.example.com, or *.example.com for all below one
bridge.yaml:1: webhooks.hosts[2]: cannot be "*"; write a host without scheme and port, like hooks.example.com, or *.example.com for all below one
bridge.yaml:1: webhooks.previous_secret: is used in addition to webhooks.secret, which is missing; write it there`},
		{"the webhooks' secret twice", "webhooks: {secret: env:S, previous_secret: env:S}" + agentLine,
			[]string{"S=same"}, `bridge.yaml:1: webhooks.previous_secret: is the same as webhooks.secret; leave it out`},
		{"headers of a principal", "agents: {a: {url: 'http://127.0.0.1:1', headers: {X-A: '{principal.name}', X-B: '{ principal.id}', X-C: '{principal.id', X-D: '{other}'}}}\nstore: {index: {dims: 3, embed: 'openai:m', url: 'http://127.0.0.1:1', headers: {X-E: '{principal.id}'}}}\n",
			nil, `bridge.yaml:1: agents.a.headers.X-A: there is no {principal.name}; write {principal.id} or {principal.tenant}
bridge.yaml:1: agents.a.headers.X-B: there is no { principal.id}; write {principal.id} or {principal.tenant}
bridge.yaml:1: agents.a.headers.X-C: there is no {principal.id; write {principal.id} or {principal.tenant}
bridge.yaml:2: store.index.headers.X-E: cannot contain the principal, because texts of several principals are sent in one request`},
		{"half of a certificate", "tls: {cert: cert.pem}" + agentLine,
			nil, `bridge.yaml:1: tls.key: is missing; name the file with the key of tls.cert`},
		{"TLS towards an agent without it", "agents: {a: {url: 'http://127.0.0.1:1', tls: {server_name: x}}}\n",
			nil, `bridge.yaml:1: agents.a.tls: has no effect, because agents.a.url begins with http://; write https:// there, or leave this out`},
		{"half of a certificate for an agent", "agents: {a: {url: 'https://127.0.0.1:1', tls: {key: key.pem}}}\n",
			nil, `bridge.yaml:1: agents.a.tls.cert: is missing; name the file with the certificate of agents.a.tls.key`},
		{"an agent's authorities that are not there", "agents: {a: {url: 'https://127.0.0.1:1', tls: {ca: /nonexistent/ca.pem}}}\n",
			nil, `bridge.yaml:1: agents.a.tls.ca: cannot be used: no such file or directory; name files in PEM, and the key of the certificate`},
		{"authorities without a certificate", "tls: {client_ca: ca.pem}" + agentLine,
			nil, `bridge.yaml:1: tls.cert: is missing; without it the bridge does not use TLS, and tls.client_ca has no effect`},
		{"a certificate that is not there", "tls: {cert: /nonexistent/cert.pem, key: /nonexistent/key.pem}" + agentLine,
			nil, `bridge.yaml:1: tls.cert: cannot be used with tls.key: /nonexistent/cert.pem: no such file or directory`},
		{"E3 any origin without keys", "cors: {origins: ['*']}" + agentLine,
			nil, `bridge.yaml:1: cors.origins[0]: "*" without auth.keys would let any web page in a browser on this machine use the agents; name the origins, or add a key`},
		{"keys", "auth:\n  keys:\n    - {key: short}\n    - {id: a, key: '" + key16 + "', agents: [b], rights: [reed]}\n    - {id: a, key: '" + key16 + "'}\n    - {id: c, key: 'sha256:12'}\n    - id: d\n" + agentLine,
			nil, `bridge.yaml:3: auth.keys[0].id: is missing; logs show the id instead of the key
bridge.yaml:3: auth.keys[0].key: is shorter than 16 characters and could be guessed; try openssl rand -hex 24
bridge.yaml:4: auth.keys[1].agents[0]: there is no agent called "b"; known here: a
bridge.yaml:4: auth.keys[1].rights[0]: there is no right called "reed"; did you mean "read"?
bridge.yaml:5: auth.keys[2].id: "a" is taken by a key above; ids must differ
bridge.yaml:5: auth.keys[2].key: is the same as a key above; keys must differ
bridge.yaml:6: auth.keys[3].key: sha256: must be followed by 64 hexadecimal digits
bridge.yaml:7: auth.keys[4].key: is missing; write env:NAME, file:PATH or sha256:HEX`},
		{"keys that no database can keep", "auth:\n  keys:\n    - {id: \"a\\0\", tenant: \"\\0\", key: '" + key16 + "'}\n" + agentLine,
			nil, `bridge.yaml:3: auth.keys[0].id: contains U+0000, which cannot be stored; leave it out
bridge.yaml:3: auth.keys[0].tenant: contains U+0000, which cannot be stored; leave it out`},
		{"an index of code", "store: {index: {dims: 2, embed: './embed.py:texts'}}" + agentLine,
			nil, `bridge.yaml:1: store.index.embed: cannot be "./embed.py:texts", because the bridge does not run a graph's code; serve the function behind an OpenAI-compatible /v1/embeddings, write its address as store.index.url, and write provider:model`},
		{"an index without a provider", "store: {index: {dims: 2, embed: text-embedding-3-small}}" + agentLine,
			nil, `bridge.yaml:1: store.index.embed: cannot be "text-embedding-3-small"; write provider:model, like openai:text-embedding-3-small`},
		{"an index of an unknown place", "store: {index: {dims: 2, embed: 'cohere:embed-v3'}}" + agentLine,
			nil, `bridge.yaml:1: store.index.url: is missing; write the address at which "cohere" serves /embeddings, which can be any OpenAI-compatible server`},
		{"an index without what it needs", "store: {vector_cache: 1, index: {embed: 'openai:m', fields: [], batch: 0, batch_bytes: 0, timeout: 0s, headers: {Host: x}}}" + agentLine,
			nil, `bridge.yaml:1: store.index.fields: is empty, so no item would be found by its meaning; leave it out, or name paths
bridge.yaml:1: store.index.dims: cannot be 0; the minimum is 1
bridge.yaml:1: store.index.batch: cannot be 0; the minimum is 1
bridge.yaml:1: store.index.batch_bytes: cannot be 0; leave the key out for the default
bridge.yaml:1: store.index.timeout: cannot be 0; leave the key out for the default
bridge.yaml:1: store.index.headers.Host: this header belongs to the bridge and cannot be set`},
		{"an index of OpenAI without a key", "store: {index: {dims: 2, embed: 'openai:m'}}" + agentLine,
			nil, `bridge.yaml:1: store.index.key: is missing; OpenAI requires one: write env:NAME or file:PATH, or set OPENAI_API_KEY`},
		{"an index that does nothing", "store: {index: {dims: 2, url: 'http://127.0.0.1:1'}}" + agentLine,
			nil, `bridge.yaml:1: store.index.embed: is missing; write provider:model, like openai:text-embedding-3-small`},
		{"an index of what is no path", "store: {index: {dims: 2, embed: 'ollama:m:latest', fields: [a, 'b[']}}" + agentLine,
			nil, `bridge.yaml:1: store.index.fields[1]: "b[" has a bracket that is not closed; write paths like text or notes[*].text, or $ for the whole value`},
		{"names and networks", "hosts: ['http://x']\ntrusted_proxies: [10.0.0.0/8, x]" + agentLine,
			nil, `bridge.yaml:1: hosts[0]: cannot be "http://x"; write a name without scheme and port, like bridge.local
bridge.yaml:2: trusted_proxies[1]: cannot be "x"; write an address or a network, like 10.0.0.0/8`},
		{"what this version does not do", "memory: {embeddings: {key: 'env:SECRET'}}\nagents:\n  a: {url: 'http://127.0.0.1:1'}\nauth: {oauth: {methods: [RS256]}}",
			[]string{"SECRET=x"}, `bridge.yaml:1: memory: there is no such key; known here: a2a, admin, agents, audit, auth, cors, database, default_agent, encryption, hosts, inspector, limits, listen, log, retention, secure_delete, shutdown_grace, store, synchronous, tls, trusted_proxies, webhooks
bridge.yaml:4: auth.oauth: there is no such key; known here: certificates, jwt, keys`},
		{"keys that are none", "encryption: {keys: [short, 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=', 'env:NONE', 'env:KEY', 'env:KEY', '']}" + agentLine,
			[]string{"KEY=303132333435363738393031323334353637383930313233343536373839ff0a"}, `bridge.yaml:1: encryption.keys[2]: the environment variable NONE is not set; set it, or write file:PATH
bridge.yaml:1: encryption.keys[0]: is not a key: a key is 32 random bytes as base64 or as 64 hexadecimal digits; create one with: openssl rand -base64 32
bridge.yaml:1: encryption.keys[1]: is not a key: a key is 32 random bytes as base64 or as 64 hexadecimal digits; create one with: openssl rand -base64 32
bridge.yaml:1: encryption.keys[4]: is the same key as encryption.keys[3]; list each key once, with the one for writing first
bridge.yaml:1: encryption.keys[5]: is not a key: a key is 32 random bytes as base64 or as 64 hexadecimal digits; create one with: openssl rand -base64 32`},
		{"plain without keys", "encryption: {write: plain}" + agentLine,
			nil, `bridge.yaml:1: encryption.write: is plain, which is also the default without keys; leave it out, or add the keys for reading`},
		{"patterns and templates", "agents:\n  a: {url: 'http://127.0.0.1:1', artifacts: {exclude: ['*.log', '[']}, memory: {namespaces: ['users/{id}', 'a.b', '', 'x/{id', 'u/{metadata.id}/{configurable.id}']}}",
			nil, `bridge.yaml:2: agents.a.artifacts.exclude[1]: "[" is not a pattern; write paths with * and ?, like build/*.log
bridge.yaml:2: agents.a.memory.namespaces[1]: cannot be "a.b"; write labels separated by slashes, like users/{user_id}
bridge.yaml:2: agents.a.memory.namespaces[2]: cannot be ""; write labels separated by slashes, like users/{user_id}
bridge.yaml:2: agents.a.memory.namespaces[3]: cannot be "x/{id"; write labels separated by slashes, like users/{user_id}`},
		{"templates of fields that are not there", "agents:\n  a: {url: 'http://127.0.0.1:1', memory: {namespaces: ['users/{user.id}', 'x/{metadata.}', '{context.user}', 'users/{principal.id}', '{principal.name}']}}",
			nil, `bridge.yaml:2: agents.a.memory.namespaces[0]: there is no field {user.id}; write {metadata.NAME} for the thread's metadata, {configurable.NAME} for config.configurable, {NAME} for either, or {principal.id} for the caller's id
bridge.yaml:2: agents.a.memory.namespaces[1]: there is no field {metadata.}; write {metadata.NAME} for the thread's metadata, {configurable.NAME} for config.configurable, {NAME} for either, or {principal.id} for the caller's id
bridge.yaml:2: agents.a.memory.namespaces[2]: there is no field {context.user}; write {metadata.NAME} for the thread's metadata, {configurable.NAME} for config.configurable, {NAME} for either, or {principal.id} for the caller's id
bridge.yaml:2: agents.a.memory.namespaces[4]: there is no field {principal.name}; write {metadata.NAME} for the thread's metadata, {configurable.NAME} for config.configurable, {NAME} for either, or {principal.id} for the caller's id`},
		{"memory of no namespaces", "agents:\n  a:\n    url: http://127.0.0.1:1\n    memory:\n      max_items: 3\n      allow_writes: true\n      store_url: http://x\n      max_bytes: 0",
			nil, `bridge.yaml:5: agents.a.memory.max_items: has no effect without namespaces, because an agent only reads and writes in its memory.namespaces; name some
bridge.yaml:6: agents.a.memory.allow_writes: has no effect without namespaces, because an agent only reads and writes in its memory.namespaces; name some
bridge.yaml:7: agents.a.memory.store_url: has no effect without namespaces, because an agent only reads and writes in its memory.namespaces; name some
bridge.yaml:8: agents.a.memory.max_bytes: cannot be 0; the minimum is 1`},
		{"where an agent finds the store", "agents: {a: {url: 'http://127.0.0.1:1', memory: {namespaces: ['a/{metadata.a.b}'], store_url: nowhere, max_items: -1}}}",
			nil, `bridge.yaml:1: agents.a.memory.namespaces[0]: there is no field {metadata.a.b}; write {metadata.NAME} for the thread's metadata, {configurable.NAME} for config.configurable, {NAME} for either, or {principal.id} for the caller's id
bridge.yaml:1: agents.a.memory.max_items: cannot be -1; the minimum is 0
bridge.yaml:1: agents.a.memory.store_url: cannot be "nowhere"; write it like http://127.0.0.1:8000`},
		{"namespaces of keys", "auth: {keys: [{id: a, key: '" + key16 + "', namespaces: [users/a, '', a.b, 'users/{user}', 'a//b', \"a\\0\"]}]}" + agentLine,
			nil, `bridge.yaml:1: auth.keys[0].namespaces[1]: cannot be ""; write labels separated by slashes, like users/alice or users/{id}
bridge.yaml:1: auth.keys[0].namespaces[2]: cannot be "a.b"; write labels separated by slashes, like users/alice or users/{id}
bridge.yaml:1: auth.keys[0].namespaces[3]: cannot be "users/{user}"; write labels separated by slashes, like users/alice or users/{id}
bridge.yaml:1: auth.keys[0].namespaces[4]: cannot be "a//b"; write labels separated by slashes, like users/alice or users/{id}
bridge.yaml:1: auth.keys[0].namespaces[5]: contains U+0000, which cannot be stored; leave it out`},
		{"issuers of tokens", "auth:\n  jwt:\n    - {}\n    - {id: b, issuer: 'http://issuer.example', audience: [x], algorithms: [HS256, none], leeway: 1h, claims: {id: ''}}\n    - {id: b, issuer: 'http://issuer.example', jwks: 'ftp://x', audience: [x], algorithms: [], scope: all}\n  keys: [{id: 'b:c', key: '" + key16 + "'}]\n" + agentLine,
			nil, `bridge.yaml:3: auth.jwt[0].id: is missing; logs show the id instead of the key
bridge.yaml:3: auth.jwt[0].issuer: is missing; write the iss of the tokens
bridge.yaml:3: auth.jwt[0].audience: is missing; without it, tokens that the issuer creates for other services would be valid here too
bridge.yaml:3: auth.jwt: ids of tokens begin with "b:", and so does "b:c"; choose another id
bridge.yaml:4: auth.jwt[1].issuer: is used to request keys without TLS, so anyone on the way could replace them; write https://, or name a file as jwks
bridge.yaml:4: auth.jwt[1].algorithms[0]: cannot be "HS256"; choose one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA
bridge.yaml:4: auth.jwt[1].algorithms[1]: cannot be "none"; choose one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA
bridge.yaml:4: auth.jwt[1].leeway: cannot be more than 5m0s, because tokens would be valid long after they expire; synchronize the clocks instead
bridge.yaml:4: auth.jwt[1].claims.id: is empty; name the claim that identifies the caller, such as sub
bridge.yaml:5: auth.jwt[2].id: "b" is taken by a key above; ids must differ
bridge.yaml:5: auth.jwt[2].jwks: cannot be used to request keys; write an https URL, or name a file as jwks
bridge.yaml:5: auth.jwt[2].algorithms: is empty, so no token would be valid; leave it out for the usual ones
bridge.yaml:5: auth.jwt[2].scope: cannot be "all"; choose one of own, tenant
bridge.yaml:5: auth.jwt[2].issuer: "http://issuer.example" is also the issuer of an entry above; issuers must differ`},
		{"certificates of clients", "auth:\n  certificates:\n    - {id: a}\n    - {id: b, subject: CN=b, san: b}\n    - {id: b, san: b, rights: [all]}\n" + agentLine,
			nil, `bridge.yaml:3: auth.certificates[0]: must have either subject or san, the name in the certificate that identifies the client
bridge.yaml:4: auth.certificates[1]: must have either subject or san, the name in the certificate that identifies the client
bridge.yaml:5: auth.certificates[2].id: "b" is taken by a key above; ids must differ
bridge.yaml:5: auth.certificates[2]: has no effect without tls.client_ca, by which certificates are requested and checked
bridge.yaml:5: auth.certificates[2].rights[0]: there is no right called "all"; known here: admin, inspect, metrics, read, run, write`},
		{"keys that expire", "auth: {keys: [{id: a, key: '" + key16 + "', keys: [short, '" + key16 + "'], expires: tomorrow, scope: mine}]}\n" + agentLine,
			nil, `bridge.yaml:1: auth.keys[0].scope: cannot be "mine"; choose one of tenant, own
bridge.yaml:1: auth.keys[0].expires: cannot be "tomorrow"; write a time in RFC 3339 form, like 2027-01-31T00:00:00Z
bridge.yaml:1: auth.keys[0].keys[0]: is shorter than 16 characters and could be guessed; try openssl rand -hex 24
bridge.yaml:1: auth.keys[0].keys[1]: is the same as a key above; keys must differ`},
		{"environment", agentLine,
			[]string{"APBRIDGE_LISTN=x", "APBRIDGE_AGENTS__A__QUEUE=all", "APBRIDGE_AUTH__KEYS=[{", "APBRIDGE_LISTEN__PORT=1", "APBRIDGE_AGENTS__A__HEADERS=nope"},
			`environment APBRIDGE_AGENTS__A__HEADERS: agents.a.headers: must have names with values, not a single value
environment APBRIDGE_AGENTS__A__QUEUE: agents.a.queue: must be a whole number, not "all"
environment APBRIDGE_AUTH__KEYS: auth.keys: is not valid JSON
environment APBRIDGE_LISTEN__PORT: listen.port: listen has no keys below it
environment APBRIDGE_LISTN: listn: there is no such key; did you mean "listen"?`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, got := loadText(t, tt.file, Options{Environ: tt.env, Dialects: []string{"taskstep", "threadrun"}, Path: closedPath})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// closedPath is used instead of itemquery.ParseItemPath.
func closedPath(text string) error {
	if strings.HasSuffix(text, "[") {
		return errors.New("has a bracket that is not closed")
	}
	return nil
}

// A block from langgraph.json is accepted unchanged. OpenAI's key may be in the variable that its libraries use.
func TestIndexOfLangGraph(t *testing.T) {
	t.Parallel()
	const block = `store: {"index": {"embed": "openai:text-embedding-3-small", "dims": 1536, "fields": ["text"]}}` + agentLine
	cfg, problems := loadText(t, block, Options{Environ: []string{"OPENAI_API_KEY=sk-canary"}})
	if problems != "" {
		t.Fatal(problems)
	}
	i := cfg.Store.Index
	if i.Key.Reveal() != "sk-canary" || i.URL != "https://api.openai.com/v1" || i.Model() != "text-embedding-3-small" || i.Dims != 1536 || !i.On() {
		t.Errorf("%+v", i)
	}
	elsewhere := strings.Replace(block, `"dims"`, `"url": "http://127.0.0.1:1", "dims"`, 1)
	if cfg, problems := loadText(t, elsewhere, Options{Environ: []string{"OPENAI_API_KEY=sk-canary"}}); problems != "" || cfg.Store.Index.Key != "" {
		t.Errorf("OpenAI's key is sent elsewhere, %s", problems)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	a := Agent{Headers: map[string]Secret{"X": "canary"}}
	encoded, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{string(encoded), fmt.Sprint(a), fmt.Sprintf("%+v", a), fmt.Sprintf("%#v", a)} {
		if strings.Contains(s, "canary") {
			t.Errorf("the secret shows in %s", s)
		}
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"127.0.0.1:1": true, "127.1.2.3:1": true, "[::1]:1": true, "localhost:1": true, "[::ffff:127.0.0.1]:1": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "example.com:1": false, "127.0.0.1": false,
	} {
		if got := Loopback(addr); got != want {
			t.Errorf("Loopback(%q) = %v", addr, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("listen: 127.0.0.1:1\nagents: {a: {url: 'http://x'}}", "APBRIDGE_AGENTS__A__URL", "http://y")
	f.Add("a: &a [*a]", "APBRIDGE_AUTH__KEYS", `[{"id":"x"}]`)
	f.Add("agents: &x {a: *x}", "APBRIDGE_LIMITS__BODY", "1e400GiB")
	f.Add("<<: {}\n? [a]\n: b", "APBRIDGE_", "{")
	f.Fuzz(func(t *testing.T, file, name, value string) {
		l := newLoader(Options{Environ: []string{name + "=" + value}})
		l.readYAML("fuzz.yaml", []byte(file))
		l.readEnviron([]string{name + "=" + value})
		l.settle(nil)
		l.validate(l.cfg, Options{})
		for _, c := range l.problems {
			if c.Text == "" || c.Where == "" && c.Key == "" {
				t.Errorf("a problem without a mistake: %#v", c)
			}
		}
	})
}
