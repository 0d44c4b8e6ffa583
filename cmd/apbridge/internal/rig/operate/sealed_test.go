package operate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/archive"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// sealingKey is the content of a key file.
const sealingKey = "YW5vdGhlciBrZXkgb2YgdGhpcnR5LXR3byBieXRlcyA="

// privateWord is in all texts of the client and the agent.
const privateWord = "quixotically"

// storeEverywhere puts the word into every kind of stored body.
func storeEverywhere(t *testing.T, b *rig.Bridge) (thread string) {
	t.Helper()
	const body = `{"assistant_id":"a","input":"%s","config":{"configurable":{"x":"%[1]s"}},"context":{"y":"%[1]s"}}`
	const id = "01980000-0000-7000-8000-0000000000aa"
	b.Post("/threads", `{"thread_id":"`+id+`"}`).OK()
	b.Post("/threads/"+id+"/runs/wait", fmt.Sprintf(body, privateWord)).OK()
	at := b.Task(`{"input":"` + privateWord + `","additional_input":{"z":"` + privateWord + `"}}`)
	b.Upload(at+"/artifacts", "in.txt", "", strings.Repeat(privateWord+" ", 100_000)).OK()
	b.Post(at+"/steps", `{"input":"`+privateWord+`"}`).OK()
	b.Do("PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{"said":"`+privateWord+`"}}`).Want(t, 204)
	b.Post("/assistants", `{"graph_id":"a","name":"b","config":{"configurable":{"x":"`+privateWord+`"}}}`).OK()
	b.Post("/threads/"+id+"/runs/crons", `{"assistant_id":"a","schedule":"0 7 1 1 *","input":"`+privateWord+`"}`).OK()
	return "/threads/" + id
}

// holding returns the files of a database, its log and its backup that contain the word.
func holding(t *testing.T, database string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(database + "*")
	if err != nil || len(all) < 3 {
		t.Fatal(all, err)
	}
	for _, file := range all {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(privateWord)) {
			files = append(files, filepath.Base(file))
		}
	}
	return files
}

// TestNoFileContainsSealedText checks that with a key, no text of clients and agents is in a file of the database or a
// backup, and that the next process can read everything.
func TestNoFileContainsSealedText(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	for _, sealed := range []bool{true, false} {
		t.Run(fmt.Sprint(sealed), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "a.db")
			text, environ := "database: "+file+rig.OneAgent, []string(nil)
			if sealed {
				text += "\nencryption: {keys: ['env:KEY']}"
				environ = []string{"KEY=" + sealingKey}
			}
			b := rig.Configured(t, text, rig.Legacy(), environ...)
			at := storeEverywhere(t, b)
			if _, err := archive.Backup(t.Context(), file, file+".backup", func(int, int) {}); err != nil {
				t.Fatal(err)
			}
			if has := holding(t, file); (len(has) == 0) != sealed {
				t.Errorf("sealed %v: the word is in %v", sealed, has)
			}
			b.End()
			b = rig.Configured(t, text, rig.Legacy(), environ...)
			b.Get(at+"/state").Want(t, 200, privateWord)
			b.Post("/store/items/search", `{"namespace_prefix":["a"],"query":"`+privateWord+`"}`).Want(t, 200, `"said"`)
			b.Post("/store/items/search", `{"namespace_prefix":["a"],"filter":{"said":"`+privateWord+`"}}`).Want(t, 200, `"said"`)
		})
	}
}
