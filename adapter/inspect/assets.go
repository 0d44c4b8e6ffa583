package inspect

import (
	"embed"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

var (
	//go:embed web
	web embed.FS
	//go:embed page
	pages embed.FS
)

const codeNotFound = mapping.CodeRouteNotFound

// assetRoutes are files that are the same for every caller.
var assetRoutes = []route{
	{method: "GET", path: "/web/{file}", needs: []string{mapping.RightInspect}, by: func(*server) serve { return serveAsset }},
}

func serveAsset(w http.ResponseWriter, r *http.Request) error {
	name := mux.Vars(r)["file"]
	text, err := web.ReadFile("web/" + name)
	if err != nil {
		return mapping.Errorf(mapping.NotFound, codeNotFound, "There is nothing at this path.")
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	page.Send(w, r, text)
	return nil
}

// refusedHTML tells why there is no other.
var refusedHTML = newPage("refused", "")

// newPage is the page of a template below page, with styles from there and modules below web that it has besides.
func newPage(name, here string, loads ...string) titled {
	functions := page.Functions()
	functions["join"] = strings.Join
	functions["list"] = func(v ...any) []any { return v }
	functions["has"] = func(list []string, one string) bool { return slices.Contains(list, one) }
	functions["ascii"] = func(value string) string { return adapter.InASCII(json.RawMessage(value)) }
	maps.Copy(functions, runFunctions)
	assets := page.Assets{Style: part("inspect.css")}
	for _, name := range loads {
		if path.Ext(name) == ".css" {
			assets.Style += part(name)
		} else {
			assets.Modules = append(assets.Modules, "inspect/web/"+name)
		}
	}
	return titled{page.New(part("nav.html")+part(name+".html"), functions).With(assets), here}
}

// part is the text of a file below page.
func part(name string) string {
	text, err := pages.ReadFile("page/" + name)
	if err != nil {
		panic(err) // a file that is not there is a fault of the program
	}
	return string(text)
}
