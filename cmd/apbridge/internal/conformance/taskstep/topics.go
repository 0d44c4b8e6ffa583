package taskstep

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

const (
	topicsDoc check.Document = "RFC: Topic Endpoint (Agent Protocol)"

	topicsPath = "/ap/v2/topics"
	said       = "My name is Ada."
)

// Topics returns the checks of the Topic RFC. The document has paths and statuses but no schemas, so the checks require
// no more than that.
func Topics() check.Suite {
	return check.Suite{Name: "topics", Title: "Topic RFC of the Agent Protocol", Speaks: speaksTopics, Begin: beginTopics}
}

func speaksTopics(t *check.Talk) bool {
	a := t.Get(topicsPath)
	switch v := a.Value().(type) {
	case map[string]any:
		return a.Status == http.StatusOK && v["topics"] != nil
	case []any:
		return a.Status == http.StatusOK
	}
	return false
}

type topicsSuite struct {
	topic       check.Once[check.Answer]
	interaction check.Once[check.Answer]
}

func beginTopics() []check.Check {
	s := &topicsSuite{}
	return append(s.topicChecks(), s.interactionChecks()...)
}

func (s *topicsSuite) make(t *check.Talk) check.Answer {
	return t.Post(topicsPath, map[string]any{"name": "a check"}).Is(http.StatusCreated).Fits(check.AnObject)
}

// aTopic returns the id of a topic.
func (s *topicsSuite) aTopic(t *check.Talk) string {
	id := check.TextAt(s.topic.Need(t, "topic", s.make).Value(), "topic_id")
	if id == "" {
		t.Skip("the new topic has no topic_id, so requests cannot refer to it")
	}
	return id
}

func (s *topicsSuite) topicChecks() []check.Check {
	return []check.Check{
		{ID: "topics.create", Level: check.Must, Says: "Creating a topic returns 201.", Cites: topicsDoc.At("Endpoint Specifications, Topics, 1. Create a New Topic"),
			Run: func(t *check.Talk) { s.topic.Own(t, s.make) }},
		{ID: "topics.create.id", Level: check.Should, Says: "The response to a new topic contains its topic_id.", Cites: topicsDoc.At("Endpoint Specifications, Topics, 3. Get a Specific Topic, Parameters"),
			Run: func(t *check.Talk) { s.topic.Need(t, "topic", s.make).In(t).ID("topic_id") }},
		{ID: "topics.create.invalid", Level: check.Must, Says: "Creating a topic with malformed JSON returns 400.", Cites: topicsDoc.At("Endpoint Specifications, Topics, 1. Create a New Topic, 400"),
			Run: func(t *check.Talk) {
				t.Send(check.Request{Method: http.MethodPost, Path: topicsPath, Body: `{"name":`}).Is(http.StatusBadRequest)
			}},
		{ID: "topics.list", Level: check.Must, Says: "Topics can be listed.", Cites: topicsDoc.At("Endpoint Specifications, Topics, 2. List Topics"),
			Run: func(t *check.Talk) { t.Get(topicsPath).Is(http.StatusOK).Value() }},
		{ID: "topics.get", Level: check.Must, Says: "A topic can be fetched by its id.", Cites: topicsDoc.At("Endpoint Specifications, Topics, 3. Get a Specific Topic"),
			Run: func(t *check.Talk) {
				id := s.aTopic(t)
				if a := t.Get(topicsPath + "/" + id).Is(http.StatusOK); a.Text("topic_id") != id {
					t.Fail("the topic_id is %q, not %q", a.Text("topic_id"), id)
				}
			}},
		{ID: "topics.get.unknown", Level: check.Must, Says: "Fetching an unknown topic returns 404.", Cites: topicsDoc.At("Endpoint Specifications, Topics, 3. Get a Specific Topic, 404"),
			Run: func(t *check.Talk) { s.aTopic(t); t.Get(topicsPath + "/" + nobody).Is(http.StatusNotFound) }},
	}
}

func (s *topicsSuite) say(t *check.Talk) check.Answer {
	return t.Post(topicsPath+"/"+s.aTopic(t)+"/interactions", map[string]any{"input": said}).Is(http.StatusCreated).Fits(check.AnObject)
}

// anInteraction returns an interaction and its path.
func (s *topicsSuite) anInteraction(t *check.Talk) (check.Answer, string) {
	a := s.interaction.Need(t, "interaction", s.say).In(t)
	id := check.TextAt(a.Value(), "interaction_id")
	if id == "" {
		t.Skip("the new interaction has no interaction_id, so requests cannot refer to it")
	}
	return a, topicsPath + "/" + s.aTopic(t) + "/interactions/" + id
}

func (s *topicsSuite) interactionChecks() []check.Check {
	return []check.Check{
		{ID: "topics.interaction.create", Level: check.Must, Says: "Creating an interaction returns 201.", Cites: topicsDoc.At("Endpoint Specifications, Interactions, 1. Create a New Interaction"),
			Run: func(t *check.Talk) { s.aTopic(t); s.interaction.Own(t, s.say) }},
		{ID: "topics.interaction.create.id", Level: check.Should, Says: "The response to a new interaction contains its interaction_id.", Cites: topicsDoc.At("Endpoint Specifications, Interactions, 3. Get a Specific Interaction in a Topic, Parameters"),
			Run: func(t *check.Talk) { s.interaction.Need(t, "interaction", s.say).In(t).ID("interaction_id") }},
		{ID: "topics.interaction.create.invalid", Level: check.Must, Says: "Creating an interaction with malformed JSON returns 400.", Cites: topicsDoc.At("Endpoint Specifications, Interactions, 1. Create a New Interaction, 400"),
			Run: func(t *check.Talk) {
				path := topicsPath + "/" + s.aTopic(t) + "/interactions"
				t.Send(check.Request{Method: http.MethodPost, Path: path, Body: `{"input":`}).Is(http.StatusBadRequest)
			}},
		{ID: "topics.interaction.list", Level: check.Must, Says: "The interactions of a topic can be listed.", Cites: topicsDoc.At("Endpoint Specifications, Interactions, 2. List Interactions in a Topic"),
			Run: func(t *check.Talk) { t.Get(topicsPath + "/" + s.aTopic(t) + "/interactions").Is(http.StatusOK).Value() }},
		{ID: "topics.interaction.get", Level: check.Must, Says: "An interaction can be fetched by its id.", Cites: topicsDoc.At("Endpoint Specifications, Interactions, 3. Get a Specific Interaction in a Topic"),
			Run: func(t *check.Talk) {
				made, path := s.anInteraction(t)
				if a := t.Get(path).Is(http.StatusOK); a.Text("interaction_id") != made.Text("interaction_id") {
					t.Fail("the interaction_id is %q", a.Text("interaction_id"))
				}
			}},
		{ID: "topics.interaction.get.unknown", Level: check.Must, Says: "Fetching an unknown interaction returns 404.", Cites: topicsDoc.At("Endpoint Specifications, Interactions, 3. Get a Specific Interaction in a Topic, 404"),
			Run: func(t *check.Talk) {
				t.Get(topicsPath + "/" + s.aTopic(t) + "/interactions/" + nobody).Is(http.StatusNotFound)
			}},
		{ID: "topics.task", Level: check.Should, Says: "A task derived from an interaction can be fetched below its topic.", Cites: topicsDoc.At("Detailed Design, endpoint structure; Interaction Flow, Derive Task from Interaction"),
			Run: func(t *check.Talk) {
				made, _ := s.anInteraction(t)
				task := made.Text("task_id")
				if task == "" {
					t.Skip("the interaction names no task_id")
				}
				t.Get(topicsPath + "/" + s.aTopic(t) + "/tasks/" + task).Is(http.StatusOK)
			}},
	}
}
