package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/api"
	"github.com/spf13/cobra"
)

func (r *remote) runsCurl() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "curl RUN",
		Short: "Print a curl command that repeats a run",
		Long: `curl prints a shell command that repeats a run on its thread, which is created if it no
longer exists, and prints the new run's events. For a run of a task, the command creates
the same task. The key is $APBRIDGE_KEY. -o json prints method, URL and body.`,
		Example: `  apbridge runs curl RUN
  apbridge runs curl RUN | sh`,
	}
	return r.ofOne(aRun(), cmd, func(ctx context.Context, c *api.Client, id string) error {
		run, err := c.Run(ctx, id)
		if err != nil {
			return err
		}
		path, body, err := requestOf(run)
		if err != nil {
			return err
		}
		if r.json() {
			return r.printJSON(map[string]any{"method": http.MethodPost, "url": c.URL() + path, "body": body})
		}
		_, err = fmt.Fprintln(r.p.Out, curlOf(c, path, body))
		return err
	})
}

// curlOf returns the command line for a request.
func curlOf(c *api.Client, path string, body []byte) string {
	line := "curl -sN " + quoted(c.URL()+path) + " -H 'content-type: application/json'"
	if c.WithKey() {
		line += ` -H "x-api-key: $APBRIDGE_KEY"`
	}
	return line + " \\\n  -d " + quoted(string(body))
}

// requestOf returns the request that created a run, as far as the run records it.
func requestOf(run api.Run) (path string, body json.RawMessage, err error) {
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(run.Kwargs, &given); err != nil {
		return "", nil, fmt.Errorf("the request of run %s cannot be read: %w", run.ID, err)
	}
	if _, task := given["additional_input"]; task {
		body := jsonOf(map[string]json.RawMessage{"input": given["input"], "additional_input": given["additional_input"]})
		return "/agents/" + run.Agent + "/ap/v1/agent/tasks", body, nil
	}
	config := objectOf(given["config"])
	config["configurable"] = without(config["configurable"], "thread_id", "run_id", "graph_id", "assistant_id")
	given["config"] = without(jsonOf(config))
	given["metadata"] = without(run.Metadata, "created_by", "graph_id", "assistant_id", "apbridge", "run_attempt")
	given = objectOf(jsonOf(given))
	for name, value := range map[string]string{"assistant_id": run.Assistant, "multitask_strategy": run.Multitask, "if_not_exists": "create"} {
		given[name], _ = json.Marshal(value)
	}
	return "/threads/" + run.Thread + "/runs/stream", jsonOf(given), nil
}

// without returns an object without the members that the bridge added, or nil if no others are left.
func without(raw json.RawMessage, names ...string) json.RawMessage {
	o := objectOf(raw)
	for _, name := range names {
		delete(o, name)
	}
	if len(o) == 0 {
		return nil
	}
	return jsonOf(o)
}

// objectOf returns the non-empty members of an object.
func objectOf(raw json.RawMessage) map[string]json.RawMessage {
	o := map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &o)
	maps.DeleteFunc(o, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return o
}

// jsonOf returns readable JSON, without escapes for < and &. Nil members are null.
func jsonOf(o map[string]json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(o) // the values are valid JSON
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// quoted quotes a word for a POSIX shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
