package operate

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/apbridge/apbridge/proxy/store/archive"
	"github.com/apbridge/apbridge/proxy/store/seal"
)

// refuses is a task/step agent that refuses tasks.
func refuses(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	_, _ = w.Write([]byte(`{"tasks":[],"pagination":{"total_items":0,"total_pages":0,"current_page":1,"page_size":10}}`))
}

// rows returns the database's rows about principals.
func (p *personal) rows() string {
	p.T.Helper()
	var b bytes.Buffer
	keys, err := p.Cfg.Encryption.Bytes()
	if err != nil {
		p.T.Fatal(err)
	}
	ring, err := seal.New(keys, false)
	if err != nil {
		p.T.Fatal(err)
	}
	if _, err := archive.Export(p.T.Context(), p.Cfg.Database, ring, &b, func(int64) {}); err != nil {
		p.T.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^\{"(agents_seen|agent_facts|secrets|item_index|end)".*\n`).ReplaceAllString(b.String(), "")
}

// found returns the files of the database and the logs that contain a mark.
func (p *personal) found() []string { return p.filesWith(regexp.MustCompile(mark)) }

// foundInBodies returns the files that contain a mark from a body, which is sealed if there are keys.
func (p *personal) foundInBodies() []string {
	return p.filesWith(regexp.MustCompile(mark + `(3|5|6|8|9|1[02-4]|1[7-9]|2[0134])\b`))
}

func (p *personal) filesWith(words *regexp.Regexp) (files []string) {
	p.T.Helper()
	folders := []string{p.folder}
	if !strings.Contains(p.Cfg.Database, "://") {
		folders = append(folders, filepath.Dir(p.Cfg.Database))
	}
	for _, folder := range folders {
		list, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			p.T.Fatal(err)
		}
		for _, f := range list {
			text, err := os.ReadFile(f)
			if f == p.Cfg.Audit.File { // which has the ids of operations: an item's are its labels and its key
				text = bytes.ReplaceAll(text, []byte("users/"+mark+"15/"+mark+"16"), nil)
			}
			if err == nil && words.Match(bytes.ToLower(text)) {
				files = append(files, filepath.Base(f))
			}
		}
	}
	return files
}
