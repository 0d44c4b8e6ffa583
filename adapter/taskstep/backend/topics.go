package backend

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// topicsPath is the path of the topics on a server of the Topic RFC. Their tasks are below it, in the form of v1.
const topicsPath = "/ap/v2/topics"

// servesTopics reports whether the server has topics, so that tasks can share a memory. Any failure means that it has
// none.
func (b *backend) servesTopics(ctx context.Context) bool {
	ans, err := b.getOnce(ctx, topicsPath, "")
	if err != nil || ans.Status/100 != 2 {
		return false
	}
	var list struct {
		Topics *[]json.RawMessage `json:"topics"`
	}
	return json.Unmarshal(ans.Body, &list) == nil && list.Topics != nil
}

// openTopic creates the topic for the thread, if the server has topics and the thread has none yet. If the creation is
// not answered, the topic stays empty and does no harm. Concurrent runs do not share a topic, because an open question
// of one would block the others.
func (c *creation) openTopic() error {
	if c.topic != "" || !c.site.topics || c.assigned.Run.Multitask == mapping.StrategyConcurrent {
		return nil
	}
	ans, err := c.change(c.ctx, &upstream.Call{Operation: upstream.OpWrite, Path: topicsPath, Type: jsonType, Body: c.topicBody()})
	switch {
	case upstream.Is(err, upstream.Broken):
		return c.away(err)
	case err != nil:
		return err
	}
	return c.opened(ans)
}

func (c *creation) opened(ans *upstream.Answer) error {
	switch {
	case ans.Status == http.StatusNotFound, ans.Status == http.StatusMethodNotAllowed, ans.Status == http.StatusNotImplemented:
		c.site.topics = false
		learned := c.site
		c.backend.site.Store(&learned)
		return nil
	case ans.Status/100 != 2:
		return c.refused(ans)
	}
	var topic struct {
		ID json.RawMessage `json:"topic_id"`
	}
	err := object(ans.Body, "", &topic)
	if err == nil {
		c.topic, err = requiredText(topic.ID, "topic_id")
	}
	if err != nil {
		return c.unreadable("POST topics", ans, err)
	}
	return nil
}

func (c *creation) topicBody() *rawjson.Pieces {
	var thread struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(c.assigned.Thread.Metadata, &thread) // a client's own keys of other types do not matter
	if thread.Name == "" {
		return new(rawjson.Pieces).Literal("{}")
	}
	return new(rawjson.Pieces).Literal(`{"name":`).Text(thread.Name).Literal("}")
}

// loseTopic discards a topic that the server no longer knows. Its memory is gone, so the next topic receives the
// conversation.
func (c *creation) loseTopic() {
	c.topic = ""
	if c.assigned.Task.FullPrompt != "" {
		c.assigned.Task.Prompt = c.assigned.Task.FullPrompt
	}
}

// displacing returns the additional_input of a task in a topic, with which it replaces an unfinished task. The bridge
// starts a run only after the previous one has ended, so no run will continue an unfinished task.
func displacing(additional rawjson.Pieces) rawjson.Pieces {
	strategy := rawjson.Member{Name: "multitask_strategy", Value: json.RawMessage(`"` + mapping.StrategyInterrupt + `"`)}
	made, err := rawjson.WithMembers(additional.Join(), strategy)
	if err != nil {
		return additional
	}
	var p rawjson.Pieces
	return *p.Raw(made)
}
