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

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

const module = "github.com/apbridge/apbridge/"

// law says what a package may import. It is the architecture: see
// ARCHITECTURE.md for the reasons.
type law struct {
	ours  []string // packages of ours; "x/*" is everything below x
	never []string // packages of anybody
}

// laws has one row for every package, with the imports that it has. A package without a row
// fails the test, and so does a row or an arrow that nothing needs: each change of the
// architecture is a decision that a reader of the commit sees.
var laws = map[string]law{
	"cmd/apbridge":                 {ours: []string{"cmd/apbridge/internal/bridge", "adapter", "adapter/sse", "config", "mapping", "examples/legacyagent", "examples/threadagent"}},
	"cmd/apbridge/internal/bridge": {ours: []string{"adapter", "adapter/*", "config", "mapping", "proxy", "proxy/*"}},
	// What tests start, ask and compare. Nothing that is built imports it.
	"cmd/apbridge/internal/rig":        {ours: []string{"cmd/apbridge/internal/bridge", "adapter", "adapter/adaptertest", "config", "proxy/store/storetest"}},
	"cmd/apbridge/internal/rig/matrix": {}, "cmd/apbridge/internal/rig/threadrun": {}, "cmd/apbridge/internal/rig/taskstep": {},
	"cmd/apbridge/internal/rig/fault": {}, "cmd/apbridge/internal/rig/crash": {}, "cmd/apbridge/internal/rig/bench": {},
	"mapping":           {ours: []string{"mapping/rawjson"}, never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"config":            {},
	"mapping/failpoint": {},
	"mapping/rawjson":   {never: []string{"net/http", "database/sql", "go.uber.org/zap", "os"}},
	"adapter":           {ours: []string{"mapping", "mapping/rawjson", "config"}},
	"adapter/sse":       {},
	"adapter/body":      {ours: []string{"mapping"}},
	"adapter/upstream":  {ours: []string{"mapping/failpoint", "mapping/rawjson", "adapter", "mapping"}},
	"adapter/threadrun": {ours: []string{"mapping/rawjson", "adapter", "adapter/body", "adapter/sse", "adapter/upstream", "mapping"}},
	"adapter/taskstep":  {ours: []string{"mapping/failpoint", "mapping/rawjson", "adapter", "adapter/body", "adapter/sse", "adapter/upstream", "mapping"}},
	// The suite makes an adapter.Upstream, which holds a config.Agent.
	"adapter/adaptertest":   {ours: []string{"adapter", "config", "mapping", "mapping/rawjson"}},
	"proxy":                 {ours: []string{"mapping/failpoint", "proxy/*", "adapter", "config", "mapping"}},
	"proxy/auth":            {ours: []string{"config", "mapping"}},
	"proxy/service":         {ours: []string{"adapter", "config", "mapping", "mapping/rawjson", "proxy/engine", "proxy/eventlog", "proxy/store"}, never: []string{"net/http"}},
	"proxy/engine":          {ours: []string{"mapping/failpoint", "mapping/rawjson", "adapter", "config", "mapping", "proxy/complaint", "proxy/eventlog", "proxy/store"}, never: []string{"net/http", "github.com/gorilla/mux"}},
	"proxy/eventlog":        {ours: []string{"mapping", "proxy/store"}, never: []string{"net/http"}},
	"proxy/store":           {ours: []string{"mapping/failpoint", "mapping"}, never: []string{"net/http"}},
	"proxy/store/storetest": {},
	"proxy/webhook":         {ours: []string{"mapping/failpoint", "config", "mapping", "proxy/complaint", "proxy/store", "proxy/metrics"}},
	"proxy/passthrough":     {ours: []string{"config", "proxy/metrics"}},
	"proxy/metrics":         {},
	"proxy/complaint":       {},
	"examples/legacyagent":  {},
	"examples/threadagent":  {},
	"examples/benchmark":    {},
	// An example's main is the only one that imports it, besides the demo.
	"examples/legacyagent/cmd": {ours: []string{"examples/legacyagent"}},
	"examples/threadagent/cmd": {ours: []string{"examples/threadagent"}},
	"examples/benchmark/cmd":   {ours: []string{"examples/benchmark"}},
}

// clocks may not be read in package mapping: its rules give the same result
// for the same input.
var clocks = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}

func TestImportLaw(t *testing.T) {
	t.Parallel()
	used, top := map[string][]string{}, rig.Root(t)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		pkg, imports := checkFile(t, top, path)
		used[pkg] = append(used[pkg], imports...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, l := range laws {
		imports, there := used[pkg]
		if !there {
			t.Errorf("the import law has a row for package %s, which is not there", pkg)
			continue
		}
		for _, allowed := range l.ours {
			if !slices.ContainsFunc(imports, law{ours: []string{allowed}}.lists) {
				t.Errorf("the import law lets package %s import %s, and it does not", pkg, allowed)
			}
		}
	}
}

// checkFile holds one file to the row of its package, and returns what it imports.
func checkFile(t *testing.T, top, path string) (pkg string, imports []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err = filepath.Rel(top, filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	pkg = filepath.ToSlash(pkg)
	rule, known := laws[pkg]
	if !known {
		t.Errorf("package %s has no row in the import law; add one, and say why in ARCHITECTURE.md", pkg)
		return pkg, nil
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Error(err)
		} else if !rule.allows(name) {
			t.Errorf("%s: package %s may not import %s", path, pkg, name)
		}
		imports = append(imports, name)
	}
	if pkg == "mapping" {
		checkClocks(t, path, file)
	}
	return pkg, imports
}

func (l law) allows(name string) bool {
	if slices.Contains(l.never, name) {
		return false
	}
	return !strings.HasPrefix(name, module) || l.lists(name)
}

// lists reports whether name is a package of ours that the row lists.
func (l law) lists(name string) bool {
	own, ours := strings.CutPrefix(name, module)
	return ours && slices.ContainsFunc(l.ours, func(listed string) bool {
		below, all := strings.CutSuffix(listed, "*")
		return own == listed || all && strings.HasPrefix(own, below)
	})
}

func checkClocks(t *testing.T, path string, file *ast.File) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, sel.Sel.Name) {
			t.Errorf("%s: package mapping reads a clock: time.%s", path, sel.Sel.Name)
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
		{"proxy", module + "proxy/store", true},
		{"proxy", module + "adapter", true},
		{"proxy", module + "adapter/threadrun", false},
		{"proxy/engine", module + "adapter/taskstep", false},
		{"adapter/taskstep", module + "adapter/threadrun", false},
		{"adapter/taskstep", module + "proxy/store", false},
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

// TestDialectsMeetTheMachineHere: nothing but this package knows a dialect, so
// that a further one is a folder and a line in the table.
func TestDialectsMeetTheMachineHere(t *testing.T) {
	t.Parallel()
	for pkg, l := range laws {
		for _, dialect := range []string{"adapter/threadrun", "adapter/taskstep"} {
			if pkg != "cmd/apbridge/internal/bridge" && l.allows(module+dialect) {
				t.Errorf("%s may import %s", pkg, dialect)
			}
		}
	}
	if _, err := os.Stat("dialects.go"); err != nil {
		t.Error(err)
	}
}
