package operate

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// C7: whatever clients have read of a database of version 5 to 12 of the schema, they read of it after the upgrade;
// members may be added. testdata/older has the database that the last build with that version of the schema left when
// it was stopped, in front of the agent of examples/legacyagent, and what it had answered of it (its commit is named
// there). They are never made anew.
//
// There is none of versions 1 to 4: the schemas that builds had as 1 and 2 are not those of today's migrations, and 3
// and 4 came with 5, in one commit. There is none of version 10, which was that of one commit, and that does not build.
// Of those there is the fixture in proxy/store alone, whose rows no build of that version wrote.
func TestC7DatabasesOfOlderBuilds(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	files, err := filepath.Glob("testdata/older/*.txtar")
	if err != nil || len(files) != 7 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".txtar")
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			cfg := before(t, name+".db")
			cfg.DefaultAgent = "legacy"
			checkAnsweredAsBefore(t, rig.StartBridge(t, cfg), file, 14)
		})
	}
}
