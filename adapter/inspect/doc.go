// Package inspect is the inspector, a face for people: pages below /inspect that show both sides of the bridge. It
// belongs to no protocol, so the bridge mounts it next to the dialects and adds facts about agents that the service
// does not know (About). Like every face it uses adapter.Service for the principal of the request, so a page shows
// nothing that the same key could not request elsewhere. It names no dialect and has no backend.
//
// Start with the table of routes in inspect.go. Every handler is a method of server. A page and its JSON are rendered
// from one view model (render.go). The other files prepare the contents of pages: axis.go and row.go (a run's events,
// the frames that clients got, calls), overview.go (the first page), story.go (a run as a person reads it), compare.go
// with pair.go and words.go (two runs), waiting.go (open questions), conversation.go, tree.go and layout.go (the
// checkpoints of a thread), difference.go and difference_page.go, question.go, export.go and har.go.
//
//   - Pages work without scripts. A module only adds functions that need a script, and writes texts with textContent.
//     The policy refuses markup made from text (Trusted Types), styles and scripts from elsewhere, and frames around
//     the pages. Texts of agents and clients are shown inert: see page.Shown.
//   - A visible page holds one EventSource. Its only event says that the page's content has changed; the module then
//     requests the change under the rights of that request. The server polls once a second, with one short query for
//     each visible page. A notification about all threads would cost every run a message between processes.
//   - The modules of the overview and of a thread request the page as a document, as a visit does. That of the overview
//     takes attributes and texts from it. Only that of a thread moves elements from it, because it would otherwise have
//     to render messages and the history a second time. The numbers of the overview are those of the store
//     (Service.RunActivity), so that all processes show the same.
//   - A position in the list of runs (mapping.RunMark) is a run's id and time, so that a page can continue after that
//     run was deleted.
//   - A form asks first: a POST without sure=yes is answered by a confirmation page, and the audit log records a read.
//     The confirming POST carries that page's idempotency key, so two clicks act once. An answer carries the id of its
//     question, so it cannot answer a later one. If it comes too late, the page shows the answer that was given, with
//     its run.
//   - The log keeps only the names of the items that an agent received (Head.Recalled), not their values.
package inspect
