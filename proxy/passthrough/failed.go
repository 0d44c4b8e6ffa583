package passthrough

import (
	"errors"
	"net/http"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

// failed writes an error if the agent did not respond.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	callOf(r.Context()).closing(w.Header())
	p.refuse(w, r, p.refusal(err))
}

// refusal returns the error for the caller. Errors of the bridge itself, such as those of the request's body, are kept.
func (p *Proxy) refusal(err error) *mapping.Error {
	var known *mapping.Error
	if errors.As(err, &known) {
		return known
	}
	e := &mapping.Error{Class: mapping.Upstream, Code: mapping.CodeUpstreamUnreachable, Err: err}
	switch f := upstream.Of(err); {
	case f != nil && f.Slow:
		e.Class, e.Code = mapping.Timeout, mapping.CodeStepTimeout
		e.Message = "Agent " + p.agent + " did not begin to respond in time (step_timeout)."
	case f != nil && f.Kind == upstream.Stopped:
		e.Message = "The request was abandoned."
	case f != nil && f.Kind == upstream.NotReached && f.Cause() != "":
		e.Message = "Agent " + p.agent + " cannot be reached: " + f.Cause() + "."
	case f != nil && f.Kind == upstream.NotReached:
		e.Message = "Agent " + p.agent + " cannot be reached."
	default:
		e.Message = "Agent " + p.agent + " broke off before it had responded."
	}
	return e
}
