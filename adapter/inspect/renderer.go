package inspect

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// renderer writes the responses of all pages: view models as HTML or JSON, errors, and the page that asks for
// confirmation of an action.
type renderer struct {
	version string
	log     *zap.Logger
	failed  func(code string) // nil: not reported
}

// handler answers by a page. What changes something is taken from the bridge's own pages alone.
func (d *renderer) handler(method string, by serve) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := error(nil)
		if method != http.MethodGet {
			err = ownPage(r)
		}
		if err == nil {
			err = by(w, r)
		}
		if err != nil {
			d.fail(w, r, err)
		}
	})
}

const codeOrigin = "origin_not_allowed"

// ownPage refuses a form that another page has sent, by what the browser says of it (Fetch Metadata section 2.3, or
// Origin where it does not know that). A client that says neither is no browser.
func ownPage(r *http.Request) error {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if site == "same-origin" || site == "" && origin == "" {
		return nil
	}
	if at, err := url.Parse(origin); site == "" && err == nil && at.Host == r.Host {
		return nil
	}
	return mapping.Errorf(mapping.Forbidden, codeOrigin, "A form of the inspector is sent from a page of the inspector only.")
}

// titled is a page with its name.
type titled struct {
	page *page.Page
	here string // the place in the inspector's own navigation
}

// shown is what a template is executed with.
type shown struct {
	Root  string // leads to the root of the bridge
	Here  string
	Model any
}

// show sends a view model: as a page to a browser, else as JSON.
func (d *renderer) show(w http.ResponseWriter, r *http.Request, t titled, title string, model any) error {
	if !page.Wanted(r.Header) {
		return writeJSON(w, r, model)
	}
	root := page.RootOf(r.URL.Path)
	return t.page.Answer(w, r, page.View{
		Title: page.Shown(title) + " – apbridge inspector", Here: page.Inspector.Path, Version: d.version, Root: root,
		More: Tab(mapping.PrincipalOf(r.Context())), Body: shown{root, t.here, model},
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

// refusal is the model of an error.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Detail  any    `json:"detail"`
	Status  int    `json:"-"`
}

// fail answers with an error, which is told once. Of one of the bridge's own the log has the text.
func (d *renderer) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := mapping.Classify(err)
	m := refusal{e.Code, e.Message, e.Detail, adapter.Status(e.Class)}
	if e.Class == mapping.Internal {
		d.log.Error("request failed", zap.String("request_id", r.Header.Get("X-Request-Id")), zap.Error(err))
		m.Message = "The page could not be made; the log has the cause."
	}
	if d.failed != nil {
		d.failed(e.Code)
	}
	w = &withStatus{w, m.Status}
	if err := d.show(w, r, refusedHTML, "Not shown", m); err != nil {
		http.Error(w, m.Message, m.Status)
	}
}

// withStatus answers with a status in place of 200.
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
