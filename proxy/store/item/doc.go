// Package item keeps the items of the long-term store in the database, and finds them by namespace, value, words and
// meaning. It holds all SQL about them.
//
// Table has what is done for clients, scoped to what the principal in ctx may reach; Chores has what is done in the
// background, for all tenants. Package store opens both (store.Open). Through it the service and the engine (for what
// agents are told) call Table, and package maintenance calls Chores. The package makes no vector itself: it asks the
// Embed of its Index. It knows no thread and no run. Start reading at Table.PutAll and Table.Search.
//
// # Searches by text
//
// No index of a database's own is used, since two databases would find two things. The tokens of an item are made in Go
// (package textindex) and are rows of item_tokens, in the order of tenant, token and namespace, so that a search reads
// only those below its prefix. Rows only say which items to look at. What is scored is the item's own list of tokens,
// by BM25, at most 1,000 items a search. Items of an older version get their tokens in the background.
//
// Where a filter has no index, it is asked of the items of whose text a common word is most, up to 4,000, until 1,000
// have passed. Where too few pass, it is asked of all items below the prefix, in whose order they are read quickest.
//
// # Searches with a filter
//
// item_members has a row for each of a value's own members that is a number, a string or a constant, written so that a
// range of bytes is a range of values (ItemMembers). What is cut off makes equal rows of values that differ: rows only
// say which items to look at, and the filter decides. The rows are counted first, up to a bound. Where more would be
// left, the items below the prefix are read in their order, as without an index, which soon finds the few that a page
// has. Names are read first and then items, in two statements: PostgreSQL expects too few rows of a table that has just
// grown, and would choose a bad join.
//
// An item says of which of its values its members are (members_us). While one item is behind, as those are that an
// older version writes, the index is not asked. Sealed items have no members.
//
// # Searches by meaning
//
// The query is compared with every vector that is left by tenant, prefix and filter. 100,000 vectors of 384 numbers are
// 40 million products, a matter of milliseconds, and an index of neighbours would find other items. No column type and
// no extension of a database is used. item_vectors has one row an item with all its vectors, so that they change
// together. item_index says of which model and fields they all are, and which process makes them: the one whose lease
// lives. Vectors of another model are removed before the first new one is made, so a search never compares vectors of
// two models.
//
// An item records whether its vectors are of its present value (vectors_us). So a PUT waits for nothing, and a version
// that knows nothing of vectors leaves none that pass for current. A process keeps the vectors of the tenants that
// searched last, up to Index.Cache, and reads at each search what the counter "version" says is new. The vectors of a
// tenant that has more are read from the database by each search, in the order of the table. What was deleted stays in
// memory, so each item is looked up before it is found.
//
// Vectors are made in turns: those of a tenant's newest items, then those of the next tenant's. An item of which the
// endpoint refuses a text while it takes others is set aside with the vectors of its other texts (item_failures), and
// tried again after a minute, then two, up to six hours. Searches that may miss items for want of vectors report a
// loss: one was set aside below the prefix, or one of the tenant's has waited for a minute.
//
// The score is the cosine, raised by the words that the item has (vectorindex.Fuse, Corpus.RankBeside). It depends on
// nothing but the item and the query, so pages of any size are parts of one list, and a threshold for the cosine loses
// nothing. Ranks were tried and found less than the cosine alone: an item with any word of a question came before all
// that only meant the same.
//
// Where an index leaves few items that a filter may pass, it is asked of those, and only their vectors are looked at.
// Otherwise it is asked of the best items, until enough have passed. If too few pass, it is asked of all items below
// the prefix.
package item
