package face

import (
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
)

// A client uses these to name its flavour if the two flavours respond differently to the same request.
const (
	flavourHeader = "X-Apbridge-Flavour"
	flavourParam  = "flavour"
)

// flavourOf returns the flavour of a client, from the parameter "flavour", the header, or the User-Agent of the Agent
// Protocol's own client, which is generated with OpenAPI Generator. It returns "" if the client could be of either
// flavour. Unknown values of the parameter are refused.
func flavourOf(r *http.Request) (mapping.Flavour, error) {
	q := request.QueryOf(r)
	said := q.Enum(flavourParam, string(render.FlavourLangGraph), string(render.FlavourAgentProtocol))
	if err := q.Err(); err != nil || said != "" {
		return mapping.Flavour(said), err
	}
	switch f := mapping.Flavour(r.Header.Get(flavourHeader)); f {
	case render.FlavourLangGraph, render.FlavourAgentProtocol:
		return f, nil
	}
	if strings.HasPrefix(r.UserAgent(), "OpenAPI-Generator/") {
		return render.FlavourAgentProtocol, nil
	}
	return "", nil
}
