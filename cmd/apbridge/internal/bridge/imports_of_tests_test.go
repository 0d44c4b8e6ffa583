package bridge_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// Tests of a package see no further than the package: of ours they import what it imports, itself or by others, and
// tools. So tests of mapping know no adapter, those of a dialect not the other one, those of the machine no dialect,
// and those of the store no engine. Else parts that the import law keeps apart could be changed together only. The
// bridge and the dialects put others together and let nobody past: what imports them does not see these (sees).
//
// Rigs hold tests only, so they import nothing that says what they know: there is a list of it (wholes).

// tools are packages that are made for tests, and the folders whose tests may have them.
var tools = map[string][]string{
	"mapping/rawjson/rawjsontest": {"mapping"},
	// Agents and the contract of backends, which know the contract of adapter and the model alone.
	"adapter/adaptertest":     {"adapter", "cmd", "proxy"},
	"adapter/adaptertest/toy": {wholeProgram},
	// Databases. Those of blank have their tables, made by package store: so what is below that has them in tests
	// alone.
	"proxy/store/storetest":         {"cmd", "proxy"},
	"proxy/store/storetest/blank":   {wholeProgram, "proxy"},
	"proxy/embedding/embeddingtest": {wholeProgram, "proxy"},
	// Bridges without faces: what stands above the service has whole ones.
	"proxy/service/servicetest": {"proxy/service", "proxy/stepping"},
	// Whole bridges, with every dialect: for the program alone.
	wholeProgram: {"cmd"},
}

const wholeProgram = "cmd/apbridge/internal/rig"

// wholes is what rigs know. They ask bridges from outside, as clients do: so of the machine they know what stands in a
// database, which they damage, seal and compare, and nothing of a dialect but the frames of its streams.
var wholes = []string{
	"adapter", "adapter/sse", "cmd/apbridge/internal/bridge", "config", "examples/legacyagent", "examples/threadagent",
	"mapping", "mapping/failpoint", "mapping/rawjson", "proxy/store", "proxy/store/archive", "proxy/store/seal", "proxy/store/sqldb",
	// An agent is judged through the bridge and without it.
	"cmd/apbridge/internal/judge", "cmd/apbridge/internal/judge/agent", "cmd/apbridge/internal/judge/challenge", "cmd/apbridge/internal/judge/report", "cmd/apbridge/internal/judge/verdict",
}

// further is what tests of a package see beyond it, each for a reason.
var further = map[string][]string{
	// The guides' agent.
	"cmd/apbridge": {"examples/forgetful"},
	// What is removed was written by runs, whose followers hear of it; items are found by an endpoint's vectors.
	"proxy/chore": {"adapter", "proxy/embedding", "proxy/engine", "proxy/eventlog"},
	// That no request leaves without the lease is shown by the client that asks for it.
	"proxy/engine":              {"adapter/upstream"},
	"proxy/service/stateupdate": {"adapter/upstream"},
	// Items are found by an endpoint's vectors, as the bridge has them made.
	"proxy/store":      {"config", "proxy/embedding"},
	"proxy/store/item": {"config", "proxy/embedding", "proxy/store"},
	// What is counted, and what is taken out and put back, is written by the nouns above.
	"proxy/store/archive": {"proxy/store"},
	"proxy/store/quota":   {"proxy/store", "proxy/store/item"},
}

// sees is what a package imports, itself or by others: but through neither the bridge nor a dialect.
func sees(pkg string) map[string]bool {
	doors := []string{"cmd/apbridge/internal/bridge"}
	for _, d := range bridge.Dialects() {
		doors = append(doors, "adapter/"+d.Name)
	}
	seen, next := map[string]bool{pkg: true}, laws[pkg].ours
	for len(next) > 0 {
		var found []string
		for _, p := range next {
			if !seen[p] {
				seen[p] = true
				if !slices.Contains(doors, p) {
					found = append(found, laws[p].ours...)
				}
			}
		}
		next = found
	}
	return seen
}

// within reports whether a package is a folder, or below it.
func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// permit says by which part of the law tests of a package may import another one; it is empty where they may not.
func permit(pkg, arrow string) string {
	folders, tool := tools[arrow]
	switch i := slices.IndexFunc(folders, func(f string) bool { return within(pkg, f) }); {
	case sees(pkg)[arrow]:
		return "seen"
	case i >= 0:
		return "tools: " + arrow + " for " + folders[i]
	case tool:
		return ""
	case slices.Contains(further[pkg], arrow):
		return "further: " + pkg + " " + arrow
	case strings.HasPrefix(pkg, wholeProgram+"/") && slices.Contains(wholes, arrow):
		return "wholes: " + arrow
	}
	return ""
}

func TestImportLawOfTests(t *testing.T) {
	t.Parallel()
	used, top := map[string]bool{}, rig.Root(t)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		pkg, err := filepath.Rel(top, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, arrow := range ownImports(t, path) {
			by := permit(filepath.ToSlash(pkg), arrow)
			if used[by] = true; by == "" {
				t.Errorf("%s: tests of package %s may not import %s, which the package does not know", path, pkg, arrow)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range permits() {
		if !used[by] {
			t.Errorf("the law of tests' imports has what no test needs: %s", by)
		}
	}
}

// ownImports are the packages of ours that a file imports.
func ownImports(t *testing.T, path string) (list []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Error(err)
		}
		if own, ours := strings.CutPrefix(name, module); ours {
			list = append(list, own)
		}
	}
	return list
}

// permits are all that permit may say of what is more than seen.
func permits() (list []string) {
	for tool, folders := range tools {
		for _, folder := range folders {
			list = append(list, "tools: "+tool+" for "+folder)
		}
	}
	for pkg, arrows := range further {
		for _, arrow := range arrows {
			list = append(list, "further: "+pkg+" "+arrow)
		}
	}
	for _, arrow := range wholes {
		list = append(list, "wholes: "+arrow)
	}
	return slices.Sorted(slices.Values(list))
}

func TestLawOfTestsItself(t *testing.T) {
	t.Parallel()
	for arrow, pkgs := range map[string]map[string]bool{
		"adapter":                     {"mapping/rule": false, "adapter/taskstep/face": true, "proxy/store": false},
		"adapter/adaptertest":         {"mapping/state": false, "adapter/taskstep/backend": true, "proxy/engine": true},
		"adapter/taskstep":            {"adapter/threadrun": false, "proxy/engine": false, "cmd/apbridge/internal/bridge": true, "cmd/apbridge/internal/rig/fault": false},
		"adapter/taskstep/face":       {"adapter/taskstep": true, "adapter/taskstep/backend": false, "cmd/apbridge/internal/bridge": false},
		"proxy/engine":                {"proxy/store": false, "proxy/stepping": true, "cmd/apbridge": false, "cmd/apbridge/internal/rig/crash": false},
		"proxy/service":               {"proxy/engine": false, "proxy": false, "cmd/apbridge/internal/bridge": true},
		"proxy/service/servicetest":   {"proxy/service/directory": true, "proxy/engine": false, "cmd/apbridge": false},
		"cmd/apbridge/internal/rig":   {"proxy/service": false, "adapter/threadrun": false, "cmd/apbridge/internal/command/serve": true},
		"examples/forgetful":          {"cmd/apbridge": true, "cmd/apbridge/internal/rig/matrix": false},
		"cmd/apbridge/internal/judge": {"cmd/apbridge/internal/rig/matrix": true, "cmd/apbridge/internal/conformance": false},
	} {
		for pkg, want := range pkgs {
			if got := permit(pkg, arrow); (got != "") != want {
				t.Errorf("may tests of %s import %s? %q", pkg, arrow, got)
			}
		}
	}
}
