// Package service is what the faces answer from: it implements
// adapter.Service over the engine, the event log and the store. It knows no
// dialect and no HTTP; it turns requests in neutral terms into runs, states,
// steps, items and artifacts, and says why not when it cannot.
package service
