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
	"sync"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestArchitectureNamesEveryPackage: the table at the start of ARCHITECTURE.md has a row for each package, and none for
// what is no package.
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

// plain is a dialect whose name may stand in an identifier: a run of a thread is a thread's run.
const plain = "threadrun"

// machine are the packages that serve every dialect and know none: those of the machine and of the model, and the
// bridge's own pages.
func machine(pkg string) bool {
	for _, top := range []string{"proxy", "mapping", "adapter/page", "adapter/inspect", "cmd/apbridge/internal/front", "cmd/apbridge/internal/command/doctor"} {
		if pkg == top || strings.HasPrefix(pkg, top+"/") {
			return !strings.HasSuffix(pkg, "test")
		}
	}
	return false
}

// TestMachineNamesNoDialect: no string in the code of the machine, of the model or of the pages is the name of a
// dialect or of a flavour, and no identifier and no template has one in it.
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

// idWords are ids of the model's nouns. Columns and sentences of the machine have them, too, but it writes no document
// with them, nor with the times that documents of one dialect have.
var idWords = []string{"thread_id", "run_id", "task_id", "step_id", "assistant_id", "agent_id", "checkpoint_id", "artifact_id", "cron_id"}

// answerWords are members and values of one dialect's requests and answers that no field of a request is documented by.
var answerWords = []string{
	"configurable", "kwargs", "recursion_limit", "is_last", "additional_output", "checkpoint_ns", "next_run_date", "do_nothing",
	"__start__", "__end__", "__interrupt__", "parent_checkpoint",
}

// exception is a place where the machine has words of a dialect all the same, and why.
type exception struct {
	words []string
	why   string
}

var exceptions = map[string]exception{
	"proxy/engine/assignment.go": {[]string{"additional_input", "run_id", "thread_id"}, "memory.deliver of the configuration has the first as a value; the ids are " +
		"members of what apbridge tells an agent of itself, which is documented for agents of every dialect."},
	"proxy/service/plan/telling.go":      {[]string{"additional_input"}, "It is a value of memory.deliver of the configuration."},
	"proxy/stepping/task_run.go":         {[]string{"task_id"}, "Details of refusals name objects so in every dialect."},
	"proxy/stepping/wait_for_thread.go":  {[]string{"task_id"}, "Details of refusals name objects so in every dialect."},
	"proxy/store/archive/table.go":       {[]string{"kwargs"}, "It is the name of a column, which databases have that are in use."},
	"proxy/store/run_create.go":          {[]string{"kwargs"}, "It is the name of a column, which databases have that are in use."},
	"proxy/store/run_admit.go":           {[]string{"thread_id", "run_id"}, "Details of refusals name objects so in every dialect."},
	"proxy/store/sqldb/room.go":          {[]string{"page_size"}, "It is SQLite's word."},
	"proxy/store/sqldb/sqlite.go":        {[]string{"page_size"}, "It is SQLite's word."},
	"proxy/store/sqldb/sqlite_file.go":   {[]string{"page_size"}, "It is SQLite's word."},
	"proxy/store/sqldb/sqlite_intact.go": {[]string{"page_size"}, "It is SQLite's word."},
}

// wireWords are the words that one dialect has for what it sends: documented fields whose names are no words of
// English, and answerWords.
func wireWords() (list []string) {
	list = append(list, answerWords...)
	for _, d := range bridge.Dialects() {
		for _, f := range d.Fields {
			if strings.ContainsAny(f.Name, "_.") && !slices.Contains(idWords, f.Name) {
				list = append(list, f.Name)
			}
		}
	}
	return list
}

// anyOf is the alternative of words in a regular expression.
func anyOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = regexp.QuoteMeta(w)
	}
	return `(` + strings.Join(quoted, "|") + `)`
}

// TestMachineReadsNoWireFormat: no string in the code of the machine has a word of a dialect's requests or answers,
// alone or in a sentence, and no document in a tag or a literal of JSON has ids and times as one dialect spells them.
// The rules between the dialects do, as they are their mapping table.
func TestMachineReadsNoWireFormat(t *testing.T) {
	t.Parallel()
	left := map[string][]string{}
	for file, e := range exceptions {
		left[file] = slices.Clone(e.words)
	}
	for pkg := range laws {
		if machine(pkg) && strings.HasPrefix(pkg, "proxy") {
			eachString(t, pkg, func(path, said string) {
				file, err := filepath.Rel(rig.Root(t), path)
				if err != nil {
					t.Fatal(err)
				}
				file = filepath.ToSlash(file)
				for _, word := range wordsOfWire(said) {
					left[file] = slices.DeleteFunc(left[file], func(w string) bool { return w == word })
					if !slices.Contains(exceptions[file].words, word) {
						t.Errorf("%s says %q in %q", file, word, said)
					}
				}
			})
		}
	}
	for file, words := range left {
		if len(words) > 0 {
			t.Errorf("%s does not say %q any more: take it out of the exceptions", file, words)
		}
	}
}

// wordsOfWire are the words of dialects in a string of code.
func wordsOfWire(said string) (list []string) {
	for _, re := range wireForms() {
		for _, found := range re.FindAllStringSubmatch(said, -1) {
			list = append(list, slices.DeleteFunc(found[1:], func(s string) bool { return s == "" })...)
		}
	}
	return list
}

// wireForms find words within sentences, and names of members that stand alone, in a tag or in JSON.
var wireForms = sync.OnceValue(func() []*regexp.Regexp {
	member := anyOf(append([]string{"created_at", "updated_at"}, idWords...))
	return []*regexp.Regexp{
		regexp.MustCompile(`(?:^|[^\w.])` + anyOf(wireWords()) + `(?:$|\W)`),
		regexp.MustCompile(`^` + member + `$|json:"` + member + `[",]|"` + member + `":`),
	}
})

// TestWordsOfWireAreFound in all the forms that code has them in.
func TestWordsOfWireAreFound(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Send multitask_strategy enqueue.":                "multitask_strategy",
		"command.goto is not supported before %s.":        "command.goto",
		"Use another id, or if_exists do_nothing.":        "if_exists",
		`{"nodes":[{"id":"__start__"}]}`:                  "__start__",
		`json:"thread_id"`:                                "thread_id",
		"next_run_date":                                   "next_run_date",
		"additional_input.multitask_strategy must be one": "additional_input",
		"SELECT run_id FROM runs WHERE thread = $1":       "",
		"The state of the thread is not what it was.":     "",
	} {
		found := wordsOfWire(said)
		if want == "" && len(found) > 0 || want != "" && !slices.Contains(found, want) {
			t.Errorf("in %q: %q, want %q", said, found, want)
		}
	}
}

// TestMachineNamesNoPathOfADialect: no string in the code of the machine, or of the pages / and /docs, has a path that
// one dialect has to itself, alone or in a sentence. What several begin with, such as /agents, is the bridge's. The
// inspector's routes lie below its own.
func TestMachineNamesNoPathOfADialect(t *testing.T) {
	t.Parallel()
	for pkg := range laws {
		if machine(pkg) && !strings.HasPrefix(pkg, "adapter/inspect") {
			eachString(t, pkg, func(file, said string) {
				if pathsOfDialects().MatchString(said) {
					t.Errorf("%s names %q", file, said)
				}
			})
		}
	}
}

// pathsOfDialects finds a path of one dialect, behind a blank, a sign, or a verb of Printf, which may stand for a host.
var pathsOfDialects = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\w./]|%[svq])/(?:` + strings.Join(firstParts(), "|") + `)(?:$|\W)`)
})

// TestPathsOfDialectsAreFound wherever they stand in a string.
func TestPathsOfDialectsAreFound(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"/threads/{thread_id}": true, "Make one with POST /assistants.": true, "%s/runs/%s": true, "(/ap/v1)": true,
		"/agents/{agent}": false, "proxy/store": false, "step k/runs": false, "a /threadsafe list": false,
	} {
		if found := pathsOfDialects().MatchString(said); found != want {
			t.Errorf("%q: %v", said, found)
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
	eachNode(t, pkg, func(path string, n ast.Node) {
		id, ok := n.(*ast.Ident)
		if ok && slices.ContainsFunc(names, func(name string) bool { return name != plain && strings.Contains(strings.ToLower(id.Name), name) }) {
			t.Errorf("%s calls something %s", path, id.Name)
		}
	})
}

// eachString has see told of every string in the code of a package, but for its tests.
func eachString(t *testing.T, pkg string, see func(file, said string)) {
	t.Helper()
	eachNode(t, pkg, func(path string, n ast.Node) {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if said, err := strconv.Unquote(lit.Value); err == nil {
				see(path, said)
			}
		}
	})
}

// eachNode has see told of the code of a package, but for its tests.
func eachNode(t *testing.T, pkg string, see func(path string, n ast.Node)) {
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
			see(path, n)
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
