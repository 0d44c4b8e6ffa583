// Package page is the frame of the bridge's own pages: their style, their policy in a browser, and how they are sent.
// Packages inspect and front fill it, and the bridge names the tabs between them. A page brings its main part as a
// template of html/template. The package asks no service.
//
// A page works without scripts. Its one style stands in it, so that it is painted as soon as it has come, and its
// policy (Content Security Policy Level 3) allows that style by its digest. It loads nothing, not even from the bridge,
// unless it brings Assets. Links are relative to the root of the bridge, which may lie below a path of a proxy's.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
)

var (
	//go:embed frame.html
	frame string
	//go:embed style.css
	style string
)

// policy allows a style, the icon within the page, and nothing else.
func policy(style string) string {
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:; style-src 'sha256-" + digest(style) + "'"
}

// assetPolicy is that of a page with Assets: modules, forms and frames of the bridge's own. No module can make markup
// of a text (Trusted Types), and no policy of a module's own allows it.
func assetPolicy(style string) string {
	return "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src data:; style-src 'sha256-" + digest(style) +
		"'; script-src 'self'; connect-src 'self'; frame-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Tab is a page that every page leads to.
type Tab struct{ Path, Name string }

// tabs are in the order in which they are shown; paths are relative to the root of the bridge.
var tabs = []Tab{{"./", "Agents"}, {"docs", "Documentation"}}

// Inspector is the tab for callers that may look into the bridge.
var Inspector = Tab{"inspect", "Inspector"}

// Page is a page whose main part is a template. Safe for concurrent use.
type Page struct {
	t       *template.Template
	style   string
	modules []string

	policy, referrer string
}

// Assets are what a page has besides the frame's: the text of its styles, which stands in it after the frame's, and the
// modules that it loads from the bridge, by paths relative to its root.
type Assets struct {
	Style   string
	Modules []string
}

// New returns a page with a main part, which is executed with the Body of a View. A template that cannot be parsed is a
// fault of the program and panics.
func New(main string, functions template.FuncMap) *Page {
	t := template.Must(template.New("frame").Funcs(functions).Parse(frame))
	return &Page{t: template.Must(t.New("main").Parse(main)), style: style, policy: policy(style), referrer: "no-referrer"}
}

// With returns the page with assets of the bridge. Its forms tell the bridge where they come from: with no-referrer
// their Origin would be null (Fetch standard section 3.1), which names no origin.
func (p *Page) With(a Assets) *Page {
	whole := style + a.Style
	return &Page{p.t, whole, a.Modules, assetPolicy(whole), "same-origin"}
}

// View is what one request is shown.
type View struct {
	Title   string
	Here    string // the path of the tab that is open, as in tabs; "": none of them
	Version string // of the bridge
	Body    any    // for the template of the main part
	Root    string // leads from the page to the root of the bridge, as RootOf says; "": the page lies there
	More    []Tab  // that this caller has besides
}

// RootOf returns the relative path from a path of the bridge to its root: "../" for each part but the last.
func RootOf(path string) string { return strings.Repeat("../", max(0, strings.Count(path, "/")-1)) }

// shownView is what the frame is made of.
type shownView struct {
	View
	Tabs    []Tab
	Style   template.CSS
	Modules []string
}

// Link returns a link to a path that is relative to the root of the bridge.
func (v shownView) Link(path string) string {
	if path == "./" && v.Root != "" {
		return v.Root
	}
	return v.Root + path
}

// Answer sends the page, or 304 to a client that has it already (RFC 9110 section 13.1.2). Caches may keep it for this
// client alone, and ask again each time. It fails before anything is written.
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

// Send sends a body that depends on the caller, and may be kept for that caller alone. The tag is weak (RFC 9110
// section 8.8.1), since the answer may be compressed on its way.
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
	_, _ = w.Write(body) // the client may be gone
}

// known reports whether one of the tags that a client has is the tag, in the weak comparison.
func known(have []string, tag string) bool {
	for part := range strings.SplitSeq(strings.Join(have, ","), ",") {
		part = strings.TrimSpace(part)
		if part == "*" || strings.TrimPrefix(part, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
