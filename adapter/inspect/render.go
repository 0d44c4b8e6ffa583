package inspect

import (
	"bytes"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"maps"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

var (
	//go:embed web
	web embed.FS
	//go:embed page
	pages embed.FS
)

// handle serves a route. Requests that change something are accepted only from the bridge's own pages.
func (s *server) handle(to route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := error(nil)
		if to.method != http.MethodGet {
			err = checkOrigin(r)
		}
		if err == nil {
			err = to.serve(s, w, r)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// checkOrigin refuses a form that another site's page has sent. It uses Sec-Fetch-Site (Fetch Metadata section 2.3), or
// Origin for browsers without that header. A client that sends neither is not a browser.
func checkOrigin(r *http.Request) error {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if site == "same-origin" || site == "" && origin == "" {
		return nil
	}
	if at, err := url.Parse(origin); site == "" && err == nil && at.Host == r.Host {
		return nil
	}
	return mapping.Errorf(mapping.Forbidden, "origin_not_allowed", "A form of the inspector can only be sent from one of its pages.")
}

func (s *server) asset(w http.ResponseWriter, r *http.Request) error {
	text, err := web.ReadFile("web/" + mux.Vars(r)["file"])
	if err != nil {
		return notFound("There is nothing at this path.")
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	page.Send(w, r, text)
	return nil
}

// htmlPage is a page with its tab in the inspector's navigation.
type htmlPage struct {
	page *page.Page
	tab  string
}

var refusedHTML = newPage("refused", "")

// newPage returns the page of a template in the folder page. Assets are further templates and styles from that folder,
// and modules from web.
func newPage(name, tab string, assets ...string) htmlPage {
	a, main := page.Assets{Style: embedded("inspect.css")}, embedded("nav.html")
	for _, name := range assets {
		switch path.Ext(name) {
		case ".css":
			a.Style += embedded(name)
		case ".html":
			main += embedded(name)
		default:
			a.Modules = append(a.Modules, "inspect/web/"+name)
		}
	}
	a.Modules = append(a.Modules, "inspect/web/keys.js")
	functions := page.Functions()
	maps.Copy(functions, templateFunctions)
	return htmlPage{page.New(main+embedded(name+".html"), functions).With(a), tab}
}

func embedded(name string) string {
	text, err := pages.ReadFile("page/" + name)
	if err != nil {
		panic(err) // a missing file is a bug
	}
	return string(text)
}

var templateFunctions = template.FuncMap{
	"join":     strings.Join,
	"list":     func(v ...any) []any { return v },
	"has":      func(list []string, one string) bool { return slices.Contains(list, one) },
	"ascii":    func(value string) string { return adapter.InASCII(json.RawMessage(value)) },
	"seconds":  spanOf,
	"share":    share,
	"place":    func(begin, of float64) float64 { return min(share(begin, of), 100-leastBar) },
	"width":    func(length, of float64) float64 { return max(share(length, of), leastBar) },
	"after":    func(a, b, of float64) float64 { return share(a+b, of) },
	"add":      func(a, b int) int { return a + b },
	"question": rule.QuestionText,
	"tall":     tall,
	"radius":   radius,
	"height":   func(part, of, full any) float64 { return round(number(full) - tall(part, of, full)) },
	"counted": func(n any, noun string) string {
		return thousands(int64(number(n))) + " " + nounFor(int(number(n)), noun)
	},
	"thousands": func(n any) string { return thousands(int64(number(n))) },
	"callNote":  callNote,
	"short":     shortID,
	"part":      func(name string, p partView, link string) namedPart { return namedPart{name, p, link} },
}

// leastBar is the width of a bar that can be seen, in percent.
const leastBar = 0.7

// namedPart is the data for the template of one half of a call.
type namedPart struct {
	Name string
	Part partView
	Link string
}

// tall returns the height of a bar in a chart of a full height. A bar that is not 0 can be seen.
func tall(part, of, full any) float64 {
	if number(part) <= 0 || number(of) <= 0 {
		return 0
	}
	return round(max(1, number(full)*number(part)/number(of)))
}

// radius returns the radius of a mark whose area grows with the number of tokens.
func radius(tokens, most int64) float64 {
	return round(2 + 3*math.Sqrt(float64(tokens)/float64(max(1, most))))
}

func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

func round(v float64) float64 { return math.Round(100*v) / 100 }

// thousands returns a number with thousands in groups.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// share returns a part in percent.
func share(part, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(int(10000*part/of)) / 100
}

// templateData is the data that a template is executed with.
type templateData struct {
	Root  string // relative path to the root of the bridge
	Here  string
	Model any
}

// show sends a view model: as a page to a browser, as JSON to other clients.
func (s *server) show(w http.ResponseWriter, r *http.Request, t htmlPage, title string, model any) error {
	if !page.Wanted(r.Header) {
		return writeJSON(w, r, model)
	}
	root := page.RootOf(r.URL.Path)
	return t.page.Answer(w, r, page.View{
		Title: page.Shown(title) + " – apbridge inspector", Here: page.Inspector.Path, Version: s.Version, Root: root,
		More: Tab(mapping.PrincipalOf(r.Context())), Body: templateData{root, t.tab, model},
	})
}

func writeJSON(w http.ResponseWriter, r *http.Request, model any) error {
	body, err := json.Marshal(model)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	page.Send(w, r, append(body, '\n'))
	return nil
}

// errorView is the model of an error.
type errorView struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Detail  any    `json:"detail"`
	Status  int    `json:"-"`
}

// fail answers with an error. The text of an internal error is only logged.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := mapping.Classify(err)
	if e.Class == mapping.Internal && r.Context().Err() != nil {
		if err = adapter.Stopping(r.Context()); err == nil {
			w.WriteHeader(adapter.StatusClientGone)
			return
		}
		e = mapping.Classify(err)
	}
	v := errorView{e.Code, e.Message, e.Detail, adapter.Status(e.Class)}
	if e.Class == mapping.Internal {
		s.Log.Error("request failed", zap.String("request_id", r.Header.Get("X-Request-Id")), zap.Error(err))
		v.Message = "The page could not be rendered; see the log for the cause."
	}
	if s.Failed != nil {
		s.Failed(e.Code)
	}
	w = &withStatus{w, v.Status}
	if err := s.show(w, r, refusedHTML, "Not shown", v); err != nil {
		http.Error(w, v.Message, v.Status)
	}
}

// withStatus replaces the status 200 with another one.
type withStatus struct {
	http.ResponseWriter
	status int
}

func (w *withStatus) WriteHeader(status int) {
	if status == http.StatusOK {
		status = w.status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *withStatus) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// redirect redirects a browser to a path relative to the root of the bridge. Other clients receive told as JSON.
func redirect(w http.ResponseWriter, r *http.Request, to string, told any) error {
	if !page.Wanted(r.Header) {
		return writeJSON(w, r, told)
	}
	// http.Redirect would make the path absolute, but the root of the bridge may be below a path of a proxy.
	w.Header().Set("Location", page.RootOf(r.URL.Path)+to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// cutText is the part of a text that a page shows.
type cutText struct {
	Text string `json:"text"`
	Cut  int    `json:"cut,omitempty"` // the number of omitted bytes
	Rest string `json:"-"`             // the omitted bytes
}

const (
	maxText   = 4000      // bytes of a cutText
	maxPretty = 256 << 10 // bytes of JSON that is indented
)

// cut shortens a long text at a character boundary.
func cut(text string) cutText {
	if len(text) <= maxText {
		return cutText{Text: text}
	}
	at := maxText
	for at > 0 && text[at]&0xc0 == 0x80 {
		at--
	}
	return cutText{text[:at], len(text) - at, text[at:]}
}

// cutRunes returns at most n runes of a text, with an ellipsis if there were more.
func cutRunes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := range text {
		if n--; n < 0 {
			return text[:i] + "…"
		}
	}
	return strings.ToValidUTF8(text, "�")
}

func pretty(value json.RawMessage) cutText {
	if len(value) > maxPretty {
		return cut(string(value))
	}
	return cut(indented(value))
}

func indented(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value)
	}
	return b.String()
}

// excerpt is the beginning of foreign bytes, without anything invisible.
type excerpt struct {
	Text string `json:"text"`
	Cut  bool   `json:"cut"` // the end, or the end of a line, is omitted
}

const (
	excerptBytes = 16 << 10
	excerptLine  = 2000 // bytes
	excerptHex   = 512  // bytes shown of data that is not text
)

// excerptOf shows JSON indented, other text as it is, and the rest in hexadecimal.
func excerptOf(b []byte) excerpt {
	if !utf8.Valid(b) && !utf8.Valid(withoutHalfRune(b)) {
		return excerpt{hex.Dump(b[:min(len(b), excerptHex)]), len(b) > excerptHex}
	}
	if len(b) <= 4*excerptBytes && rawjson.Valid(b) {
		b = []byte(indented(b))
	}
	isCut := len(b) > excerptBytes
	lines := strings.Split(string(withoutHalfRune(b[:min(len(b), excerptBytes)])), "\n")
	for i, line := range lines {
		if len(line) > excerptLine {
			lines[i], isCut = string(withoutHalfRune([]byte(line[:excerptLine])))+"…", true
		}
	}
	return excerpt{page.Text(strings.Join(lines, "\n")), isCut}
}

// withoutHalfRune drops the bytes of an incomplete last rune.
func withoutHalfRune(b []byte) []byte {
	for n := 1; n <= min(utf8.UTFMax-1, len(b)); n++ {
		if !utf8.RuneStart(b[len(b)-n]) {
			continue
		}
		if !utf8.FullRune(b[len(b)-n:]) {
			return b[:len(b)-n]
		}
		break
	}
	return b
}
