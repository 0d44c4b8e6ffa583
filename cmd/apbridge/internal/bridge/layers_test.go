package bridge_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

const module = "github.com/apbridge/apbridge/"

// A layer is a rule about the imports of the packages below from, tests apart. ARCHITECTURE.md has the reasons.
type layer struct {
	from   string
	except []string // packages below from that the rule leaves out
	may    []string // if not nil: the only packages of ours that it may import, with everything below them
	never  []string // packages from anywhere, with everything below them
}

var layers = []layer{
	{from: "mapping", may: []string{"mapping"}, never: []string{"net/http", "database/sql", "go.uber.org/zap"}},
	{from: "config", may: []string{"config", "mapping"}},
	{from: "adapter", may: []string{"adapter", "mapping", "config"}, never: []string{"database/sql"}},
	{from: "proxy", may: []string{"adapter", "mapping", "config", "proxy"}},
	{from: "proxy/engine", never: []string{"net/http"}},
	{from: "proxy/stepping", never: []string{"net/http"}},
	{from: "proxy/service", never: []string{"net/http"}},
	{from: "proxy/store", except: []string{"proxy/store/storetest"}, may: []string{"mapping", "proxy/store"}, never: []string{"net/http"}},
	{from: "proxy/metrics", may: []string{"proxy/metrics"}},
	{from: "examples", may: []string{"examples"}},
}

// TestLayers holds every package to the layers, and every dialect to the rule that only package bridge knows it.
func TestLayers(t *testing.T) {
	t.Parallel()
	var rules []layer
	for _, d := range bridge.Dialects() {
		own := "adapter/" + d.Name
		rules = append(rules,
			layer{from: "", except: []string{own, "cmd/apbridge/internal/bridge", "cmd/apbridge/internal/rig"}, never: []string{module + own}},
			layer{from: own + "/face", never: []string{module + own + "/backend"}},
			layer{from: own + "/backend", never: []string{module + own + "/face"}})
	}
	rules = append(rules, layers...)
	top := rig.Root(t)
	seen := map[string]bool{}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(top, filepath.Dir(name))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(dir)
		for at := pkg; at != "."; at = path.Dir(at) {
			seen[at] = true
		}
		for _, spec := range file.Imports {
			imports, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			for _, rule := range rules {
				if !rule.allows(pkg, imports) {
					t.Errorf("%s: package %s may not import %s", name, pkg, imports)
				}
			}
		}
		if within(pkg, "mapping") && pkg != "mapping/pause" {
			checkClocks(t, name, file, clocks)
		}
		if storesTimes(pkg) {
			checkClocks(t, name, file, []string{"Now", "Since", "Until"})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		if rule.from != "" && !seen[rule.from] {
			t.Errorf("a layer names %s, which is no package", rule.from)
		}
	}
}

// allows reports whether package pkg may import name as far as this rule goes.
func (l layer) allows(pkg, name string) bool {
	if !within(pkg, l.from) || slices.ContainsFunc(l.except, func(p string) bool { return within(pkg, p) }) {
		return true
	}
	if slices.ContainsFunc(l.never, func(p string) bool { return within(name, p) }) {
		return false
	}
	own, ours := strings.CutPrefix(name, module)
	return !ours || l.may == nil || slices.ContainsFunc(l.may, func(p string) bool { return within(own, p) })
}

// within reports whether pkg is top or a package below it. Everything is below "".
func within(pkg, top string) bool {
	return top == "" || pkg == top || strings.HasPrefix(pkg, top+"/")
}

// clocks may not be read in package mapping and below it, except in package pause: a rule gives the same result for the
// same input.
var clocks = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}

// storesTimes reports whether the times of a package are stored, or compared with stored ones. It may not read the
// clock of the machine, since the database has the time (package clock). Packages that only measure may.
func storesTimes(pkg string) bool {
	within := func(top string) bool { return within(pkg, top) }
	return slices.ContainsFunc([]string{"proxy/service", "proxy/stepping", "proxy/store"}, within) &&
		!slices.ContainsFunc([]string{"proxy/service/servicetest", "proxy/store/clock", "proxy/store/tables", "proxy/store/sqldb", "proxy/store/storetest"}, within)
}

func checkClocks(t *testing.T, name string, file *ast.File, clocks []string) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, sel.Sel.Name) {
			t.Errorf("%s: package %s may not read a clock: time.%s", name, file.Name.Name, sel.Sel.Name)
		}
		return true
	})
}

func TestLayerRules(t *testing.T) {
	t.Parallel()
	l := layer{from: "proxy/store", except: []string{"proxy/store/storetest"}, may: []string{"mapping", "proxy/store"}, never: []string{"net/http"}}
	for _, c := range []struct {
		pkg, imports string
		want         bool
	}{
		{"proxy/store", "encoding/json", true},
		{"proxy/store", "net/http", false},
		{"proxy/store/item", module + "mapping/rawjson", true},
		{"proxy/store/item", module + "proxy/engine", false},
		{"proxy/store/storetest", module + "proxy/engine", true},
		{"proxy/storefront", module + "proxy/engine", true},
	} {
		if got := l.allows(c.pkg, c.imports); got != c.want {
			t.Errorf("may %s import %s? %v", c.pkg, c.imports, got)
		}
	}
}
