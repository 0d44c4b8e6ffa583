// Package maintenance works in the background by the clock: it makes the runs of crons, deletes what is no longer kept, and
// has the items of the store get their tokens, members and vectors and all bodies the newest key. The bridge and the
// service give its chores to the engine (Engine.AddBackground). It answers no client and calls no agent; the runs of crons are
// the service's.
//
// A chore is an engine.Background: its Run is called once, and lasts as long as the engine. Start reading at Crons.Run and
// Retention.Run.
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
