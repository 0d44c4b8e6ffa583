// Package maintenance does periodic background work: it creates the runs of crons, deletes expired data, indexes store
// items and rewrites bodies with the newest encryption key. The bridge and the service register the work with the
// engine (Engine.AddBackground). The package does not serve clients or call agents. The service executes the runs of
// crons.
//
// Each kind of work is an engine.Background: its Run is called once and lasts as long as the engine. Start reading at
// Crons.Run and Retention.Run.
//
// Retention.threads deletes only idle threads: without an active run, running state update, cron or open question. A
// thread's own time to live was set by its owner and overrides crons and questions. Threads with an active run or a
// reader remain; active runs are checked again in the deleting transaction.
//
// Vectors of items are computed by one process, the owner in item_index, until its lease ends. The others check every 2
// s. A batch is written with a new version only while the process is the owner and the index is unchanged, and only for
// items that have not changed in the meantime. A PUT wakes the owner in its own process. If the embeddings endpoint
// refuses an item but accepts others, the log names the item without its text.
package maintenance
