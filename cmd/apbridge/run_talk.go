package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// talk prints a run as it goes.
type talk struct {
	out  io.Writer
	base string
}

// run starts a run and follows it to its end. Leaving early cancels it.
func (t *talk) run(ctx context.Context, agent, text string) error {
	body, err := json.Marshal(map[string]any{
		"assistant_id": agent, "stream_mode": []string{"updates"}, "on_disconnect": "cancel",
		"input": map[string]any{"messages": []any{map[string]string{"type": "human", "content": text}}},
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+"/runs/stream", strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return refusal(res)
	}
	if lost := res.Header.Get("X-Apbridge-Lossy"); lost != "" {
		fmt.Fprintf(t.out, "(not told exactly: %s)\n", lost)
	}
	return t.follow(sse.NewReader(res.Body, 0))
}

func refusal(res *http.Response) error {
	var e struct{ Message string }
	if err := json.NewDecoder(res.Body).Decode(&e); err != nil || e.Message == "" {
		return fmt.Errorf("the bridge answered %s", res.Status)
	}
	return errors.New(e.Message)
}

func (t *talk) follow(frames *sse.Reader) error {
	var asked error
	for {
		f, err := frames.Next()
		switch {
		case errors.Is(err, io.EOF):
			return asked
		case err != nil:
			return err
		}
		switch f.Name {
		case "error":
			return failed(f.Data)
		case "updates":
			if err := t.update(f.Data); err != nil {
				asked = err
			}
		}
	}
}

func failed(data []byte) error {
	var e struct{ Error, Message string }
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	return fmt.Errorf("the run failed: %s (%s)", e.Message, e.Error)
}

// update prints what each node said; the error is what the agent asks.
func (t *talk) update(data []byte) error {
	var nodes map[string]json.RawMessage
	if err := json.Unmarshal(data, &nodes); err != nil {
		return err
	}
	if raw, ok := nodes["__interrupt__"]; ok {
		return question(raw)
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		fmt.Fprintf(t.out, "%s: %s\n", node, said(nodes[node]))
	}
	return nil
}

func question(raw json.RawMessage) error {
	var list []mapping.Interrupt
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, q := range list {
		return fmt.Errorf("the agent asks: %s", rule.QuestionText(q.Value))
	}
	return nil
}

// said is the text of a delta's messages, else the delta itself.
func said(delta json.RawMessage) string {
	var d struct {
		Messages []struct{ Content json.RawMessage }
	}
	if json.Unmarshal(delta, &d) != nil || len(d.Messages) == 0 {
		return string(delta)
	}
	var parts []string
	for _, m := range d.Messages {
		text := string(m.Content)
		_ = json.Unmarshal(m.Content, &text) // content blocks stay as they are
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}
