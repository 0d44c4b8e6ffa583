package page

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, p *Page, body any, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/docs", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	if err := p.Answer(w, r, View{Title: "A <title>", Here: "docs", Version: "1", Body: body}); err != nil {
		t.Fatal(err)
	}
	return w
}

// heldStyle returns the style in a page.
func heldStyle(text string) string {
	_, rest, _ := strings.Cut(text, "<style>")
	held, _, _ := strings.Cut(rest, "</style>")
	return held
}

// TestAssetsAreInlineOrFromTheBridge checks that a page with assets includes its style, which its policy allows by
// digest, and loads modules but no styles.
func TestAssetsAreInlineOrFromTheBridge(t *testing.T) {
	t.Parallel()
	p := New("<h1>{{.}}</h1>", nil).With(Assets{Style: "h1 > a { color: red; }\n", Modules: []string{"web/a.js"}})
	got := get(t, p, "x")
	text := got.Body.String()
	held := heldStyle(text)
	if !strings.HasPrefix(held, style) || !strings.HasSuffix(held, "h1 > a { color: red; }\n") {
		t.Errorf("the style is %q", held)
	}
	policy := got.Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "style-src 'sha256-"+digest(held)+"';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "nonce") {
		t.Errorf("policy %q", policy)
	}
	if !strings.Contains(text, `<script type="module" src="web/a.js"></script>`) || strings.Count(text, "<link") != 1 || !strings.Contains(text, `<link rel="icon" href="data:`) {
		t.Errorf("%s", text)
	}
}

// TestPolicyAllowsOnlyTheStyle checks that the digest is that of the style in the page.
func TestPolicyAllowsOnlyTheStyle(t *testing.T) {
	t.Parallel()
	got := get(t, New("<h1>{{.}}</h1>", nil), "<script>")
	text := got.Body.String()
	want := "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:; style-src 'sha256-" + digest(heldStyle(text)) + "'"
	if policy := got.Header().Get("Content-Security-Policy"); policy != want {
		t.Errorf("policy %q, want %q", policy, want)
	}
	for _, bad := range []string{"<script", " style=", "@import", "url(", "http:", "https:", "<title>A <"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if len(style) > 20_000 {
		t.Errorf("the style has %d bytes", len(style))
	}
	if found := regexp.MustCompile(`href="docs" aria-current="page"`).FindAllString(text, -1); len(found) != 1 {
		t.Errorf("%d tabs are open", len(found))
	}
	if links := regexp.MustCompile(`(href|src)="/`).FindString(text); links != "" {
		t.Errorf("%s: the link breaks below a proxy's path", links)
	}
}

// TestVersionIsShort checks that a version that the go command derived from a commit is shown as the commit.
func TestVersionIsShort(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "devel": "devel", "v1.2.3-rc.1": "v1.2.3-rc.1", "v0.0.0-20260102030405-0123456789ab": "01234567",
		"v1.2.4-0.20260102030405-0123456789ab+dirty": "01234567", "v1.2.3-rc.1.0.20260102030405-0123456789ab": "01234567",
	} {
		if got := (shownView{View: View{Version: version}}).ShortVersion(); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

// TestPageIsSentOnce checks that a client that already has the page gets 304, and that another body has another tag.
func TestPageIsSentOnce(t *testing.T) {
	t.Parallel()
	p := New("{{.}}", nil)
	first := get(t, p, "one")
	tag := first.Header().Get("ETag")
	for have, want := range map[string]int{
		tag: 304, `"x", ` + tag: 304, strings.TrimPrefix(tag, "W/"): 304, "*": 304,
		`"x"`: 200, "": 200, get(t, p, "two").Header().Get("ETag"): 200,
	} {
		got := get(t, p, "one", "If-None-Match", have)
		if got.Code != want || (want == http.StatusNotModified) != (got.Body.Len() == 0) {
			t.Errorf("If-None-Match: %s: %d with %d bytes, want %d", have, got.Code, got.Body.Len(), want)
		}
		if got.Header().Get("ETag") != tag || got.Header().Get("Cache-Control") != "private, no-cache" {
			t.Errorf("If-None-Match: %s: %v", have, got.Header())
		}
	}
	if err := New("{{.Missing}}", nil).Answer(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), View{Body: struct{}{}}); err == nil {
		t.Error("a page was sent although its template failed")
	}
}

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

// TestBrowsersGetThePage checks that only browsers, which name HTML, get the page.
func TestBrowsersGetThePage(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "application/json, text/plain, */*": false, "text/event-stream": false,
		browser: true, "text/html": true, "text/html;q=0, */*": false, "TEXT/HTML; q=0.5": true, ";;;": false,
	} {
		if got := Wanted(http.Header{"Accept": {accept}}); got != want {
			t.Errorf("Accept: %s: %v", accept, got)
		}
	}
}

// Emoji, Persian and French keep the invisible characters that they are written with. Characters that deceive are replaced.
func TestTextsKeepTheirJoiners(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"👩\u200d👩\u200d👧 ❤\ufe0f":                            "👩\u200d👩\u200d👧 ❤\ufe0f",
		"می\u200cخواهم":                                      "می\u200cخواهم",
		"Bonjour\u00a0!\u3000雨":                              "Bonjour\u00a0!\u3000雨",
		"a\u202eb\u2066c\u200bd\ufeffe\U000e0061f\x00\u2028": `a\u{202e}b\u{2066}c\u{200b}d\u{feff}e\u{e0061}f\u{0}\u{2028}`,
	} {
		if got := Shown(text); got != want {
			t.Errorf("Shown(%q) = %q, want %q", text, got, want)
		}
		if got, want := Text("\t"+text+"\n"), "\t"+want+"\n"; got != want {
			t.Errorf("Text: %q, want %q", got, want)
		}
	}
}
