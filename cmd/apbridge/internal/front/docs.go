package front

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
)

// docsBody has the data of the page /docs.
type docsBody struct {
	standing
	Snippets  []adapter.Snippet
	Agents    []listed
	Chooses   []string
	Dialects  []spoken
	Losses    []*losses
	Documents []shownDocument
}

// spoken is a dialect with its subject.
type spoken struct{ Name, About string }

// shownDocument is a document with examples for the caller.
type shownDocument struct {
	document
	Shown []shownGroup
}

type shownGroup struct {
	Tag    string
	Routes []shownRoute
}

type shownRoute struct{ Method, Path, Does, Example string }

func (f *front) serveDocs(w http.ResponseWriter, r *http.Request) {
	b := docsBody{standing: f.standing(r), Agents: f.agents(r)}
	a := asked(b.standing, b.Agents)
	b.Snippets, b.Losses = f.snippets(a), lossesOf(f.Dialects.LossTable(), b.Agents)
	b.Chooses = f.said(func(d adapter.Dialect) string { return d.Chooses })
	for _, d := range f.Dialects {
		if len(d.Documents) > 0 {
			b.Dialects = append(b.Dialects, spoken{d.Name, d.Documents[0].About})
		}
	}
	for _, d := range f.routes {
		b.Documents = append(b.Documents, d.shown(a))
	}
	f.answer(w, r, f.docs, page.View{Title: "apbridge: documentation", Here: "docs", Body: b})
}

func (d document) shown(a adapter.SnippetParams) shownDocument {
	s, base := shownDocument{document: d}, a.URL
	if !a.Default {
		base += d.below(a.Agent)
	}
	for _, g := range d.Groups {
		one := shownGroup{Tag: g.Tag}
		for _, r := range g.Routes {
			one.Routes = append(one.Routes, shownRoute{r.Method, r.Path, r.Does, r.example(a, base)})
		}
		s.Shown = append(s.Shown, one)
	}
	return s
}
