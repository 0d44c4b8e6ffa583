package bridge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestLossTableOfTheProgram: what becomes of each field between the dialects, word for word.
func TestLossTableOfTheProgram(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for _, row := range mapping.LossTable() {
		fmt.Fprintf(&table, "%s %s, %s to %s: %s. %s\n", row.Request, row.Field, row.From, row.To, row.Fate, row.Reason)
	}
	rig.CheckGolden(t, "testdata/losses.txtar", &txtar.Archive{Files: []txtar.File{{Name: "rows", Data: []byte(table.String())}}})
}
