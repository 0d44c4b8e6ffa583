package bridge_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestArchitectureNamesEveryPackage: the table at the start of ARCHITECTURE.md has a row for each
// package, and none for what is no package.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(rig.Root(t), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, house, _ := strings.Cut(string(text), "\n## The house\n")
	house, _, _ = strings.Cut(house, "\n## ")
	named := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(house, -1) {
		for _, name := range unfolded(row[1]) {
			named[name] = false
		}
	}
	for pkg := range laws {
		if !nameOf(pkg, named) {
			t.Errorf("ARCHITECTURE.md has no row for package %s", pkg)
		}
	}
	for name, is := range named {
		if !is {
			t.Errorf("ARCHITECTURE.md has a row for %s, which is no package", name)
		}
	}
}

// nameOf notes the row that is of a package, and reports whether there is one. Examples have one together.
func nameOf(pkg string, named map[string]bool) (found bool) {
	for name := range named {
		below, cut := strings.CutPrefix(name, "…")
		if pkg == name || cut && strings.HasSuffix(pkg, below) || name == "examples" && strings.HasPrefix(pkg, name+"/") {
			named[name], found = true, true
		}
	}
	return found
}

// unfolded are the names that a{b,c}d stands for; there may be several braces.
func unfolded(name string) (list []string) {
	before, rest, found := strings.Cut(name, "{")
	if !found {
		return []string{name}
	}
	choices, after, _ := strings.Cut(rest, "}")
	for choice := range strings.SplitSeq(choices, ",") {
		list = append(list, unfolded(before+choice+after)...)
	}
	return list
}

// nouns are flavours whose names are words of the model, too.
var nouns = []string{"topic"}

// machine are the packages that serve every dialect and know none: those of the machine and of the model, and the
// bridge's own pages.
func machine(pkg string) bool {
	for _, top := range []string{"proxy", "mapping", "adapter/page", "adapter/inspect", "cmd/apbridge/internal/front"} {
		if pkg == top || strings.HasPrefix(pkg, top+"/") {
			return !strings.HasSuffix(pkg, "test")
		}
	}
	return false
}

// TestMachineNamesNoDialect: no string in the code of the machine, of the model or of the pages is the name of a
// dialect or of a flavour, and no template has such a word.
func TestMachineNamesNoDialect(t *testing.T) {
	t.Parallel()
	var names []string
	for _, d := range bridge.Dialects() {
		names = append(names, d.Name)
		for _, f := range d.Flavours {
			if !slices.Contains(nouns, string(f.Name)) {
				names = append(names, string(f.Name))
			}
		}
	}
	if len(names) < 5 {
		t.Fatalf("these are too few: %v", names)
	}
	for pkg := range laws {
		if machine(pkg) {
			namesNone(t, pkg, names)
			saysNone(t, pkg, names)
		}
	}
}

// wireWords are members of requests and answers of one dialect.
var wireWords = []string{"configurable", "kwargs", "recursion_limit", "multitask_strategy", "graph_id", "stream_mode", "is_last", "step_id", "additional_output"}

// TestMachineReadsNoWireFormat: no code of the machine names a member of a dialect's requests or answers, alone, in a tag
// or in a literal of JSON. The rules between the dialects do, as they are their mapping table.
func TestMachineReadsNoWireFormat(t *testing.T) {
	t.Parallel()
	member := regexp.MustCompile(`^(` + strings.Join(wireWords, "|") + `)$|json:"(` + strings.Join(wireWords, "|") + `)[",]|"(` + strings.Join(wireWords, "|") + `)":`)
	for pkg := range laws {
		if machine(pkg) && strings.HasPrefix(pkg, "proxy") {
			eachString(t, pkg, func(file, said string) {
				if member.MatchString(said) {
					t.Errorf("%s names %q", file, said)
				}
			})
		}
	}
}

// TestMachineNamesNoPathOfADialect: no string in the code of the machine, or of the pages / and /docs, begins as a path that
// one dialect has to itself. What several begin with, such as /agents, is the bridge's. The inspector's routes lie
// below its own.
func TestMachineNamesNoPathOfADialect(t *testing.T) {
	t.Parallel()
	path := regexp.MustCompile("^/(" + strings.Join(firstParts(), "|") + ")(/|$)")
	for pkg := range laws {
		if machine(pkg) && !strings.HasPrefix(pkg, "adapter/inspect") {
			eachString(t, pkg, func(file, said string) {
				if path.MatchString(said) {
					t.Errorf("%s names %q", file, said)
				}
			})
		}
	}
}

// firstParts are those of the paths that one dialect owns and no other.
func firstParts() (list []string) {
	of := map[string]map[string]bool{}
	for _, d := range bridge.Dialects() {
		for _, path := range d.Paths {
			first := strings.Split(path, "/")[1]
			if of[first] == nil {
				of[first] = map[string]bool{}
			}
			of[first][d.Name] = true
		}
	}
	for first, dialects := range of {
		if len(dialects) == 1 {
			list = append(list, regexp.QuoteMeta(first))
		}
	}
	return list
}

func namesNone(t *testing.T, pkg string, names []string) {
	t.Helper()
	eachString(t, pkg, func(file, said string) {
		if slices.Contains(names, said) {
			t.Errorf("%s names %q", file, said)
		}
	})
}

// eachString has see told of every string in the code of a package, but for its tests.
func eachString(t *testing.T, pkg string, see func(file, said string)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(rig.Root(t), pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if said, err := strconv.Unquote(lit.Value); err == nil {
					see(path, said)
				}
			}
			return true
		})
	}
}

// saysNone complains of names in the templates of a package, and in those of the folders of it that are no packages.
func saysNone(t *testing.T, pkg string, names []string) {
	t.Helper()
	word := regexp.MustCompile(`(?i)\b(` + strings.Join(names, "|") + `)\b`)
	for _, pattern := range []string{"*.html", "*/*.html"} {
		files, err := filepath.Glob(filepath.Join(rig.Root(t), pkg, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if said := word.Find(text); said != nil {
				t.Errorf("%s says %q", path, said)
			}
		}
	}
}
