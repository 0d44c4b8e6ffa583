package crash

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
	"github.com/apbridge/apbridge/mapping/failpoint"
)

// unreached has the points that a single bridge does not reach, with the reason, for each kind of database.
var unreached = map[string]map[string]string{
	"sqlite": {
		"sqldb.postgres.renewLease": "PostgreSQL only", "sqldb.postgres.endLease": "PostgreSQL only",
		"sqldb.postgres.recoverOrphans": "PostgreSQL only", "store.Tasks.HandedOut": "there are no other processes to be told",
		"store.Claims.RequestStop": "no other process has the run", "store.Tasks.TakeBack": leaves,
		"sqldb.sqlite.renewLease": "written only after a write was refused", "store.Events.Logged": unknown,
		"store.States.FreeLeft": unfreed, "item.Maintenance.Sweep": minutely,
		"sqldb.sqlite.bulk": "written by imports, which TestImportThatIsKilled kills", "store.Rates.Take": "PostgreSQL only", "store.Store.RecountQuotas": bounded,
	},
	"postgres": {
		"sqldb.sqlite.bulk": "SQLite only", "sqldb.sqlite.recoverOrphans": "SQLite only", "sqldb.sqlite.renewLease": "SQLite only", "store.Claims.RequestStop": "no other process has the run",
		"store.Tasks.TakeBack": leaves, "store.Events.Logged": unknown, "store.States.FreeLeft": unfreed,
		"item.Maintenance.Sweep": minutely, "store.Rates.Take": bounded, "store.Store.RecountQuotas": bounded,
	},
}

const leaves = "needs a client that leaves in the moment between a hand-out's being noted and its being written"

const bounded = "done only where keys or tenants are bounded; what it writes may be lost"

const minutely = "done once a minute, of what has expired"

const unknown = "asked only where it is not known whether a commit took place"

const unfreed = "done only where a hold of a thread could not be freed, or it is not known whether it took place"

// TestUnreachedPointsExist checks that every operation in unreached exists in the store.
func TestUnreachedPointsExist(t *testing.T) {
	t.Parallel()
	operations := storeOperations(t)
	for database, exceptions := range unreached {
		for name := range exceptions {
			if !slices.Contains(operations, name) {
				t.Errorf("%s: %s is not an operation of the store that writes", database, name)
			}
		}
	}
}

// allPoints returns the fail points: two for each committing operation of the store, found in its source, and those
// named in package failpoint.
func allPoints(t *testing.T, database string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, name := range storeOperations(t) {
		if unreached[database][name] == "" {
			all[string(failpoint.Before(name))], all[string(failpoint.After(name))] = true, true
		}
	}
	for _, name := range namedPoints(t) {
		all[name] = true
	}
	return all
}

// sources parses the files of a package, without its tests.
func sources(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
	}
	return files
}

// sourcesBelow parses the files of a package and of all below it.
func sourcesBelow(t *testing.T, top string) (files []*ast.File) {
	t.Helper()
	err := filepath.WalkDir(top, func(dir string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() != "testdata" {
			files = append(files, sources(t, dir)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// storeOperations returns the functions of the store and its database that write.
func storeOperations(t *testing.T) (names []string) {
	for _, f := range sourcesBelow(t, filepath.Join(rig.Root(t), "proxy/store")) {
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil && !writes[fn.Name.Name] && commits(fn) {
				recv := fn.Recv.List[0].Type
				if star, ok := recv.(*ast.StarExpr); ok {
					recv = star.X
				}
				names = append(names, f.Name.Name+"."+recv.(*ast.Ident).Name+"."+fn.Name.Name)
			}
		}
	}
	if len(names) < 30 {
		t.Fatalf("only %d operations of the store were found", len(names))
	}
	slices.Sort(names)
	for i, name := range names[1:] {
		if name == names[i] {
			t.Errorf("two operations have the name %s, so their deaths cannot be distinguished", name)
		}
	}
	return names
}

// writes has the names of functions that run a transaction.
var writes = map[string]bool{"write": true, "Write": true, "WriteRelaxed": true}

// commits reports whether a function runs an operation: x.write(ctx, …).
func commits(fn *ast.FuncDecl) (found bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		first, named := call.Args[0].(*ast.Ident)
		found = found || ok && writes[sel.Sel.Name] && named && first.Name == "ctx"
		return true
	})
	return found
}

func namedPoints(t *testing.T) (names []string) {
	for _, f := range sources(t, filepath.Join(rig.Root(t), "mapping/failpoint")) {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if typ, is := ident(spec, ok); is && typ == "Point" {
				name, _ := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				names = append(names, name)
			}
			return true
		})
	}
	if len(names) < 9 {
		t.Fatalf("only %d named points were found", len(names))
	}
	return names
}

func ident(spec *ast.ValueSpec, ok bool) (string, bool) {
	if !ok || spec.Type == nil || len(spec.Values) != 1 {
		return "", false
	}
	id, ok := spec.Type.(*ast.Ident)
	if !ok {
		return "", false
	}
	_, literal := spec.Values[0].(*ast.BasicLit)
	return id.Name, literal
}
