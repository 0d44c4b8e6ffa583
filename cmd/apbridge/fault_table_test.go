package main

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// faultResults is the variable with a folder of outputs of go test -json, a file for each kind of run: ordinary.json,
// postgres.json, …
const faultResults = "APBRIDGE_TEST_RESULTS"

// ordinaryRun is the kind of run that only needs Go. The table prefers it to the others.
const ordinaryRun = "ordinary"

const (
	faultTable = "../../docs/faults.md"
	faultRows  = 112 // A1 to A24, B1 to B12, C1 to C9, D1 to D8, E1 to E27, F1 to F8, G1 to G24
)

var (
	faultRow  = regexp.MustCompile(`^\| ([A-G][0-9]+) \|.*\| ([^|]*) \|$`)
	faultTest = regexp.MustCompile("`((?:Test|Fuzz)\\w+)`(?: \\(([^)]*)\\))?")
	testFunc  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// TestFaultTable checks docs/faults.md: each fault has tests, and they exist. If faultResults is set, each test must
// have passed in the kind of run in the table. With -update the test writes the table's last column from the results.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(faultTable)
	if err != nil {
		t.Fatal(err)
	}
	sources, results := testSources(t), resultsIn(t, os.Getenv(faultResults))
	lines, rows := strings.Split(string(raw), "\n"), 0
	for i, line := range lines {
		m := faultRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		rows++
		r := newFaultRow(m[1], m[2])
		if *rig.Update && results != nil {
			lines[i] = strings.TrimSuffix(line, m[2]+" |") + r.write(t, m[2], results) + " |"
			continue
		}
		r.check(t, m[2], sources, results)
	}
	if rows != faultRows {
		t.Errorf("%d rows can be read, and there are %d faults", rows, faultRows)
	}
	if *rig.Update && results != nil && !t.Failed() {
		if err := os.WriteFile(faultTable, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// faultTests is a row of the table.
type faultTests struct {
	id   string
	told map[string]string // by name of the test: the kind of run, "" if the row names none
}

func newFaultRow(id, cell string) faultTests {
	r := faultTests{id: id, told: map[string]string{}}
	for _, m := range faultTest.FindAllStringSubmatch(cell, -1) {
		r.told[m[1]] = m[2]
	}
	return r
}

func (r faultTests) check(t *testing.T, cell string, sources map[string]bool, results *testResults) {
	t.Helper()
	for name, kind := range r.told {
		if !sources[name] {
			t.Errorf("%s: there is no test %s", r.id, name)
		}
		if results != nil && !slices.Contains(results.passed[name], kind) {
			t.Errorf("%s: %s passed in the runs %q, and the table says %q", r.id, name, results.passed[name], kind)
		}
	}
	if len(r.told) == 0 && !strings.Contains(cell, byPeers) {
		t.Errorf("%s: no test", r.id)
	}
}

// byPeers marks a row that real peers cover and no Go test does.
const byPeers = "`make e2e`"

// write returns the row's last column: each test with the kind of run in which it passed. A test whose kind was not run
// keeps its entry; any other must have passed.
func (r faultTests) write(t *testing.T, cell string, results *testResults) string {
	t.Helper()
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.told)) {
		kind := r.told[name]
		if passed := results.passed[name]; slices.Contains(passed, ordinaryRun) {
			kind = ordinaryRun
		} else if len(passed) > 0 {
			kind = passed[0]
		} else if kind == "" || results.kinds[kind] {
			t.Errorf("%s: %s passed in none of the runs", r.id, name)
		}
		list = append(list, "`"+name+"` ("+kind+")")
	}
	if strings.Contains(cell, byPeers) {
		list = append(list, byPeers)
	}
	return strings.Join(list, ", ")
}

// testSources returns the names of all tests of the repository.
func testSources(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return errOr(err, fs.SkipDir)
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// testResults are the results of the suites: the kinds that were run, and the kinds in which each test passed.
type testResults struct {
	kinds  map[string]bool
	passed map[string][]string
}

// resultsIn reads a folder of results. It returns nil if the name is empty.
func resultsIn(t *testing.T, folder string) *testResults {
	t.Helper()
	if folder == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s=%s holds no results (%v)", faultResults, folder, err)
	}
	r := &testResults{kinds: map[string]bool{}, passed: map[string][]string{}}
	for _, file := range files {
		kind := strings.TrimSuffix(filepath.Base(file), ".json")
		r.kinds[kind] = true
		for name := range passedIn(t, file) {
			r.passed[name] = append(r.passed[name], kind)
		}
	}
	return r
}

func passedIn(t *testing.T, file string) map[string]bool {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names := map[string]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct{ Action, Test string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Action == "pass" && line.Test != "" && !strings.Contains(line.Test, "/") {
			names[line.Test] = true
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}
