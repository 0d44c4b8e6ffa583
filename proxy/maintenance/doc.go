// Package maintenance does periodic background work: it creates the runs of crons, deletes expired data, indexes store
// items and rewrites bodies with the newest encryption key. The bridge and the service register the work with the
// engine (Engine.AddBackground). The package serves no client and calls no agent. The service executes the runs of
// crons.
//
// Each piece of work is an engine.Background: its Run is called once and lasts as long as the engine. Start reading at
// Crons.Run and Retention.Run.
//
// Retention.threads deletes only idle threads: no active run, no state update under way, no cron, no open question. A
// thread's own time to live is its owner's word, and takes crons and questions with it. Threads with an active run or a
// reader stay, and both are looked at again in the transaction that deletes.
//
// Vectors of items are made by one process, the owner in item_index, until its lease is over; the others look every 2 s
// whether it is. A batch is written with a new version only while the process is the owner and the index is the same,
// and without items that were written meanwhile. A PUT wakes the owner in its own process. An item that the embeddings
// endpoint refuses while it takes others is named in the log, without its text.
package maintenance
