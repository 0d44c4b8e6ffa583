// Package textindex takes texts apart into tokens, and ranks texts by a query. Package item calls it. It knows neither
// items nor a database, so that a search finds the same on every database.
//
// Start reading at Tokens and Rank.
package textindex
