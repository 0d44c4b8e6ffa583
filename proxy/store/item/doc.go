// Package item keeps the items of the long-term store in the database, and finds them by
// namespace, value, words and meaning. It holds all SQL about them.
//
// Table has what is done for clients, scoped to what the principal in ctx may reach; Chores has
// what is done in the background, for all tenants. Start reading at Table.PutItems and
// Table.SearchItems.
package item
