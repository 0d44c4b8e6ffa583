// Package page provides the frame of the bridge's own pages: their style, their browser policy, and the way they are
// sent. Packages inspect and front provide the contents, and the bridge specifies the tabs. The main part of a page is
// a template of html/template. This package uses no service. Start reading at New and Page.
//
// A page works without scripts. Its only style is included, so the page can be painted as soon as it has arrived. Its
// policy (Content Security Policy Level 3) allows that style by its digest. A page loads nothing, not even from the
// bridge, unless it has Assets. Links are relative to the root of the bridge, which may be below a path of a proxy.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

var (
	//go:embed frame.html
	frame string
	//go:embed style.css
	style string
)

// policy returns a policy that only allows a style and the icon in the page.
func policy(style string) string {
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:; style-src 'sha256-" + digest(style) + "'"
}

// assetPolicy returns the policy of a page with Assets: modules, forms and frames of the bridge itself. A module cannot
// turn text into markup (Trusted Types), and the policy does not allow it to create a policy for that.
func assetPolicy(style string) string {
	return "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src data:; style-src 'sha256-" + digest(style) +
		"'; script-src 'self'; connect-src 'self'; frame-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Tab is a page to which every page has a link.
type Tab struct{ Path, Name string }

// tabs are in display order. Paths are relative to the root of the bridge.
var tabs = []Tab{{"./", "Home"}, {"docs", "Documentation"}}

// Inspector is the tab for callers that may inspect the bridge.
var Inspector = Tab{"inspect/overview", "Inspector"}

// Page is a page whose main part is a template. Safe for concurrent use.
type Page struct {
	t       *template.Template
	style   string
	modules []string

	policy, referrer string
}

// Assets are the additions of a page to the frame: the text of its style, which is included after the frame's, and the
// modules that it loads from the bridge, by paths relative to its root.
type Assets struct {
	Style   string
	Modules []string
}

// New returns a page with a main part, which is executed with the Body of a View. It panics if the template cannot be
// parsed, which is a bug.
func New(main string, functions template.FuncMap) *Page {
	t := template.Must(template.New("frame").Funcs(functions).Parse(frame))
	return &Page{t: template.Must(t.New("main").Parse(main)), style: style, policy: policy(style), referrer: "no-referrer"}
}

// With returns the page with assets. The forms of such a page must send their origin. With no-referrer it would be null
// (Fetch standard section 3.1).
func (p *Page) With(a Assets) *Page {
	whole := style + a.Style
	return &Page{p.t, whole, a.Modules, assetPolicy(whole), "same-origin"}
}

// View is the data of the page for one request.
type View struct {
	Title   string
	Here    string // the path of the open tab, as in tabs; may be empty
	Version string // of the bridge
	Body    any    // for the template of the main part
	Root    string // relative path from the page to the root of the bridge, see RootOf; "" if the page is there
	More    []Tab  // additional tabs for this caller
}

// RootOf returns the relative path from a path of the bridge to its root: "../" for each part except the last.
func RootOf(path string) string { return strings.Repeat("../", max(0, strings.Count(path, "/")-1)) }

// shownView is the data for the frame's template.
type shownView struct {
	View
	Tabs    []Tab
	Style   template.CSS
	Modules []string
}

// pseudoVersion matches a version that the go command derives from a commit.
var pseudoVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+-.*\d{14}-([0-9a-f]{8})[0-9a-f]{4}\b`)

// ShortVersion returns the version, or the beginning of the commit if the version has no name of its own.
func (v shownView) ShortVersion() string {
	if m := pseudoVersion.FindStringSubmatch(v.Version); m != nil {
		return m[1]
	}
	return v.Version
}

// Link returns a link to a path that is relative to the root of the bridge.
func (v shownView) Link(path string) string {
	if path == "./" && v.Root != "" {
		return v.Root
	}
	return v.Root + path
}

// Answer sends the page, or 304 to a client that already has it (RFC 9110 section 13.1.2). Caches may keep it only for
// this client, and must validate it each time. An error is returned before anything is written.
func (p *Page) Answer(w http.ResponseWriter, r *http.Request, v View) error {
	var b bytes.Buffer
	err := p.t.ExecuteTemplate(&b, "frame", shownView{v, slices.Concat(tabs, v.More), template.CSS(p.style), p.modules})
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.policy)
	h.Set("Referrer-Policy", p.referrer)
	Send(w, r, b.Bytes())
	return nil
}

// Send sends a body that depends on the caller and may only be kept for that caller. The tag is weak (RFC 9110 section
// 8.8.1) because an intermediary may compress the response.
func Send(w http.ResponseWriter, r *http.Request, body []byte) {
	sum := sha256.Sum256(body)
	tag := fmt.Sprintf(`W/"%x"`, sum[:12])
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Add("Vary", "Accept, Authorization, X-Api-Key")
	h.Set("ETag", tag)
	if known(r.Header.Values("If-None-Match"), tag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body) // the client may have disconnected
}

// known reports whether tag is among a client's tags by weak comparison.
func known(have []string, tag string) bool {
	for part := range strings.SplitSeq(strings.Join(have, ","), ",") {
		part = strings.TrimSpace(part)
		if part == "*" || strings.TrimPrefix(part, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
