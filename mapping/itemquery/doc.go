// Package itemquery says what the filters and the paths of a search for items mean: which values a filter lets pass,
// and which texts of a value an index holds. The store's package item, the service, the console and the bridge call it;
// it knows no database.
package itemquery
