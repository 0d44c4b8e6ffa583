package bridge_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

const module = "github.com/apbridge/apbridge/"

// law says what a package may import. It is the architecture: see ARCHITECTURE.md for the reasons.
type law struct {
	ours  []string // packages of ours
	never []string // packages from anywhere
}

// laws has one row for every package, with exactly the arrows that exist. A new package, a new arrow and an arrow that
// is gone fail the test, so that each is a decision in a review.
var laws = map[string]law{
	"adapter": {ours: []string{"config", "mapping", "mapping/rawjson", "mapping/rule", "mapping/state"}},
	// The suite makes an adapter.Upstream, which holds a config.Agent.
	"adapter/adaptertest": {ours: []string{"adapter", "config", "mapping", "mapping/rawjson", "mapping/rule", "mapping/state"}},
	// A dialect that tests mount, both halves and an agent in one folder.
	"adapter/adaptertest/toy": {ours: []string{"adapter", "adapter/upstream", "mapping", "mapping/rawjson", "mapping/rule", "mapping/state"}},
	"adapter/body":            {ours: []string{"mapping", "mapping/rawjson"}},
	"adapter/egress":          {},
	// A face without a backend: it answers from the service, and knows neither a dialect nor the machine.
	"adapter/inspect":              {ours: []string{"adapter", "adapter/body", "adapter/inspect/conversation", "adapter/inspect/difference", "adapter/inspect/export", "adapter/inspect/question", "adapter/inspect/timeline", "adapter/page", "adapter/sse", "mapping", "mapping/rawjson", "mapping/rule", "mapping/state"}},
	"adapter/inspect/conversation": {ours: []string{"mapping/rawjson", "mapping/rule", "mapping/state"}, never: []string{"net/http"}},
	"adapter/inspect/difference":   {ours: []string{"mapping/rawjson"}, never: []string{"net/http"}},
	"adapter/inspect/export":       {ours: []string{"adapter", "adapter/inspect/timeline", "mapping", "mapping/credential", "mapping/state"}},
	"adapter/inspect/question":     {ours: []string{"mapping", "mapping/rawjson", "mapping/rule"}, never: []string{"net/http"}},
	"adapter/inspect/timeline":     {ours: []string{"adapter", "mapping", "mapping/state"}, never: []string{"net/http"}},
	"adapter/page":                 {},
	"adapter/replay":               {ours: []string{"mapping/credential"}},
	"adapter/sse":                  {},
	"adapter/taskstep":             {ours: []string{"adapter", "adapter/taskstep/backend", "adapter/taskstep/face", "mapping"}},
	"adapter/taskstep/backend":     {ours: []string{"adapter", "adapter/upstream", "mapping", "mapping/pause", "mapping/rawjson", "mapping/rule"}},
	"adapter/taskstep/face":        {ours: []string{"adapter", "adapter/body", "adapter/sse", "mapping", "mapping/failpoint", "mapping/rawjson", "mapping/rule", "mapping/state"}},
	"adapter/threadrun":            {ours: []string{"adapter", "adapter/threadrun/backend", "adapter/threadrun/face", "adapter/threadrun/face/render", "mapping", "mapping/rawjson"}},
	"adapter/threadrun/backend":    {ours: []string{"adapter", "adapter/sse", "adapter/upstream", "mapping", "mapping/pause", "mapping/rawjson"}},
	"adapter/threadrun/face":       {ours: []string{"adapter", "adapter/sse", "adapter/threadrun/face/render", "adapter/threadrun/face/request", "adapter/threadrun/face/selection", "adapter/threadrun/protocol", "mapping", "mapping/rawjson", "mapping/rule", "mapping/state"}},
	// What clients read, apart from the handlers: it asks no service.
	"adapter/threadrun/face/render": {ours: []string{"adapter", "adapter/sse", "mapping", "mapping/rawjson", "mapping/rule", "mapping/state"}},
	// What clients send.
	"adapter/threadrun/face/request":   {ours: []string{"adapter/body", "mapping", "mapping/rawjson"}},
	"adapter/threadrun/face/selection": {ours: []string{"adapter", "adapter/threadrun/face/render", "adapter/threadrun/face/request", "mapping", "mapping/rawjson"}},
	"adapter/threadrun/protocol":       {ours: []string{"adapter", "adapter/body", "adapter/sse", "mapping", "mapping/rawjson", "mapping/rule", "mapping/state"}},
	"adapter/upstream":                 {ours: []string{"adapter", "adapter/egress", "config", "mapping", "mapping/credential", "mapping/failpoint", "mapping/pause", "mapping/rawjson"}},
	"cmd/apbridge":                     {ours: []string{"cmd/apbridge/internal/bridge", "cmd/apbridge/internal/command/bench", "cmd/apbridge/internal/command/conformance", "cmd/apbridge/internal/command/database", "cmd/apbridge/internal/command/demo", "cmd/apbridge/internal/command/doctor", "cmd/apbridge/internal/command/remote", "cmd/apbridge/internal/command/run", "cmd/apbridge/internal/command/serve", "cmd/apbridge/internal/console", "config", "proxy/trace"}},
	// A command is a package; what commands share is the console.
	"cmd/apbridge/internal/command/bench":       {ours: []string{"cmd/apbridge/internal/bridge", "cmd/apbridge/internal/command/doctor", "cmd/apbridge/internal/console", "cmd/apbridge/internal/judge", "cmd/apbridge/internal/judge/agent", "cmd/apbridge/internal/judge/challenge", "cmd/apbridge/internal/judge/grader", "cmd/apbridge/internal/judge/process", "cmd/apbridge/internal/judge/progress", "cmd/apbridge/internal/judge/report", "cmd/apbridge/internal/judge/verdict", "config", "mapping"}},
	"cmd/apbridge/internal/command/conformance": {ours: []string{"cmd/apbridge/internal/command/doctor", "cmd/apbridge/internal/conformance", "cmd/apbridge/internal/conformance/check", "cmd/apbridge/internal/conformance/report", "cmd/apbridge/internal/console", "cmd/apbridge/internal/outfile", "config"}},
	"cmd/apbridge/internal/command/database":    {ours: []string{"cmd/apbridge/internal/bridge", "cmd/apbridge/internal/console", "config", "proxy/store/archive"}},
	"cmd/apbridge/internal/command/demo":        {ours: []string{"cmd/apbridge/internal/bridge", "cmd/apbridge/internal/console", "config", "examples/legacyagent", "examples/threadagent"}},
	"cmd/apbridge/internal/command/doctor":      {ours: []string{"adapter", "cmd/apbridge/internal/bridge", "cmd/apbridge/internal/console", "config", "mapping"}},
	"cmd/apbridge/internal/command/remote":      {ours: []string{"cmd/apbridge/internal/api", "cmd/apbridge/internal/console", "cmd/apbridge/internal/talk", "mapping/rule"}},
	"cmd/apbridge/internal/command/run":         {ours: []string{"adapter/replay", "cmd/apbridge/internal/api", "cmd/apbridge/internal/bridge", "cmd/apbridge/internal/console", "cmd/apbridge/internal/outfile", "cmd/apbridge/internal/talk", "config", "mapping/rule"}},
	"cmd/apbridge/internal/command/serve":       {ours: []string{"adapter", "cmd/apbridge/internal/bridge", "cmd/apbridge/internal/console", "config", "mapping", "proxy/trace"}},
	"cmd/apbridge/internal/console":             {ours: []string{"cmd/apbridge/internal/bridge", "cmd/apbridge/internal/outfile", "config", "mapping/credential", "mapping/itemquery"}},
	"cmd/apbridge/internal/talk":                {ours: []string{"adapter/sse", "cmd/apbridge/internal/api", "mapping/rule"}},
	"cmd/apbridge/internal/bridge":              {ours: []string{"adapter", "adapter/inspect", "adapter/page", "adapter/replay", "adapter/taskstep", "adapter/threadrun", "cmd/apbridge/internal/front", "config", "mapping", "mapping/credential", "mapping/itemquery", "proxy", "proxy/audit", "proxy/chore", "proxy/complaint", "proxy/embedding", "proxy/engine", "proxy/eventlog", "proxy/limit", "proxy/metrics", "proxy/passthrough", "proxy/service", "proxy/store", "proxy/store/item", "proxy/store/seal", "proxy/trace", "proxy/webhook"}},
	// The pages know the bridge by what they are given.
	"cmd/apbridge/internal/front": {ours: []string{"adapter", "adapter/page", "config", "mapping", "mapping/rawjson"}},
	// Commands call a bridge as any client does.
	"cmd/apbridge/internal/api": {ours: []string{"adapter/sse", "mapping/pause"}, never: []string{"os/exec"}},
	// The judge of agents calls them as any client does, so it knows nothing of the bridge.
	"cmd/apbridge/internal/judge":           {ours: []string{"cmd/apbridge/internal/judge/agent", "cmd/apbridge/internal/judge/challenge", "cmd/apbridge/internal/judge/report", "cmd/apbridge/internal/judge/verdict"}},
	"cmd/apbridge/internal/judge/agent":     {never: []string{"os"}},
	"cmd/apbridge/internal/judge/challenge": {never: []string{"net/http", "os"}},
	"cmd/apbridge/internal/judge/grader":    {ours: []string{"cmd/apbridge/internal/judge/challenge", "cmd/apbridge/internal/judge/verdict", "mapping/credential", "mapping/pause"}, never: []string{"os"}},
	"cmd/apbridge/internal/judge/process":   {never: []string{"net/http"}},
	"cmd/apbridge/internal/judge/progress":  {ours: []string{"cmd/apbridge/internal/judge/report"}, never: []string{"net/http", "os"}},
	"cmd/apbridge/internal/judge/report":    {ours: []string{"cmd/apbridge/internal/judge/agent", "cmd/apbridge/internal/judge/challenge", "cmd/apbridge/internal/junit", "cmd/apbridge/internal/outfile"}, never: []string{"net/http"}},
	"cmd/apbridge/internal/judge/verdict":   {ours: []string{"cmd/apbridge/internal/judge/challenge", "cmd/apbridge/internal/judge/process", "cmd/apbridge/internal/judge/report"}, never: []string{"net/http"}},
	"cmd/apbridge/internal/junit":           {never: []string{"net/http", "os"}},
	// So do the checks of servers.
	"cmd/apbridge/internal/conformance":               {ours: []string{"cmd/apbridge/internal/conformance/agentprotocol", "cmd/apbridge/internal/conformance/check", "cmd/apbridge/internal/conformance/langgraph", "cmd/apbridge/internal/conformance/report", "cmd/apbridge/internal/conformance/streaming", "cmd/apbridge/internal/conformance/taskstep", "cmd/apbridge/internal/conformance/topics"}, never: []string{"net/http", "os"}},
	"cmd/apbridge/internal/conformance/agentprotocol": {ours: []string{"cmd/apbridge/internal/conformance/check"}, never: []string{"os"}},
	"cmd/apbridge/internal/conformance/check":         {ours: []string{"adapter/sse"}, never: []string{"os"}},
	"cmd/apbridge/internal/conformance/langgraph":     {ours: []string{"cmd/apbridge/internal/conformance/check"}, never: []string{"os"}},
	"cmd/apbridge/internal/conformance/report":        {ours: []string{"cmd/apbridge/internal/conformance/check", "cmd/apbridge/internal/junit"}, never: []string{"net/http", "os"}},
	"cmd/apbridge/internal/conformance/streaming":     {ours: []string{"cmd/apbridge/internal/conformance/check"}, never: []string{"os"}},
	"cmd/apbridge/internal/conformance/taskstep":      {ours: []string{"cmd/apbridge/internal/conformance/check"}, never: []string{"os"}},
	"cmd/apbridge/internal/conformance/topics":        {ours: []string{"cmd/apbridge/internal/conformance/check"}, never: []string{"os"}},
	"cmd/apbridge/internal/outfile":                   {never: []string{"net/http"}},
	// What tests start, ask and compare. Nothing that is built imports it.
	"cmd/apbridge/internal/rig":           {ours: []string{"adapter", "adapter/adaptertest", "adapter/adaptertest/toy", "adapter/inspect", "cmd/apbridge/internal/bridge", "config", "examples/legacyagent", "proxy/store/storetest", "proxy/store/storetest/blank", "proxy/trace"}},
	"cmd/apbridge/internal/rig/bench":     {},
	"cmd/apbridge/internal/rig/crash":     {},
	"cmd/apbridge/internal/rig/fault":     {},
	"cmd/apbridge/internal/rig/field":     {},
	"cmd/apbridge/internal/rig/inspect":   {},
	"cmd/apbridge/internal/rig/matrix":    {},
	"cmd/apbridge/internal/rig/operate":   {},
	"cmd/apbridge/internal/rig/taskstep":  {},
	"cmd/apbridge/internal/rig/threadrun": {},
	"config":                              {ours: []string{"mapping", "mapping/credential"}},
	"examples/forgetful":                  {},
	"examples/forgetful/cmd":              {ours: []string{"examples/forgetful"}},
	"examples/legacyagent":                {},
	"examples/legacyagent/cmd":            {ours: []string{"examples/legacyagent"}},
	"examples/threadagent":                {},
	"examples/threadagent/cmd":            {ours: []string{"examples/threadagent"}},
	"mapping":                             {ours: []string{"mapping/rawjson"}, never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"mapping/credential":                  {never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"mapping/failpoint":                   {},
	// How everything waits that tries again or looks from time to time.
	"mapping/pause":               {never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"mapping/itemquery":           {ours: []string{"mapping", "mapping/rawjson"}, never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"mapping/textindex":           {never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"mapping/vectorindex":         {never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"mapping/rawjson/rawjsontest": {ours: []string{"mapping/rawjson"}},
	// What is judged by schemas from outside reads nothing that they refer to.
	"mapping/jsonschema": {never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"mapping/rule":       {ours: []string{"mapping", "mapping/jsonschema", "mapping/rawjson", "mapping/state"}, never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"mapping/state":      {ours: []string{"mapping", "mapping/rawjson"}, never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"mapping/rawjson":    {never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"proxy":              {ours: []string{"adapter", "adapter/body", "config", "mapping", "mapping/failpoint", "proxy/audit", "proxy/auth", "proxy/guard", "proxy/metrics", "proxy/trace"}},
	"proxy/guard":        {ours: []string{"config", "mapping"}},
	"proxy/auth":         {ours: []string{"config", "mapping"}},
	"proxy/audit":        {ours: []string{"config", "mapping", "mapping/pause", "proxy/complaint"}, never: []string{"net/http"}},
	"proxy/chore":        {ours: []string{"config", "mapping", "mapping/pause", "proxy/complaint", "proxy/store", "proxy/store/cron", "proxy/store/item"}, never: []string{"net/http"}},
	"proxy/complaint":    {},
	"proxy/embedding":    {ours: []string{"adapter/egress", "config", "mapping", "mapping/credential", "mapping/pause", "mapping/vectorindex", "proxy/complaint"}},
	// An endpoint that tests start.
	"proxy/embedding/embeddingtest": {},
	"proxy/engine":                  {ours: []string{"adapter", "config", "mapping", "mapping/failpoint", "mapping/pause", "mapping/rawjson", "mapping/rule", "mapping/state", "proxy/complaint", "proxy/engine/clock", "proxy/engine/keptcall", "proxy/engine/slot", "proxy/eventlog", "proxy/memory", "proxy/store", "proxy/store/artifact", "proxy/store/outbox", "proxy/trace"}, never: []string{"net/http", "github.com/gorilla/mux"}},
	"proxy/engine/clock":            {never: []string{"net/http"}},
	// It is given calls, takes credentials out of them, and knows neither runs nor the store: the engine writes down
	// what is kept.
	"proxy/engine/keptcall": {ours: []string{"adapter", "mapping/credential"}, never: []string{"net/http"}},
	"proxy/engine/slot":     {never: []string{"net/http"}},
	"proxy/eventlog":        {ours: []string{"mapping", "mapping/pause", "mapping/state", "proxy/store"}, never: []string{"net/http"}},
	"proxy/limit":           {ours: []string{"adapter", "config", "mapping", "mapping/pause", "proxy/store/quota"}, never: []string{"net/http"}},
	// What agents use of the store, for the engine and for calls with a token: it knows items, callers and which runs
	// are at work, and neither an agent nor an execution.
	"proxy/memory":            {ours: []string{"config", "mapping", "mapping/credential", "mapping/rule", "proxy/store", "proxy/store/item", "proxy/store/secret"}, never: []string{"net/http"}},
	"proxy/metrics":           {},
	"proxy/passthrough":       {ours: []string{"adapter", "adapter/body", "adapter/upstream", "mapping"}},
	"proxy/service":           {ours: []string{"adapter", "config", "mapping", "mapping/itemquery", "mapping/rawjson", "mapping/rule", "mapping/state", "proxy/chore", "proxy/engine", "proxy/eventlog", "proxy/service/directory", "proxy/service/owner", "proxy/service/plan", "proxy/service/stateupdate", "proxy/stepping", "proxy/store", "proxy/store/artifact", "proxy/store/cron", "proxy/store/idempotency", "proxy/store/item", "proxy/store/outbox"}, never: []string{"net/http"}},
	"proxy/service/directory": {ours: []string{"adapter", "config", "mapping", "mapping/rawjson", "mapping/rule", "proxy/engine", "proxy/store", "proxy/store/assistant"}, never: []string{"net/http"}},
	// It writes nothing, so that a cron can try what it is to repeat. Stepping asks it, too.
	"proxy/service/plan": {ours: []string{"adapter", "config", "mapping", "mapping/rawjson", "mapping/rule", "mapping/state", "proxy/engine", "proxy/memory", "proxy/service/directory", "proxy/stepping", "proxy/store", "proxy/webhook"}, never: []string{"net/http"}},
	// It makes no thread and no run.
	"proxy/service/stateupdate": {ours: []string{"adapter", "config", "mapping", "mapping/rawjson", "mapping/rule", "mapping/state", "proxy/engine", "proxy/eventlog", "proxy/store", "proxy/store/artifact", "proxy/store/idempotency"}, never: []string{"net/http"}},
	// It asks the service to remove threads, and no client but administrators asks it.
	"proxy/service/owner":       {ours: []string{"adapter", "mapping", "mapping/rawjson", "proxy/engine", "proxy/store", "proxy/store/assistant", "proxy/store/cron", "proxy/store/item", "proxy/store/owned"}, never: []string{"net/http"}},
	"proxy/service/servicetest": {ours: []string{"adapter", "config", "mapping", "mapping/rule", "proxy/chore", "proxy/engine", "proxy/eventlog", "proxy/service", "proxy/store", "proxy/store/item", "proxy/store/storetest", "proxy/store/storetest/blank"}},
	"proxy/stepping":            {ours: []string{"adapter", "mapping", "mapping/pause", "mapping/rawjson", "mapping/rule", "mapping/state", "proxy/engine", "proxy/eventlog", "proxy/store", "proxy/store/artifact", "proxy/store/idempotency"}, never: []string{"net/http"}},
	"proxy/store":               {ours: []string{"mapping", "mapping/rawjson", "mapping/rule", "mapping/state", "proxy/store/artifact", "proxy/store/assistant", "proxy/store/column", "proxy/store/cron", "proxy/store/idempotency", "proxy/store/item", "proxy/store/listing", "proxy/store/outbox", "proxy/store/owned", "proxy/store/quota", "proxy/store/rate", "proxy/store/record", "proxy/store/scope", "proxy/store/seal", "proxy/store/secret", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/column":        {ours: []string{"mapping", "mapping/rawjson", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/scope":         {ours: []string{"mapping", "proxy/store/column"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/listing":       {ours: []string{"mapping", "mapping/rawjson", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/record":        {ours: []string{"mapping", "proxy/store/column", "proxy/store/quota", "proxy/store/scope", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	// A whole database taken out and put back: it knows tables, and none of what is done with them.
	"proxy/store/archive": {ours: []string{"mapping/rawjson", "proxy/store/seal", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "os", "zombiezen.com/go/sqlite"}},
	"proxy/store/sqldb":   {ours: []string{"mapping", "mapping/failpoint", "mapping/pause", "proxy/store/seal", "proxy/store/sqldb/filelock", "proxy/store/sqldb/line"}, never: []string{"net/http"}},
	// What connections wait for is told to it: it asks no database.
	"proxy/store/sqldb/line": {never: []string{"net/http", "database/sql", "go.uber.org/zap", "github.com/jackc/pgx/v5/pgxpool"}},
	// A file kept from other processes: it knows no database.
	"proxy/store/sqldb/filelock": {never: []string{"net/http", "database/sql", "go.uber.org/zap", "zombiezen.com/go/sqlite"}},
	// Bodies sealed and opened: it knows no database.
	"proxy/store/seal":        {never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"proxy/store/quota":       {ours: []string{"mapping", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/item":        {ours: []string{"mapping", "mapping/itemquery", "mapping/textindex", "mapping/vectorindex", "proxy/store/quota", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/outbox":      {ours: []string{"mapping", "proxy/store/column", "proxy/store/record", "proxy/store/scope", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/owned":       {ours: []string{"proxy/store/archive", "proxy/store/quota", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/idempotency": {ours: []string{"mapping", "proxy/store/column", "proxy/store/scope", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/rate":        {ours: []string{"proxy/store/column", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/secret":      {ours: []string{"proxy/store/column", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/assistant":   {ours: []string{"mapping", "proxy/store/column", "proxy/store/listing", "proxy/store/record", "proxy/store/scope", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/cron":        {ours: []string{"mapping", "proxy/store/column", "proxy/store/idempotency", "proxy/store/listing", "proxy/store/quota", "proxy/store/record", "proxy/store/scope", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/artifact":    {ours: []string{"mapping", "mapping/rule", "mapping/state", "proxy/store/column", "proxy/store/quota", "proxy/store/record", "proxy/store/scope", "proxy/store/sqldb"}, never: []string{"net/http", "github.com/jackc/pgx/v5", "zombiezen.com/go/sqlite"}},
	"proxy/store/storetest":   {},
	// Beside it, since the tests of what is below package store have storetest, too.
	"proxy/store/storetest/blank": {ours: []string{"proxy/store", "proxy/store/storetest"}},
	// All packages tell their spans here: so it knows neither the machine nor a dialect.
	"proxy/trace":   {ours: []string{"config", "mapping", "mapping/pause", "proxy/complaint"}, never: []string{"google.golang.org/grpc"}},
	"proxy/webhook": {ours: []string{"adapter/egress", "config", "mapping", "mapping/failpoint", "proxy/complaint", "proxy/metrics", "proxy/store", "proxy/store/outbox", "proxy/trace"}},
}

// clocks may not be read in package mapping and below it, but for pause, which no rule imports: the rules give the same
// result for the same input.
var clocks = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}

func TestImportLaw(t *testing.T) {
	t.Parallel()
	seen, top := map[string]map[string]bool{}, rig.Root(t)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		checkFile(t, top, path, seen)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, l := range laws {
		if seen[pkg] == nil {
			t.Errorf("the import law has a row for %s, which is no package", pkg)
		}
		for _, arrow := range l.ours {
			if !seen[pkg][arrow] {
				t.Errorf("the import law has an arrow from %s to %s, which is not there", pkg, arrow)
			}
		}
	}
}

// checkFile holds a file against the law, and notes in seen what its package imports.
func checkFile(t *testing.T, top, path string, seen map[string]map[string]bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return
	}
	pkg, err := filepath.Rel(top, filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	pkg = filepath.ToSlash(pkg)
	rule, known := laws[pkg]
	if !known {
		t.Errorf("package %s has no row in the import law; add one, and a line in ARCHITECTURE.md", pkg)
		return
	}
	if seen[pkg] == nil {
		seen[pkg] = map[string]bool{}
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		seen[pkg][strings.TrimPrefix(name, module)] = true
		if err != nil {
			t.Error(err)
		} else if !rule.allows(name) {
			t.Errorf("%s: package %s may not import %s", path, pkg, name)
		}
	}
	if pkg == "mapping" || strings.HasPrefix(pkg, "mapping/") && pkg != "mapping/pause" {
		checkClocks(t, path, file)
	}
}

func (l law) allows(name string) bool {
	if slices.Contains(l.never, name) {
		return false
	}
	own, ours := strings.CutPrefix(name, module)
	return !ours || slices.Contains(l.ours, own)
}

func checkClocks(t *testing.T, path string, file *ast.File) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, sel.Sel.Name) {
			t.Errorf("%s: the model reads a clock: time.%s", path, sel.Sel.Name)
		}
		return true
	})
}

func TestLawItself(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pkg, imports string
		want         bool
	}{
		{"mapping", "encoding/json", true},
		{"mapping", "net/http", false},
		{"mapping", module + "config", false},
		{"proxy", module + "proxy/auth", true},
		{"proxy", module + "adapter", true},
		{"proxy", module + "adapter/threadrun", false},
		{"proxy/engine", module + "adapter/taskstep", false},
		{"adapter/taskstep", module + "adapter/threadrun", false},
		{"adapter/taskstep/face", module + "adapter/taskstep/backend", false},
		{"adapter/taskstep/backend", module + "proxy/store", false},
		{"proxy/metrics", module + "mapping", false},
		{"examples/legacyagent", module + "mapping", false},
		{"cmd/apbridge", module + "adapter/threadrun", false},
		{"cmd/apbridge/internal/bridge", module + "adapter/threadrun", true},
		{"cmd/apbridge/internal/bridge", module + "cmd/apbridge/internal/rig", false},
	} {
		if got := laws[tt.pkg].allows(tt.imports); got != tt.want {
			t.Errorf("may %s import %s? %v", tt.pkg, tt.imports, got)
		}
	}
}

// TestDialectsMeetTheMachineHere: nothing but this package knows a dialect, so that a further one is a folder and a
// line in the table.
func TestDialectsMeetTheMachineHere(t *testing.T) {
	t.Parallel()
	for pkg, l := range laws {
		for _, d := range bridge.Dialects() {
			dialect := "adapter/" + d.Name
			for _, half := range []string{"/face", "/backend"} {
				if pkg != dialect && l.allows(module+dialect+half) {
					t.Errorf("%s may import %s", pkg, dialect+half)
				}
			}
			if pkg != "cmd/apbridge/internal/bridge" && l.allows(module+dialect) {
				t.Errorf("%s may import %s", pkg, dialect)
			}
		}
	}
	if _, err := os.Stat("dialects.go"); err != nil {
		t.Error(err)
	}
}
