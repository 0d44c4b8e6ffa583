// Package item stores the items of the long-term store in the database and searches them by namespace, value, words and
// meaning. It contains all SQL for items.
//
// Table has the operations for clients, limited to what the principal in ctx may access. Maintenance has the background work
// for all tenants. Package store opens both (store.Open). The service and the engine (for memories passed to agents)
// use Table through it, and package maintenance uses Maintenance. The package computes no vectors itself; the Embedder of
// its Index does. It does not depend on threads or runs. Start reading at Table.PutAll and Table.Search.
//
// # Searches by text
//
// The databases' own text indexes are not used, since the two would give different results. The tokens of an item are
// created in Go (package textindex) and stored as rows of item_tokens, ordered by tenant, token and namespace, so that
// a search reads only those below its prefix. The rows only select candidates. The score (BM25) is computed from the
// item's own list of tokens, for at most 1,000 items per search. Items written by an older version get their tokens in
// the background.
//
// If a filter has no index, it is applied to the up to 4,000 items in which a common word has the largest share, until
// 1,000 have passed. If too few pass, it is applied to all items below the prefix, in table order, which is the fastest
// way to read them.
//
// # Searches with a filter
//
// item_members has a row for each direct member of a value that is a number, a string or a constant, encoded so that a
// range of bytes is a range of values (ItemMembers). Because long entries are cut, different values can have equal
// rows. So rows only select candidates, and the filter decides. The rows are counted first, up to a limit. If there are
// more, the items below the prefix are read in order, as without an index, which soon finds enough for a page. Names
// are read first and then items, in two statements: PostgreSQL underestimates a table that has just grown and would
// choose a bad join.
//
// An item records the value for which its members were created (members_us). While any item is behind, as after an
// import, the index is not used. Sealed items have no members.
//
// # Searches by meaning
//
// The query is compared with every vector that remains after tenant, prefix and filter. 100,000 vectors of 384 numbers
// are 40 million products, a matter of milliseconds, and an approximate index of neighbours would give different
// results. No special column type or extension of a database is used. item_vectors has one row per item with all its
// vectors, so that they change together. item_index records the model and fields of all vectors, and the process that
// creates them, which must have a lease. Vectors of another model are removed before the first new one is created, so a
// search never compares vectors of two models.
//
// An item records whether its vectors belong to its current value (vectors_us). So a PUT does not wait for vectors, and
// a version without support for vectors leaves none that look current. A process caches the vectors of the tenants that
// searched last, up to Index.Cache, and at each search reads the changes since its last known "version". If a tenant
// has more vectors than fit, each search reads them from the database, in the order of the table. Deleted items stay in
// the cache, so each item is looked up before it is returned.
//
// Vectors are created in turns: first for the newest items of one tenant, then for those of the next. If the endpoint
// refuses a text of an item but accepts others, the item is set aside with the vectors of its other texts
// (item_failures), and retried after one minute, then two, up to six hours. Searches that may miss items for lack of
// vectors report a loss. That is the case if an item below the prefix was set aside, or if one of the tenant's items
// has waited for a minute.
//
// The score is the cosine, raised by the matching words of the item (vectorindex.Fuse, Corpus.RankForBlend). It depends
// only on the item and the query, so pages of any size belong to one list, and a threshold for the cosine loses
// nothing. Combining ranks was tried and found less than the cosine alone: an item with any word of a question came
// before all items with only the same meaning.
//
// If an index leaves only a few items that a filter may pass, the filter is applied to those, and only their vectors
// are compared. Otherwise the filter is applied to the best items, until enough have passed. If too few pass, it is
// applied to all items below the prefix.
package item
