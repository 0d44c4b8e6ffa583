package field

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// browserPackages lists the clients of the page in the versions that the browser tests install.
const browserPackages = "../../../../../.browser/package.json"

// TestCompatibilityPageAgreesWithInfo checks that every cell of the page agrees with /info about the client and the
// behaviour, and that every note gives the reason. The browser tests write both, so neither can be edited separately.
func TestCompatibilityPageAgreesWithInfo(t *testing.T) {
	t.Parallel()
	clients := testedClients(t)
	page := readPage(t)
	cells := 0
	for _, c := range clients {
		column := slices.Index(page.clients, c.Client)
		if column < 0 {
			t.Errorf("the page has no column of %s", c.Client)
			continue
		}
		for behaviour, row := range page.rows {
			checkCell(t, page, c, behaviour, row[column])
			cells++
		}
		for _, behaviour := range c.Works {
			if page.rows[behaviour] == nil {
				t.Errorf("the page has no row of %q", behaviour)
			}
		}
	}
	if len(clients) != len(page.clients) || cells == 0 {
		t.Errorf("/info has %d clients, the page %d", len(clients), len(page.clients))
	}
}

// checkCell compares one cell and its notes with /info.
func checkCell(t *testing.T, page compatibility, c testedClient, behaviour, cell string) {
	t.Helper()
	works, notes := slices.Contains(c.Works, behaviour), ""
	for _, f := range c.Fails {
		if f.Behaviour != behaviour {
			continue
		}
		note := page.noteOf(cell, f.Agent, f.Why)
		if note == 0 {
			t.Errorf("%s, %s: no note of the cell %q says %q for the agent %s", c.Client, behaviour, cell, f.Why, f.Agent)
		}
		if number := fmt.Sprintf("(%d)", note); !strings.Contains(notes, number) {
			notes = strings.TrimSpace(notes + " " + number)
		}
	}
	want := map[bool]map[bool]string{true: {true: "works", false: "works, but " + notes}, false: {true: "–", false: notes}}[works][notes == ""]
	if cell != want {
		t.Errorf("%s, %s: the page has %q, want %q as in /info", c.Client, behaviour, cell, want)
	}
}

// compatibility is the page's table.
type compatibility struct {
	clients []string
	rows    map[string][]string // by behaviour, a cell for each client
	notes   []string
}

var numberOfNote = regexp.MustCompile(`\((\d+)\)`)

// noteOf returns the number of the cell's note with this reason for the agent, or 0.
func (p compatibility) noteOf(cell, agent, why string) int {
	for _, m := range numberOfNote.FindAllStringSubmatch(cell, -1) {
		n, _ := strconv.Atoi(m[1])
		if n > 0 && n <= len(p.notes) && strings.Contains(p.notes[n-1], agent) && strings.Contains(p.notes[n-1], why) {
			return n
		}
	}
	return 0
}

func readPage(t *testing.T) compatibility {
	t.Helper()
	text, err := os.ReadFile(compatibilityPage)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| | ")
	table, _, found := strings.Cut(table, "<!-- end -->")
	if !found {
		t.Fatal("the page has no generated table")
	}
	table = strings.ReplaceAll(table, "\n   ", " ") // notes that are wrapped
	lines := strings.Split("| | "+table, "\n")
	page := compatibility{clients: cellsOf(lines[0])[1:], rows: map[string][]string{}}
	for _, line := range lines[2:] {
		if row := cellsOf(line); len(row) == len(page.clients)+1 {
			page.rows[row[0]] = row[1:]
		} else if _, note, ok := strings.Cut(line, ". "); ok {
			page.notes = append(page.notes, note)
		}
	}
	return page
}

// cellsOf returns the cells of a table row.
func cellsOf(line string) []string {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// TestListedVersionsAreInstalled checks that the page and /info name the versions that the browser tests install.
func TestListedVersionsAreInstalled(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(browserPackages)
	if err != nil {
		t.Fatal(err)
	}
	var installed struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &installed); err != nil {
		t.Fatal(err)
	}
	for _, c := range testedClients(t) {
		renamed := fmt.Sprintf("npm:%s@%s", c.Package, c.Version)
		if installed.Dependencies[c.Package] != c.Version && !slices.Contains(slices.Collect(maps.Values(installed.Dependencies)), renamed) {
			t.Errorf("%s was tested with %s %s, and %s is installed", c.Client, c.Package, c.Version, installed.Dependencies[c.Package])
		}
	}
}

// testedClients returns the clients of /info.
func testedClients(t *testing.T) []testedClient {
	t.Helper()
	b, _ := threadAgent(t)
	var info struct{ Compatibility []testedClient }
	if err := json.Unmarshal(b.Get("/info").OK().Body, &info); err != nil || len(info.Compatibility) == 0 {
		t.Fatalf("no clients: %v", err)
	}
	return info.Compatibility
}
