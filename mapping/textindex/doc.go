// Package textindex splits texts into tokens, and ranks texts for a query. Package item uses it. It knows neither items
// nor databases, so a search has the same results on every database.
//
// Start reading at Tokens and Rank.
package textindex
