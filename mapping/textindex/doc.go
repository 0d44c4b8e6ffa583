// Package textindex is what a text search knows of words: how a text is taken apart into
// tokens, and how well a text matches a query. It knows neither items nor a database, so
// that a search finds the same on every database.
//
// Start reading at Tokens and Rank.
package textindex
