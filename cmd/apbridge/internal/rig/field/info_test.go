package field

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const compatibilityPage = "../../../../../docs/compatibility.md"

// TestInfoListsTestedClients checks that /info lists the tested stock clients in a machine-readable form, with versions
// and the reasons of failures, and that the page has the same versions.
func TestInfoListsTestedClients(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(compatibilityPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range testedClients(t) {
		if len(c.Works) == 0 {
			t.Errorf("no behaviour works in %s", c.Client)
		}
		if row := fmt.Sprintf("| %s | `%s` | %s |", c.Client, c.Package, c.Version); !strings.Contains(string(page), row) {
			t.Errorf("the page has no row %s", row)
		}
		for _, f := range c.Fails {
			if !slices.Contains([]string{"client", "agent", "refused", "bridge"}, f.Fault) || f.Why == "" || f.Agent == "" {
				t.Errorf("%s: %+v", c.Client, f)
			}
		}
	}
}

// testedClient is one client of /info.
type testedClient struct {
	Client, Package, Version string
	Works                    []string
	Fails                    []struct{ Behaviour, Agent, Fault, Why string }
}
