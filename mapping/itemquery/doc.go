// Package itemquery says what the filters and the paths of a search for items mean: which values a
// filter lets pass, and which texts of a value an index holds. The rules of the store ask it; it
// knows no database.
package itemquery
