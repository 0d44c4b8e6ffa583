package face

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

// call is one request in either binding.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	version wire.Version
	method  wire.Method
	rpc     bool
	id      wire.ID // of a JSON-RPC request
	agent   mapping.Assistant
	read    func(into any) error // decodes the parameters
}

// params decodes the parameters into into. tenant points to its member, which must be empty, because the bridge's cards
// name no tenant.
func (c *call) params(into any, tenant *string) error {
	if err := c.read(into); err != nil {
		return err
	}
	if *tenant != "" {
		return invalidParams("tenant", "must be absent: the agent's card names none")
	}
	return nil
}

// ref returns the reference to a task of the call's agent.
func (c *call) ref(task string) adapter.TaskRef {
	return adapter.TaskRef{Agent: c.agent.Graph, ID: task, Flavour: flavourOf(c.version)}
}

// serveRPC serves a JSON-RPC request.
func (s *server) serveRPC(w http.ResponseWriter, r *http.Request) error {
	c := &call{w: w, r: r, version: wire.V1}
	var err error
	if c.agent, err = s.findAgent(r); err != nil {
		return err
	}
	c.rpc = true
	raw, err := s.body(c)
	if err != nil {
		s.fail(c, err)
		return nil
	}
	header := versionOf(r)
	if v, ok := wire.ParseVersion(header); ok && header != "" {
		c.version = v // for errors before the method is known
	}
	request, err := s.reader.Call(raw)
	c.id = request.ID
	if err == nil {
		c.method, c.version, err = wire.Negotiate(request.Method, header, s.cfg.Legacy)
	}
	if err == nil {
		c.read = func(into any) error { return s.reader.Params(c.version, request, into) }
		err = s.dispatch(c)
	}
	if err != nil {
		s.fail(c, err)
	}
	return nil
}

// body returns the body of a request. Both bindings and all versions take both media types.
func (s *server) body(c *call) ([]byte, error) {
	return body.JSON(c.w, c.r, int64(s.face.Limits.Body), body.TypeJSON, wire.MediaType, "")
}

// versionOf returns the version of the protocol that a request names, "" for none (S 3.6).
func versionOf(r *http.Request) string {
	if v := r.Header.Get(wire.VersionHeader); v != "" {
		return v
	}
	return r.URL.Query().Get(wire.VersionHeader)
}

// serveHTTP serves an HTTP+JSON request.
func (s *server) serveHTTP(w http.ResponseWriter, r *http.Request) error {
	t, allow, found := target(r)
	c := &call{w: w, r: r, version: t.Version, method: t.Method}
	var err error
	if c.agent, err = s.findAgent(r); err != nil {
		return err
	}
	if err := wire.NegotiateHTTP(t.Version, versionOf(r), s.cfg.Legacy); err != nil {
		return err
	}
	// The template has matched the decoded path, in which a colon of an id looks like that of an action.
	switch {
	case !found && allow != "":
		w.Header().Set("Allow", allow)
		return notAllowed(r, allow)
	case !found:
		return mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "There is nothing at this path.")
	}
	c.read = func(into any) error {
		if r.Method == http.MethodPost {
			raw, err := s.body(c)
			if err != nil {
				return err
			}
			if len(raw) == 0 && t.TaskID == "" {
				raw = []byte("{}")
			}
			return s.reader.Body(t, raw, into)
		}
		return s.reader.ReadQuery(t, r.URL.Query(), into)
	}
	return s.dispatch(c)
}

// target returns what wire.Match finds at the path below the agent's URL.
func target(r *http.Request) (t wire.Target, allow string, found bool) {
	rest := strings.TrimPrefix(r.URL.EscapedPath(), root)
	_, path, _ := strings.Cut(rest, "/")
	return wire.Match(r.Method, "/"+path)
}

// findAgent returns the agent or assistant that the path names.
func (s *server) findAgent(r *http.Request) (mapping.Assistant, error) {
	name := mux.Vars(r)["agent"]
	if !storable(name) {
		return mapping.Assistant{}, agentNotFound()
	}
	return s.svc.GetAssistant(r.Context(), name)
}

func agentNotFound() error {
	return mapping.Errorf(mapping.NotFound, mapping.CodeAgentNotFound, "There is no agent with this name.")
}

// dispatch executes an operation and responds. If it returns an error, it has written nothing.
func (s *server) dispatch(c *call) error {
	ctx := c.r.Context()
	if c.rpc {
		e := effects[c.method]
		mapping.SetAuditVerb(ctx, e.Verb)
		mapping.SetAuditKind(ctx, e.Kind)
	}
	if err := mapping.PrincipalOf(ctx).Need(rights[c.method]); err != nil {
		return err
	}
	if used := c.extensions(); used != "" {
		c.w.Header().Set(wire.ExtensionsHeader, used)
	}
	switch c.method {
	case wire.MethodSendMessage:
		return s.sendMessage(c)
	case wire.MethodSendStreamingMessage:
		return s.streamMessage(c)
	case wire.MethodSubscribeToTask:
		return s.subscribe(c)
	case wire.MethodListTasks:
		return s.listTasks(c)
	}
	answer, err := s.answer(c)
	if err != nil {
		return err
	}
	return s.reply(c, answer)
}

// answer executes an operation with a single answer.
func (s *server) answer(c *call) (any, error) {
	switch c.method {
	case wire.MethodGetTask:
		return s.getTask(c)
	case wire.MethodCancelTask:
		return s.cancelTask(c)
	case wire.MethodCreatePushConfig:
		return s.createPushConfig(c)
	case wire.MethodGetPushConfig:
		return s.getPushConfig(c)
	case wire.MethodListPushConfigs:
		return s.listPushConfigs(c)
	case wire.MethodDeletePushConfig:
		return s.deletePushConfig(c)
	case wire.MethodGetExtendedAgentCard:
		return s.extendedCard(c)
	}
	return nil, &wire.Error{Code: wire.CodeMethodNotFound, Message: "There is no such method."}
}

// extensions returns those of the requested extensions that are active, for the response (S 4.6).
func (c *call) extensions() string {
	for _, name := range []string{wire.ExtensionsHeader, wire.LegacyExtensionsHeader} {
		for uri := range strings.SplitSeq(c.r.Header.Get(name), ",") {
			if strings.TrimSpace(uri) == ResumeExtension {
				return ResumeExtension
			}
		}
	}
	return ""
}

// reply responds with the result of an operation.
func (s *server) reply(c *call, result any) error {
	raw, err := c.encode(result)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", c.contentType())
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	_, _ = c.w.Write(raw) // the client may have disconnected
	return nil
}

func (c *call) contentType() string {
	if c.rpc || c.version != wire.V1 {
		return body.TypeJSON
	}
	return wire.MediaType
}

// encode returns a result in the call's binding and version. It is also the data of a stream's frame.
func (c *call) encode(result any) ([]byte, error) {
	if c.rpc {
		return wire.AppendResult(nil, c.version, c.id, result)
	}
	return wire.Append(nil, c.version, result)
}
