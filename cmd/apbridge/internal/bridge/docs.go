package bridge

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	html "html/template"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// The page that leads to the documents of the dialects. A test compares these with the
// routes and with what is answered.
//
//go:embed docs.html docs.css
var pageFiles embed.FS

// documents are the paths of the documentation.
func documents(version string, dialects adapter.Dialects) map[string]http.Handler {
	paths := map[string]http.Handler{}
	for _, d := range dialects.Documents() {
		paths[d.Path()] = static("application/json", "default-src 'none'", d.Text)
	}
	page, policy := docsPage(version, dialects)
	paths["/docs"] = static("text/html; charset=utf-8", policy, page)
	return paths
}

func static(kind, policy string, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Content-Security-Policy", policy)
		h.Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body) // the client may be gone
	})
}

// mustRead reads a file of the binary.
func mustRead(name string) []byte {
	b, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err) // it is linked in
	}
	return b
}

// docsPage is a page without scripts or anything from elsewhere, and the policy
// (Content Security Policy Level 3) that holds it to that.
func docsPage(version string, dialects adapter.Dialects) (page []byte, policy string) {
	style := mustRead("docs.css")
	sum := sha256.Sum256(style)
	policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
	var b bytes.Buffer
	t := html.Must(html.New("docs").Parse(string(mustRead("docs.html"))))
	err := t.Execute(&b, struct {
		Version   string
		Style     html.CSS
		Documents []adapter.Document
		Losses    []mapping.LossRow
	}{version, html.CSS(style), dialects.Documents(), dialects.LossTable()})
	if err != nil {
		panic(err) // a template of ours over data of ours
	}
	return b.Bytes(), policy
}
