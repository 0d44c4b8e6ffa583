// Package inspect is the face for people: pages below /inspect that show what both sides of the bridge saw. The bridge
// mounts it beside the dialects, as no client speaks it, and gives it what the service does not know of agents (About).
// Like every face it answers from adapter.Service for the principal of the request, so a page shows nothing that the
// same key could not ask for elsewhere. It names no dialect and has no backend.
//
// Each page works without scripts. A page and its JSON come from one view model; a module of the bridge's own adds what
// only a script can, and writes texts with textContent. The policy refuses markup that is made of a text (Trusted
// Types), styles and scripts from elsewhere, and frames around the pages. What agents and clients said is shown inert:
// see page.Shown.
//
//   - One table of routes says of each path its rights, its effect for the audit log and its handler. Pages need
//     inspect and read; forms that make an agent work need run, too.
//   - A page is a type (runsPage, runPage, threadPage; answering, forking for a deed) with the few methods of the
//     service that it uses; newSite makes them all. What they share are types as well: desk shows view models and
//     errors and asks before a deed, starting makes runs, live tells of changes.
//   - Live changes are one EventSource a page that is seen. Its only event says that the page's content has another
//     mark than before; the change itself is asked for, under the rights of that request. The looks are a second apart:
//     a page costs one short query a second, and nothing without readers. A bell over all threads would need a notice
//     between processes for every change, which every run would pay for.
//   - A place in the list of runs (mapping.RunMark) is the run's id and time, so that a page that was left at a run
//     goes on when that run has gone.
//   - A form asks first: a POST without sure=yes is answered by a page that says what would be done, and the audit log
//     has a read. The one that acts brings the key of that page as its idempotency key, so two clicks are one deed. An
//     answer is sent under the id of its question, so it cannot answer one that was asked meanwhile. When it comes too
//     late, the page shows the answer that won, with its run.
//   - What a thread keeps beside its state comes from adapter.Threads and adapter.States: checkpoints without their
//     states, versions of files, items that agents were told of. The names of these items stand in the first link of a
//     run (Head.Told); their values are not kept.
//   - Programs to copy are a dialect's own (Dialect.Code).
package inspect
